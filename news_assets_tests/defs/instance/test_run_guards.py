"""Which workers count as alive after successive checks, and what a worker does when idle or stuck."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

from news_assets.defs.instance import run_guards
from news_assets.defs.instance.run_guards import (
    MAX_UNCHANGED,
    WORKER_TAG,
    Heartbeat,
    HeartbeatMonitor,
    IdleTimer,
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
    monkeypatch.setattr(run_guards, "INTERVAL_S", 0.001)
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


def test_a_worker_without_a_run_for_a_while_is_told_once() -> None:
    told = threading.Semaphore(0)
    timer = IdleTimer(told.release, idle_s=0.0)
    with timer:
        pass
    assert timer._timer is not None
    timer._timer.join()
    assert told.acquire(blocking=False)
    assert not told.acquire(blocking=False)


def test_a_run_that_begins_in_time_stops_the_timer() -> None:
    told = threading.Event()
    timer = IdleTimer(told.set, idle_s=3600.0)
    with timer:
        pass
    waiting = timer._timer
    assert waiting is not None
    with timer:
        waiting.join()
    assert not told.is_set()


_PROGRAM = """
import re, sys, time
from news_assets.defs.instance.run_guards import Watchdog
with Watchdog(limit_s=1.0):
    {work}
{after}
print("ended")
"""


def run(work: str, after: str = "") -> subprocess.CompletedProcess[str]:
    program = _PROGRAM.format(work=work, after=after)
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_process_whose_gil_is_held_ends_and_says_where() -> None:
    ended = run('re.match(r"(a+)+$", "a" * 64 + "b")')
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Timeout (0:00:01)!" in ended.stderr
    assert "in match" in ended.stderr


@pytest.mark.parametrize(
    "work",
    [
        "time.sleep(2.5)",
        "end = time.monotonic() + 2.5\n    while time.monotonic() < end: pass",
    ],
)
def test_a_process_that_waits_or_works_in_python_goes_on(work: str) -> None:
    ended = run(work)
    assert (ended.returncode, ended.stdout) == (0, "ended\n")


def test_after_its_block_nothing_ends_the_process() -> None:
    assert run("pass", after="time.sleep(1.5)").stdout == "ended\n"
