"""The search index away, behind or wrong: what the graph says, what it leaves alone, and that all is current after."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.demo.site import SampleSite
from news_assets.errors import IndexingError
from news_assets.pipeline.rebuild import read_documents
from news_assets.records import ArticleEmbedding, IndexedDocument
from news_assets.store.behind import documents_lost
from news_assets.store.gaps import desk_gaps
from news_assets.store.lake import Lake
from news_assets_tests.graph import Graph, sample_desk
from news_assets_tests.search_places import ADMIN_KEY, BACKENDS, Place, named
from news_assets_tests.small_desk import DESK, TODAY, Newsroom, entry
from news_assets_tests.stored import hashes
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


OUTAGES: dict[str, tuple[Callable[[TestServer], AbstractContextManager[None]], str]] = {
    "away": (lambda server: server.down(), "no connection"),
    "starting": (lambda server: fault(server, is_not_ready=True), "not ready"),
    "read-only": (lambda server: fault(server, is_read_only=True), "read-only"),
    "out of disk": (lambda server: fault(server, out_of="OUT_OF_DISK"), "no room to write"),
}


@pytest.fixture
def graph(tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Graph, TestServer]]:
    with (
        named("typesense", tmp_path, monkeypatch.setenv) as place,
        SampleSite(datetime.now(UTC), port=0) as site,
        dg.DagsterInstance.ephemeral() as instance,
    ):
        assert place.server is not None
        names = {"search": place.search, "typesense_api_key": ADMIN_KEY}
        yield Graph(sample_desk(site), tmp_path, models_dir, instance, **names), place.server


def said(result: dg.ExecuteInProcessResult) -> list[str]:
    """Return what the failed steps of a run say, by their innermost error."""
    return [str(event.step_failure_data.error) for event in result.all_events if event.is_step_failure]


def receipts(graph: Graph) -> list[str]:
    with graph.lake() as lake:
        return lake.frame(IndexedDocument, None, ("article_id",))["article_id"].to_list()


@pytest.mark.slow  # five runs of the sample graph
def test_an_outage_fails_the_index_with_one_reason_and_everything_is_current_after_it(
    graph: tuple[Graph, TestServer],
) -> None:
    made, server = graph
    today = datetime.now(UTC).date()
    assert made.poll().success
    for outage, reason in OUTAGES.values():
        with outage(server):
            result = made.run(today - timedelta(days=4), today)
            (failed,) = said(result)
        assert reason in failed.splitlines()[0]
        assert ADMIN_KEY not in failed
        assert receipts(made) == []
    with made.lake() as lake:
        embedded = {row.article_id for row in lake.read(ArticleEmbedding)}
    assert len(embedded) == 8, "the stages before the index went on"
    made.settle()
    assert set(receipts(made)) == embedded
    with server.down():
        tick = made.tick("lost_documents")
        assert (tick.run_requests, "no connection" in str(tick.skip_reason)) == ([], True)
        checks = {one.check_name: one.passed for one in made.check().get_asset_check_evaluations()}
    assert "index_equals_lake" not in checks
    assert set(checks.values()) == {True}
    assert made.settle() == []


# --- reconciliation, over both backends -------------------------------------------------------------------------------


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with named(request.param, tmp_path, monkeypatch.setenv) as made:
        yield made


@pytest.fixture
def room(place: Place, tmp_path: Path) -> Iterator[Newsroom]:
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake, place.open() as index:
        made = Newsroom(lake, index)
        made.list(entry(1), entry(2), entry(3, "b", TODAY - timedelta(days=3)))
        made.run()
        yield made


def lost(room: Newsroom) -> list[tuple[str, str]]:
    found = documents_lost(room.lake, room.index, DESK, room.now)
    return sorted(found.select("article_id", "why").iter_rows())


def test_missing_stale_and_orphaned_documents_are_found_and_mended(room: Newsroom) -> None:
    before = hashes(room.index, "d")
    (one,) = read_documents(room.lake, ["a-1"], {})
    room.index.upsert([replace(one, document_hash="stale"), replace(one, article_id="a-9")])
    room.index.delete(["b-3"])
    assert lost(room) == [("a-1", "another version"), ("a-9", "not in the lake"), ("b-3", "not in the index")]
    gaps = desk_gaps(room.lake, room.index, DESK, room.now, grace=timedelta())
    assert len(gaps["index_equals_lake"].rows) == 3
    room.run("search_index")
    assert (lost(room), hashes(room.index, "d")) == ([], before)


def test_a_server_that_replays_its_log_has_lost_nothing(room: Newsroom, place: Place) -> None:
    if place.server is None:
        pytest.skip("only a server replays a log")
    with fault(place.server, queued_writes=40_000):
        with pytest.raises(IndexingError, match="40000 writes are waiting"):
            lost(room)
        gaps = desk_gaps(room.lake, room.index, DESK, room.now, grace=timedelta())
        assert (gaps["index_equals_lake"].rows, "writes are waiting" in gaps["index_equals_lake"].unknown) == ((), True)
    assert lost(room) == []
