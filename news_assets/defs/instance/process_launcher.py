"""The run launcher of the plain profile: a process executes one run after another.

A new interpreter needs about 3 s before its run begins, nearly all of it for imports.
Python's fork server imports the libraries once and forks in milliseconds. It runs no
threads and does not import this package. Where forking is unsafe (macOS, Windows) a
process is a new interpreter.

What a forked process imports and opens then takes it 2 to 5 s more: this package, the
libraries that start threads, the process that reads pages, the model. So it is kept for
later runs, until the code, a desk file or a prompt changes, or no run has come for some
minutes.
"""

import atexit
import multiprocessing
import socket
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus

from news_assets.defs.instance.run_guards import WORKER_TAG, IdleTimer, Watchdog
from news_assets.settings import Settings

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
_PACKAGE = Path(__file__).parents[2]
_CODE = ("*.py", "*.yaml")


class ProcessRunLauncher(dg.DefaultRunLauncher):
    """Executes runs in processes of this machine, and checks whether the process of a
    run is alive.
    """

    def __init__(self, inst_data: Any = None) -> None:
        super().__init__(inst_data)
        self._processes: list[RunProcess] = []
        self._lock = threading.Lock()
        self._idle = IdleTimer(self._end_processes)
        # before multiprocessing joins the processes: later handlers are called first
        atexit.register(self._end_processes)

    def launch_run(self, context: Any) -> None:
        """Start the run in a process that has none, without waiting for it."""
        run = context.dagster_run
        self._instance.report_engine_event(
            "Starting the run in a process.", run, cls=type(self)
        )
        with self._idle, self._lock:
            self._processes = [
                one for one in self._processes if not one.end_if_outdated()
            ]
            if not any(one.execute(run.run_id) for one in self._processes):
                process = RunProcess(self._instance.get_ref())
                process.execute(run.run_id)
                self._processes.append(process)

    def _end_processes(self) -> None:
        with self._lock:
            for process in self._processes:
                process.end()
            self._processes = []

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


class RunProcess:
    """A process that executes runs, one at a time, with the code, desk files and
    prompts of its start. `reference` is the reference of a Dagster instance.
    """

    def __init__(self, reference: Any) -> None:
        self._file_times = _file_times()
        self._is_busy = False
        self._connection, other = Pipe()
        with other:
            self.process = _context().Process(
                target=_execute_runs, args=(reference, other)
            )
            self.process.start()

    def execute(self, run_id: str) -> bool:
        """Have the run executed, without waiting for it; return False if the process
        still executes another one, or has ended.
        """
        if not self._has_answered():
            return False
        with suppress(OSError):
            self._connection.send(run_id)
            self._is_busy = True
            return True
        return False

    def _has_answered(self) -> bool:
        """Return whether the process has no run, or has answered after its last one."""
        if self._is_busy and self._connection.poll():
            with suppress(EOFError, OSError):
                self._connection.recv()
            self._is_busy = False
        return not self._is_busy

    def end_if_outdated(self) -> bool:
        """Let the process end if its files have changed since its start; return whether
        they have, or it has ended by itself.
        """
        if self.process.is_alive() and self._file_times == _file_times():
            return False
        self.end()
        return True

    def end(self) -> None:
        """Let the process end, after its run if it has one."""
        self._connection.close()


def _file_times() -> dict[Path, int]:
    """Return when each file of code, desk file and prompt was changed, in nanoseconds
    since 1970.
    """
    settings = Settings.read()
    files = [file for pattern in _CODE for file in _PACKAGE.rglob(pattern)]
    files += map(Path, settings.desks)
    if settings.prompts is not None:
        files += settings.prompts.glob("*")
    return {file: file.stat().st_mtime_ns for file in files if file.is_file()}


def _context() -> Any:
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(_LIBRARIES)
    return forking


def _execute_runs(reference: Any, connection: "Connection[None, str]") -> None:
    """Execute the runs whose ids are received, on the instance of a reference, and
    answer after each. SIGINT and SIGTERM interrupt a run; without one, they end the
    process.
    """
    # the launcher has closed the connection, or Ctrl-C came, which it gets too
    with (
        suppress(EOFError, BrokenPipeError, KeyboardInterrupt),
        dg.DagsterInstance.from_ref(reference) as instance,
    ):
        while True:
            _execute_run(instance, connection.recv())
            connection.send(None)


def _execute_run(instance: dg.DagsterInstance, run_id: str) -> None:
    from dagster._cli.api import _execute_run_command_body
    from dagster._utils.interrupts import capture_interrupts

    with Watchdog(), capture_interrupts():
        instance.add_run_tags(run_id, {WORKER_TAG: process_tag(psutil.Process())})
        _execute_run_command_body(
            run_id, instance, lambda _: None, set_exit_code_on_failure=False
        )


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
