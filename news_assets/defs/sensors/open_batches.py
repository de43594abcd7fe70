"""The sensor `open_batches`: requests a look at the batches of language models that are
not over.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.active_runs import unfinished_runs
from news_assets.defs.jobs import BATCHES
from news_assets.records.model_calls import OPEN, EnrichmentBatch
from news_assets.store.lake import Lake

if TYPE_CHECKING:
    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

_LOOK_EVERY_S = 600  # most batches end within the hour, all within a day


def build_open_batches(
    jobs: "Sequence[UnresolvedAssetJobDefinition]",
) -> dg.SensorDefinition:
    """Return the sensor; it requests a run while there are open batches and none is
    looking at them.
    """

    @dg.sensor(
        name="open_batches",
        job=next(job for job in jobs if job.name == BATCHES),
        minimum_interval_seconds=_LOOK_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests a look at the batches of language models that are not over.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]
    ) -> dg.SensorResult:
        count = lake.frame(EnrichmentBatch, None, ("batch_key",), progress=OPEN).height
        is_looking = any(
            run.job_name == BATCHES for run in unfinished_runs(context.instance)
        )
        requests = [dg.RunRequest()] if count and not is_looking else []
        return dg.SensorResult(
            requests, skip_reason=None if requests else f"open batches: {count}"
        )

    return sensor
