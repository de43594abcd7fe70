"""The sample desk with its sensors alone: they fill it, restore deleted rows, back off
and give up.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.defs.active_runs import (
    ATTEMPT_TAG,
    RANGE_END,
    RANGE_START,
    poll_config,
)
from news_assets.defs.asset_checks import EXTRACTION_CHECK, FAILURE_CHECK
from news_assets.errors import LakeError
from news_assets.pipeline.failures import failure_of, make_due
from news_assets.pipeline.stages import STAGES
from news_assets.records.articles import FeedEntry, Poll, RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    Failure,
    IndexedDocument,
)
from news_assets.retry_table import RUN
from news_assets.store.queries.freshness import desk_gaps, freshness_checks
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.graph import Graph
from news_assets_tests.support.search_backends import hashes

TABLES = (FeedEntry, RawArticle, EnrichedArticle, ArticleEmbedding, IndexedDocument)
DERIVED = TABLES[2:]


def rows(graph: Graph) -> dict[str, set[Any]]:
    with graph.lake() as lake:
        return {
            record.__name__: {row.article_id for row in lake.read(record)}
            for record in TABLES
        }


def gaps(graph: Graph) -> dict[str, int]:
    with (
        graph.lake() as lake,
        SqliteSearchIndex.open(graph.settings.search_path) as index,
    ):
        found = desk_gaps(lake, index, graph.desk, datetime.now(UTC), grace=timedelta())
    return {name: len(findings.rows) for name, findings in found.items()}


def test_the_sensors_fill_the_desk_and_then_request_nothing(
    filled: Graph, filling: tuple[Path, list[dg.RunRequest]]
) -> None:
    _, requested = filling
    assert [request.job_name for request in requested][:1] == ["sample_poll"]
    assert len(requested) <= 4
    stored = rows(filled)
    assert len(stored["RawArticle"]) == 9
    assert (
        stored["EnrichedArticle"]
        == stored["ArticleEmbedding"]
        == stored["IndexedDocument"]
    )
    assert set(gaps(filled)) == set(freshness_checks())
    assert not any(gaps(filled).values())
    assert filled.settle() == []


@pytest.mark.slow  # several runs of the graph
def test_all_checks_run_once_when_the_desk_is_current_for_the_first_time(
    graph: Graph,
) -> None:
    assert graph.tick("first_checks").skip_reason == dg.SkipReason(
        "not current yet: sample"
    )
    graph.execute(graph.tick("due_sources"))
    assert not graph.tick("first_checks").run_requests, (
        "entries wait for their articles"
    )
    graph.settle()
    (result,) = graph.execute(graph.tick("first_checks"))
    evaluated = result.get_asset_check_evaluations()
    assert {check.check_name for check in evaluated} == {
        "ids_are_unique",
        EXTRACTION_CHECK,
        FAILURE_CHECK,
        *freshness_checks(),
        *row_checks(),
    }
    failed = [check for check in evaluated if not check.passed]
    # of the sample's dead link
    assert [check.check_name for check in failed] == [FAILURE_CHECK]
    assert failed[0].severity == dg.AssetCheckSeverity.WARN
    with graph.lake() as lake:
        lake.transact(lambda rows: rows.delete(EnrichedArticle, desk=["sample"]))
    assert not graph.tick("first_checks").run_requests
    graph.settle()
    assert not graph.tick("first_checks").run_requests


def row_checks() -> set[str]:
    return {check.name for stage in STAGES for check in stage.row_checks}


@pytest.mark.slow  # executes many runs
def test_a_desk_whose_checks_have_run_before_is_not_checked_again(
    filled: Graph,
) -> None:
    filled.check()
    assert filled.tick("first_checks").skip_reason == dg.SkipReason(
        "every desk has been checked"
    )


def test_deleted_rows_are_restored_by_runs_of_their_agency_days(filled: Graph) -> None:
    before = rows(filled)
    with filled.lake() as lake:
        articles = [
            row
            for row in lake.read(RawArticle, outcome=["ok"])
            if row.duplicate_of is None
        ]
        # one article for each stage
        lost = dict(zip(TABLES[1:], articles, strict=False))
        for record, article in lost.items():
            lake.transact(
                lambda rows, r=record, a=article: rows.delete(
                    r, article_id=[a.article_id]
                )
            )
    assert sum(gaps(filled).values()) >= len(lost) == 4
    requested = filled.settle()
    assert rows(filled) == before
    assert not any(gaps(filled).values())
    assert agency_days(requested) == {
        (article.agency, str(article.day)) for article in lost.values()
    }


def agency_days(requests: list[dg.RunRequest]) -> set[tuple[str, str]]:
    """Return the agencies and days in the ranges of these requests; the sample desk has
    two agencies.
    """
    found = set()
    for request in requests:
        first_agency, first = request.tags[RANGE_START].split("|")
        last_agency, last = request.tags[RANGE_END].split("|")
        days = pl.date_range(
            date.fromisoformat(first), date.fromisoformat(last), eager=True
        ).cast(str)
        found |= set(product({first_agency, last_agency}, days))
    return found


@pytest.mark.slow  # executes many runs
def test_missing_documents_are_indexed_again_and_orphaned_ones_deleted(
    filled: Graph,
) -> None:
    with SqliteSearchIndex.open(filled.settings.search_path) as index:
        before = hashes(index, "sample")
        lost, *others = before
        index.delete([lost])
    assert gaps(filled)["index_equals_lake"] == 1
    with filled.lake() as lake:
        orphan = lake.read(RawArticle, article_id=others[:1])[0]
        for record in (FeedEntry, RawArticle, *DERIVED):
            lake.transact(
                lambda transaction, record=record: transaction.delete(
                    record, article_id=[orphan.article_id]
                )
            )
    assert gaps(filled)["index_equals_lake"] == 2
    filled.settle()
    with SqliteSearchIndex.open(filled.settings.search_path) as index:
        assert hashes(index, "sample") == {
            key: before[key] for key in before if key != orphan.article_id
        }
    filled.settings.search_path.unlink()
    filled.settle()
    with SqliteSearchIndex.open(filled.settings.search_path) as index:
        assert len(hashes(index, "sample")) == len(before) - 1


@pytest.mark.slow  # several runs of the graph
def test_a_row_lost_again_is_requested_with_another_run_key(filled: Graph) -> None:
    keys = []
    for _ in range(2):
        with filled.lake() as lake:
            lost = lake.read(EnrichedArticle)[0]
            lake.transact(
                lambda rows, lost=lost: rows.delete(
                    EnrichedArticle, article_id=[lost.article_id]
                )
            )
        filled.skip_pauses()
        keys += [request.run_key for request in filled.settle()]
        assert not any(gaps(filled).values())
    assert len(keys) == len(set(keys)) == 2


@pytest.mark.slow  # several runs of the graph
def test_a_lost_document_that_was_given_up_is_indexed_once_made_due_by_hand(
    filled: Graph,
) -> None:
    with (
        SqliteSearchIndex.open(filled.settings.search_path) as index,
        filled.lake() as lake,
    ):
        receipt = lake.read(IndexedDocument)[0]
        index.delete([receipt.article_id])
        failure = replace(
            failure_of(
                receipt,
                "search_index",
                receipt.document_hash,
                None,
                datetime.now(UTC),
            ),
            attempts=RUN.max_attempts,
        )
        lake.transact(lambda rows: rows.upsert([failure]))
        filled.skip_pauses()
        assert filled.settle() == []
        lake.transact(lambda rows: make_due(rows, datetime.now(UTC)))
        filled.skip_pauses()
        assert filled.settle(), filled.reasons
        assert receipt.article_id in hashes(index, "sample")


@pytest.mark.slow  # executes many runs
def test_an_article_materialized_alone_is_processed_up_to_the_index(
    filled: Graph,
) -> None:
    with filled.lake() as lake:
        article = lake.read(RawArticle, outcome=["ok"])[0]
        lake.transact(
            lambda transaction: transaction.upsert(
                [replace(article, content_hash="edited by hand")]
            )
        )
    assert gaps(filled)["every_article_is_enriched"] == 1
    (request,) = filled.settle()
    assert request.asset_selection is not None
    assert [key.path[1] for key in request.asset_selection] == [
        "enriched_articles",
        "article_embeddings",
        "search_index",
    ]
    assert not any(gaps(filled).values())


@pytest.mark.slow  # several runs of the graph
def test_nothing_is_requested_while_a_run_for_it_is_in_progress(filled: Graph) -> None:
    graph = filled
    with graph.lake() as lake:
        by_day = sorted(lake.read(RawArticle, outcome=["ok"]), key=lambda row: row.day)
        ids = [by_day[0].article_id, by_day[-1].article_id]
        lake.transact(lambda rows: rows.delete(RawArticle, article_id=ids))
    request, *_ = requests = graph.tick("pending_entries").run_requests or ()
    assert len(requests) == 2
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


def polled_by(graph: Graph) -> list[list[str]]:
    """Return the sources of each poll that the sensor requests now."""
    requests = graph.tick("due_sources").run_requests or ()
    return [
        request.run_config["ops"]["sample__feed_entries"]["config"]["sources"]
        for request in requests
    ]


@pytest.mark.slow  # executes many runs
def test_sources_that_an_unfinished_run_polls_are_not_requested_and_the_others_are(
    graph: Graph,
) -> None:
    (request,) = graph.tick("due_sources").run_requests or ()
    first, *rest = [source.source_id for source in graph.desk.sources]
    assert request.run_config == poll_config(
        graph.desk, only_due=True, sources=[first, *rest]
    )
    config, started = (
        poll_config(graph.desk, only_due=True, sources=[first]),
        dg.DagsterRunStatus.STARTED,
    )
    slow = dg.DagsterRun(
        job_name="sample_poll",
        run_config=config,
        tags=dict(request.tags),
        status=started,
    )
    graph.instance.add_run(slow)
    assert polled_by(graph) == [rest]
    (poll,) = graph.execute(graph.tick("due_sources"))
    assert poll.success
    assert polled_by(graph) == [], "the slow run has not ended"
    with graph.lake() as lake:
        assert {poll.source_id for poll in lake.read(Poll)} == {*rest}
    graph.instance.report_run_failed(slow)
    assert polled_by(graph) == [[first]]
    graph.execute(graph.tick("due_sources"))
    assert graph.tick("due_sources").skip_reason == dg.SkipReason("sources due: none")


def test_a_run_by_hand_leaves_the_sources_to_the_run_that_polls_them(
    graph: Graph,
) -> None:
    first, *rest = [source.source_id for source in graph.desk.sources]
    config, started = (
        poll_config(graph.desk, only_due=True, sources=[first]),
        dg.DagsterRunStatus.STARTED,
    )
    graph.instance.add_run(
        dg.DagsterRun(job_name="sample_poll", run_config=config, status=started)
    )
    assert graph.poll().success
    with graph.lake() as lake:
        assert {poll.source_id for poll in lake.read(Poll)} == {*rest}


@pytest.mark.slow  # many runs of the graph
def test_runs_that_die_are_requested_again_with_pauses_then_given_up_until_made_due(
    graph: Graph,
) -> None:
    graph.execute(graph.tick("due_sources"))
    attempts = []
    for _ in range(RUN.max_attempts):
        requests = graph.tick("pending_entries").run_requests
        assert requests
        attempts.append({request.tags[ATTEMPT_TAG] for request in requests})
        assert not graph.tick("pending_entries").run_requests, "the pause is not over"
        graph.skip_pauses()
    assert attempts == [{str(attempt)} for attempt in range(1, RUN.max_attempts + 1)]
    assert not graph.tick("pending_entries").run_requests
    with graph.lake() as lake:
        given_up = lake.read(Failure)
        entries = lake.read(FeedEntry)
        assert {row.article_id for row in given_up} == {
            row.article_id for row in entries
        }
        assert {(row.stage, row.attempts, row.next_try_at) for row in given_up} == {
            ("raw_articles", RUN.max_attempts, None)
        }
        graph.skip_pauses()
        assert graph.settle() == []
        due = [replace(row, next_try_at=datetime.now(UTC)) for row in given_up]
        lake.transact(lambda transaction: transaction.upsert(due))
        graph.skip_pauses()
        assert graph.settle()
        assert [row for row in lake.read(Failure) if row.next_try_at is None] == []
    assert not any(gaps(graph).values())


@pytest.mark.slow  # executes many runs
def test_an_agency_removed_from_its_desk_keeps_rows_and_documents(
    filled: Graph,
) -> None:
    desk = replace(filled.desk, agencies=filled.desk.agencies[1:])
    smaller = Graph(desk, filled.settings.home, filled.instance, EMBEDDER)
    before = rows(filled)
    assert smaller.settle() == []
    assert rows(smaller) == before
    assert not any(gaps(smaller).values())
    with SqliteSearchIndex.open(filled.settings.search_path) as index:
        assert len(hashes(index, "sample")) == len(before["IndexedDocument"])


@pytest.mark.slow  # two instances of Dagster
@pytest.mark.exhaustive  # soak/test_kills.py lets several processes fill one lake at once
def test_two_instances_can_restore_one_lake_at_once(filled: Graph) -> None:
    before = rows(filled)
    with filled.lake() as lake:
        for record in TABLES[1:]:
            lake.transact(
                lambda transaction, record=record: transaction.delete(
                    record, agency=["prefeitura"]
                )
            )
    with dg.DagsterInstance.ephemeral() as instance:
        other = Graph(filled.desk, filled.settings.home, instance, EMBEDDER)
        with ThreadPoolExecutor(2) as threads:
            assert all(threads.map(Graph.settle, (filled, other)))
    assert rows(filled) == before
    assert not any(gaps(filled).values())
    with filled.lake() as lake:
        assert [len(lake.read(record)) for record in TABLES] == [
            len(before[record.__name__]) for record in TABLES
        ]


@pytest.mark.slow  # executes many runs
def test_a_past_day_is_never_filled_from_todays_listing(filled: Graph) -> None:
    with filled.lake() as lake:
        article = lake.read(RawArticle, outcome=["ok"])[0]  # the feed still lists it
        for record in TABLES:
            lake.transact(
                lambda transaction, record=record: transaction.delete(
                    record, day=[article.day]
                )
            )
        polls = lake.read(Poll)
    assert filled.run(article.day, article.day).success
    with filled.lake() as lake:
        assert [
            row for record in TABLES for row in lake.read(record, day=[article.day])
        ] == []
        assert lake.read(Poll) == polls


def test_a_lake_that_cannot_be_read_fails_the_tick_with_its_reason(
    graph: Graph,
) -> None:
    graph.settings.home.joinpath("catalog.sqlite").write_bytes(
        b"no database at all, only words"
    )
    for sensor in graph.sensors:
        with pytest.raises((LakeError, dg.DagsterError)) as raised:
            graph.tick(sensor.name)
        error = raised.value
        if isinstance(
            error, dg.DagsterError
        ):  # of a sensor with the lake as a resource
            assert isinstance(error.__cause__, LakeError)
            error = error.__cause__
        assert (
            "catalog.sqlite: the catalog cannot be opened; check permissions, or"
            in str(error)
        )
