from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.clients.sandbox import ProcessSandbox
from news_assets.errors import FetchError
from news_assets.pipeline.articles.replayed_article import (
    Group,
    archive_groups,
    kept_ratio,
    replay_articles,
)
from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.page.readers import READERS
from news_assets.ports.services import PageRequest
from news_assets.records.articles import RawArticle, StoredPage
from news_assets.records.reading import AgencyDays, ExtractedArticle, Page, ReadDocument
from news_assets.store.lake import Lake
from news_assets_tests.clients.poison import read_page_that_hangs
from news_assets_tests.pipeline.articles.fetched_desk import (
    LATER,
    STORY,
    FetchedDesk,
    Site,
    story,
)
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.pdfs import pdf_of
from news_assets_tests.support.small_desk import DESK, TODAY, entry

FEED = f"<p>{STORY * 3}</p>"


def test_articles_are_unchanged_as_long_as_the_extractor_is(desk: FetchedDesk) -> None:
    desk.fetch_stories(1, 2)
    assert desk.changes() == {"a-1": "unchanged", "a-2": "unchanged"}


def test_characters_that_the_lake_cannot_store_are_no_change(desk: FetchedDesk) -> None:
    def read(page: Page, timezone: str, language: str | None) -> ExtractedArticle:
        return replace(
            extract(page, timezone, language), subtitle="a\0b", tags=("\ud800",)
        )

    desk.fetch_stories(1)
    desk.store_otherwise(
        "a-1", desk.articles()["a-1"].text, subtitle="a\0b", tags=("\ud800",)
    )
    assert desk.replay({"text/html": read})["a-1"].change == "unchanged"


def test_another_text_and_other_columns_are_named_with_the_share_of_words_that_is_kept(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1)
    before = desk.store_otherwise("a-1", f"Read more. {STORY}", title="Menu")
    one = desk.replay()["a-1"]
    assert (one.change, one.columns, one.row, one.found_chars) == (
        "text",
        ("title",),
        before_of(one.row, before),
        205,
    )
    assert 0.9 < one.kept_ratio < 1


def before_of(row: object, before: object) -> object:
    """Return the row of before with the hash that is set only when a row is stored."""
    return replace(before, content_hash=row.content_hash)  # type: ignore[type-var, attr-defined]


def test_other_columns_of_the_same_text_are_metadata(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    article = desk.articles()["a-1"]
    desk.store_otherwise("a-1", article.text, title="Menu", published_origin=None)
    one = desk.replay()["a-1"]
    assert (one.change, one.columns, one.kept_ratio) == (
        "metadata",
        ("title", "published_origin"),
        1.0,
    )


def test_a_text_where_there_was_none_is_gained(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    desk.store_otherwise(
        "a-1",
        None,
        outcome="failed",
        reason="no text",
        rev_n=0,
        attempts=2,
        next_try_at=LATER,
    )
    row = desk.replay()["a-1"].row
    assert row is not None
    assert (row.outcome, row.reason, row.rev_n, row.attempts, row.next_try_at) == (
        "ok",
        None,
        1,
        0,
        None,
    )


def test_a_text_that_an_older_page_gives_keeps_the_failure_of_the_last_request(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1)
    failure = {
        "outcome": "failed",
        "reason": "not found (404)",
        "rev_n": 0,
        "attempts": 2,
        "next_try_at": LATER,
        "page_hash": None,
    }
    desk.store_otherwise("a-1", None, fetched_at=LATER, **failure)
    one = desk.replay()["a-1"]
    assert one.change == "gained"
    assert one.row is not None
    assert (one.row.outcome, one.row.reason) == (
        "ok",
        "stored text kept: not found (404)",
    )
    assert (one.row.attempts, one.row.next_try_at, one.row.fetched_at) == (
        2,
        LATER,
        LATER,
    )


@pytest.mark.parametrize(
    ("found", "change"), [("", "lost"), (f"<p>{STORY}</p>", "kept")]
)
def test_a_stored_text_is_neither_dropped_nor_replaced_by_a_remnant(
    desk: FetchedDesk, found: str, change: str
) -> None:
    desk.site.texts[1] = found
    desk.fetch(entry(1))
    desk.store_otherwise(
        "a-1", STORY * 9, outcome="ok", reason=None, attempts=0, rev_n=1
    )
    one = desk.replay()["a-1"]
    assert (one.change, one.row) == (change, None)
    assert str(one.reason).startswith("stored text kept: ")


def test_a_remnant_that_the_last_fetch_refused_is_unchanged(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    desk.site.texts[1] = "<p>Page not available.</p>"
    desk.fetch(entry(1, entry_hash="two"), at=LATER)
    assert "stored text kept" in str(desk.articles()["a-1"].reason)
    assert desk.changes() == {"a-1": "unchanged"}


def test_the_page_of_before_a_failed_request_is_replayed_and_the_failure_stays(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1)
    del desk.site.texts[1]
    desk.fetch(entry(1, entry_hash="two"), at=LATER)
    assert desk.changes() == {"a-1": "unchanged"}
    desk.store_otherwise("a-1", STORY)
    one = desk.replay()["a-1"]
    assert one.change == "text"
    assert one.row is not None
    assert (one.row.reason, one.row.attempts) == (
        "stored text kept: not found (404)",
        1,
    )


@pytest.mark.parametrize("page", [None, "<p>Log in to read.</p>"])
def test_the_feeds_text_stays_where_the_page_gave_less_or_nothing(
    desk: FetchedDesk, page: str | None
) -> None:
    if page:
        desk.site.texts[1] = page
    desk.fetch(entry(1, content_html=FEED))
    assert desk.articles()["a-1"].text_origin == "feed"
    assert desk.changes() == {"a-1": "unchanged"}


def test_the_feeds_text_stays_where_an_earlier_page_of_its_own_site_had_another(
    desk: FetchedDesk,
) -> None:
    publisher, *others = desk.desk.agencies
    desk.desk = replace(
        desk.desk, agencies=(replace(publisher, hosts=("example.org",)), *others)
    )
    desk.fetch_stories(1)
    del desk.site.texts[1]
    desk.fetch(entry(1, content_html=FEED, entry_hash="two"), at=LATER)
    assert desk.articles()["a-1"].text_origin == "feed"
    assert desk.changes() == {"a-1": "unchanged"}


def test_an_article_whose_entry_changed_waits_for_its_fetch(desk: FetchedDesk) -> None:
    desk.fetch_stories(1, 2, 3)
    changed = [
        entry(1, entry_hash="two"),
        entry(2, day=entry(2).day + timedelta(days=3), is_moved=True),
    ]
    desk.lake.transact(lambda rows: rows.upsert(changed))
    assert desk.changes() == {"a-1": "no_entry", "a-2": "no_entry", "a-3": "unchanged"}


def test_the_share_of_words_counts_repetitions() -> None:
    assert kept_ratio("one two two", "two three") == pytest.approx(1 / 3)
    assert kept_ratio("One, two.", "two one three") == 1
    assert kept_ratio("", "one") == 1


# --- test stored pages ---

YESTERDAY = TODAY - timedelta(days=1)


def test_the_newest_page_is_replayed(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    desk.site.texts[1] = story(7)
    desk.fetch(entry(1, entry_hash="two"), at=LATER)
    assert len(desk.lake.read(StoredPage)) == 2
    assert desk.changes() == {"a-1": "unchanged"}


def test_articles_without_a_page_are_counted_and_the_others_replayed(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1, 2)
    desk.fetch(entry(3))
    desk.lake.transact(lambda rows: rows.delete(StoredPage, article_id=["a-1"]))
    assert desk.changes() == {"a-1": "no_page", "a-2": "unchanged", "a-3": "no_page"}


@pytest.mark.slow  # waits for a reader that hangs
def test_a_page_that_cannot_be_read_is_reported_and_its_neighbours_are_replayed(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1, 2, 3)
    desk.site.texts[2] = "poison"
    desk.fetch(entry(2, entry_hash="two"), at=LATER)
    readers = READERS | {"text/html": read_page_that_hangs}
    with ProcessSandbox(limit_s=4) as sandbox:
        articles = desk.lake.read(RawArticle)
        (batch,) = replay_articles(desk.lake, DESK, articles, sandbox, readers)
    assert [one.change for one in batch] == ["text", "unreadable", "text"]
    assert (batch[1].row, str(batch[1].reason).partition(" (")[0]) == (
        None,
        "not read in 4 s",
    )


class PdfSite(Site):
    """A site whose pages are PDFs."""

    def answer(self, request: PageRequest) -> Page | FetchError:
        found = super().answer(request)
        made = pdf_of(*(self.texts[int(request.url[-1])],) * 2)
        return (
            replace(found, body=made, content_type="application/pdf")
            if isinstance(found, Page)
            else found
        )


class Recognising(InlineSandbox):
    """A sandbox that recognises a text in every document, as tesseract does."""

    def read_document(
        self,
        body: bytes,
        content_type: str = "",
        name: str = "",
        language: str | None = None,
    ) -> ReadDocument:
        return replace(
            super().read_document(body),
            texts=("A text that is only on the image of the page.",),
        )


def test_a_document_is_read_again_as_it_was_fetched(lake: Lake) -> None:
    desk = FetchedDesk(
        lake, PdfSite(texts={1: "Minutes of the council on the night buses."})
    )
    desk.fetch(entry(1))
    assert desk.changes() == {"a-1": "unchanged"}
    (batch,) = replay_articles(lake, DESK, lake.read(RawArticle), Recognising())
    assert [one.row and one.row.text for one in batch] == [
        "A text that is only on the image of the page."
    ]


def test_a_damaged_page_is_unreadable(desk: FetchedDesk) -> None:
    desk.fetch_stories(1, 2)
    desk.lake.transact(
        lambda rows: rows.upsert([broken(rows.read(StoredPage, article_id=["a-1"])[0])])
    )
    assert desk.changes() == {"a-1": "unreadable", "a-2": "unchanged"}


def broken(page: StoredPage) -> StoredPage:
    return replace(page, body_gzip=page.body_gzip[:-20])


def test_an_agency_of_the_lake_only_is_read_in_the_desks_time_zone(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1)
    without = replace(DESK, agencies=())
    (batch,) = replay_articles(
        desk.lake, without, desk.lake.read(RawArticle), InlineSandbox()
    )
    assert [one.change for one in batch] == ["unchanged"]


def test_groups_hold_whole_agency_days_and_about_as_many_articles_as_allowed(
    lake: Lake,
) -> None:
    desk = FetchedDesk(lake)
    entries = [
        entry(1),
        entry(2, "b"),
        entry(3, day=YESTERDAY),
        entry(4, day=YESTERDAY),
    ]
    desk.fetch(*entries)
    assert archive_groups(lake, "d", None, None, None) == [
        Group(
            AgencyDays("d", frozenset({("a", YESTERDAY), ("a", TODAY), ("b", TODAY)})),
            4,
        )
    ]
    assert archive_groups(lake, "d", "b", None, None) == [
        Group(AgencyDays("d", frozenset({("b", TODAY)})), 1)
    ]
    assert archive_groups(lake, "d", None, None, YESTERDAY) == [
        Group(AgencyDays("d", frozenset({("a", YESTERDAY)})), 2)
    ]
    assert archive_groups(lake, "d", None, TODAY + timedelta(days=1), None) == []
