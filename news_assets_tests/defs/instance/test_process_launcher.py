"""Identity of a run's process: neither a changed clock nor a reused process id confuses
it.
"""

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from dagster import DagsterRun

from news_assets.defs.instance.process_launcher import (
    ProcessRunLauncher,
    process_start,
    process_tag,
)
from news_assets.defs.instance.run_guards import WORKER_TAG

STAT = "4242 (run) 7 (odd) R 29465 29465 24359 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 162034 3133440 358"
linux_only = pytest.mark.skipif(
    sys.platform != "linux",
    reason="other systems have no start time but that of the clock",
)


@pytest.fixture
def process() -> Iterator[psutil.Process]:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
    ) as started:
        yield psutil.Process(started.pid)
        started.kill()


def health(tag: str) -> str:
    return (
        ProcessRunLauncher()
        .check_run_worker_health(DagsterRun("any", tags={WORKER_TAG: tag}))
        .status.value
    )


def test_the_start_is_field_22_whatever_the_program_is_called() -> None:
    assert process_start(STAT, "42ccbd42\n") == "162034 of boot 42ccbd42"


def test_a_process_after_a_reboot_is_another_one() -> None:
    assert process_start(STAT, "a\n") != process_start(STAT, "b\n")


def test_a_running_process_is_alive_and_a_killed_one_is_not(
    process: psutil.Process,
) -> None:
    tag = process_tag(process)
    assert health(tag) == "RUNNING"
    process.kill()
    while process.status() != psutil.STATUS_ZOMBIE:
        pass
    assert health(tag) == "FAILED"
    process.wait()
    assert health(tag) == "FAILED"


@linux_only
def test_a_process_stays_alive_when_the_clock_is_set(
    process: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag, created_at = process_tag(process), psutil.Process.create_time
    monkeypatch.setattr(
        psutil.Process, "create_time", lambda self: created_at(self) + 3600
    )
    assert health(tag) == "RUNNING"


@linux_only
def test_another_process_with_the_same_id_is_not_the_runs(
    process: psutil.Process,
) -> None:
    pid_and_host, _, start = process_tag(process).partition(" start ")
    ticks, _, boot = start.partition(" ")
    assert health(f"{pid_and_host} start {int(ticks) - 1} {boot}") == "FAILED"


def test_a_run_without_a_process_counts_as_alive() -> None:
    run = DagsterRun("any")
    assert ProcessRunLauncher().check_run_worker_health(run).status.value == "RUNNING"
