"""Sensors: they read the lake and request runs. No sensor uses the network.

due_sources      sources that are due                       -> polls of each desk, of quick and
                 of slow sources
pending_entries  entries without a current article          -> their agency-days, all stages in
                 one run
stale_stages     rows of later stages missing or outdated   -> their agency-days, from that stage on
due_model_calls  rows that a language model is to replace   -> their agency-days,
                 `enriched_articles` only
lost_documents   documents that index and lake do not share -> their agency-days, `search_index`
                 alone
first_checks     a desk that is current for the first time  -> all its checks, once
open_batches     batches of language models                 -> a look at them
alerts           articles and states to tell                -> messages
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.sensors.backlog import (
    OpenLake,
    build_due_model_calls,
    build_due_sources,
    build_lost_documents,
    build_pending_entries,
    build_stale_stages,
)
from news_assets.defs.sensors.cursor import TICK_S
from news_assets.defs.sensors.first_checks import build_first_checks
from news_assets.pipeline.stages import fetching_stages, stage_names
from news_assets.records.desks import Desk

if TYPE_CHECKING:
    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition


def build_desk_sensors(
    desks: Sequence[Desk],
    jobs: "Sequence[UnresolvedAssetJobDefinition]",
    open_lake: OpenLake,
    tick_s: float = TICK_S,
    *,
    fetch_only: bool = False,
    has_models: bool = True,
) -> list[dg.SensorDefinition]:
    """Return the sensors of these desks.

    Args:
        desks: The desks.
        jobs: All that they may request.
        open_lake: Returns the lake of this process.
        tick_s: How long a tick waits for a change.
        fetch_only: Whether they request no stage after the articles.
        has_models: Whether the settings name a language model.
    """
    names_of = fetching_stages if fetch_only else stage_names
    sensors = [
        build_due_sources(desks, jobs),
        build_pending_entries(desks, jobs, tick_s, open_lake, names_of),
        build_stale_stages(desks, jobs, tick_s, open_lake, names_of),
    ]
    if not fetch_only:
        sensors += [
            build_due_model_calls(
                desks, jobs, tick_s, open_lake, has_models=has_models
            ),
            build_lost_documents(desks, jobs),
        ]
    return [*sensors, build_first_checks(desks, jobs, open_lake)]
