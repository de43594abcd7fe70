"""The table of page readers by content type, and how a page's content type is
determined.

A new reader is one module with a `PageReader`, and one line in READERS.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from news_assets.pipeline.documents.read import document_article
from news_assets.pipeline.page.extract import extract
from news_assets.ports.reading import PageReader, Sandbox
from news_assets.records.reading import ExtractedArticle, Outcome, Page
from news_assets.text.urls import served_url

HTML, PDF, RTF, ZIP = "text/html", "application/pdf", "application/rtf", "zip archive"

READERS: Final[dict[str, PageReader]] = {
    HTML: extract,
    PDF: document_article,
    RTF: document_article,
    ZIP: document_article,  # docx, pptx and odt are zip archives
}

# First bytes that are decisive, whatever type the server states.
_SIGNATURES = (
    (b"%PDF-", PDF),
    (b"{\\rtf", RTF),
    (b"PK\x03\x04", ZIP),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"RIFF", "media file"),
    (b"\xd0\xcf\x11\xe0", "Office document"),
)
# Types that servers send HTML as.
_HTML_TYPES = (
    HTML,
    "application/xhtml",
    "text/plain",
    "application/octet-stream",
    "application/xml",
    "text/xml",
)
_FEED_OR_JSON = re.compile(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:(?><!--.*?-->)\s*+)*+(?:<(rss|feed|rdf:RDF|urlset|sitemapindex)\b|[{\[])",
    re.DOTALL,
)
_SNIFFED_BYTES = 512


def read_page(
    page: Page,
    timezone: str,
    language: str | None = None,
    readers: Mapping[str, PageReader] = READERS,
) -> ExtractedArticle:
    """Return the article that the reader of the page's content type finds; `skipped`
    where there is no reader.
    """
    if not page.body.strip():
        reason = "empty page: only white space" if page.body else "empty page: 0 bytes"
        return unread(page, "failed", reason)
    content_type = content_type_of(page)
    if reader := readers.get(content_type):
        return reader(page, timezone, language)
    return unread(page, "skipped", f"{content_type}: not HTML")


def with_document(
    page: Page,
    sandbox: Sandbox,
    language: str | None = None,
    readers: Mapping[str, PageReader] = READERS,
) -> Page:
    """Return the page with its document read, within the limits for documents, if its
    reader is that for documents.
    """
    if readers.get(content_type_of(page)) is not document_article:
        return page
    return replace(
        page,
        document=sandbox.read_document(page.body, page.content_type, language=language),
    )


def content_type_of(page: Page) -> str:
    """Return a page's media type, or a name such as "zip archive" or "JSON" where the
    bytes show something else.

    Decided by the first bytes, then by the type that the server states, unless the
    bytes are HTML under another type or a feed or JSON under HTML's.
    """
    head = page.body[:_SNIFFED_BYTES]
    if signed := next(
        (name for start, name in _SIGNATURES if head.startswith(start)), None
    ):
        return signed
    stated = page.content_type.partition(";")[0].strip().lower()
    if stated == PDF or (
        stated and not stated.startswith(_HTML_TYPES) and not _looks_like_html(head)
    ):
        return stated
    if match := _FEED_OR_JSON.match(head):
        return match[1].decode() if match[1] else "JSON"
    return HTML


def _looks_like_html(head: bytes) -> bool:
    start = head.lower()
    return b"<html" in start or b"<!doctype html" in start


def unread(page: Page, outcome: Outcome, reason: str) -> ExtractedArticle:
    """Return the result for a page without a readable article."""
    return ExtractedArticle(
        url=page.url,
        canonical_url=served_url(page.final_url),
        outcome=outcome,
        reason=reason,
    )
