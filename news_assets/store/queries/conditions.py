"""What is bad now, as operators are told it: silent agencies, failures that were given
up, and the spent budget.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from news_assets.pipeline.alerts.query_file import Operators
from news_assets.records.desks import Desk
from news_assets.records.model_calls import Ceilings
from news_assets.store.lake import Lake
from news_assets.store.queries.health import silent_agencies
from news_assets.store.queries.spending import spent

_GIVEN_UP = """
    SELECT desk, stage, count(*), arg_max(reason, last_failed_at) FROM failures
    WHERE next_try_at IS NULL GROUP BY ALL HAVING count(*) >= $least
"""


def bad_states(
    lake: Lake,
    desks: Sequence[Desk],
    operators: Operators,
    ceilings: Ceilings,
    now: datetime,
) -> dict[str, str]:
    """Return one line about each state of the lake's rows that is bad now, by its name."""
    return {
        **dict(_silent(lake, desks, now)),
        **dict(_given_up(lake, operators.given_up_failures)),
        **dict(_over_budget(lake, ceilings, operators.budget_ratio, now)),
    }


def _silent(
    lake: Lake, desks: Sequence[Desk], now: datetime
) -> Iterator[tuple[str, str]]:
    for desk in desks:
        found = silent_agencies(lake, desk, now)
        for row in found.rows:
            facts = dict(zip(found.header, row, strict=True))
            yield (
                f"silent {desk.key}/{facts['agency']}",
                f"no new entry for {facts['silent_for']}",
            )


def _given_up(lake: Lake, least: int) -> Iterator[tuple[str, str]]:
    for desk, stage, count, reason in lake.query(
        _GIVEN_UP, {"least": least}
    ).iter_rows():
        yield f"given up {desk}/{stage}", f"{count} articles, the last: {reason}"


def _over_budget(
    lake: Lake, ceilings: Ceilings, ratio: float, now: datetime
) -> Iterator[tuple[str, str]]:
    if not ceilings:
        return
    paid = spent(lake, now)
    for name, usd, most in (
        ("day", paid.day, ceilings.day),
        ("month", paid.month, ceilings.month),
    ):
        if most and usd >= most * ratio:
            yield (
                f"budget of the {name}",
                f"{usd:.2f} of {most:.2f} US dollars are spent",
            )
