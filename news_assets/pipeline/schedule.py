"""Decide when a source is polled next.

A source is polled at an interval that adapts to it, from five minutes to a day; at a stated interval; or, with the pace
`civic`, twice a day, daily or weekly. Failing sources back off to 30 days and are never dropped: dead feeds come back.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from news_assets.records import Outcome, Source, SourceState

MIN_INTERVAL_S = 300.0
MAX_INTERVAL_S = 86_400.0
MAX_PAUSE_S = 30 * 86_400.0
FIRST_INTERVAL_S = 1800.0
CIVIC_STEP_S = 43_200.0  # the intervals of civic sources are one, two or fourteen of it
CIVIC_WEEKS = 4  # the entries of so many weeks decide on a civic interval
SLOTS = 4  # offsets within a fixed interval: each is a run of its own, which costs seconds

# More than two thirds known: polled too often. Less than one third: entries may be lost (Media Cloud's rss-fetcher).
_MOSTLY_KNOWN, _MOSTLY_NEW = 0.67, 0.33
_LENGTHEN, _SHORTEN = 1.25, 0.5  # after T s without new entries the interval is about T/4: two hours after a night
_MAX_FIRST_PAUSE_S = 3600.0  # without it, a source polled daily that fails once would wait for more than a day
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # slots are counted from here


def due_sources(sources: Sequence[Source], states: Iterable[SourceState], now: datetime) -> list[Source]:
    """Return the sources to poll now: those never polled at their URL, and those that are due."""
    next_at = {(state.source_id, state.url): state.next_poll_at for state in states}
    return [source for source in sources if next_at.get((source.source_id, source.url), now) <= now]


def recently_polled(
    sources: Sequence[Source], states: Iterable[SourceState], now: datetime, cooldown: timedelta
) -> dict[Source, datetime]:
    """Return the sources that were polled less than a cooldown ago, with the time of that poll."""
    polled_at = {(state.source_id, state.url): state.last_polled_at for state in states}
    times = ((source, polled_at.get((source.source_id, source.url))) for source in sources)
    return {source: at for source, at in times if at is not None and timedelta(0) <= now - at < cooldown}


# --- sources that answer ---------------------------------------------------------------------------------------------


def first_interval(source: Source) -> float:
    """Return the interval, in seconds, of a source that states one or of which no entries are known yet."""
    if source.every_minutes is not None:
        return _clamped(source.every_minutes * 60.0)
    return CIVIC_STEP_S if source.pace == "civic" else FIRST_INTERVAL_S


def next_interval(interval_s: float, known_count: int, new_count: int, quiet_s: float | None) -> float:
    """Return the interval, in seconds, adapted to how many entries of the last document were known.

    An unchanged document counts as all known. `quiet_s` is the time since the source last listed a new entry. If there
    are new entries, the interval does not grow beyond `quiet_s` per new entry: a feed of 50 items with ten new ones a
    day would otherwise be polled once a day.
    """
    known_ratio = known_count / (known_count + new_count) if known_count + new_count else 1.0
    if known_ratio < _MOSTLY_NEW:
        return _clamped(interval_s * _SHORTEN)
    if known_ratio <= _MOSTLY_KNOWN:
        return _clamped(interval_s)
    longer_s = interval_s * _LENGTHEN
    if new_count and quiet_s is not None:
        longer_s = min(longer_s, quiet_s / new_count)
    return _clamped(longer_s)


def civic_interval(recent_count: int) -> float:
    """Return the interval, in seconds, of a civic source: half a day, a day or a week.

    `recent_count` are its entries of the last CIVIC_WEEKS: at least two a week, at least one, or fewer.
    """
    per_week = recent_count / CIVIC_WEEKS
    return CIVIC_STEP_S * (1 if per_week >= 2 else 2 if per_week >= 1 else 14)


def next_poll_at(
    source: Source,
    interval_s: float,
    now: datetime,
    *,
    is_first: bool = False,
    max_age_s: float | None = None,
    ttl_s: float | None = None,
) -> datetime:
    """Return when a source that answered is due: after its interval, or later if the server or the feed asks for it.

    `max_age_s` (Cache-Control, Expires) and `ttl_s` of the feed count up to a day, and not against `every_minutes`.
    """
    if source.every_minutes is not None:
        return min(_next_slot(source, interval_s, interval_s, now), now + timedelta(seconds=MAX_INTERVAL_S))
    not_before = now + timedelta(seconds=_clamped(max(max_age_s or 0.0, ttl_s or 0.0)))
    if source.pace == "civic":
        return max(_next_slot(source, interval_s, CIVIC_STEP_S, now), not_before)
    # Half of the first interval to all of it: 160 sources of a new desk are polled together once only.
    pause_s = interval_s * (1 + _jitter(source)) / 2 if is_first else interval_s
    return max(now + timedelta(seconds=pause_s), not_before)


def _next_slot(source: Source, interval_s: float, step_s: float, now: datetime) -> datetime:
    """Return the next poll of a source with a fixed interval: one of its slots, which are `step_s` apart.

    A source keeps its slots whenever it is polled, so that sources that were once polled together (a new desk, the
    first poll after an outage) spread out again. After a poll between two slots, the pause is MIN_INTERVAL_S to
    `interval_s` + MIN_INTERVAL_S.
    """
    step, least = timedelta(seconds=step_s), timedelta(seconds=MIN_INTERVAL_S)
    earliest = now + timedelta(seconds=interval_s) - step + min(least, step / 2)
    first = _EPOCH + step * int(_jitter(source) * SLOTS) / SLOTS
    return max(earliest + (first - earliest) % step, now + least)


def _jitter(source: Source) -> float:
    """Return a number from 0 to below 1, always the same for a source and evenly spread over all sources."""
    return int.from_bytes(hashlib.sha256(source.source_id.encode()).digest()[:4]) / 2**32


# --- failures --------------------------------------------------------------------------------------------------------


def next_poll_after_failure(
    interval_s: float, failure_points: float, outcome: Outcome, now: datetime, *, retry_after_s: float | None = None
) -> datetime:
    """Return when a source that failed is due: each failure point doubles the pause, up to 30 days.

    The pause starts from the interval, at most an hour, or from a day if the outcome is `gone`.
    """
    first_s = MAX_INTERVAL_S if outcome == "gone" else min(_clamped(interval_s), _MAX_FIRST_PAUSE_S)
    pause_s = first_s * 2.0 ** min(failure_points, 32.0)
    return now + timedelta(seconds=min(max(pause_s, retry_after_s or 0.0), MAX_PAUSE_S))


def _clamped(seconds: float) -> float:
    """Return the interval within the limits of sources that are not civic: five minutes to a day."""
    return min(max(seconds, MIN_INTERVAL_S), MAX_INTERVAL_S)
