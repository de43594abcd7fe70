"""The run launcher of the plain profile: a process for each run, forked where Dagster is imported already.

A new interpreter takes 3 s before its run begins, nearly all of it imports. Python's fork server imports once and forks
in milliseconds; it never runs a thread, and holds libraries only, so that every run reads desk files and this package
anew. Where forking is not safe (macOS, Windows) each run gets a new interpreter. Named in `dagster.yaml`.
"""

import multiprocessing
import socket
import sys
from collections.abc import Mapping
from typing import Any, Self

import dagster as dg
import psutil
from dagster._config.config_schema import UserConfigSchema
from dagster._core.instance.ref import InstanceRef
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from news_assets.defs.instance.heartbeat import WORKER_TAG

# What has no threads of its own after its import, unlike Polars, DuckDB and onnxruntime.
_LIBRARIES = [
    "dagster._cli.api",
    "dagster._core.storage.event_log.sqlite",
    "httpx",
    "jinja2",
    "lxml.html",
    "nh3",
    "numpy",
    "py3langid.langid",
    "pydantic_settings",
    "rensa",
    "tokenizers",
    "trafilatura",
]


class ProcessRunLauncher(RunLauncher, ConfigurableClass):
    """Starts each run in a process of this machine, and tells whether that process still lives."""

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        self._inst_data = inst_data
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """What the instance's file says of this launcher."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """Return the options: there are none."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """Return the launcher that the instance's file asks for."""
        return cls(inst_data=inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Start the run's process, and return before it is ready."""
        run = context.dagster_run
        self._instance.report_engine_event("Starting a process for the run.", run, cls=type(self))
        _start_process(self._instance.get_ref(), run.run_id)

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Tell whether the run's process still lives; a run started at a command line has none of ours."""
        tag = run.tags.get(WORKER_TAG)
        if tag is None or _process_of(tag) is not None:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"its process is gone ({tag})")

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Tell run monitoring to ask."""
        return True

    def terminate(self, run_id: str) -> bool:
        """Interrupt the run; return False where nothing of it is going here."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        process = _process_of(run.tags.get(WORKER_TAG, ""))
        if process is None:
            return False
        process.terminate()
        return True


def execute_run(reference: InstanceRef, run_id: str) -> None:
    """Execute a run in this process; SIGINT and SIGTERM interrupt it."""
    from dagster._cli.api import _execute_run_command_body
    from dagster._utils.interrupts import capture_interrupts

    with capture_interrupts(), dg.DagsterInstance.from_ref(reference) as instance:
        instance.add_run_tags(run_id, {WORKER_TAG: _tag_of(psutil.Process())})
        _execute_run_command_body(run_id, instance, lambda _: None, set_exit_code_on_failure=False)


def _start_process(reference: InstanceRef, run_id: str) -> None:
    """Start a process that executes the run; this one waits for it at its own end."""
    if sys.platform == "linux":
        forking = multiprocessing.get_context("forkserver")
        forking.set_forkserver_preload(_LIBRARIES)
        forking.Process(target=execute_run, args=(reference, run_id), name=f"run {run_id}").start()
    else:
        multiprocessing.get_context("spawn").Process(target=execute_run, args=(reference, run_id)).start()


def _tag_of(process: psutil.Process) -> str:
    """Return what names a process for ever: its number alone is used again."""
    return f"{process.pid}@{socket.gethostname()} since {process.create_time():.0f}"


def _process_of(tag: str) -> psutil.Process | None:
    """Return the living process that a tag names."""
    try:
        process = psutil.Process(int(tag.partition("@")[0]))
        is_alive = process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except (ValueError, psutil.Error):
        return None
    return process if is_alive and _tag_of(process) == tag else None
