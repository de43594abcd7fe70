"""The run coordinator of all profiles: Dagster's queue, and no waiting where nobody waits.

The queue is looked at once a second by the daemon, which is half of what a short run takes on a warm worker. A run that
would be the next one anyway is launched where it is submitted. Named in `dagster.yaml` and `deploy/*/dagster.yaml`.
"""

import dagster as dg
from dagster._core.run_coordinator import SubmitRunContext
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator
from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES
from dagster._utils.tags import TagConcurrencyLimitsCounter


class PromptRunCoordinator(QueuedRunCoordinator):
    """Queues runs as `QueuedRunCoordinator` does, and launches one at once where there is room and no queue.

    Two that are submitted in the same moment may both find the last place: then one run more than the limit is going,
    or waits at its worker.
    """

    def submit_run(self, context: SubmitRunContext) -> dg.DagsterRun:
        """Launch the run, or put it into the queue."""
        run = context.dagster_run
        if run.status != dg.DagsterRunStatus.NOT_STARTED or not self._has_room(run):
            return super().submit_run(context)
        self._instance.launch_run(run.run_id, context.workspace)
        launched = self._instance.get_run_by_id(run.run_id)
        assert launched is not None
        return launched

    def _has_room(self, run: dg.DagsterRun) -> bool:
        """Whether no other run waits and the limits allow one more."""
        if self._instance.get_runs_count(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED])):
            return False
        config = self.get_run_queue_config()
        going = self._instance.get_runs(dg.RunsFilter(statuses=IN_PROGRESS_RUN_STATUSES))
        if 0 <= config.max_concurrent_runs <= len(going):
            return False
        return not TagConcurrencyLimitsCounter(config.tag_concurrency_limits or [], going).is_blocked(run)
