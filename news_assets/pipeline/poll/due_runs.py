"""Decide which due sources a run polls; pure.

A run polls sources that no unfinished run polls. Slow sources have runs of their own,
so that the others do not wait for them; a source that has become slow costs the run
that finds out at most SOURCE_S.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import Literal

from news_assets.records.articles import SourceState
from news_assets.records.desks import Source

Speed = Literal["quick", "slow"]
SLOW_MS = 10_000  # of the last poll's requests


def sources_of_runs(
    due: Sequence[Source], states: Iterable[SourceState], busy: Collection[str]
) -> dict[Speed, list[Source]]:
    """Return the due sources that a quick and a slow run may poll; `busy` are the ids
    that unfinished runs poll.
    """
    slow = {state.source_id for state in states if (state.elapsed_ms or 0) >= SLOW_MS}
    free = [source for source in due if source.source_id not in busy]
    return {
        "quick": [source for source in free if source.source_id not in slow],
        "slow": [source for source in free if source.source_id in slow],
    }


def most_overdue_first(
    due: Sequence[Source], states: Mapping[str, SourceState], now: datetime
) -> list[Source]:
    """Return due sources by how many of their intervals they are late, new ones first:
    a run may not reach the last.

    Of sources that are equally late, the most active are first, and a quiet one comes
    to the front in its time.
    """

    def intervals_late(source: Source) -> float:
        state = states.get(source.source_id)
        if state is None:
            return inf
        return (now - state.next_poll_at).total_seconds() / max(state.interval_s, 1.0)

    return sorted(due, key=intervals_late, reverse=True)
