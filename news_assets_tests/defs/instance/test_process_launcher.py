"""Processes execute one run at a time, with the newest code. Neither a changed clock
nor a reused process id confuses their identity.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from dagster import DagsterInstance, DagsterRun

from news_assets.defs.instance import process_launcher
from news_assets.defs.instance.process_launcher import (
    ProcessRunLauncher,
    RunProcess,
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


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[RunProcess]:
    """A process that waits for a run of an instance without any."""
    (tmp_path / "dagster.yaml").touch()
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        process = RunProcess(instance.get_ref())
        yield process
        process.process.kill()


def test_a_process_that_executes_a_run_takes_no_other(waiting: RunProcess) -> None:
    assert waiting.execute("a run")
    assert not waiting.execute("another run")


def test_a_process_with_older_code_is_outdated(
    tmp_path: Path, waiting: RunProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not waiting.end_if_outdated()
    (tmp_path / "changed.py").touch()
    monkeypatch.setattr(process_launcher, "_PACKAGE", tmp_path)
    assert waiting.end_if_outdated()
    waiting.process.join()
    assert waiting.process.exitcode == 0


def test_a_process_with_an_older_desk_file_is_outdated(
    tmp_path: Path, waiting: RunProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = tmp_path / "mine.yaml"
    desk.touch()
    monkeypatch.setenv("NEWS_DESKS", str(desk))
    assert waiting.end_if_outdated()


def test_a_process_that_was_killed_is_outdated(waiting: RunProcess) -> None:
    waiting.process.kill()
    waiting.process.join()
    assert waiting.end_if_outdated()


def test_a_process_that_ended_meanwhile_executes_nothing(waiting: RunProcess) -> None:
    waiting.process.kill()
    waiting.process.join()
    assert not waiting.execute("a run")
