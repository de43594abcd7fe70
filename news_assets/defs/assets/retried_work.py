"""Work that an earlier run left undone, done one article at a time.

A run may have ended because one article ended its process, whatever the limits of
reading are. So a later attempt records each article before it begins: one that ends the
process again is a failure with the time of its next attempt, and the run after that
leaves it out.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.failures import record_attempt
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import work_of

# each takes some 0.3 s more; larger ranges get smaller with each attempt
# (`run_planner`)
MAX_ARTICLES = 100


def run_apart(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    ports: Mapping[str, Any],
    options: Mapping[str, bool],
) -> int | None:
    """Do the stage's backlog of these agency-days one article at a time; return how
    many rows were written.

    None if there are more than MAX_ARTICLES: nothing was done.
    """
    backlog = work_of(lake, desk, stage, keys, clock())
    if backlog.height > MAX_ARTICLES:
        return None
    # deletes rows of lost articles
    written = stage.run_batch(lake, desk, keys, clock, ports, options, only=())
    for work in backlog.iter_rows(named=True):
        lake.transact(lambda rows: record_attempt(rows, stage, work, desk.key, clock()))  # noqa: B023 - runs at once
        own_keys = AgencyDays(desk.key, frozenset({(work["agency"], work["day"])}))
        written += stage.run_batch(
            lake, desk, own_keys, clock, ports, options, only={work["article_id"]}
        )
    return written
