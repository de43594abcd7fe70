"""Reads one document of any kind, and makes the article of a page that is one. A new kind
is one reader, and one line in _READERS.

The readers of the smaller formats are here: OpenDocument texts, presentations, HTML,
RTF, and text without markup.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.document_kinds import (
    kind_of,
    name_of,
    open_archive,
    skip_by_text,
)
from news_assets.pipeline.documents.docx import read_docx
from news_assets.pipeline.documents.pdf_text import MAX_TEXT_CHARS, read_pdf
from news_assets.pipeline.page.markdown import (
    ADDED,
    STRUCK,
    Mark,
    marked,
    table,
)
from news_assets.records.reading import (
    MAX_PAGES,
    DocumentKind,
    ExtractedArticle,
    Page,
    ReadDocument,
)
from news_assets.text.html import decode
from news_assets.text.limits import clean_text, line, most
from news_assets.text.prose import language_of, strip_emphasis
from news_assets.text.urls import served_url

if TYPE_CHECKING:
    from lxml.etree import _Element

# --- OpenDocument texts ---------------------------------------------------------------

_OASIS: Final = "urn:oasis:names:tc:opendocument:xmlns"
_OFFICE, _TEXT, _TABLE, _STYLE = (
    f"{{{_OASIS}:{name}:1.0}}" for name in ("office", "text", "table", "style")
)
_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_CONTAINERS: Final = (
    f"{_TEXT}section",
    f"{_TEXT}index-body",
    f"{_TEXT}table-of-content",
)
_MAX_SPACES = 20  # of `text:s`, which states how many it stands for


@dataclass
class _Changes:
    """What the file says of changes and styles, and the mark at the present place of
    the text.
    """

    added: set[str] = field(default_factory=set)
    deleted: dict[str, str] = field(default_factory=dict)
    struck_styles: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)


def _read_odt(body: bytes) -> ReadDocument:
    """Return the text of an OpenDocument text.

    Raises:
        ReadingError: It is no archive within the limits.
        Exception: Those of lxml, for broken files.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    title = None
    with open_archive(body) as archive:
        root = etree.fromstring(archive.read("content.xml"), parser)
        if "meta.xml" in archive.namelist():
            meta = etree.fromstring(archive.read("meta.xml"), parser)
            title = meta.findtext(f".//{_TITLE}")
    text = _text_of_odt(root)
    return ReadDocument(
        kind="odt", outcome="ok", title=title or None, texts=(clean_text(text),)
    )


def _text_of_odt(root: "_Element") -> str:
    content = root.find(f"{_OFFICE}body/{_OFFICE}text")
    if content is None:
        raise ReadingError("broken odt: no text in content.xml")
    return "\n\n".join(filter(None, _blocks(content, _changes(root))))


def _struck_styles(root: "_Element") -> set[str]:
    """Return the names of the styles that strike their text out."""
    found: set[str] = set()
    for style in root.iter(f"{_STYLE}style"):
        for properties in style.iter(f"{_STYLE}text-properties"):
            if properties.get(f"{_STYLE}text-line-through-style", "none") != "none":
                found.add(style.get(f"{_STYLE}name") or "")
    return found


def _changes(root: "_Element") -> _Changes:
    found = _Changes(struck_styles=_struck_styles(root))
    for region in root.iter(f"{_TEXT}changed-region"):
        key = region.get(f"{_TEXT}id") or ""
        deletion = region.find(f"{_TEXT}deletion")
        if region.find(f"{_TEXT}insertion") is not None:
            found.added.add(key)
        elif deletion is not None:
            paragraphs = deletion.iterfind(f"{_TEXT}p")
            texts = ["".join(map(str, one.itertext())) for one in paragraphs]
            found.deleted[key] = " ".join(texts)
    return found


def _blocks(parent: "_Element", changes: _Changes) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_TEXT}h":
            yield _heading(child, changes)
        elif child.tag == f"{_TEXT}p":
            yield _inline(child, changes).strip()
        elif child.tag == f"{_TEXT}list":
            yield "\n".join(_items(child, changes, ""))
        elif child.tag == f"{_TABLE}table":
            yield _table(child, changes)
        elif child.tag in _CONTAINERS:
            yield from _blocks(child, changes)


def _heading(element: "_Element", changes: _Changes) -> str:
    text = " ".join(_inline(element, changes).split())
    if not text:
        return ""
    depth = 2
    level = element.get(f"{_TEXT}outline-level") or ""
    if level.isdecimal():
        depth = min(int(level) + 1, 6)
    return f"{'#' * depth} {text}"


def _table(element: "_Element", changes: _Changes) -> str:
    rows: list[list[str]] = []
    for row in element.iter(f"{_TABLE}table-row"):
        cells = row.iter(f"{_TABLE}table-cell")
        rows.append([_inline(cell, changes) for cell in cells])
    return table(rows)


def _items(element: "_Element", changes: _Changes, indent: str) -> Iterator[str]:
    for item in element:
        for child in item:
            if child.tag == f"{_TEXT}list":
                yield from _items(child, changes, indent + "  ")
            elif text := " ".join(_inline(child, changes).split()):
                yield f"{indent}- {text}"


def _inline(element: "_Element", changes: _Changes) -> str:
    return marked(_pieces(element, changes, is_struck=False))


def _pieces(
    element: "_Element", changes: _Changes, *, is_struck: bool
) -> Iterator[tuple[str, Mark]]:
    """Yield the texts of an element in order, each with its mark; changes begin and end
    at empty elements.
    """

    def mark() -> Mark:
        if is_struck:
            return STRUCK
        return ADDED if changes.open & changes.added else ""

    yield element.text or "", mark()
    for child in element:
        if isinstance(child.tag, str):
            yield from _child(child, changes, mark(), is_struck=is_struck)
        yield child.tail or "", mark()
    if element.tag == f"{_TEXT}p":
        yield " ", ""


def _child(
    child: "_Element", changes: _Changes, mark: Mark, *, is_struck: bool
) -> Iterator[tuple[str, Mark]]:
    key = child.get(f"{_TEXT}change-id") or ""
    match str(child.tag).removeprefix(_TEXT):
        case "s":
            count = child.get(f"{_TEXT}c") or ""
            yield " " * min(int(count) if count.isdecimal() else 1, _MAX_SPACES), mark
        case "tab":
            yield " ", mark
        case "line-break":
            yield "\n", mark
        case "change-start":
            changes.open.add(key)
        case "change-end":
            changes.open.discard(key)
        case "change":
            yield changes.deleted.get(key, ""), STRUCK
        case _:
            is_styled = child.get(f"{_TEXT}style-name") in changes.struck_styles
            yield from _pieces(child, changes, is_struck=is_struck or is_styled)


# --- presentations --------------------------------------------------------------------


def _read_pptx(body: bytes) -> ReadDocument:
    """Return the text of a presentation by slide.

    Raises:
        ReadingError: It is no archive within the limits.
        Exception: Those of python-pptx and lxml, for broken files.
    """
    import pptx

    open_archive(body).close()
    presentation = pptx.Presentation(BytesIO(body))
    count = len(presentation.slides)
    if count > MAX_PAGES:
        reason = (
            f"{count:,} slides; presentations of more than {MAX_PAGES:,} are not read"
        )
        return ReadDocument(kind="pptx", outcome="skipped", reason=reason, pages=count)
    texts = tuple(
        clean_text("\n\n".join(filter(None, _slide(slide))))
        for slide in presentation.slides
    )
    title = presentation.core_properties.title
    # What python-pptx writes into a new file, and its template.
    stated = None if title in ("", "PowerPoint Presentation") else title
    return ReadDocument(
        kind="pptx", outcome="ok", title=stated, pages=count, texts=texts
    )


def _slide(slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    for shape in _flat(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            text = " ".join(shape.text_frame.text.split())
            yield f"## {text}" if text else ""
        elif shape.has_text_frame:
            yield "\n".join(filter(None, map(_paragraph, shape.text_frame.paragraphs)))
        elif getattr(shape, "has_table", False):
            yield table([cell.text for cell in row.cells] for row in shape.table.rows)


def _flat(shapes: Iterable[Any]) -> Iterator[Any]:
    for shape in shapes:
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            yield from _flat(inner)


def _paragraph(paragraph: Any) -> str:
    pieces = [(run.text, _mark(run)) for run in paragraph.runs]
    return " ".join(marked(pieces).split())


def _mark(run: Any) -> Mark:
    strike = None if run._r.rPr is None else run._r.rPr.get("strike")
    return STRUCK if strike in ("sngStrike", "dblStrike") else ""


# --- HTML, RTF and plain text ---------------------------------------------------------

_MAX_MARKUP_CHARS: Final = 2_000_000
_PICTURE = re.compile(r"[0-9a-fA-F\r\n]{2000,}+")  # in RTF, as hexadecimal digits
_BLANK_LINES = re.compile(r"\n[ \t]*+\n(?>(?:[ \t]*+\n)+)")
_HTML_MARKS: Final = {"del": STRUCK, "s": STRUCK, "strike": STRUCK, "ins": ADDED}


def _read_html(body: bytes) -> ReadDocument:
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
    for element in tree.iter(*_HTML_MARKS):
        mark = _HTML_MARKS[str(element.tag)]
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


def _read_rtf(body: bytes) -> ReadDocument:
    """Return the text of an RTF document; cells of tables are separated by `|`.

    Raises:
        Exception: Those of striprtf, for broken files.
    """
    from striprtf.striprtf import rtf_to_text

    text = rtf_to_text(_PICTURE.sub("", body.decode("latin-1")), errors="ignore")  # type: ignore[no-untyped-call]
    return ReadDocument(kind="rtf", outcome="ok", texts=(_tidy(text),))


def _read_text(body: bytes) -> ReadDocument:
    """Return a text without markup."""
    return ReadDocument(kind="text", outcome="ok", texts=(_tidy(decode(body)),))


def _tidy(text: str) -> str:
    lines = "\n".join(
        line.rstrip() for line in clean_text(text).replace("\r\n", "\n").split("\n")
    )
    return _BLANK_LINES.sub("\n\n", lines).strip("\n")


# --- any document ---------------------------------------------------------------------

_READERS: Final[dict[DocumentKind, Callable[[bytes], ReadDocument]]] = {
    "pdf": read_pdf,
    "docx": read_docx,
    "pptx": _read_pptx,
    "odt": _read_odt,
    "rtf": _read_rtf,
    "html": _read_html,
    "text": _read_text,
}
_MAX_REASON_CHARS = 300


def read_document(body: bytes, content_type: str = "") -> ReadDocument:
    """Return a document's text, or why there is none. `content_type` decides only
    between HTML and other texts.

    What a library raises on unforeseen content is the caller's: in the sandbox it is
    the call's error.
    """
    kind = kind_of(body, content_type)
    if kind == "unknown":
        return ReadDocument(kind=kind, outcome="skipped", reason=name_of(body))
    try:
        found = _READERS[kind](body)
    except ReadingError as error:
        return ReadDocument(
            kind=kind, outcome="failed", reason=str(error)[:_MAX_REASON_CHARS]
        )
    return _judged(_bounded(replace(found, title=line(found.title, "title"))))


def _bounded(found: ReadDocument) -> ReadDocument:
    """Return the document with at most MAX_TEXT_CHARS; PDFs are cut by their reader,
    before they are long.
    """
    texts: list[str] = []
    remaining = MAX_TEXT_CHARS
    for text in found.texts:
        texts.append(text[:remaining])
        remaining -= len(texts[-1])
    if remaining:
        return found
    return replace(
        found, texts=tuple(texts), reason=f"cut at {MAX_TEXT_CHARS:,} characters"
    )


def _judged(found: ReadDocument) -> ReadDocument:
    """Return the document, without its text where this is not worth keeping, or none."""
    if found.outcome != "ok":
        return found
    reason = skip_by_text(found.texts)
    if reason:
        return replace(found, outcome="skipped", reason=reason, texts=())
    if found.text.strip():
        return found
    return replace(found, outcome="skipped", reason=found.reason or "no text")


# --- the article of a page that is a document -----------------------------------------

DOCUMENT_TYPE = "DigitalDocument"  # schema.org
# Titles that programs write by themselves: names of files, of programs and of
# templates.
_NO_TITLE = re.compile(
    r"(?:microsoft|powerpoint|adobe|untitled|sem"
    r" t[ií]tulo|slide|document|documento|apresenta[çc][ãa]o)\b.*"
    r"|.*\.(?:docx?|odt|pdf|rtf|xlsx?|pptx?|indd|p65|cdr|qxd)|\S*",
    re.IGNORECASE,
)
_MIN_TITLE_LETTERS = 3


def document_article(
    page: Page, timezone: str, language: str | None = None
) -> ExtractedArticle:
    """Return the article of a page that is a document; see `PageReader`.

    A document states no time of publication: what its file states is when it was
    typeset.
    """
    found = page.document or read_document(page.body, page.content_type)
    article = ExtractedArticle(
        url=page.url,
        canonical_url=served_url(page.final_url),
        outcome=found.outcome,
        reason=line(_reason(found), "title"),
        article_type=DOCUMENT_TYPE,
    )
    if found.outcome != "ok":
        return article
    text = clean_text(found.text[: most("text")])
    if not text:
        return article
    return replace(
        article,
        title=_stated_title(found) or _first_line(text),
        language=language_of(text, language),
        text=text,
    )


def _reason(found: ReadDocument) -> str | None:
    if found.reason and found.kind != "unknown":
        return f"{found.kind}: {found.reason}"
    return found.reason


def _stated_title(found: ReadDocument) -> str | None:
    title = line(found.title, "title")
    if title and not _NO_TITLE.fullmatch(title):
        return title
    return None


def _first_line(text: str) -> str | None:
    """Return the first line of a text that has a few letters, without its markup."""
    for one in text[:2000].splitlines():
        bare = strip_emphasis(one).lstrip("#->| ").rstrip("| ")
        if sum(map(str.isalpha, bare)) >= _MIN_TITLE_LETTERS:
            return line(bare, "title")
    return None
