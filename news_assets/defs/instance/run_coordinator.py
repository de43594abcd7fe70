"""The run coordinator of all profiles: Dagster's queue, except that a run which need
not wait is launched at once.

The daemon reads the queue once a second, which is half the time a short run takes on a
warm worker.
"""

import sys
from typing import Any, Final

import dagster as dg
from dagster._utils.tags import TagConcurrencyLimitsCounter

# as Dagster counts them for its limits
_IN_PROGRESS = [
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
    dg.DagsterRunStatus.SUSPENDED,
]
_LOOKED_AT = 100  # queued runs; a backfill may queue thousands


class ImmediateRunCoordinator(dg.QueuedRunCoordinator):
    """Launch a run when it is submitted if the limits allow it, and no queued one could
    start, else queue it.

    A queued run that a limit by tag holds back, such as that of a slow language model,
    delays no other.

    Two runs submitted at the same moment may exceed a limit by one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _shorten_sensor_interval()

    def submit_run(self, context: dg.SubmitRunContext) -> dg.DagsterRun:
        """Launch or queue the run and return it with its new status."""
        run = context.dagster_run
        if run.status != dg.DagsterRunStatus.NOT_STARTED or not self._is_free(run):
            return super().submit_run(context)
        self._instance.launch_run(run.run_id, context.workspace)
        launched = self._instance.get_run_by_id(run.run_id)
        assert launched is not None
        return launched

    def _is_free(self, run: dg.DagsterRun) -> bool:
        """Whether the limits allow this run, and none of the queued ones."""
        config = self.get_run_queue_config()
        active = self._instance.get_runs(dg.RunsFilter(statuses=_IN_PROGRESS))
        if 0 <= config.max_concurrent_runs <= len(active):
            return False
        limits = TagConcurrencyLimitsCounter(
            config.tag_concurrency_limits or [], active
        )
        if limits.is_blocked(run):
            return False
        queued = self._instance.get_runs(
            dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED]), limit=_LOOKED_AT
        )
        return all(limits.is_blocked(other) for other in queued)


# of sensors, for which Dagster has no setting. A tick that requests runs ends at once,
# and the next one starts with the next round. With Dagster's five seconds an entry that
# is stored meanwhile waits for up to five seconds, more than all its stages take. A
# round costs 10 ms.
ROUND_S: Final = 2.0


def _shorten_sensor_interval() -> None:
    """Let the daemon start a round of sensors each two seconds; in other processes, do
    nothing.
    """
    daemon = sys.modules.get("dagster._daemon.sensor")
    if daemon is not None:
        daemon.MIN_INTERVAL_LOOP_TIME = ROUND_S  # type: ignore[attr-defined]
