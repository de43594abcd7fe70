import gzip
from datetime import UTC, datetime

import pytest

from news_assets.pipeline.page.readers import (
    HTML,
    PDF,
    READERS,
    content_type_of,
    read_page,
)
from news_assets.records.reading import ExtractedArticle, Page

URL = "https://www.example.org/edital"
MARKUP = b"<!doctype html><html><body><p>Edital</p></body></html>"


def page(body: bytes, content_type: str = "") -> Page:
    return Page(
        url=URL,
        final_url=f"{URL}?utm_source=x",
        status=200,
        body=body,
        content_type=content_type,
        fetched_at=datetime(2026, 3, 4, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("body", "stated", "content_type"),
    [
        (MARKUP, "text/html; charset=utf-8", HTML),
        (MARKUP, "", HTML),
        (MARKUP, "Text/Plain", HTML),
        (MARKUP, "image/png", HTML),
        (b"<p>Edital</p>", "application/octet-stream", HTML),
        (b"<p>Edital</p>", "image/png", "image/png"),
        (b"%PDF-1.7", "text/html", PDF),
        (b"no signature", "application/pdf", PDF),
        (b'{"a": 1}', "text/html", "JSON"),
        (b'<?xml version="1.0"?><!-- a --><rss version="2.0">', "text/xml", "rss"),
    ],
)
def test_bytes_and_the_stated_type_determine_the_content_type(
    body: bytes, stated: str, content_type: str
) -> None:
    assert content_type_of(page(body, stated)) == content_type


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (page(b""), ("failed", "empty page: 0 bytes")),
        (page(b" \n"), ("failed", "empty page: only white space")),
        (page(b"\x89PNG\r\n"), ("skipped", "image: not HTML")),
        (page(b"PK\x03\x04"), ("skipped", "a zip archive without a docx, pptx or odt")),
        (page(gzip.compress(b"x")), ("skipped", "gzip archive: not HTML")),
        (
            page(b'{"a": 1}', "application/json"),
            ("skipped", "application/json: not HTML"),
        ),
        (page(b'{"a": 1}'), ("skipped", "JSON: not HTML")),
        (
            page(b'<?xml version="1.0"?><rss version="2.0">'),
            ("skipped", "rss: not HTML"),
        ),
    ],
)
def test_a_page_of_a_type_without_a_reader_has_a_reason(
    found: Page, expected: tuple[str, str]
) -> None:
    article = read_page(found, "UTC")
    assert (article.outcome, article.reason) == expected
    assert (article.url, article.canonical_url, article.text) == (URL, URL, None)


def test_a_page_is_read_by_the_reader_of_its_type() -> None:
    def read_pdf(page: Page, timezone: str, language: str | None) -> ExtractedArticle:
        return ExtractedArticle(
            url=page.url,
            canonical_url=page.url,
            outcome="ok",
            title=f"{timezone} {language}",
        )

    readers = {**READERS, PDF: read_pdf}
    assert (
        read_page(page(b"%PDF-1.7"), "America/Bahia", "pt", readers).title
        == "America/Bahia pt"
    )
    assert (
        read_page(page(MARKUP), "UTC", None, readers).reason
        == "too little text: 6 characters"
    )


def test_many_comments_take_no_time() -> None:
    comments = b"<!--a-->" * 60

    assert content_type_of(page(comments)) == HTML
    assert content_type_of(page(b"<!-- a\n -->" * 3 + b"<rss>")) == "rss"
