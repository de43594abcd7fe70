"""Reads what was fetched and listed for an entry: the table of page readers by content
type, and how a page's content type is determined.

All of it is work on outside bytes and text, so it runs in the sandbox. A new reader is
one module with a `PageReader`, and one line in READERS.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from news_assets.pipeline.articles.likeness import minhash
from news_assets.pipeline.documents.read import document_article
from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.page.markdown import markdown_of_fragment
from news_assets.ports.services import PageReader, Sandbox
from news_assets.records.reading import ExtractedArticle, Outcome, Page
from news_assets.text.fingerprint import text_hash
from news_assets.text.prose import language_of
from news_assets.text.urls import served_url
from news_assets.text.words import words

HTML, PDF, _RTF, _ZIP = "text/html", "application/pdf", "application/rtf", "zip archive"

READERS: Final[dict[str, PageReader]] = {
    HTML: extract,
    PDF: document_article,
    _RTF: document_article,
    _ZIP: document_article,  # docx, pptx and odt are zip archives
}

# First bytes that are decisive, whatever type the server states.
_SIGNATURES = (
    (b"%PDF-", PDF),
    (b"{\\rtf", _RTF),
    (b"PK\x03\x04", _ZIP),
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
    rb"\s*+(?>(?:<\?xml[^>]*+>\s*+)?)(?>(?:(?><!--.*?-->)\s*+)*)(?:<(rss|feed|rdf:RDF|urlset|sitemapindex)\b|[{\[])",
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
    for start, name in _SIGNATURES:
        if head.startswith(start):
            return name
    stated = page.content_type.partition(";")[0].strip().lower()
    if stated == PDF:
        return stated
    is_other_type = stated != "" and not stated.startswith(_HTML_TYPES)
    if is_other_type and not _looks_like_html(head):
        return stated
    if match := _FEED_OR_JSON.match(head):
        if match[1]:
            return match[1].decode()
        return "JSON"
    return HTML


def _looks_like_html(head: bytes) -> bool:
    start = head.lower()
    if b"<html" in start:
        return True
    return b"<!doctype html" in start


def unread(page: Page, outcome: Outcome, reason: str) -> ExtractedArticle:
    """Return the result for a page without a readable article."""
    return ExtractedArticle(
        url=page.url,
        canonical_url=served_url(page.final_url),
        outcome=outcome,
        reason=reason,
    )


# --- an entry: its page and its listed text -------------------------------------------

MIN_FEED_CHARS = 250  # shorter texts in a feed are teasers


@dataclass(frozen=True, slots=True)
class ArticleText:
    """A text in Markdown, and what a row states about it."""

    text: str
    text_hash: str | None
    word_count: int
    language: str | None
    lead_minhash: bytes | None

    @classmethod
    def of(
        cls, text: str, language: str | None = None, max_chars: int | None = None
    ) -> "ArticleText | None":
        """Return the text, cut to `max_chars`, with its properties; None if it is
        empty.

        `language` (BCP 47) is that of a short text.
        """
        if max_chars is not None and len(text) > max_chars:
            text = text[:max_chars].rstrip()
        if not text:
            return None
        found = language_of(text, language)
        return cls(text, text_hash(text), len(words(text)), found, minhash(text))


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """The article on the entry's page, its text, and the full text in the listing; None
    for what there is not.
    """

    extracted: ExtractedArticle | None = None
    page_text: ArticleText | None = None
    feed_text: ArticleText | None = None


def read_entry(
    page: Page | None,
    content_html: str | None,
    timezone: str,
    language: str | None,
    readers: Mapping[str, PageReader] = READERS,
    max_chars: int | None = None,
) -> ReadEntry:
    """Return what the page and the listing's text contain.

    Args:
        page: The fetched page; None if it could not be fetched.
        content_html: The text in the listing; it is ignored if it is only a teaser.
        timezone: IANA zone of times without one.
        language: The agency's language (BCP 47).
        readers: Page readers by content type.
        max_chars: The characters of a text that are kept; None for all.
    """
    extracted = None
    of_page = of_feed = None
    if page is not None:
        extracted = read_page(page, timezone, language, readers)
        if extracted.outcome == "ok":
            of_page = ArticleText.of(extracted.text or "", max_chars=max_chars)
    if content_html is not None and has_full_text(content_html):
        of_feed = ArticleText.of(
            markdown_of_fragment(content_html), max_chars=max_chars
        )
    return ReadEntry(extracted, of_page, of_feed)


def has_full_text(content_html: str | None) -> bool:
    """Whether a text in a listing is longer than a teaser."""
    return len(content_html or "") >= MIN_FEED_CHARS
