"""Reads one document of any kind, and makes the article of a page that is one. A new kind
is one reader, and one line in _READERS.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.document_kinds import kind_of, name_of, skip_by_text
from news_assets.pipeline.documents.docx import read_docx
from news_assets.pipeline.documents.format_readers import (
    read_html,
    read_odt,
    read_pptx,
    read_rtf,
    read_text,
)
from news_assets.pipeline.documents.pdf_text import MAX_TEXT_CHARS, read_pdf
from news_assets.records.reading import (
    DocumentKind,
    ExtractedArticle,
    Page,
    ReadDocument,
)
from news_assets.text.language import language_of
from news_assets.text.limits import clean_text, line, most
from news_assets.text.prose import strip_emphasis
from news_assets.text.urls import served_url

_READERS: Final[dict[DocumentKind, Callable[[bytes], ReadDocument]]] = {
    "pdf": read_pdf,
    "docx": read_docx,
    "pptx": read_pptx,
    "odt": read_odt,
    "rtf": read_rtf,
    "html": read_html,
    "text": read_text,
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
    return title if title and not _NO_TITLE.fullmatch(title) else None


def _first_line(text: str) -> str | None:
    """Return the first line of a text that has a few letters, without its markup."""
    for one in text[:2000].splitlines():
        bare = strip_emphasis(one).lstrip("#->| ").rstrip("| ")
        if sum(map(str.isalpha, bare)) >= _MIN_TITLE_LETTERS:
            return line(bare, "title")
    return None
