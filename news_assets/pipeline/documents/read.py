"""Reads one document of any kind. A new kind is one reader, and one line in READERS."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.document_kinds import kind_of, name_of, skip_by_text
from news_assets.pipeline.documents.docx import read_docx
from news_assets.pipeline.documents.markup_readers import read_html, read_rtf, read_text
from news_assets.pipeline.documents.odt import read_odt
from news_assets.pipeline.documents.pdf.pdf_text import MAX_TEXT_CHARS, read_pdf
from news_assets.pipeline.documents.pptx import read_pptx
from news_assets.records.reading import DocumentKind, ReadDocument
from news_assets.text.limits import line

READERS: Final[dict[DocumentKind, Callable[[bytes], ReadDocument]]] = {
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
        found = READERS[kind](body)
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
