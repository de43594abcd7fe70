"""Articles whose texts were withdrawn: what is removed, what stays away, and what comes
back.
"""

import gzip
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from news_assets.errors import LakeError
from news_assets.pipeline.articles.fetch import fetch_entries, store_articles
from news_assets.pipeline.articles.withdrawal import bring_back, withdraw
from news_assets.pipeline.poll.poll_loop import Polled
from news_assets.pipeline.poll.poll_rows import store_polls
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.derived import CachedEnrichment
from news_assets.records.desks import Source
from news_assets.records.model_calls import ModelCall
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.store.lake import Lake
from news_assets.store.maintenance import maintain
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.tables import TABLES
from news_assets_tests.store.examples import full
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import DESK, NOW, Newsroom, entry

SECRET = "line1"  # a word of the first article's text, and of nothing else
LISTED = f"The vote on {SECRET}."


WORDS = "Day and night. "  # of the edited page


@pytest.fixture(scope="module")
def edited(
    empty_lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, FakeSearchIndex]:
    """The folder of a closed lake and the index of `room`."""
    folder = tmp_path_factory.mktemp("edited")
    copy_lake(empty_lake, folder)
    with Lake.open(folder / "catalog.sqlite", folder / "data") as lake:
        index = FakeSearchIndex()
        room = Newsroom(lake, index)
        room.list(entry(1, summary=LISTED, content_html=f"<p>{LISTED}</p>"), entry(2))
        room.run()
        room.pages.words = WORDS
        [first] = room.lake.read(FeedEntry, article_id=["a-1"])
        room.list(replace(first, entry_hash="two"))
        room.run()
    return folder, index


@pytest.fixture
def room(edited: tuple[Path, FakeSearchIndex], tmp_path: Path) -> Iterator[Newsroom]:
    """Two articles; the first was edited once, and its source lists its text."""
    folder, index = edited
    copy_lake(folder, tmp_path)
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        room = Newsroom(lake, deepcopy(index))
        room.pages.words = WORDS
        yield room


def take_down(room: Newsroom, reason: str = "ordered by a court") -> None:
    room.lake.transact(
        lambda rows: withdraw(
            rows, rows.read(RawArticle, article_id=["a-1"]), reason, NOW
        )
    )


def rows_with(lake: Lake, word: str) -> set[str]:
    """Return the tables with a row of the first article, or of no article, that has
    this word; pages are unpacked.
    """
    found = set()
    for table in TABLES:
        for row in lake.read(table.record):
            values = [getattr(row, field.name) for field in fields(row)]
            if any(word in value for value in map(text_of, values)):
                found.add(table.name)
    return found


def text_of(value: Any) -> str:
    return (
        gzip.decompress(value).decode()
        if isinstance(value, bytes) and value[:2] == b"\x1f\x8b"
        else str(value)
    )


def test_the_text_leaves_every_table_and_the_row_says_why(room: Newsroom) -> None:
    assert rows_with(room.lake, SECRET) == {
        "entries",
        "pages",
        "raw_articles",
        "article_revisions",
    }

    take_down(room)

    assert rows_with(room.lake, SECRET) == set()
    [row] = room.lake.read(RawArticle, article_id=["a-1"])
    assert (row.outcome, row.reason, row.withdrawn_at, row.title) == (
        "withdrawn",
        "ordered by a court",
        NOW,
        "Bus",
    )
    assert [
        other.outcome for other in room.lake.read(RawArticle, article_id=["a-2"])
    ] == ["ok"]


def test_a_model_s_answers_and_results_go_with_the_text_and_their_price_stays(
    room: Newsroom,
) -> None:
    call = full(
        ModelCall,
        article_id="a-1",
        input_hash="of entities",
        answer_json=SECRET,
        reason=SECRET,
    )
    cached = full(CachedEnrichment, input_hash="of entities", result_json=SECRET)
    room.lake.transact(lambda rows: [rows.upsert([row]) for row in (call, cached)])

    take_down(room)

    assert rows_with(room.lake, SECRET) == set()
    assert room.lake.read(ModelCall) == [replace(call, answer_json=None, reason=None)]


def test_the_index_loses_the_document_and_nothing_is_left_to_do(room: Newsroom) -> None:
    take_down(room)
    room.run("search_index")

    assert set(room.index.stored("d")["article_id"]) == {"a-2"}
    assert pending_entries(room.lake, DESK, NOW).is_empty()
    assert stale_rows(room.lake, DESK, NOW).is_empty()


@pytest.mark.slow  # runs the stages several times
def test_a_changed_listing_brings_no_text_back_and_asks_for_no_page(
    room: Newsroom,
) -> None:
    take_down(room)
    source = Source(
        source_id="d/a/feed",
        desk="d",
        agency="a",
        kind="feed",
        url="https://e.org",
        timezone="UTC",
        language="en",
    )
    again = ListedEntry(
        entry_id="1",
        url="https://example.org/1",
        title="Bus 1 stays",
        summary=f"{LISTED} Again.",
    )
    page = Page(
        url=source.url, final_url=source.url, status=200, body=b"", fetched_at=NOW
    )
    polled = Polled(
        source=source,
        polled_at=NOW,
        page=page,
        listing=Listing(entries=(again,)),
        outcome="ok",
    )

    room.lake.transact(lambda rows: store_polls(rows, [polled], "t"))
    room.pages.missing.add("https://example.org/1")  # a request would leave a reason
    room.run()

    assert [row.entry_hash for row in room.lake.read(FeedEntry, entry_id=["1"])] != [
        "two"
    ]
    assert rows_with(room.lake, SECRET) == set()
    assert [row.reason for row in room.lake.read(RawArticle, article_id=["a-1"])] == [
        "ordered by a court"
    ]
    assert pending_entries(room.lake, DESK, NOW).is_empty()


@pytest.mark.slow  # runs the stages several times
def test_a_page_that_was_being_fetched_meanwhile_is_not_stored(room: Newsroom) -> None:
    fetched = list(
        fetch_entries([entry(1), entry(2)], DESK, room.pages, InlineSandbox())
    )
    take_down(room)

    stage = stage_named("raw_articles")
    stored = room.lake.transact(
        lambda rows: store_articles(rows, stage, DESK, fetched, NOW)
    )

    assert [row.article_id for row in stored] == ["a-2"]
    assert rows_with(room.lake, SECRET) == set()


@pytest.mark.slow  # runs the stages several times
def test_everything_comes_back_as_it_was(room: Newsroom) -> None:
    lake = room.lake
    tables = [
        table
        for table in TABLES
        if table.name not in ("enrichments", "indexed_documents", "changes")
    ]
    before = {table.name: lake.read(table.record) for table in tables}
    take_down(room)
    room.run("search_index")
    [article] = lake.read(RawArticle, article_id=["a-1"])
    maintain(lake, now=datetime.now(NOW.tzinfo), grace=timedelta(0))

    with lake.at(article.withdrawn_after) as former:
        lake.transact(lambda rows: bring_back(rows, former, [article]))

    assert {table.name: lake.read(table.record) for table in tables} == before
    room.run("search_index")
    assert set(room.index.stored("d")["article_id"]) == {"a-1", "a-2"}


@pytest.mark.slow  # a round of maintenance
def test_maintenance_ends_the_way_back(room: Newsroom) -> None:
    take_down(room)
    [article] = room.lake.read(RawArticle, article_id=["a-1"])
    maintain(room.lake, now=datetime.now(NOW.tzinfo) + timedelta(days=8))

    with (
        pytest.raises(LakeError, match="No snapshot found"),
        room.lake.at(article.withdrawn_after) as former,
    ):
        former.read(RawArticle)


def refetch(room: Newsroom, status: int, later: timedelta = timedelta(0)) -> RawArticle:
    """Fetch the first article because its entry changed, `later` than before; its page
    answers with this status.
    """
    room.now += later
    room.pages.refused = {"https://example.org/1": status} if status != 200 else {}
    [listed] = room.lake.read(FeedEntry, article_id=["a-1"])
    room.list(replace(listed, entry_hash=f"{listed.entry_hash}+"))
    room.run("raw_articles")
    return room.lake.read(RawArticle, article_id=["a-1"])[0]


# below, 451 is an answer as 410 is
@pytest.mark.parametrize(
    "status", [410, pytest.param(451, marks=pytest.mark.exhaustive)]
)
@pytest.mark.slow  # runs the stages several times
def test_an_article_that_its_publisher_removed_is_withdrawn_after_a_second_answer_a_day_later(
    room: Newsroom, status: int
) -> None:
    first = refetch(room, status)
    assert (first.outcome, first.removed_at, first.next_try_at) == (
        "ok",
        NOW,
        NOW + timedelta(days=1),
    )

    room.now += timedelta(days=1)
    room.run()

    [row] = room.lake.read(RawArticle, article_id=["a-1"])
    assert (row.outcome, row.withdrawn_at) == ("withdrawn", room.now)
    assert row.reason == "removed by its publisher, first seen 2026-11-20 15:00Z"
    assert rows_with(room.lake, SECRET) == set()
    assert set(room.index.stored("d")["article_id"]) == {"a-2"}
    assert pending_entries(room.lake, DESK, room.now).is_empty()


@pytest.mark.parametrize(
    ("statuses", "kept_since"),
    [
        ([410, 451], NOW),
        ([410, 503, 410], NOW),
        ([410, 404, 410], NOW + timedelta(hours=10)),
        ([410, 200], None),
    ],
)
@pytest.mark.slow  # runs the stages several times
def test_a_removal_counts_from_the_first_of_answers_in_a_row(
    room: Newsroom, statuses: list[int], kept_since: datetime | None
) -> None:
    for status in statuses[:1]:
        refetch(room, status)
    for status in statuses[1:]:
        row = refetch(room, status, timedelta(hours=5))

    assert (row.outcome, row.removed_at) == ("ok", kept_since)
    assert kept_since is None or row.next_try_at == kept_since + timedelta(days=1)


@pytest.mark.slow  # runs the stages several times
def test_an_article_that_an_operator_brings_back_is_not_withdrawn_for_what_its_page_answered_before(
    room: Newsroom,
) -> None:
    refetch(room, 410)
    refetch(room, 410, timedelta(days=1))
    [article] = room.lake.read(RawArticle, article_id=["a-1"])

    with room.lake.at(article.withdrawn_after) as former:
        room.lake.transact(lambda rows: bring_back(rows, former, [article]))
    room.now += timedelta(days=1)
    room.run()

    assert [row.outcome for row in room.lake.read(RawArticle, article_id=["a-1"])] == [
        "ok"
    ]
