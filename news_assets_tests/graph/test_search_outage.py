"""An unavailable search server and an index that differs from the lake: errors, what
stays as it is, and recovery.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.clients.search.typesense import typesense_index
from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets.demo import SampleSite
from news_assets.errors import IndexingError
from news_assets.pipeline.reindex import read_documents
from news_assets.records.derived import ArticleEmbedding, IndexedDocument
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import desk_gaps, lost_documents
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.graph import Graph, sample_desk
from news_assets_tests.support.search_backends import (
    ADMIN_KEY,
    BACKENDS,
    Backend,
    configured_backend,
    hashes,
)
from news_assets_tests.support.small_desk import DESK, TODAY, Newsroom, entry
from news_assets_tests.typesense_server import TestServer


@contextmanager
def fault(server: TestServer, **switches: object) -> Iterator[None]:
    before = {name: getattr(server.faults, name) for name in switches}
    for name, value in switches.items():
        setattr(server.faults, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(server.faults, name, value)


@contextmanager
def slow(server: TestServer) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, fault(server, delay_s=0.4):
        patch.setattr(typesense_index, "SEARCH_TIMEOUT_S", 0.2)
        yield


@contextmanager
def wrong_key(_: TestServer) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEWS_TYPESENSE_API_KEY", WRONG_KEY)
        yield


WRONG_KEY = "a-key-that-the-server-does-not-know"
OUTAGES: dict[str, tuple[Callable[[TestServer], AbstractContextManager[None]], str]] = {
    "stopped": (lambda server: server.down(), "no connection"),
    "starting": (lambda server: fault(server, is_not_ready=True), "not ready"),
    "slow": (slow, "no response in time"),
    "failing": (lambda server: fault(server, fails_next=1_000), "the server failed"),
    "hanging up": (
        lambda server: fault(server, drops_connections=1_000),
        "the connection broke",
    ),
    "read-only": (lambda server: fault(server, is_read_only=True), "read-only"),
    "out of disk": (
        lambda server: fault(server, out_of="OUT_OF_DISK"),
        "no space to write",
    ),
    "locked": (wrong_key, "refuses the API key; check NEWS_TYPESENSE_API_KEY"),
}


@pytest.fixture
def graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Graph, TestServer]]:
    with (
        configured_backend("typesense", tmp_path, monkeypatch.setenv) as place,
        SampleSite(datetime.now(UTC), port=0) as site,
        dg.DagsterInstance.ephemeral() as instance,
    ):
        assert place.server is not None
        names = {"search": place.search, "typesense_api_key": ADMIN_KEY}
        yield (
            Graph(sample_desk(site), tmp_path, instance, EMBEDDER, **names),
            place.server,
        )


def indexed(graph: Graph, first: date, last: date) -> dg.ExecuteInProcessResult:
    """Materialise `search_index` alone, over every agency and these days."""
    keys = sorted(agency.key for agency in graph.desk.agencies)
    request = dg.RunRequest(
        job_name=f"{graph.desk.key}_articles",
        asset_selection=[dg.AssetKey([graph.desk.key, "search_index"])],
        tags={
            "dagster/asset_partition_range_start": f"{keys[0]}|{first}",
            "dagster/asset_partition_range_end": f"{keys[-1]}|{last}",
        },
    )
    (result,) = graph.execute(dg.SensorResult(run_requests=[request]))
    return result


def errors(result: dg.ExecuteInProcessResult) -> list[str]:
    """Return the errors of a run's failed steps."""
    return [
        str(event.step_failure_data.error)
        for event in result.all_events
        if event.is_step_failure
    ]


def receipts(graph: Graph) -> list[str]:
    with graph.lake() as lake:
        return lake.frame(IndexedDocument, None, ("article_id",))[
            "article_id"
        ].to_list()


@pytest.mark.slow  # for each outage a run of the last stage
@pytest.mark.parametrize(
    "outages",
    [
        ("stopped", "locked"),
        # test_typesense_index.py has the reason of each
        pytest.param(tuple(OUTAGES), id="all", marks=pytest.mark.exhaustive),
    ],
)
def test_an_outage_fails_the_index_with_one_reason_and_everything_is_current_after_it(
    graph: tuple[Graph, TestServer],
    outages: tuple[str, ...],
    capfd: pytest.CaptureFixture[str],
) -> None:
    sample, server = graph
    days = datetime.now(UTC).date() - timedelta(days=4), datetime.now(UTC).date()
    assert sample.poll().success
    with server.down():
        results = [sample.run(*days)]
    with sample.lake() as lake:
        embedded = {row.article_id for row in lake.read(ArticleEmbedding)}
    assert len(embedded) == 8, "the stages before the index are not affected"
    for name in outages:
        outage, reason = OUTAGES[name]
        with outage(server):
            results.append(indexed(sample, *days))
        (failed,) = errors(results[-1])
        assert reason in failed.splitlines()[0], name
        assert receipts(sample) == [], name
    written = "".join(capfd.readouterr()) + str(
        [result.all_events for result in results]
    )
    assert "refuses the API key" in written
    assert not [key for key in (ADMIN_KEY, WRONG_KEY) if key in written]
    sample.settle()
    assert set(receipts(sample)) == embedded
    with server.down():
        tick = sample.tick("lost_documents")
        assert (tick.run_requests, "no connection" in str(tick.skip_reason)) == (
            [],
            True,
        )
        checks = {
            one.check_name: one.passed
            for one in sample.check().get_asset_check_evaluations()
        }
    assert "index_equals_lake" not in checks
    assert set(checks.values()) == {True}
    assert sample.settle() == []


# --- reconciliation, over both backends -----------------------------------------------


@pytest.fixture(params=BACKENDS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    with configured_backend(request.param, tmp_path, monkeypatch.setenv) as made:
        yield made


@pytest.fixture
def room(place: Backend, lake: Lake) -> Iterator[Newsroom]:
    with place.open() as index:
        newsroom = Newsroom(lake, index)
        newsroom.list(entry(1), entry(2), entry(3, "b", TODAY - timedelta(days=3)))
        newsroom.run()
        yield newsroom


def lost(room: Newsroom) -> list[tuple[str, str]]:
    found = lost_documents(room.lake, room.index, DESK, room.now)
    return sorted(found.select("article_id", "why").iter_rows())


def test_missing_stale_and_orphaned_documents_are_found_and_fixed(
    room: Newsroom,
) -> None:
    before = hashes(room.index, "d")
    (one,) = read_documents(room.lake, ["a-1"], {})
    room.index.upsert(
        [replace(one, document_hash="stale"), replace(one, article_id="a-9")]
    )
    room.index.delete(["b-3"])
    assert lost(room) == [
        ("a-1", "another version"),
        ("a-9", "not in the lake"),
        ("b-3", "not in the index"),
    ]
    gaps = desk_gaps(room.lake, room.index, DESK, room.now, grace=timedelta())
    assert len(gaps["index_equals_lake"].rows) == 3
    room.run("search_index")
    assert (lost(room), hashes(room.index, "d")) == ([], before)


# only a server replays a log
@pytest.mark.parametrize("place", ["typesense"], indirect=True)
def test_a_server_that_replays_its_log_has_lost_no_document(
    room: Newsroom, place: Backend
) -> None:
    assert place.server is not None
    assert isinstance(room.index, TypesenseSearchIndex)
    room.index.connection.queue_wait_s = 0.0
    with fault(place.server, queued_writes=40_000):
        with pytest.raises(IndexingError, match="40000 writes are waiting"):
            lost(room)
        gaps = desk_gaps(room.lake, room.index, DESK, room.now, grace=timedelta())
        assert (
            gaps["index_equals_lake"].rows,
            "writes are waiting" in gaps["index_equals_lake"].unknown,
        ) == ((), True)
    assert lost(room) == []
