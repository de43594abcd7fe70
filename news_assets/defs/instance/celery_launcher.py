"""The run launcher of the profiles with Celery workers: a queue for each desk, and
worker health by heartbeat.

`worker` executes the runs launched here. The broker is set in `deploy/*/dagster.yaml`.

Where that is a folder, messages appear in it whole. kombu's transport opens a message's
file under its final name and then writes it. A worker that lists the folder in between
takes an empty file: the message is lost, and the worker ends. With kombu 5.6 and three
workers that happened twice in 20 minutes.
"""

import time
import uuid
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster_celery.launcher import CeleryRunLauncher
from kombu.entity import Queue
from kombu.exceptions import ChannelError, OperationalError
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps

from news_assets.defs.instance.run_guards import WORKER_TAG, HeartbeatMonitor
from news_assets.desks.desk_files import load_desks
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS

_DESK_TAG = "news/desk"
EXECUTE_RUN = "execute_job"  # name of the task that `worker` has
# tags of runs that dagster-celery documents
_QUEUE_TAG = "dagster-celery/queue"
_TASK_ID_TAG = "dagster-celery/task_id"
_PRIORITY_TAG = "dagster-celery/run_priority"
_MAX_PRIORITY = 10
TRANSPORT_ALIASES["filesystem"] = f"{__name__}:FolderTransport"


class DeskRunLauncher(CeleryRunLauncher):
    """Starts runs as Celery tasks, in a queue for each desk of the settings and one for
    everything else.
    """

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self._monitor = HeartbeatMonitor()

    @cached_property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues, the default one first.

        Raises:
            NewsAssetsError: The settings or a desk file cannot be used.
        """
        return (
            self.default_queue,
            *(desk.key for desk in load_desks(Settings.read().desks, ALL_KINDS)),
        )

    def declare_queues(self) -> None:
        """Make workers without the option `-Q` listen to all queues."""
        self.celery.conf.task_queues = [
            Queue(name, queue_arguments={"x-max-priority": _MAX_PRIORITY})  # type: ignore[no-untyped-call]
            for name in self.queues
        ]

    def launch_run(self, context: Any) -> None:
        """Send the run to its queue, as a task with the run's id.

        The tags are written before the message is sent: a warm worker writes its own
        within milliseconds, and of two concurrent writes to a run's tags one is lost.

        While the broker is unavailable the run goes back into Dagster's queue. As a
        failed run it would count as an attempt at its work.
        """
        run = context.dagster_run
        queue = queue_of(run, self.queues)
        tags = {_QUEUE_TAG: queue, _TASK_ID_TAG: run.run_id}
        self._instance.add_run_tags(run.run_id, tags)
        self._instance.report_engine_event(
            f"Sending to queue {queue}.", run, cls=type(self)
        )
        try:
            self.celery.send_task(
                EXECUTE_RUN,
                task_id=run.run_id,
                queue=queue,
                priority=_priority_of(run),
            )
        except OperationalError as error:
            self._queue_again(run, f"The broker is unavailable: {error}")

    def _queue_again(self, run: dg.DagsterRun, why: str) -> None:
        """Put a run that no worker has begun back into Dagster's queue."""
        present = self._instance.get_run_by_id(run.run_id)
        # a message may have arrived although the broker did not confirm it
        if present is None or present.status != dg.DagsterRunStatus.STARTING:
            return
        self._instance.report_engine_event(why, run, cls=type(self))
        queued = dg.DagsterEvent.job_enqueue(run)
        self._instance.report_dagster_event(queued, run_id=run.run_id)

    @property
    def supports_resume_run(self) -> bool:
        """False: the sensors request the unfinished work of a dead worker in a new run."""
        return False

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return whether the run's worker still executes it."""
        if self._monitor.is_alive(self._instance, run):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(
            WorkerStatus.FAILED,
            f"Worker {run.tags[WORKER_TAG]} has stopped executing it.",
        )

    def get_run_worker_debug_info(
        self, run: dg.DagsterRun, include_container_logs: bool | None = True
    ) -> str | None:
        """Return the queue and the worker of the run."""
        worker = run.tags.get(WORKER_TAG, "none: check that one listens to this queue")
        return f"queue {run.tags.get(_QUEUE_TAG)}, worker {worker}"

    def terminate(self, run_id: str) -> bool:
        """Cancel the run: its worker stops it, or run monitoring if no worker reacts."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        return True


def queue_of(run: dg.DagsterRun, queues: Sequence[str]) -> str:
    """Return the queue in the run's tags, else its desk's, else the default queue (the
    first of `queues`).
    """
    tagged = run.tags.get(_QUEUE_TAG)
    if tagged:
        return tagged
    for desk in (run.tags.get(_DESK_TAG, ""), *sorted(_desks_of_assets(run))):
        if desk in queues:
            return desk
    return queues[0]


def _desks_of_assets(run: dg.DagsterRun) -> set[str]:
    keys = set(run.asset_selection or ())
    keys.update(check.asset_key for check in run.asset_check_selection or ())
    return {key.path[0] for key in keys}


def _priority_of(run: dg.DagsterRun) -> int:
    text = run.tags.get(_PRIORITY_TAG, "0")
    if not text.isdecimal():
        return 0
    return int(text)


_UNFINISHED = ".part"  # readers take names that end in .msg


class FolderChannel(filesystem.Channel):
    """kombu's channel, whose messages appear in the folder when they are complete."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # two names in kombu
        folder = Path(self.data_folder_out)
        # readers sort by it
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        unfinished = folder / f"{name}{_UNFINISHED}"
        try:
            unfinished.write_text(dumps(payload))  # type: ignore[no-untyped-call]
            unfinished.replace(folder / name)
        except OSError as error:
            raise ChannelError(
                f"cannot add {name} to {folder}: {error.strerror}"
            ) from error


class FolderTransport(filesystem.Transport):
    """kombu's transport for `filesystem://` with this channel."""

    Channel = FolderChannel
