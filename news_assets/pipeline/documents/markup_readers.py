"""Reads documents that are text with markup: HTML, RTF, and text without any."""

import re
from typing import Final

from news_assets.pipeline.documents.markdown_parts import ADDED, STRUCK
from news_assets.records.reading import ReadDocument
from news_assets.text.charset import decode
from news_assets.text.limits import clean_text

_MAX_MARKUP_CHARS: Final = 2_000_000
_PICTURE = re.compile(r"[0-9a-fA-F\r\n]{2000,}+")  # in RTF, as hexadecimal digits
_BLANK_LINES = re.compile(r"\n[ \t]*+\n(?:[ \t]*+\n)++")
_MARKS: Final = {"del": STRUCK, "s": STRUCK, "strike": STRUCK, "ins": ADDED}


def read_html(body: bytes) -> ReadDocument:
    """Return the text of an HTML document, also of what an article's page would leave
    out.
    """
    from lxml import etree, html

    from news_assets.pipeline.page.markdown import markdown_of_fragment

    markup = decode(body)[:_MAX_MARKUP_CHARS].encode()
    try:
        tree = html.document_fromstring(
            markup, parser=html.HTMLParser(encoding="utf-8")
        )
    except etree.ParserError:  # markup without any element, such as a lone end tag
        return ReadDocument(kind="html", outcome="ok")
    for element in tree.iter(*_MARKS):
        mark = _MARKS[str(element.tag)]
        if (element.text_content() or "").strip():
            _surround(element, mark)
    title = " ".join((tree.findtext(".//title") or "").split())
    if (head := tree.find("head")) is not None:
        tree.remove(head)
    text = markdown_of_fragment(html.tostring(tree, encoding="unicode"))
    return ReadDocument(
        kind="html", outcome="ok", title=title or None, texts=(clean_text(text),)
    )


def _surround(element: object, mark: str) -> None:
    """Write a mark before and after what an element holds."""
    from lxml.html import HtmlElement

    assert isinstance(element, HtmlElement)
    element.text = mark + (element.text or "").lstrip()
    if len(element):
        element[-1].tail = (element[-1].tail or "").rstrip() + mark
    else:
        element.text = element.text.rstrip() + mark


def read_rtf(body: bytes) -> ReadDocument:
    """Return the text of an RTF document; cells of tables are separated by `|`.

    Raises:
        Exception: Those of striprtf, for broken files.
    """
    from striprtf.striprtf import rtf_to_text

    text = rtf_to_text(_PICTURE.sub("", body.decode("latin-1")), errors="ignore")  # type: ignore[no-untyped-call]
    return ReadDocument(kind="rtf", outcome="ok", texts=(_tidy(text),))


def read_text(body: bytes) -> ReadDocument:
    """Return a text without markup."""
    return ReadDocument(kind="text", outcome="ok", texts=(_tidy(decode(body)),))


def _tidy(text: str) -> str:
    lines = "\n".join(
        line.rstrip() for line in clean_text(text).replace("\r\n", "\n").split("\n")
    )
    return _BLANK_LINES.sub("\n\n", lines).strip("\n")
