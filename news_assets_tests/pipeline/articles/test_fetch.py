from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from threading import Event

import pytest

from news_assets.clients.sandbox import ProcessSandbox
from news_assets.errors import FetchError
from news_assets.pipeline.articles.fetch import (
    FetchedEntry,
    due_entries,
    fetch_entries,
    in_batches,
    store_articles,
)
from news_assets.pipeline.page.readers import READERS, ReadEntry
from news_assets.pipeline.stage_declaration import content_hash
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import PageRequest
from news_assets.records.articles import (
    ArticleRevision,
    FeedEntry,
    RawArticle,
    StoredPage,
)
from news_assets.records.derived import Failure
from news_assets.records.desks import Agency, Caps, Desk, PageRule
from news_assets.records.reading import AgencyDays, ExtractedArticle, Page
from news_assets.store.lake import Lake
from news_assets.text.urls import url_hash
from news_assets_tests.clients.poison import read_page_that_hangs
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher
from news_assets_tests.support.waiting import HANG_S

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
TODAY = NOW.date()
STORY = "<p>The city council voted on Tuesday to keep the night buses running for another year, after four hours.</p>"
AGENCIES = tuple(
    Agency(key=key, name=key, timezone="UTC", language="en", sources=())
    for key in ("a", "b")
)
STAGE = stage_named("raw_articles")
DESK = Desk(
    key="d",
    timezone="UTC",
    language="en",
    first_day=date(2026, 1, 1),
    agencies=AGENCIES,
)


def entry(number: int = 1, agency: str = "a", day: date = TODAY) -> FeedEntry:
    url = f"https://example.org/{number}"
    return FeedEntry(
        entry_id=str(number),
        source_id=f"d/{agency}/feed",
        desk="d",
        agency=agency,
        day=day,
        article_id=f"{agency}-{day}-{number}",
        url=url,
        url_hash=url_hash(url),
        title=f"Night buses {number}",
        summary=None,
        content_html=None,
        authors=(),
        categories=(),
        image_url=None,
        published_at=NOW,
        updated_at=None,
        is_future_dated=False,
        is_moved=False,
        entry_hash="one",
        first_seen_at=NOW,
        last_seen_at=NOW,
        trace_id="t",
    )


class SavedPages(ScriptedFetcher):
    """A fetcher with pages in memory; any other URL is not found."""

    def __init__(self, pages: dict[str, str]) -> None:
        self.pages = pages
        self.requested: list[str] = []

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.requested.append(request.url)
        if request.url not in self.pages:
            return FetchError(request.url, "not found (404)", status=404)
        body = f"<html><head><title>Night buses</title></head><body><article>{self.pages[request.url]}</article></body>"
        return Page(
            url=request.url,
            final_url=request.url,
            status=200,
            body=body.encode(),
            fetched_at=NOW,
        )


def stored(
    lake: Lake, fetcher: SavedPages, *entries: FeedEntry, now: datetime = NOW
) -> dict[str, RawArticle]:
    fetched = list(fetch_entries(entries, DESK, fetcher, InlineSandbox()))
    lake.transact(lambda rows: store_articles(rows, STAGE, DESK, fetched, now))
    return {article.article_id: article for article in lake.read(RawArticle)}


def test_unfetched_changed_moved_and_retried_entries_are_due(lake: Lake) -> None:
    fine, failed = entry(1), entry(2)
    articles = stored(lake, SavedPages({fine.url: STORY * 4}), fine, failed)
    later = articles[failed.article_id].next_try_at
    assert later is not None
    changed = replace(fine, entry_hash="two")
    moved = replace(fine, day=fine.day - timedelta(days=3))

    def due(
        *entries: FeedEntry, now: datetime = NOW, refetch: bool = False
    ) -> list[FeedEntry]:
        return due_entries(entries, articles, now, refetch=refetch)

    assert due(fine, failed) == []
    assert due(fine, failed, now=later) == [failed]
    assert due(changed) == [changed]
    assert due(moved) == [moved]
    assert due(entry(3)) == [entry(3)]
    assert due(fine, refetch=True) == [fine]


def test_of_two_entries_for_one_article_the_one_seen_first_is_due() -> None:
    first = entry(1)
    second = replace(
        first, source_id="d/a/other", first_seen_at=NOW + timedelta(hours=1)
    )
    assert due_entries([second, first], {}, NOW) == [first]


def test_a_url_of_two_entries_is_fetched_once(lake: Lake) -> None:
    ours, theirs = entry(1, "a"), entry(1, "b")
    fetcher = SavedPages({ours.url: STORY * 4})
    articles = stored(lake, fetcher, ours, theirs)
    assert fetcher.requested == [ours.url]
    assert articles[theirs.article_id].duplicate_of == ours.article_id
    assert {page.article_id for page in lake.read(StoredPage)} == set(articles)


def test_a_duplicate_is_found_across_agencies_and_days(lake: Lake) -> None:
    original, copy = entry(1, "a"), entry(2, "b", NOW.date() + timedelta(days=2))
    fetcher = SavedPages({original.url: STORY * 4, copy.url: STORY * 4})
    stored(lake, fetcher, original)
    articles = stored(lake, fetcher, copy)
    assert (
        articles[original.article_id].duplicate_of,
        articles[copy.article_id].duplicate_of,
    ) == (
        None,
        original.article_id,
    )


def test_a_changed_text_makes_a_revision_and_a_missing_page_keeps_the_text(
    lake: Lake,
) -> None:
    one = entry(1)
    first = stored(lake, SavedPages({one.url: STORY * 4}), one)[one.article_id]
    second = stored(
        lake, SavedPages({one.url: STORY.replace("four", "five") * 4}), one
    )[one.article_id]
    third = stored(lake, SavedPages({}), one)[one.article_id]
    assert (first.rev_n, second.rev_n, third.rev_n) == (1, 2, 2)
    assert (third.outcome, third.text) == ("ok", second.text)
    assert "404" in str(third.reason)
    assert [revision.text for revision in lake.read(ArticleRevision)] == [first.text]


def test_an_article_moves_to_another_day_once(lake: Lake) -> None:
    one = entry(1)
    fetcher = SavedPages({one.url: STORY * 4})
    first = stored(lake, fetcher, one)[one.article_id]
    moved = replace(one, day=one.day - timedelta(days=5), is_moved=True)
    there = replace(first, day=moved.day)
    assert stored(lake, fetcher, moved) == {
        one.article_id: replace(there, content_hash=content_hash(there))
    }


class PdfServer(ScriptedFetcher):
    """A fetcher with a PDF at every URL."""

    def answer(self, request: PageRequest) -> Page | FetchError:
        return Page(
            url=request.url,
            final_url=request.url,
            status=200,
            body=b"%PDF-1.7 Minutes of the meeting",
            content_type="application/pdf",
            fetched_at=NOW,
        )


def test_a_reader_for_another_content_type_makes_articles_of_its_pages(
    lake: Lake,
) -> None:
    def read_pdf(page: Page, timezone: str, language: str | None) -> ExtractedArticle:
        text = page.body.decode().removeprefix("%PDF-1.7 ")
        return ExtractedArticle(
            url=page.url,
            canonical_url=page.url,
            outcome="ok",
            title="Minutes",
            text=text,
        )

    readers = READERS | {"application/pdf": read_pdf}
    html_only = {"text/html": READERS["text/html"]}
    unread = list(
        fetch_entries([entry(1)], DESK, PdfServer(), InlineSandbox(), html_only)
    )
    read = list(fetch_entries([entry(2)], DESK, PdfServer(), InlineSandbox(), readers))
    lake.transact(lambda rows: store_articles(rows, STAGE, DESK, unread + read, NOW))

    assert [
        (row.outcome, row.reason, row.title, row.text) for row in lake.read(RawArticle)
    ] == [
        ("skipped", "application/pdf: not HTML", "Night buses 1", None),
        ("ok", None, "Minutes", "Minutes of the meeting"),
    ]


def test_a_page_is_read_by_the_rule_of_its_agency_for_the_day_of_the_entry() -> None:
    rules = PageRule(content="#none"), PageRule(since=TODAY, content="p.second")
    desk = replace(
        DESK,
        agencies=tuple(replace(agency, page_rules=rules) for agency in DESK.agencies),
    )
    entries = [entry(1), entry(2, day=TODAY - timedelta(days=1))]
    pages = SavedPages(
        {one.url: f"{STORY}<p class=second>Only this.</p>" for one in entries}
    )
    found = list(fetch_entries(entries, desk, pages, InlineSandbox()))

    read = {one.entry.entry_id: one.read.extracted for one in found}
    assert [(one.text, one.reason) for key in "1" if (one := read[key])] == [
        ("Only this.", None)
    ]
    assert [one.reason for key in "2" if (one := read[key])] == [
        "`#none` of the desk file matches no text: read without it"
    ]


@pytest.mark.slow  # waits for a reader that hangs
def test_a_page_that_cannot_be_read_is_a_failure_with_its_page_and_its_neighbours_are_stored(
    lake: Lake,
) -> None:
    entries = [entry(number) for number in (1, 2, 3)]
    pages = SavedPages({one.url: STORY for one in entries} | {entries[1].url: "poison"})
    readers = READERS | {"text/html": read_page_that_hangs}
    with ProcessSandbox(limit_s=5) as sandbox:
        fetched = list(fetch_entries(entries, DESK, pages, sandbox, readers))
    lake.transact(lambda rows: store_articles(rows, STAGE, DESK, fetched, NOW))

    rows = {
        row.entry_id: (row.outcome, (row.reason or "").partition(" (")[0])
        for row in lake.read(RawArticle)
    }
    assert rows == {
        "1": ("ok", ""),
        "2": ("failed", "not read in 5 s"),
        "3": ("ok", ""),
    }
    assert {page.article_id for page in lake.read(StoredPage)} == {
        one.article_id for one in entries
    }
    (failure,) = lake.read(Failure)
    assert (failure.article_id, failure.attempts) == (entries[1].article_id, 1)
    assert failure.next_try_at is not None


def test_an_article_that_cannot_be_stored_is_a_failure_and_its_neighbours_are_stored(
    lake: Lake,
) -> None:
    class BadNumbers(SavedPages):
        """The page of the second entry has a status that no column can hold."""

        def answer(self, request: PageRequest) -> Page | FetchError:
            page = super().answer(request)
            return (
                replace(page, status=1 << 70)
                if isinstance(page, Page) and request.url.endswith("2")
                else page
            )

    entries = [entry(number) for number in (1, 2, 3)]
    lake.transact(lambda rows: rows.upsert(entries))
    pages = BadNumbers({one.url: STORY * 4 for one in entries})
    keys = AgencyDays("d", frozenset({("a", TODAY)}))
    ports = {"fetcher": pages, "sandbox": InlineSandbox()}
    assert STAGE.run_batch(lake, DESK, keys, lambda: NOW, ports) == 3

    rows = {
        row.entry_id: (row.outcome, (row.reason or "")[:19])
        for row in lake.read(RawArticle)
    }
    assert rows == {
        "1": ("ok", ""),
        "2": ("failed", "could not be stored"),
        "3": ("ok", ""),
    }


def test_pages_are_stored_while_a_slow_one_is_awaited() -> None:
    is_stored = Event()

    def fetched() -> Generator[FetchedEntry, None, None]:
        gone = FetchError("https://example.org", "gone", status=410)
        yield FetchedEntry(entry(1), gone, ReadEntry(), None)
        assert is_stored.wait(HANG_S)
        yield FetchedEntry(entry(2), gone, ReadEntry(), None)

    batches = in_batches(fetched(), max_s=0.1)
    assert [one.entry.entry_id for one in next(batches)] == ["1"]
    is_stored.set()
    assert [one.entry.entry_id for batch in batches for one in batch] == ["2"]


def test_a_run_fetches_as_many_articles_as_its_cap_the_newest_first(lake: Lake) -> None:
    days = [TODAY - timedelta(days=ago) for ago in (2, 0, 1)]
    entries = [entry(number, day=day) for number, day in enumerate(days)]
    lake.transact(lambda rows: rows.upsert(entries))
    fetcher = SavedPages({})
    ports = {"fetcher": fetcher, "sandbox": InlineSandbox()}
    keys = AgencyDays("d", frozenset(("a", day) for day in days))
    for _ in range(2):
        STAGE.run_batch(
            lake, replace(DESK, caps=Caps(pages=2)), keys, lambda: NOW, ports
        )
    assert fetcher.requested == [entries[1].url, entries[2].url, entries[0].url]


def test_a_text_is_cut_at_its_cap(lake: Lake) -> None:
    one = entry()
    desk = replace(DESK, caps=Caps(text_chars=100))
    fetched = list(
        fetch_entries([one], desk, SavedPages({one.url: STORY * 9}), InlineSandbox())
    )
    lake.transact(lambda rows: store_articles(rows, STAGE, desk, fetched, NOW))
    [article] = lake.read(RawArticle)
    assert (article.text_chars, article.text) == (
        len(article.text or ""),
        STORY[3:103].rstrip(),
    )
