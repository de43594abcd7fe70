"""Which workers count as alive after successive checks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

from news_assets.defs.instance import heartbeat
from news_assets.defs.instance.heartbeat import (
    MAX_UNCHANGED,
    WORKER_TAG,
    Heartbeat,
    HeartbeatMonitor,
)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    # two threads may read and write it
    with DagsterInstance.local_temp(str(tmp_path)) as opened:
        yield opened


def started_run(instance: DagsterInstance) -> DagsterRun:
    return instance.add_run(DagsterRun("any", status=DagsterRunStatus.STARTED))


def send_heartbeat(instance: DagsterInstance, run: DagsterRun) -> DagsterRun:
    with Heartbeat(instance, "worker0@here", run.run_id):
        pass
    again = instance.get_run_by_id(run.run_id)
    assert again is not None
    return again


def test_a_worker_is_dead_after_some_checks_without_a_new_heartbeat(
    instance: DagsterInstance,
) -> None:
    run, monitor = send_heartbeat(instance, started_run(instance)), HeartbeatMonitor()
    checks = [monitor.is_alive(instance, run) for _ in range(MAX_UNCHANGED + 1)]
    assert checks == [True] * MAX_UNCHANGED + [False]


def test_a_worker_that_sends_heartbeats_stays_alive(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "INTERVAL_S", 0.001)
    run, monitor = started_run(instance), HeartbeatMonitor()
    with Heartbeat(instance, "worker0@here", run.run_id) as sending:
        run = instance.get_run_by_id(run.run_id) or run
        for _ in range(3 * MAX_UNCHANGED):
            before = sending.count
            while sending.count == before:
                pass
            assert monitor.is_alive(instance, run)


def test_a_run_is_dead_once_its_worker_executes_another_one(
    instance: DagsterInstance,
) -> None:
    first = send_heartbeat(instance, started_run(instance))
    monitor = HeartbeatMonitor()
    assert monitor.is_alive(instance, first)
    second = send_heartbeat(instance, started_run(instance))
    assert [monitor.is_alive(instance, run) for run in (first, second)] == [False, True]


def test_a_run_without_a_worker_counts_as_alive(instance: DagsterInstance) -> None:
    run, monitor = started_run(instance), HeartbeatMonitor()
    assert WORKER_TAG not in run.tags
    assert all(monitor.is_alive(instance, run) for _ in range(3 * MAX_UNCHANGED))
