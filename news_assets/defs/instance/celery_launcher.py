"""The run launcher of the profiles with Celery workers: the queue a run goes to, and whether its worker still lives.

Named in `deploy/*/dagster.yaml`, where the broker is set; `worker.py` executes what is launched here.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import dagster as dg
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, WorkerStatus
from dagster_celery.config import TASK_EXECUTE_JOB_NAME
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_QUEUE_TAG, DAGSTER_CELERY_RUN_PRIORITY_TAG, DAGSTER_CELERY_TASK_ID_TAG
from kombu.entity import Queue

from news_assets.defs.instance.heartbeat import WORKER_TAG, HeartbeatWatch
from news_assets.desks.loader import load_desks
from news_assets.settings import Settings
from news_assets.sources.kinds import KINDS

DESK_TAG = "news/desk"
_MAX_PRIORITY = 10


class DeskRunLauncher(CeleryRunLauncher):
    """Starts runs as Celery tasks: a queue for each desk of the settings, and one for everything else."""

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self._watch = HeartbeatWatch()

    @cached_property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues that a worker of these settings listens to, the default one first.

        Raises:
            NewsAssetsError: The settings or a desk file cannot be used.
        """
        return (self.default_queue, *(desk.key for desk in load_desks(Settings.read().desks, KINDS)))

    def declare_queues(self) -> None:
        """Make the app listen to all queues where a worker is not told which."""
        self.celery.conf.task_queues = [
            Queue(name, queue_arguments={"x-max-priority": _MAX_PRIORITY})  # type: ignore[no-untyped-call]
            for name in self.queues
        ]

    def launch_run(self, context: LaunchRunContext) -> None:
        """Send the run to its queue, as a task with the run's id.

        The tags are written before the message goes out: of two who write a run's tags at once only one is heard, and
        a warm worker writes its own within milliseconds.
        """
        run = context.dagster_run
        queue = queue_of(run, self.queues)
        tags = {DAGSTER_CELERY_QUEUE_TAG: queue, DAGSTER_CELERY_TASK_ID_TAG: run.run_id}
        self._instance.add_run_tags(run.run_id, tags)
        self._instance.report_engine_event(f"Sending to queue {queue}.", run, cls=type(self))
        self.celery.send_task(TASK_EXECUTE_JOB_NAME, task_id=run.run_id, queue=queue, priority=_priority_of(run))

    @property
    def supports_resume_run(self) -> bool:
        """Tell that a run whose worker died is not taken up again: what it left undone is requested anew."""
        return False

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Tell whether the worker that took the run still executes it."""
        if self._watch.is_alive(self._instance, run):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"{run.tags[WORKER_TAG]} has stopped executing it")

    def get_run_worker_debug_info(self, run: dg.DagsterRun, include_container_logs: bool | None = True) -> str | None:
        """Return which queue and worker the run went to."""
        queue, worker = run.tags.get(DAGSTER_CELERY_QUEUE_TAG), run.tags.get(WORKER_TAG)
        return f"queue {queue}, worker {worker or 'none yet: is one running that listens to this queue?'}"

    def terminate(self, run_id: str) -> bool:
        """Ask the run's worker to stop it; run monitoring ends the run where no worker answers."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        return True


def queue_of(run: dg.DagsterRun, queues: Sequence[str]) -> str:
    """Return the queue a run asks for by its tag, else its desk's, else the default queue (the first of `queues`)."""
    asked = run.tags.get(DAGSTER_CELERY_QUEUE_TAG)
    if asked:
        return asked
    desks = [run.tags.get(DESK_TAG, ""), *sorted(_desks_of_assets(run))]
    return next((desk for desk in desks if desk in queues), queues[0])


def _desks_of_assets(run: dg.DagsterRun) -> set[str]:
    checks = run.asset_check_selection or ()
    return {key.path[0] for key in (*(run.asset_selection or ()), *(check.asset_key for check in checks))}


def _priority_of(run: dg.DagsterRun) -> int:
    text = run.tags.get(DAGSTER_CELERY_RUN_PRIORITY_TAG, "0")
    return int(text) if text.isdecimal() else 0
