"""Reads what was fetched and listed for an entry: all work on outside bytes and text,
so it runs in the sandbox.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from news_assets.pipeline.articles.likeness import minhash
from news_assets.pipeline.page.fragment import markdown_of_fragment
from news_assets.pipeline.page.readers import READERS, read_page
from news_assets.ports.services import PageReader
from news_assets.records.reading import ExtractedArticle, Page
from news_assets.text.fingerprint import text_hash
from news_assets.text.language import language_of
from news_assets.text.words import words

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
        found = language_of(text, language)
        return (
            cls(text, text_hash(text), len(words(text)), found, minhash(text))
            if text
            else None
        )


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
    extracted = (
        read_page(page, timezone, language, readers) if page is not None else None
    )
    of_page = (extracted and extracted.outcome == "ok" and extracted.text) or ""
    listed = (
        markdown_of_fragment(content_html)
        if has_full_text(content_html) and content_html
        else ""
    )
    return ReadEntry(
        extracted,
        ArticleText.of(of_page, max_chars=max_chars),
        ArticleText.of(listed, max_chars=max_chars),
    )


def has_full_text(content_html: str | None) -> bool:
    """Whether a text in a listing is longer than a teaser."""
    return len(content_html or "") >= MIN_FEED_CHARS
