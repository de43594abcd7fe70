from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from news_assets.errors import FetchError, RobotsError
from news_assets.pipeline.articles.attempts import fetch_retry_at
from news_assets.pipeline.articles.likeness import minhash
from news_assets.pipeline.articles.rows import article_row, revision_of
from news_assets.pipeline.page.readers import ArticleText, ReadEntry, read_entry
from news_assets.records.articles import ArticleRevision, FeedEntry, RawArticle
from news_assets.records.reading import ExtractedArticle, Page, PublishedOrigin
from news_assets.text.fingerprint import text_hash
from news_assets.text.urls import url_hash

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
EARLIER = datetime(2026, 2, 27, 9, tzinfo=UTC)
URL = "https://www.example.org/noticias/escolas"
SENTENCE = "O ministério anunciou novas vagas em escolas técnicas de três estados do Nordeste nesta terça-feira. "
PAGE = Page(
    url=URL, final_url=URL, status=200, body=b"", fetched_at=NOW - timedelta(seconds=3)
)


def entry(*, content_html: str | None = None) -> FeedEntry:
    return FeedEntry(
        entry_id="e1", source_id="s1", desk="d", agency="mec", day=date(2026, 3, 2), article_id="mec-1", url=URL,
        url_hash=url_hash(URL), title="Título do feed", summary=None, content_html=content_html, authors=("Ana Lima",),
        categories=("Educação", "Escolas"), image_url="https://www.example.org/a.jpg", published_at=NOW,
        updated_at=None, is_future_dated=False, is_moved=False, entry_hash="h1", first_seen_at=NOW, last_seen_at=NOW,
        trace_id="t1",
    )  # fmt: skip


def extracted(text: str | None = SENTENCE * 5, **changes: object) -> ExtractedArticle:
    article = ExtractedArticle(
        url=URL,
        canonical_url=URL,
        outcome="ok",
        text=text,
        language="pt",
        tags=("escolas",),
    )
    return replace(article, **changes)


def row(
    result: Page | FetchError = PAGE, read: ExtractedArticle | None = None, previous: RawArticle | None = None,
    listed: FeedEntry | None = None,
) -> RawArticle:  # fmt: skip
    listed = listed or entry()
    feed_text = read_entry(None, listed.content_html, "UTC", "pt").feed_text
    page_text = ArticleText.of((read and read.text) or "")
    return article_row(
        listed, result, ReadEntry(read, page_text, feed_text), previous, NOW
    )


def test_the_title_of_a_document_is_that_of_the_listing() -> None:
    stated = extracted(title="PREFEITURA", article_type="DigitalDocument")
    assert row(read=stated).title == "Título do feed"
    assert row(read=stated, listed=replace(entry(), title=None)).title == "PREFEITURA"


def test_the_listing_fills_missing_metadata() -> None:
    text = SENTENCE * 5
    assert row(read=extracted(text, title="Título da página")) == RawArticle(
        article_id="mec-1", desk="d", agency="mec", day=date(2026, 3, 2), source_id="s1", entry_id="e1",
        entry_hash="h1", url=URL, canonical_url=URL, url_hash=url_hash(URL), text_hash=text_hash(text),
        title="Título da página", subtitle=None, authors=("Ana Lima",), section=None,
        category="Educação", tags=("escolas", "Educação"), article_type=None, language="pt", published_at=NOW,
        published_origin="listing", updated_at=None, first_seen_at=NOW, fetched_at=PAGE.fetched_at, image_url="https://www.example.org/a.jpg",
        video_url=None, text=text, text_origin="page", text_chars=len(text), word_count=80, out_links=(), outcome="ok",
        reason=None, lead_minhash=minhash(text), duplicate_of=None, rev_n=1, attempts=0, next_try_at=None,
        trace_id="t1", address_owner="own",
    )  # fmt: skip


@pytest.mark.parametrize("origin", ["json_ld", "meta", "markup", "text"])
def test_a_time_stated_on_the_page_precedes_the_listings(
    origin: PublishedOrigin,
) -> None:
    got = row(read=extracted(published_at=EARLIER, published_origin=origin))
    assert (got.published_at, got.published_origin) == (EARLIER, origin)


@pytest.mark.parametrize("origin", ["url", "guess"])
def test_the_listings_time_precedes_the_urls_and_a_guess(
    origin: PublishedOrigin,
) -> None:
    read = extracted(published_at=EARLIER, published_origin=origin)
    assert (row(read=read).published_at, row(read=read).published_origin) == (
        NOW,
        "listing",
    )
    undated = row(read=read, listed=replace(entry(), published_at=None))
    assert (undated.published_at, undated.published_origin) == (EARLIER, origin)


def test_an_undated_article_has_no_origin() -> None:
    undated = row(read=extracted(), listed=replace(entry(), published_at=None))
    assert (undated.published_at, undated.published_origin) == (None, None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (FetchError(URL, "HTTP 410", status=410), "gone"),
        (FetchError(URL, "HTTP 403", status=403), "blocked"),
        (RobotsError(URL, "robots.txt"), "blocked"),
        (FetchError(URL, "HTTP 404", status=404), "failed"),
        (FetchError(URL, "timeout"), "failed"),
    ],
)
def test_a_failed_fetch_is_a_row_with_outcome_and_reason(
    error: FetchError, outcome: str
) -> None:
    got = row(error)
    assert (got.outcome, got.reason, got.text, got.attempts, got.title) == (
        outcome,
        error.reason,
        None,
        1,
        "Título do feed",
    )
    assert got.next_try_at == fetch_retry_at(1, error, NOW)


def test_each_failure_adds_an_attempt() -> None:
    error = FetchError(URL, "timeout")
    assert row(error, previous=row(error)).attempts == 2


def test_a_page_that_is_missing_after_five_transient_failures_is_tried_again() -> None:
    failed: RawArticle | None = None
    for _ in range(5):
        failed = row(FetchError(URL, "timeout"), previous=failed)
    missing = FetchError(URL, "HTTP 404", status=404)
    got = row(missing, previous=failed)
    assert (got.attempts, got.refusals, got.next_try_at) == (
        6,
        1,
        fetch_retry_at(1, missing, NOW),
    )


@pytest.mark.parametrize(
    ("change", "attempts"),
    [
        ({"entry_hash": "h2", "news_hash": "n2"}, 1),
        # the listing's text alone, during the pause
        (
            {"entry_hash": "h2", "news_hash": "n1"},
            9,
        ),
        ({}, 9),
    ],
    ids=["news", "text", "same"],
)
@pytest.mark.parametrize(
    "result", [FetchError(URL, "timeout"), FetchError(URL, "HTTP 404", status=404)]
)
@pytest.mark.parametrize("text", [None, SENTENCE * 5], ids=["failed", "kept"])
def test_attempts_are_counted_for_each_version_of_the_entry(
    change: dict[str, str], attempts: int, result: FetchError, text: str | None
) -> None:
    before = row(read=extracted(text), listed=replace(entry(), news_hash="n1"))
    before = replace(before, attempts=8, refusals=4, next_try_at=None)
    got = row(
        result,
        previous=before,
        listed=replace(entry(), **{"news_hash": "n1", **change}),
    )
    assert (got.attempts, got.next_try_at is None) == (
        attempts,
        attempts > 1 and result.status == 404,
    )


def test_a_text_of_the_listing_that_changed_after_the_pause_is_a_new_version() -> None:
    before = replace(
        row(FetchError(URL, "timeout"), listed=replace(entry(), news_hash="n1")),
        attempts=8,
    )
    before = replace(before, fetched_at=NOW - timedelta(hours=1))
    got = row(
        FetchError(URL, "timeout"),
        previous=before,
        listed=replace(entry(), entry_hash="h2", news_hash="n1"),
    )
    assert (got.attempts, got.relisted) == (1, 1)


def test_a_page_without_an_article_adds_nothing_to_the_row() -> None:
    read = ExtractedArticle(
        url=URL,
        canonical_url="https://www.example.org/login",
        outcome="blocked",
        reason="log-in page",
        title="Entrar",
    )
    got = row(read=read)
    assert (got.outcome, got.reason, got.title, got.canonical_url) == (
        "blocked",
        "log-in page",
        "Título do feed",
        URL,
    )


def test_the_feeds_full_text_replaces_a_much_shorter_one() -> None:
    listed = entry(content_html=f"<p>{SENTENCE * 4}</p><ul><li>um</li></ul>")
    got = row(read=extracted(SENTENCE), listed=listed)
    assert (got.outcome, got.text_origin, got.text) == (
        "ok",
        "feed",
        f"{(SENTENCE * 4).strip()}\n\n- um",
    )
    assert (
        got.reason
        == f"text from the feed: page gives {len(SENTENCE)} of {len(got.text or '')} characters"
    )


def test_the_feeds_full_text_replaces_a_page_that_was_not_fetched() -> None:
    got = row(
        FetchError(URL, "HTTP 403", status=403),
        listed=entry(content_html=f"<p>{SENTENCE * 4}</p>"),
    )
    assert (got.outcome, got.text_origin, got.reason) == (
        "ok",
        "feed",
        "text from the feed: HTTP 403",
    )


def test_a_teaser_in_the_feed_replaces_nothing() -> None:
    assert (
        row(
            read=extracted("Nota curta."),
            listed=entry(content_html=f"<p>{SENTENCE}</p>"),
        ).text
        == "Nota curta."
    )


@pytest.mark.parametrize(
    ("result", "read"),
    [
        (FetchError(URL, "HTTP 404", status=404), None),
        (
            PAGE,
            ExtractedArticle(
                url=URL, canonical_url=URL, outcome="failed", reason="too little text"
            ),
        ),
        (PAGE, extracted(SENTENCE)),
    ],
    ids=["not found", "no article", "remnant"],
)
def test_a_failed_refetch_keeps_the_stored_text(
    result: Page | FetchError, read: ExtractedArticle | None
) -> None:
    stored = row(read=extracted())
    got = row(result, read, stored)
    assert (got.outcome, got.text, got.rev_n, got.attempts) == ("ok", stored.text, 1, 1)
    assert (got.reason or "").startswith("stored text kept: ")
    assert revision_of(stored, got, NOW) is None


def test_a_shorter_text_is_taken_where_the_page_states_an_update() -> None:
    got = row(
        read=extracted(SENTENCE, updated_at=NOW + timedelta(hours=1)),
        previous=row(read=extracted()),
    )
    assert (got.text, got.rev_n) == (SENTENCE, 2)


def test_a_changed_text_makes_a_revision_of_the_old_one() -> None:
    old, new = (
        row(read=extracted()),
        row(read=extracted(SENTENCE * 6), previous=row(read=extracted())),
    )
    assert new.rev_n == 2
    assert revision_of(old, new, NOW) == ArticleRevision(
        article_id="mec-1", desk="d", agency="mec", day=date(2026, 3, 2), rev_n=1, title="Título do feed",
        text=old.text, text_hash=old.text_hash, fetched_at=old.fetched_at, replaced_at=NOW,
    )  # fmt: skip


def test_the_same_text_in_upper_case_makes_no_revision() -> None:
    old = row(read=extracted())
    new = row(read=extracted((SENTENCE * 5).upper()), previous=old)
    assert (new.rev_n, revision_of(old, new, NOW)) == (1, None)


def test_failed_attempts_and_the_last_reason_are_kept_after_a_success() -> None:
    failed = row(
        FetchError(URL, "timeout"),
        previous=row(FetchError(URL, "busy (503)", status=503)),
    )
    got = row(read=extracted(), previous=failed)
    assert (got.outcome, got.attempts, got.failed_attempts) == ("ok", 0, 2)
    assert got.last_failure == f"{NOW:%Y-%m-%d %H:%M}Z: timeout"
