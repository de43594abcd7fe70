"""Who counts as alive, seen at successive looks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

from news_assets.defs.instance import heartbeat
from news_assets.defs.instance.heartbeat import STILL_LOOKS, WORKER_TAG, Heartbeat, HeartbeatWatch


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.local_temp(str(tmp_path)) as opened:  # two threads may read and write it
        yield opened


def started_run(instance: DagsterInstance) -> DagsterRun:
    return instance.add_run(DagsterRun("any", status=DagsterRunStatus.STARTED))


def beat_once(instance: DagsterInstance, run: DagsterRun) -> DagsterRun:
    with Heartbeat(instance, "worker0@here", run.run_id):
        pass
    again = instance.get_run_by_id(run.run_id)
    assert again is not None
    return again


def test_a_worker_that_beats_no_more_is_dead_after_some_looks_and_not_before(instance: DagsterInstance) -> None:
    run, watch = beat_once(instance, started_run(instance)), HeartbeatWatch()
    looks = [watch.is_alive(instance, run) for _ in range(STILL_LOOKS + 1)]
    assert looks == [True] * STILL_LOOKS + [False]


def test_a_worker_that_beats_is_alive_however_often_one_looks(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_S", 0.001)
    run, watch = started_run(instance), HeartbeatWatch()
    with Heartbeat(instance, "worker0@here", run.run_id) as beating:
        run = instance.get_run_by_id(run.run_id) or run
        for _ in range(3 * STILL_LOOKS):
            before = beating.count
            while beating.count == before:
                pass
            assert watch.is_alive(instance, run)


def test_a_run_whose_worker_has_gone_on_to_another_one_is_dead_at_once(instance: DagsterInstance) -> None:
    first = beat_once(instance, started_run(instance))
    watch = HeartbeatWatch()
    assert watch.is_alive(instance, first)
    second = beat_once(instance, started_run(instance))
    assert [watch.is_alive(instance, run) for run in (first, second)] == [False, True]


def test_a_run_that_no_worker_took_is_not_judged(instance: DagsterInstance) -> None:
    run, watch = started_run(instance), HeartbeatWatch()
    assert WORKER_TAG not in run.tags
    assert all(watch.is_alive(instance, run) for _ in range(3 * STILL_LOOKS))
