"""SQL and Python compute the same document hash."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.pipeline.articles.fetch import due_entries
from news_assets.pipeline.stage_declaration import document_hash
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    Failure,
    IndexedDocument,
)
from news_assets.records.desks import Desk
from news_assets.records.reading import Embedded
from news_assets.retry_table import STAGE
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import COLUMNS, pending_entries, stale_rows
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import full
from news_assets_tests.support.small_desk import (
    AGENCIES,
    DESK,
    NOW,
    TODAY,
    Newsroom,
    entry,
)

_TEXT = st.text(max_size=12) | st.sampled_from(
    ["", "\n", "a\nb", "\0", "ção 🎉", "\ud800", "'; --", "$now"]
)
_OUTCOME = st.sampled_from(["ok", "failed"])
Stages = tuple[RawArticle, EnrichedArticle | None, ArticleEmbedding | None]


@st.composite
def _made(draw: st.DrawFn, number: int) -> Stages:
    agency = draw(st.sampled_from("ab"))
    keys: dict[str, Any] = {
        "article_id": f"{agency}-{number}",
        "desk": "d",
        "agency": agency,
        "day": TODAY,
    }
    article = full(RawArticle, **keys, outcome="ok", content_hash=draw(_TEXT))
    enriched = full(
        EnrichedArticle,
        **keys,
        input_hash=draw(_TEXT),
        reused_from=draw(st.none() | _TEXT),
        outcome=draw(_OUTCOME),
    )
    embedding = full(
        ArticleEmbedding,
        **keys,
        input_hash=draw(_TEXT),
        model=draw(_TEXT),
        outcome=draw(_OUTCOME),
    )
    return (
        article,
        draw(st.sampled_from([enriched, None])),
        draw(st.sampled_from([embedding, None])),
    )


@pytest.mark.slow  # made rows by the hundred
@given(
    st.tuples(*(_made(number) for number in range(20))),
    st.text(st.characters(exclude_categories=["Cs"])),
)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_sql_and_python_compute_the_same_document_hash(
    lake: Lake, made: tuple[Stages, ...], name: str
) -> None:
    desk = replace(
        DESK, agencies=tuple(replace(agency, name=name) for agency in AGENCIES)
    )

    def store(rows: Transaction) -> None:
        for number, record in enumerate(
            (RawArticle, EnrichedArticle, ArticleEmbedding)
        ):
            rows.delete(record, desk=["d"])
            rows.upsert([one[number] for one in made if one[number] is not None])

    lake.transact(store)
    enriched = {
        row.article_id: row for row in lake.read(EnrichedArticle, outcome=["ok"])
    }
    embedded = {
        row.article_id: row for row in lake.read(ArticleEmbedding, outcome=["ok"])
    }
    expected = {
        article.article_id: document_hash(
            article,
            enriched.get(article.article_id),
            embedded.get(article.article_id),
            name,
        )
        for article in lake.read(RawArticle)
    }
    found = stale_rows(lake, desk, NOW).filter(stage="search_index")
    assert dict(found.select("article_id", "version").iter_rows()) == expected


STAGES = ("enriched_articles", "article_embeddings", "search_index")
RECORDS = {
    "enriched_articles": EnrichedArticle,
    "article_embeddings": ArticleEmbedding,
    "search_index": IndexedDocument,
}

Backlog = list[tuple[str, str, str]]


def pending(
    room: Newsroom, desk: Desk = DESK, first_day: date | None = None
) -> Backlog:
    found = pending_entries(room.lake, desk, room.now, first_day)
    return list(found.select("article_id", "stage", "why").iter_rows())


def stale(room: Newsroom, desk: Desk = DESK, first_day: date | None = None) -> Backlog:
    found = stale_rows(room.lake, desk, room.now, first_day)
    return list(found.select("article_id", "stage", "why").iter_rows())


def change(room: Newsroom, sql: str) -> None:
    room.lake.transact(lambda rows: rows.cursor.execute(sql))


def test_after_a_full_run_nothing_is_pending_or_stale(room: Newsroom) -> None:
    assert (pending(room), stale(room)) == ([], [])


def test_a_row_of_the_backlog_has_its_place_reason_and_time(room: Newsroom) -> None:
    room.list(entry(4, "b", trace_id="t4"))
    found = pending_entries(room.lake, DESK, NOW)
    assert (
        tuple(found.columns)
        == COLUMNS
        == tuple(stale_rows(room.lake, DESK, NOW).columns)
    )
    assert found.rows() == [
        ("b", TODAY, "b-4", "raw_articles", "missing", NOW, "one", "t4")
    ]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (
            "enriched_articles",
            [("enriched_articles", "missing"), ("search_index", "outdated")],
        ),
        (
            "article_embeddings",
            [("article_embeddings", "missing"), ("search_index", "outdated")],
        ),
        ("search_index", [("search_index", "missing")]),
    ],
)
def test_a_deleted_row_is_missing_and_outdates_its_document(
    room: Newsroom, stage: str, expected: list[tuple[str, str]]
) -> None:
    room.lake.transact(lambda rows: rows.delete(RECORDS[stage], article_id=["a-2"]))
    order = sorted(("a-2", *one) for one in expected)
    assert (pending(room), stale(room)) == ([], order)
    room.run(*(one for one, _ in expected))
    assert stale(room) == []


def test_a_deleted_article_is_pending_and_its_rows_are_orphaned(room: Newsroom) -> None:
    room.lake.transact(lambda rows: rows.delete(RawArticle, article_id=["b-3"]))
    assert pending(room) == [("b-3", "raw_articles", "missing")]
    assert stale(room) == sorted(("b-3", stage, "orphaned") for stage in STAGES)
    (found,) = stale_rows(room.lake, DESK, NOW).filter(stage="search_index").rows()
    assert found == (
        "b",
        TODAY - timedelta(days=40),
        "b-3",
        "search_index",
        "orphaned",
        NOW,
        "gone",
        "t",
    )
    room.run(*STAGES)
    assert (stale(room), len(room.lake.read(IndexedDocument)), room.index.count()) == (
        [],
        2,
        2,
    )
    room.run()
    assert (pending(room), stale(room), room.index.count()) == ([], [], 3)


def test_only_the_rows_of_a_changed_article_are_outdated_at_every_stage(
    room: Newsroom,
) -> None:
    room.list(replace(entry(1), entry_hash="two"))
    assert pending(room) == [("a-1", "raw_articles", "outdated")]
    room.pages.words = "Another text altogether. "
    room.run("raw_articles")
    assert pending(room) == []
    assert stale(room) == sorted(("a-1", stage, "outdated") for stage in STAGES)
    room.run()
    assert stale(room) == []


def test_documents_of_a_renamed_agency_are_outdated(room: Newsroom) -> None:
    renamed = replace(
        DESK, agencies=(AGENCIES[0], replace(AGENCIES[1], name="Outra\nCâmara"))
    )
    assert stale(room, renamed) == [("b-3", "search_index", "outdated")]


def test_agencies_that_the_desk_no_longer_has_are_excluded(room: Newsroom) -> None:
    room.list(entry(4, "b"))
    room.lake.transact(lambda rows: rows.delete(EnrichedArticle, article_id=["b-3"]))
    smaller = replace(DESK, agencies=AGENCIES[:1])
    assert (pending(room, smaller), stale(room, smaller)) == ([], [])


def test_days_before_the_first_day_are_excluded(room: Newsroom) -> None:
    room.lake.transact(
        lambda rows: rows.delete(EnrichedArticle, article_id=["a-1", "b-3"])
    )
    room.list(entry(4, "b", TODAY - timedelta(days=40)))
    recently = TODAY - timedelta(days=7)
    assert pending(room, first_day=recently) == []
    assert [found[0] for found in stale(room, first_day=recently)] == ["a-1", "a-1"]


@pytest.mark.parametrize("days", [-50, -1, 3])
def test_an_entry_moved_to_another_day_is_pending_and_then_its_rows_are_outdated(
    room: Newsroom, days: int
) -> None:
    room.list(replace(entry(1), day=TODAY + timedelta(days=days), is_moved=True))
    recently = min(TODAY, TODAY + timedelta(days=days))
    for first_day in (None, recently, TODAY + timedelta(days=days)):
        assert pending(room, first_day=first_day) == [
            ("a-1", "raw_articles", "outdated")
        ]
    room.run("raw_articles")
    assert pending(room) == []
    assert stale(room) == sorted(("a-1", stage, "outdated") for stage in STAGES)
    room.run()
    assert (stale(room), room.index.count()) == ([], 3)


def test_of_two_entries_with_one_article_the_first_counts(room: Newsroom) -> None:
    second = replace(
        entry(1),
        source_id="d/a/other",
        entry_hash="other",
        first_seen_at=NOW + timedelta(hours=1),
    )
    room.list(second)
    assert pending(room) == []
    room.list(replace(second, entry_hash="changed"))
    assert pending(room) == []
    room.list(replace(entry(1), entry_hash="two"))
    assert pending(room) == [("a-1", "raw_articles", "outdated")]
    room.run()
    assert (pending(room), stale(room)) == ([], [])


def test_an_entry_seen_before_the_one_an_article_was_made_from_replaces_it(
    room: Newsroom,
) -> None:
    room.list(
        replace(
            entry(1),
            source_id="d/a/other",
            entry_hash="other",
            first_seen_at=NOW - timedelta(hours=1),
        )
    )
    assert pending(room) == [("a-1", "raw_articles", "outdated")]
    room.run()
    assert pending(room) == []


def test_a_failed_fetch_is_pending_once_it_is_due(room: Newsroom) -> None:
    room.pages.missing.add("https://example.org/4")
    room.list(entry(4))
    room.run()
    assert (pending(room), stale(room)) == ([], [])
    (failed,) = room.lake.read(RawArticle, article_id=["a-4"])
    assert failed.next_try_at is not None
    room.now = failed.next_try_at
    assert pending(room) == [("a-4", "raw_articles", "due")]
    room.pages.missing.clear()
    room.run()
    assert (pending(room), stale(room), room.lake.read(Failure)) == ([], [], [])


def test_a_given_up_fetch_is_pending_only_after_the_entry_changes(
    room: Newsroom,
) -> None:
    room.pages.missing.add("https://example.org/4")
    room.list(entry(4))
    while (
        not room.lake.read(Failure)
        or room.lake.read(Failure)[0].next_try_at is not None
    ):
        room.run("raw_articles")
        room.now += timedelta(days=30)
    room.now += timedelta(days=3000)
    assert pending(room) == []
    room.list(replace(entry(4), entry_hash="two"))
    assert pending(room) == [("a-4", "raw_articles", "outdated")]


@pytest.mark.parametrize("stage", ["enriched_articles", "article_embeddings"])
def test_a_failed_row_is_held_back_until_it_is_due_and_always_once_given_up(
    room: Newsroom, stage: str
) -> None:
    worker = room.enricher if stage == "enriched_articles" else room.embedder
    worker.refused.add("line4")
    room.list(entry(4))
    room.run()
    (failure,) = room.lake.read(Failure)
    assert (failure.stage, failure.article_id, failure.attempts, stale(room)) == (
        stage,
        "a-4",
        1,
        [],
    )
    last = replace(failure, attempts=STAGE.max_attempts - 1)
    room.lake.transact(lambda rows: rows.upsert([last]))
    assert failure.next_try_at is not None
    room.now = failure.next_try_at
    assert stale(room) == [("a-4", stage, "failed")]
    room.run(stage)
    room.now += timedelta(days=3000)
    assert room.lake.read(Failure)[0].next_try_at is None
    assert stale(room) == []
    room.pages.words = "Another text altogether. "
    room.list(replace(entry(4), entry_hash="two"))
    room.run("raw_articles")
    assert ("a-4", stage, "outdated") in stale(room)
    worker.refused.clear()
    room.run()
    assert (stale(room), room.lake.read(Failure)) == ([], [])


def test_a_refused_document_waits_until_it_is_due(room: Newsroom) -> None:
    room.embedder.embed_query = lambda query: Embedded((0.0, 0.0), 1, is_cut=False)  # type: ignore[method-assign]
    room.list(entry(4))
    room.run()
    (failure,) = room.lake.read(Failure)
    assert (failure.stage, failure.article_id, stale(room)) == (
        "search_index",
        "a-4",
        [],
    )
    assert failure.next_try_at is not None
    room.now = failure.next_try_at
    assert stale(room) == [("a-4", "search_index", "failed")]


def test_a_failed_row_without_a_failure_is_stale_at_once(room: Newsroom) -> None:
    for table in ("enriched_articles", "article_embeddings", "indexed_documents"):
        change(room, f"UPDATE {table} SET outcome = 'failed' WHERE article_id = 'a-1'")
    assert stale(room) == [
        ("a-1", "article_embeddings", "failed"),
        ("a-1", "enriched_articles", "failed"),
        ("a-1", "search_index", "outdated"),
    ]
    change(room, "UPDATE enriched_articles SET outcome = 'ok'")
    change(room, "UPDATE article_embeddings SET outcome = 'ok'")
    assert stale(room) == [("a-1", "search_index", "failed")]


def test_a_failure_of_another_version_is_ignored(room: Newsroom) -> None:
    room.lake.transact(lambda rows: rows.delete(EnrichedArticle, article_id=["a-1"]))
    (work,) = (
        stale_rows(room.lake, DESK, NOW)
        .filter(stage="enriched_articles")
        .rows(named=True)
    )
    given_up = full(
        Failure,
        stage="enriched_articles",
        article_id="a-1",
        desk="d",
        version=work["version"],
        next_try_at=None,
    )
    room.lake.transact(lambda rows: rows.upsert([given_up]))
    assert stale(room) == [("a-1", "search_index", "outdated")]
    room.lake.transact(lambda rows: rows.upsert([replace(given_up, version="older")]))
    assert stale(room) == [
        ("a-1", "enriched_articles", "missing"),
        ("a-1", "search_index", "outdated"),
    ]


def test_rows_from_before_states_were_stored_are_current_after_one_run_of_the_index(
    room: Newsroom,
) -> None:
    for table in ("raw_articles", "enriched_articles", "article_embeddings"):
        change(room, f"UPDATE {table} SET content_hash = NULL")
    assert stale(room) == [
        (one, "search_index", "outdated") for one in ("a-1", "a-2", "b-3")
    ]
    room.run("search_index")
    assert (pending(room), stale(room)) == ([], [])
    room.lake.transact(lambda rows: rows.delete(EnrichedArticle, article_id=["a-1"]))
    room.run()
    assert (pending(room), stale(room)) == ([], [])


def test_rows_of_other_desks_are_excluded(room: Newsroom) -> None:
    other = replace(DESK, key="other")
    room.list(replace(entry(9), desk="other", article_id="other-9"))
    assert (pending(room), stale(room), pending(room, other)) == (
        [],
        [],
        [("other-9", "raw_articles", "missing")],
    )


# --- the same rule in SQL and in Python: which entries are fetched --------------------

_NUMBERS = st.integers(1, 12)  # many in one transaction, which takes longest
_HASH = st.sampled_from(["one", "two"])
_NEWS = st.sampled_from(["", "old", "new"])
_DAYS_AGO = st.integers(0, 2)
_HOURS = st.integers(-2, 2)


@st.composite
def _entries(draw: st.DrawFn) -> list[FeedEntry]:
    """Return entries of up to twelve articles; several may lead to one."""
    return [
        replace(
            entry(draw(_NUMBERS)),
            source_id=f"d/a/{number}",
            entry_hash=draw(_HASH),
            news_hash=draw(_NEWS),
            day=TODAY - timedelta(days=draw(_DAYS_AGO)),
            first_seen_at=NOW + timedelta(hours=draw(_HOURS)),
        )
        for number in range(draw(st.integers(0, 24)))
    ]


@st.composite
def _articles(draw: st.DrawFn) -> list[RawArticle]:
    """Return the stored rows of some of the articles, some of them failed and due at
    some time.
    """
    due = st.none() | _HOURS.map(lambda hours: NOW + timedelta(hours=hours))
    return [
        full(
            RawArticle,
            article_id=f"a-{number}",
            desk="d",
            agency="a",
            day=TODAY - timedelta(days=draw(_DAYS_AGO)),
            entry_hash=draw(_HASH),
            news_hash=draw(_NEWS),
            relisted=draw(st.sampled_from([0, 1, 2, 6, 1000])),
            fetched_at=NOW
            - timedelta(hours=draw(st.sampled_from([0, 1, 2, 4, 24, 25]))),
            next_try_at=draw(due),
        )
        for number in draw(st.sets(_NUMBERS))
    ]


@given(_entries(), _articles())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@pytest.mark.slow  # made rows by the hundred
def test_sql_and_python_agree_on_the_entries_to_fetch(
    lake: Lake, listed: list[FeedEntry], stored: list[RawArticle]
) -> None:
    def store(rows: Transaction) -> None:
        rows.delete(FeedEntry, desk=["d"])
        rows.delete(RawArticle, desk=["d"])
        rows.upsert(listed)
        rows.upsert(stored)

    lake.transact(store)
    due = due_entries(listed, {article.article_id: article for article in stored}, NOW)
    found = pending_entries(lake, DESK, NOW).select("article_id", "day", "version")
    assert sorted(found.iter_rows()) == sorted(
        (one.article_id, one.day, one.entry_hash) for one in due
    )
