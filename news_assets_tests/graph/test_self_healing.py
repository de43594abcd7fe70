"""The sample desk left to its sensors: it fills itself, mends what is deleted by hand, backs off and gives up."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.defs.active_runs import RANGE_START
from news_assets.demo.site import SampleSite
from news_assets.pipeline.freshness.run_planner import MAX_ATTEMPTS
from news_assets.pipeline.stage_state.failures import failure_of, make_due
from news_assets.records import (
    ArticleEmbedding,
    Desk,
    EnrichedArticle,
    Failure,
    FeedEntry,
    IndexedDocument,
    Poll,
    RawArticle,
)
from news_assets.store.queries.freshness import desk_gaps, freshness_checks
from news_assets_tests.support.graph import Graph, sample_desk
from news_assets_tests.support.search_backends import hashes

TABLES = (FeedEntry, RawArticle, EnrichedArticle, ArticleEmbedding, IndexedDocument)
DERIVED = TABLES[2:]


@pytest.fixture(scope="module")
def site() -> Iterator[SampleSite]:
    with SampleSite(datetime.now(UTC), port=0) as running:
        yield running


@pytest.fixture(scope="module")
def desk(site: SampleSite) -> Desk:
    return sample_desk(site)


@pytest.fixture
def graph(desk: Desk, tmp_path: Path, models_dir: Path) -> Iterator[Graph]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Graph(desk, tmp_path, models_dir, instance)


@pytest.fixture(scope="module")
def filled(desk: Desk, tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> tuple[Path, Path]:
    """The home of a graph that has filled itself, and a copy of it."""
    folder = tmp_path_factory.mktemp("filled")
    home, copy = folder / "home", folder / "copy"
    with dg.DagsterInstance.ephemeral() as instance:
        Graph(desk, home, models_dir, instance).settle()
    shutil.copytree(home, copy, symlinks=True)
    return home, copy


@pytest.fixture
def full(desk: Desk, filled: tuple[Path, Path], models_dir: Path) -> Iterator[Graph]:
    """The graph after it has filled itself, at the same path for every test: the catalog keeps it."""
    home, copy = filled
    shutil.rmtree(home)
    shutil.copytree(copy, home, symlinks=True)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Graph(desk, home, models_dir, instance)


def rows(graph: Graph) -> dict[str, set[Any]]:
    with graph.lake() as lake:
        return {record.__name__: {row.article_id for row in lake.read(record)} for record in TABLES}


def gaps(graph: Graph) -> dict[str, int]:
    with graph.lake() as lake, SqliteSearchIndex.open(graph.settings.search_path) as index:
        found = desk_gaps(lake, index, graph.desk, datetime.now(UTC), grace=timedelta())
    return {name: len(findings.rows) for name, findings in found.items()}


def test_it_fills_itself_and_is_quiet_then(graph: Graph) -> None:
    asked = graph.settle()
    assert [request.job_name for request in asked][:1] == ["sample_poll"]
    assert len(asked) <= 4
    stored = rows(graph)
    assert len(stored["RawArticle"]) == 9
    assert stored["EnrichedArticle"] == stored["ArticleEmbedding"] == stored["IndexedDocument"]
    assert set(gaps(graph)) == set(freshness_checks())
    assert not any(gaps(graph).values())
    assert graph.settle() == []


@pytest.mark.parametrize("record", TABLES[1:])
def test_rows_deleted_by_hand_come_back_and_nothing_else_is_asked_for(full: Graph, record: type[Any]) -> None:
    before = rows(full)
    with full.lake() as lake:
        lost = lake.read(record)[0]
        lake.transact(lambda transaction: transaction.delete(record, article_id=[lost.article_id]))
    assert sum(gaps(full).values()) >= 1
    asked = full.settle()
    assert rows(full) == before
    assert not any(gaps(full).values())
    assert {request.tags["dagster/asset_partition_range_start"] for request in asked} == {f"{lost.agency}|{lost.day}"}
    assert {request.tags["dagster/asset_partition_range_end"] for request in asked} == {f"{lost.agency}|{lost.day}"}


def test_a_lost_index_is_filled_again_and_what_the_lake_does_not_have_leaves_it(full: Graph) -> None:
    with SqliteSearchIndex.open(full.settings.search_path) as index:
        before = hashes(index, "sample")
        lost, *others = before
        index.delete([lost])
    assert gaps(full)["index_equals_lake"] == 1
    with full.lake() as lake:
        orphan = lake.read(RawArticle, article_id=others[:1])[0]
        for record in (FeedEntry, RawArticle, *DERIVED):
            lake.transact(lambda transaction, record=record: transaction.delete(record, article_id=[orphan.article_id]))
    assert gaps(full)["index_equals_lake"] == 2
    full.settle()
    with SqliteSearchIndex.open(full.settings.search_path) as index:
        assert hashes(index, "sample") == {key: before[key] for key in before if key != orphan.article_id}
    full.settings.search_path.unlink()
    full.settle()
    with SqliteSearchIndex.open(full.settings.search_path) as index:
        assert len(hashes(index, "sample")) == len(before) - 1


def test_what_is_lost_again_is_asked_for_again_under_another_key(full: Graph) -> None:
    keys = []
    for _ in range(2):
        with full.lake() as lake:
            lost = lake.read(EnrichedArticle)[0]
            lake.transact(lambda rows, lost=lost: rows.delete(EnrichedArticle, article_id=[lost.article_id]))
        full.skip_pauses()
        keys += [request.run_key for request in full.settle()]
        assert not any(gaps(full).values())
    assert len(keys) == len(set(keys)) == 2


def test_a_lost_document_that_was_given_up_is_mended_once_a_person_makes_it_due(full: Graph) -> None:
    with SqliteSearchIndex.open(full.settings.search_path) as index, full.lake() as lake:
        receipt = lake.read(IndexedDocument)[0]
        index.delete([receipt.article_id])
        failure = replace(
            failure_of(receipt, "search_index", receipt.document_hash, datetime.now(UTC)), attempts=MAX_ATTEMPTS
        )
        lake.transact(lambda rows: rows.upsert([failure]))
        full.skip_pauses()
        assert full.settle() == []
        lake.transact(lambda rows: make_due(rows, datetime.now(UTC)))
        full.skip_pauses()
        assert full.settle(), full.reasons
        assert receipt.article_id in hashes(index, "sample")


def test_an_article_materialised_alone_is_carried_to_the_index(full: Graph) -> None:
    with full.lake() as lake:
        article = lake.read(RawArticle, outcome=["ok"])[0]
        lake.transact(lambda transaction: transaction.upsert([replace(article, content_hash="edited by hand")]))
    assert gaps(full)["every_article_is_enriched"] == 1
    (request,) = full.settle()
    assert request.asset_selection is not None
    assert [key.path[1] for key in request.asset_selection] == [
        "enriched_articles",
        "article_embeddings",
        "search_index",
    ]
    assert not any(gaps(full).values())


def test_nothing_is_asked_for_while_a_run_for_it_is_under_way(graph: Graph) -> None:
    graph.obey(graph.tick("due_sources"))
    request, *_ = requests = graph.tick("pending_entries").run_requests or ()
    graph.skip_pauses()
    run = dg.DagsterRun(
        job_name="sample_articles",
        tags=dict(request.tags),
        status=dg.DagsterRunStatus.STARTING,
        asset_selection=frozenset(request.asset_selection or ()),
    )
    graph.instance.add_run(run)
    again = graph.tick("pending_entries").run_requests or ()
    assert len(again) == len(requests) - 1
    assert run.tags[RANGE_START] not in {other.tags[RANGE_START] for other in again}
    assert not graph.tick("stale_stages").run_requests
    graph.instance.report_run_canceled(run)
    graph.skip_pauses()
    graph.settle()
    assert not any(gaps(graph).values())


def test_a_desk_is_polled_once_at_a_time_and_only_when_something_is_due(graph: Graph) -> None:
    (request,) = graph.tick("due_sources").run_requests or ()
    assert request.run_config == {"ops": {"sample__feed_entries": {"config": {"only_due": True}}}}
    run = dg.DagsterRun(job_name="sample_poll", tags=dict(request.tags), status=dg.DagsterRunStatus.STARTED)
    graph.instance.add_run(run)
    assert not graph.tick("due_sources").run_requests
    graph.instance.report_run_failed(run)
    graph.obey(graph.tick("due_sources"))
    assert graph.tick("due_sources").skip_reason == dg.SkipReason("sources due: none")


def test_a_run_that_dies_is_asked_for_again_later_and_in_the_end_given_up_until_a_person_asks(graph: Graph) -> None:
    graph.obey(graph.tick("due_sources"))
    attempts = []
    for _ in range(MAX_ATTEMPTS):
        requests = graph.tick("pending_entries").run_requests
        assert requests
        attempts.append({request.tags["news/attempt"] for request in requests})
        assert not graph.tick("pending_entries").run_requests, "not before its pause is over"
        graph.skip_pauses()
    assert attempts == [{str(attempt)} for attempt in range(1, MAX_ATTEMPTS + 1)]
    assert not graph.tick("pending_entries").run_requests
    with graph.lake() as lake:
        given_up = lake.read(Failure)
        entries = lake.read(FeedEntry)
        assert {row.article_id for row in given_up} == {row.article_id for row in entries}
        assert {(row.stage, row.attempts, row.next_try_at) for row in given_up} == {
            ("raw_articles", MAX_ATTEMPTS, None)
        }
        graph.skip_pauses()
        assert graph.settle() == []
        due = [replace(row, next_try_at=datetime.now(UTC)) for row in given_up]
        lake.transact(lambda transaction: transaction.upsert(due))
        graph.skip_pauses()
        assert graph.settle()
        assert [row for row in lake.read(Failure) if row.next_try_at is None] == []
    assert not any(gaps(graph).values())


def test_a_desk_that_loses_an_agency_keeps_its_rows_and_its_search_answers(full: Graph, models_dir: Path) -> None:
    desk = replace(full.desk, agencies=full.desk.agencies[1:])
    smaller = Graph(desk, full.settings.home, models_dir, full.instance)
    before = rows(full)
    assert smaller.settle() == []
    assert rows(smaller) == before
    assert not any(gaps(smaller).values())
    with SqliteSearchIndex.open(full.settings.search_path) as index:
        assert len(hashes(index, "sample")) == len(before["IndexedDocument"])


def test_two_instances_that_heal_one_lake_at_the_same_time_do_no_harm(full: Graph, models_dir: Path) -> None:
    before = rows(full)
    with full.lake() as lake:
        for record in TABLES[1:]:
            lake.transact(lambda transaction, record=record: transaction.delete(record, agency=["prefeitura"]))
    with dg.DagsterInstance.ephemeral() as instance:
        other = Graph(full.desk, full.settings.home, models_dir, instance)
        with ThreadPoolExecutor(2) as threads:
            assert all(threads.map(Graph.settle, (full, other)))
    assert rows(full) == before
    assert not any(gaps(full).values())
    with full.lake() as lake:
        assert [len(lake.read(record)) for record in TABLES] == [len(before[record.__name__]) for record in TABLES]


def test_a_past_day_is_never_filled_from_todays_listing(full: Graph) -> None:
    with full.lake() as lake:
        article = lake.read(RawArticle, outcome=["ok"])[0]  # the feed still lists it
        for record in TABLES:
            lake.transact(lambda transaction, record=record: transaction.delete(record, day=[article.day]))
        polls = lake.read(Poll)
    assert full.run(article.day, article.day).success
    with full.lake() as lake:
        assert [row for record in TABLES for row in lake.read(record, day=[article.day])] == []
        assert lake.read(Poll) == polls


def test_a_lake_that_cannot_be_read_fails_the_tick_with_its_reason(graph: Graph) -> None:
    graph.settings.home.joinpath("catalog.sqlite").write_bytes(b"no database at all, only words")
    for sensor in graph.sensors:
        with pytest.raises(dg.DagsterError) as raised:
            graph.tick(sensor.name)
        assert "catalog.sqlite: the catalog cannot be opened; restore it" in str(raised.value.__cause__)
