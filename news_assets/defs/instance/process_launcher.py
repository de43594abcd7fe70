"""The run launcher of the plain profile: a forked process for each run.

A new interpreter needs about 3 s before its run begins, nearly all of it for imports.
Python's fork server imports the libraries once and forks in milliseconds. It runs no
threads and does not import this package, so that every run reads code and desk files
again. Where forking is unsafe (macOS, Windows) each run gets a new interpreter.
"""

import multiprocessing
import socket
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus

from news_assets.defs.instance.run_guards import WORKER_TAG, Watchdog

# Without Polars, DuckDB and onnxruntime, which start threads when they are imported.
_LIBRARIES = [
    "alembic.command",
    "dagster._cli.api",
    "httpx",
    "jinja2",
    "nh3",
    "numpy",
    "pydantic",
    "rensa",
    "sqlalchemy",
    "tokenizers",
]


class ProcessRunLauncher(dg.DefaultRunLauncher):
    """Starts each run in a process of this machine and checks whether the process is
    alive.
    """

    def launch_run(self, context: Any) -> None:
        """Start the run's process without waiting for it."""
        run = context.dagster_run
        self._instance.report_engine_event(
            "Starting a process for the run.", run, cls=type(self)
        )
        _start_process(self._instance.get_ref(), run.run_id)

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return whether the run's process is alive; a run started on the command line
        has none and counts as alive.
        """
        tag = run.tags.get(WORKER_TAG)
        if tag is None or _process_of(tag) is not None:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"Process {tag} has ended.")

    @property
    def supports_check_run_worker_health(self) -> bool:
        """True: run monitoring calls `check_run_worker_health`."""
        return True

    def terminate(self, run_id: str) -> bool:
        """Interrupt the run; return False if it has no process on this machine."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        process = _process_of(run.tags.get(WORKER_TAG, ""))
        if process is None:
            return False
        process.terminate()
        return True


def _execute_run(reference: Any, run_id: str) -> None:
    """Execute a run in this process, on the instance of a reference; SIGINT and SIGTERM
    interrupt it.
    """
    from dagster._cli.api import _execute_run_command_body
    from dagster._utils.interrupts import capture_interrupts

    with (
        Watchdog(),
        capture_interrupts(),
        dg.DagsterInstance.from_ref(reference) as instance,
    ):
        instance.add_run_tags(run_id, {WORKER_TAG: process_tag(psutil.Process())})
        _execute_run_command_body(
            run_id, instance, lambda _: None, set_exit_code_on_failure=False
        )


def _start_process(reference: Any, run_id: str) -> None:
    """Start a process that executes the run; multiprocessing joins it when this process
    exits.
    """
    if sys.platform == "linux":
        forking = multiprocessing.get_context("forkserver")
        forking.set_forkserver_preload(_LIBRARIES)
        forking.Process(
            target=_execute_run, args=(reference, run_id), name=f"run {run_id}"
        ).start()
    else:
        multiprocessing.get_context("spawn").Process(
            target=_execute_run, args=(reference, run_id)
        ).start()


def process_tag(process: psutil.Process) -> str:
    """Return what identifies a process on this machine; process ids are reused.

    Raises:
        psutil.Error: The process has ended.
    """
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text(errors="replace")
        start = process_start(stat, Path("/proc/sys/kernel/random/boot_id").read_text())
    except OSError:  # not on Linux; a step of the system clock may move this time
        start = f"{process.create_time():.0f}"
    return f"{process.pid}@{socket.gethostname()} start {start}"


def process_start(stat: str, boot_id: str) -> str:
    """Return the start of a process in clock ticks since boot and the boot's id;
    neither depends on the system clock.

    `stat` is the text of /proc/PID/stat: field 2 is the program's name in parentheses,
    field 22 the start (proc(5)).
    """
    after_name = stat.rpartition(")")[2].split()
    return f"{after_name[22 - 3]} of boot {boot_id.strip()}"


def _process_of(tag: str) -> psutil.Process | None:
    """Return the process with this tag if it is alive."""
    try:
        process = psutil.Process(int(tag.partition("@")[0]))
        is_alive = (
            process.status() != psutil.STATUS_ZOMBIE and process_tag(process) == tag
        )
    except (ValueError, psutil.Error):
        return None
    return process if is_alive else None
