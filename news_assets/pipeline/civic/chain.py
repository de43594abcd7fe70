"""The civic sources of an agency are a chain: a later one is polled only while those
before it do not answer well.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from news_assets.records.desks import Source
from news_assets.records.polling import SourceState

STALE: Final = "stale"  # how the note on an answer without recent meetings begins
SUSPECT: Final = "suspect"  # how the note on one that lacks most known meetings begins
_ANSWERS: Final = ("ok", "unchanged")


def waiting_sources(
    sources: Iterable[Source], states: Mapping[str, SourceState]
) -> frozenset[str]:
    """Return the ids of the civic sources that wait, because one before them answers
    well or was never polled.

    `sources` are in the order of the desk file; `states` are by source_id.
    """
    waiting, answered = set[str](), set[str]()
    for source in sources:
        if not source.is_civic:
            continue
        if source.agency in answered:
            waiting.add(source.source_id)
        elif _answers_well(source, states.get(source.source_id)):
            answered.add(source.agency)
    return frozenset(waiting)


def _answers_well(source: Source, state: SourceState | None) -> bool:
    if state is None or state.url != source.url:
        return True
    is_doubtful = (state.last_reason or "").startswith((STALE, SUSPECT))
    return state.last_outcome in _ANSWERS and not is_doubtful
