"""The Celery app of a worker: `celery -A news_assets.defs.instance.worker worker --pool
solo`.

Broker and queues are those of the run launcher in DAGSTER_HOME/dagster.yaml. A worker
executes one run at a time, in the main thread of its only process (pool `solo`); start
more workers for more concurrent runs.

- Celery's default pool forks, which Polars and DuckDB do not survive.
- In a thread pool Dagster could neither capture a run's output, which it redirects for
  the whole process, nor stop a run, which takes a signal to the main thread.
- A worker that executes a run does not answer the broker, so `broker_heartbeat` is 0.
  Messages are acknowledged late: if a worker dies, the broker sends its message to
  another one, which ignores a run that had begun.
- A worker that had no run for some minutes restarts itself, in the same process: models
  and libraries keep half of its memory, and do not return all of it when they are closed.
"""

import importlib
import logging
import os
import signal
import sys
import threading

from celery import Task, signals
from celery.worker import state
from dagster import DagsterInstance, DagsterRunStatus
from dagster._cli.api import _execute_run_command_body as execute_run_body
from dagster._utils.interrupts import capture_interrupts, check_captured_interrupt

from news_assets.defs.instance.celery_launcher import EXECUTE_RUN, DeskRunLauncher
from news_assets.defs.instance.run_guards import (
    WORKER_TAG,
    Heartbeat,
    IdleTimer,
    Watchdog,
)
from news_assets.defs.resources import close_sandbox, warm_sandbox
from news_assets.errors import NewsAssetsError
from news_assets.settings import Settings

_SLOW_IMPORTS = (  # 3 s together
    "news_assets.clients.factory",
    "news_assets.clients.embedding.embedder",
    "news_assets.clients.web.fetcher",
    "news_assets.definitions",
    "news_assets.pipeline.articles.fetch",
    "news_assets.pipeline.civic.attachments",
    "news_assets.pipeline.embed",
    "news_assets.pipeline.enrich.enrich",
    "news_assets.pipeline.index",
    "news_assets.pipeline.poll.poll",
    "onnxruntime",
    "polars",
    "tokenizers",
)
_logger = logging.getLogger("celery.worker")


def _launcher() -> DeskRunLauncher:
    launcher = instance.run_launcher
    if not isinstance(launcher, DeskRunLauncher):
        raise SystemExit(
            f"{instance.root_directory}/dagster.yaml: the run launcher is not DeskRunLauncher"
        )
    try:
        launcher.declare_queues()
    except NewsAssetsError as error:
        raise SystemExit(str(error)) from error
    return launcher


_is_to_restart = threading.Event()


def _stop_to_restart() -> None:
    if state.should_stop is None:  # no signal to stop has come
        _is_to_restart.set()
        state.should_stop = 0


_idle = IdleTimer(_stop_to_restart)
instance = DagsterInstance.get()  # opened once for all runs: it takes 0.2 s
app = _launcher().celery


@app.task(bind=True, name=EXECUTE_RUN, acks_late=True)  # type: ignore[untyped-decorator]
def execute_run(task: Task) -> None:
    """Execute the run whose id is the task's, with a heartbeat; stop the worker if it
    was signalled meanwhile.
    """
    run_id = task.request.id
    terminate = signal.getsignal(signal.SIGTERM)
    if not _can_begin(run_id):
        _logger.info("Run %s has already begun or ended", run_id)
        return
    with capture_interrupts(), _idle:
        threading.Thread(target=warm_sandbox, daemon=True).start()
        with (
            Watchdog(),
            Heartbeat(instance, task.request.hostname, run_id) as heartbeat,
        ):
            execute_run_body(
                run_id, instance, lambda _: None, set_exit_code_on_failure=False
            )
        if not heartbeat.has_interrupted and (
            check_captured_interrupt() or _was_interrupted(run_id)
        ):
            _is_to_restart.clear()
            state.should_stop = 0
    signal.signal(signal.SIGTERM, terminate)  # Dagster leaves its SIGINT handler there


def _can_begin(run_id: str) -> bool:
    """Return whether the run has not begun; report it as cancelled if it was cancelled
    in the queue.

    The broker sends a message again when its connection breaks, even if the first
    worker still executes the run.
    """
    run = instance.get_run_by_id(run_id)
    if run is None:
        return False
    if run.status is DagsterRunStatus.CANCELING and WORKER_TAG not in run.tags:
        instance.report_run_canceled(run)
    return run.status in (DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING)


def _was_interrupted(run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    if run is None:
        return False
    return run.tags.get("dagster/failure_reason") == "UNEXPECTED_TERMINATION"


@signals.worker_init.connect  # type: ignore[untyped-decorator]
def import_libraries(**_: object) -> None:
    """Import what every run needs before the first one."""
    for module in _SLOW_IMPORTS:
        importlib.import_module(module)


@signals.worker_shutting_down.connect  # type: ignore[untyped-decorator]
def cancel_restart(**_: object) -> None:
    """Let a signal to stop end the worker."""
    _is_to_restart.clear()


@signals.worker_shutdown.connect  # type: ignore[untyped-decorator]
def restart(**_: object) -> None:
    """Execute the worker's command line again, after its connections were closed."""
    if _is_to_restart.is_set():
        close_sandbox()
        os.execv(sys.executable, sys.orig_argv)


@signals.setup_logging.connect  # type: ignore[untyped-decorator]
def set_up_logging(**_: object) -> None:
    """Log what NEWS_LOG_LEVEL states, and the start, the end and the runs of the
    worker.
    """
    Settings.read().log_to_stderr()
    logging.getLogger("celery").setLevel(logging.INFO)
