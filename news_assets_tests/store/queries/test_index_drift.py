"""Documents that only the index or the lake has."""

from dataclasses import replace

from news_assets.pipeline.index import build_documents
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.store.queries.freshness import lost_documents
from news_assets_tests.store.examples import full
from news_assets_tests.support.small_desk import DESK, TODAY, Newsroom


def lost(room: Newsroom) -> list[tuple[str, str, str]]:
    found = lost_documents(room.lake, room.index, DESK, room.now)
    return list(found.select("article_id", "stage", "why").iter_rows())


def test_an_index_with_the_documents_of_the_lake_has_no_lost_documents(
    room: Newsroom,
) -> None:
    assert lost(room) == []


def test_a_run_of_the_index_fixes_documents_that_only_index_or_lake_has(
    room: Newsroom,
) -> None:
    (extra,) = build_documents(
        [
            full(
                RawArticle,
                article_id="a-9",
                desk="d",
                agency="a",
                day=TODAY,
                outcome="ok",
            )
        ],
        (),
        (),
        {},
    )
    room.index.upsert([extra, replace(extra, article_id="a-2", document_hash="other")])
    room.index.delete(["b-3"])
    assert sorted(lost(room)) == [
        ("a-2", "search_index", "another version"),
        ("a-9", "search_index", "not in the lake"),
        ("b-3", "search_index", "not in the index"),
    ]
    room.run("search_index")
    assert (lost(room), room.index.count()) == ([], 3)


def test_rows_that_are_stale_in_the_lake_are_not_lost(room: Newsroom) -> None:
    room.index.delete(["a-1", "a-2"])
    room.lake.transact(lambda rows: rows.delete(EnrichedArticle, article_id=["a-1"]))
    assert lost(room) == [("a-2", "search_index", "not in the index")]
