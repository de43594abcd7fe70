"""Decide when a source is polled next.

A source is polled when the news that may wait there is worth a request, from five
minutes to a day after the last poll; at a stated interval; with the pace `signals`
every 10 to 60 minutes; or, with the pace `civic`, twice a day, daily or weekly.
Failing sources back off to 30 days and are never dropped: dead feeds come back.
"""

import hashlib
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import inf, sqrt
from typing import TYPE_CHECKING, Final, Literal

from news_assets.records.articles import SourceState
from news_assets.records.desks import Source
from news_assets.records.reading import Outcome
from news_assets.retry_table import LONGEST_PAUSE_S, POLL, POLL_OF_GONE
from news_assets.text.dates import zone_info

if TYPE_CHECKING:
    from news_assets.pipeline.publishing_habits import PublishingRates

_logger = logging.getLogger(__name__)

MIN_INTERVAL_S = 300.0
MAX_INTERVAL_S = 86_400.0
_FIRST_INTERVAL_S = 1800.0
# the intervals of civic sources are one, two or fourteen of it
_CIVIC_STEP_S = 43_200.0
CIVIC_WEEKS = 4  # the entries of so many weeks decide on a civic interval
# offsets within a fixed interval: each is a run of its own, which costs seconds
SLOTS = 4

# of one entry waiting, or of several together, that a request is worth
REQUEST_PRICE_MINUTES = 0.4
# in the zone of the source: when `max_minutes` holds
_WORKING_DAYS, _WORKING_HOURS = (
    range(5),
    range(7, 20),
)

# between two evaluations of what is due; sources that became due meanwhile are one run
DUE_EVERY_S = 60
# half of that: otherwise a source whose last poll began just after an evaluation would
# be late by a whole one each time
_EARLY = timedelta(seconds=DUE_EVERY_S / 2)

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # slots are counted from here


def due_sources(
    sources: Sequence[Source], states: Iterable[SourceState], now: datetime
) -> list[Source]:
    """Return the sources to poll now: those never polled at their URL, and those that
    are due, up to _EARLY before their time if they answered last.

    Civic sources that stand in for others wait while these answer.
    """
    known = {state.source_id: state for state in states}
    waiting = waiting_sources(sources, known)
    due: list[Source] = []
    for source in sources:
        state = known.get(source.source_id)
        if source.source_id in waiting:
            _logger.debug("%s is not due: an earlier one answers", source.source_id)
        elif state is None or state.url != source.url or _due_at(state) <= now:
            due.append(source)
        else:
            at = state.next_poll_at
            _logger.debug("%s is not due before %s", source.source_id, at)
    return due


def _due_at(state: SourceState) -> datetime:
    if state.last_outcome in ("ok", "unchanged"):
        return state.next_poll_at - _EARLY
    return state.next_poll_at


def recently_polled(
    sources: Sequence[Source],
    states: Iterable[SourceState],
    now: datetime,
    cooldown: timedelta,
) -> dict[Source, datetime]:
    """Return the sources that were polled less than a cooldown ago, with the time of
    that poll.
    """
    polled_at = {(state.source_id, state.url): state.last_polled_at for state in states}
    recent: dict[Source, datetime] = {}
    for source in sources:
        at = polled_at.get((source.source_id, source.url))
        if at is None:
            continue
        if timedelta(0) <= now - at < cooldown:
            recent[source] = at
    return recent


# --- sources that answer --------------------------------------------------------------


def is_adaptive(source: Source) -> bool:
    """Return whether the interval of a source is learnt from its entries."""
    if source.every_minutes is not None:
        return False
    return source.pace == "adaptive"


def first_interval(source: Source) -> float:
    """Return the interval, in seconds, of a source that states one or that was never
    polled.
    """
    if source.every_minutes is not None:
        return _clamped(source.every_minutes * 60.0)
    if source.pace == "civic":
        return _CIVIC_STEP_S
    if source.pace == "signals":
        return SIGNAL_FLOOR_S
    return min(_FIRST_INTERVAL_S, (source.max_minutes or _FIRST_INTERVAL_S) * 60.0)


def learnt_interval(
    source: Source,
    rates: "PublishingRates",
    now: datetime,
    price_minutes: float = REQUEST_PRICE_MINUTES,
) -> float:
    """Return the interval, in seconds, after which a poll is expected to be worth its
    price.

    It is worth it when the entries published since `now` have waited `price_minutes`,
    all together. At an even rate this is the interval with the least mean delay for the
    number of requests: proportional to the inverse square root of the rate.
    `max_minutes` bounds it in _WORKING_HOURS.
    """
    return min(
        _clamped(_waited_after(rates, now, price_minutes / 60) * 3600),
        _ceiling(source, now),
    )


def _waited_after(rates: "PublishingRates", now: datetime, price_hours: float) -> float:
    """Return the hours after which the expected entries have waited so long, at most a
    day.
    """
    passed = entries = waited = 0.0
    for hours, rate in rates.from_time(now):
        missing = price_hours - waited
        due_after = 2 * missing / (entries + sqrt(entries**2 + 2 * rate * missing))
        if due_after <= hours or passed >= 24:
            return passed + due_after
        passed = passed + hours
        waited = waited + (entries + rate * hours / 2) * hours
        entries += rate * hours
    raise AssertionError("rates have no end")


def _ceiling(source: Source, now: datetime) -> float:
    """Return the seconds until `max_minutes` require a poll: from now, or from the next
    start of _WORKING_HOURS.

    After a start, the sources of a desk spread over `max_minutes`.
    """
    if source.max_minutes is None:
        return MAX_INTERVAL_S
    local = now.astimezone(zone_info(source.timezone))
    if _is_working_hour(local.weekday(), local.hour):
        return source.max_minutes * 60.0
    start = local.replace(hour=_WORKING_HOURS.start, minute=0, second=0, microsecond=0)
    while start <= local or start.weekday() not in _WORKING_DAYS:
        start += timedelta(days=1)
    return (start.astimezone(UTC) - now).total_seconds() + _jitter(
        source
    ) * source.max_minutes * 60


def _is_working_hour(weekday: int, hour: int) -> bool:
    if weekday not in _WORKING_DAYS:
        return False
    return hour in _WORKING_HOURS


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of a source and its polls, on average over a week.

    `delay_minutes` is the time from the publication of an entry to the poll that lists
    it.
    """

    entries_a_day: float
    requests_a_day: float
    delay_minutes: float


def forecast(
    source: Source,
    rates: "PublishingRates",
    interval_s: float | None = None,
    ttl_s: float | None = None,
) -> Forecast:
    """Return the forecast for a source whose polls succeed, computed as if each rate
    held for more than an interval.

    `interval_s` is the current interval of a civic source, `ttl_s` the minimum that the
    source states.
    """
    least_s = _clamped(ttl_s or 0.0)
    stated_s = interval_s
    if source.every_minutes or stated_s is None:
        stated_s = first_interval(source)
    requests = waited_s = 0.0
    per_hour: list[float] = rates.per_hour.tolist()
    for hour, rate in enumerate(per_hour):
        pause_s = stated_s
        if is_adaptive(source):
            pause_s = max(_even_interval(source, hour, rate), least_s)
        requests += 86_400 / pause_s
        waited_s += rate * pause_s / 2
    delay_minutes = waited_s / sum(per_hour) / 60
    return Forecast(rates.per_day, requests / len(per_hour), delay_minutes)


def _even_interval(source: Source, hour: int, rate: float) -> float:
    """Return the interval, in seconds, at the even rate of an hour of the week."""
    interval_s = _clamped(3600 * sqrt(2 * REQUEST_PRICE_MINUTES / 60 / rate))
    if source.max_minutes is None:
        return interval_s
    if not _is_working_hour(hour // 24, hour % 24):
        return interval_s
    return min(interval_s, source.max_minutes * 60.0)


def civic_interval(recent_count: int) -> float:
    """Return the interval, in seconds, of a civic source: half a day, a day or a week.

    `recent_count` are its entries of the last CIVIC_WEEKS: at least two a week, at
    least one, or fewer.
    """
    per_week = recent_count / CIVIC_WEEKS
    if per_week >= 2:
        return _CIVIC_STEP_S
    if per_week >= 1:
        return 2 * _CIVIC_STEP_S
    return 14 * _CIVIC_STEP_S


def next_poll_at(
    source: Source,
    interval_s: float,
    now: datetime,
    *,
    is_first: bool = False,
    max_age_s: float | None = None,
    ttl_s: float | None = None,
) -> datetime:
    """Return when a source that answered is due: after its interval, or later if the
    server or the feed asks for it.

    `max_age_s` (Cache-Control, Expires) and `ttl_s` of the feed count up to a day, and
    not against `every_minutes`.
    """
    if source.every_minutes is not None:
        return min(
            _next_slot(source, interval_s, interval_s, now),
            now + timedelta(seconds=MAX_INTERVAL_S),
        )
    stated_s = max(max_age_s or 0.0, ttl_s or 0.0)
    if source.pace == "signals":
        return now + timedelta(seconds=max(interval_s, min(stated_s, SIGNAL_CEILING_S)))
    not_before = now + timedelta(seconds=_clamped(stated_s))
    if source.pace == "civic":
        return max(_next_slot(source, interval_s, _CIVIC_STEP_S, now), not_before)
    # Half of the first interval to all of it: 160 sources of a new desk are polled
    # together once only.
    pause_s = interval_s * (1 + _jitter(source)) / 2 if is_first else interval_s
    return max(now + timedelta(seconds=pause_s), not_before)


def _next_slot(
    source: Source, interval_s: float, step_s: float, now: datetime
) -> datetime:
    """Return the next poll of a source with a fixed interval: one of its slots, which
    are `step_s` apart.

    A source keeps its slots whenever it is polled, so that sources that were once
    polled together (a new desk, the first poll after an outage) spread out again. After
    a poll between two slots, the pause is MIN_INTERVAL_S to `interval_s` +
    MIN_INTERVAL_S.
    """
    step = timedelta(seconds=step_s)
    least = timedelta(seconds=MIN_INTERVAL_S)
    earliest = now + timedelta(seconds=interval_s) - step + min(least, step / 2)
    first = _EPOCH + step * int(_jitter(source) * SLOTS) / SLOTS
    return max(earliest + (first - earliest) % step, now + least)


def _jitter(source: Source) -> float:
    """Return a number from 0 to below 1, always the same for a source and evenly spread
    over all sources.
    """
    return (
        int.from_bytes(hashlib.sha256(source.source_id.encode()).digest()[:4]) / 2**32
    )


# --- councils -------------------------------------------------------------------------
#
#     signal   the vendor's cheapest answer that shows changes, every 10 to 60 minutes;
#              then the days that changed
#     pass     the days from a week back to 90 days on, once a night, because
#              dates of change are not reliable
#
# Limits by vendor (slots, delays) are in `sources/civic/__init__.py`; a desk file
# may set others.

SIGNAL_FLOOR_S = 600.0
SIGNAL_CEILING_S = 3600.0
# on working days: half of the changes are then seen within 10 minutes
WORKING_CEILING_S = 900.0
_SIGNAL_STEP_S = 300.0  # longer after each answer without a change
_OFFICE_HOURS = range(8, 18)  # local, when offices of cities publish

PAST_DAYS, FUTURE_DAYS = 7, 90
# documents of meetings so near are checked each night; few have an agenda earlier
CHECKED_AHEAD = timedelta(days=14)
_PASS_AT = time(1)  # local
_PASS_SPREAD_S = 3 * 3600.0


def signal_interval(
    interval_s: float, timezone: str, now: datetime, *, is_changed: bool
) -> float:
    """Return the seconds until the next signal of a city: the floor after a change,
    else more than the last time.

    The ceiling is WORKING_CEILING_S in working hours of the city's zone, else
    SIGNAL_CEILING_S.
    """
    if is_changed:
        return SIGNAL_FLOOR_S
    local = now.astimezone(zone_info(timezone))
    longer_s = max(interval_s, SIGNAL_FLOOR_S) + _SIGNAL_STEP_S
    ceiling_s = SIGNAL_CEILING_S
    if local.weekday() in _WORKING_DAYS and local.hour in _OFFICE_HOURS:
        ceiling_s = WORKING_CEILING_S
    return min(longer_s, ceiling_s)


def pass_days(today: date) -> tuple[date, date]:
    """Return the first and the last day of a pass."""
    return today - timedelta(days=PAST_DAYS), today + timedelta(days=FUTURE_DAYS)


def is_pass_due(source: Source, last_pass_at: datetime | None, now: datetime) -> bool:
    """Return whether a city's pass is due: it never had one, or none since its time of
    the last night.

    The passes of a vendor are spread over three hours of the city's night.
    """
    if last_pass_at is None:
        return True
    local = now.astimezone(zone_info(source.timezone))
    digest = hashlib.sha256(source.source_id.encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    due_at = datetime.combine(local.date(), _PASS_AT, local.tzinfo)
    due_at += timedelta(seconds=share * _PASS_SPREAD_S)
    if due_at > local:
        due_at -= timedelta(days=1)
    return last_pass_at < due_at


_STALE: Final = "stale"  # how the note on an answer without recent meetings begins
SUSPECT: Final = "suspect"  # how the note on one that lacks most known meetings begins
_ANSWERS: Final = ("ok", "unchanged")


def waiting_sources(
    sources: Iterable[Source], states: Mapping[str, SourceState]
) -> frozenset[str]:
    """Return the ids of the civic sources that wait, because one before them answers
    well or was never polled.

    `sources` are in the order of the desk file; `states` are by source_id.
    """
    waiting = set[str]()
    answered = set[str]()
    for source in sources:
        if not source.is_civic:
            continue
        if source.agency in answered:
            waiting.add(source.source_id)
        elif _answers_well(source, states.get(source.source_id)):
            answered.add(source.agency)
    return frozenset(waiting)


def _answers_well(source: Source, state: SourceState | None) -> bool:
    if state is None:
        return True
    if state.url != source.url:
        return True
    is_doubtful = (state.last_reason or "").startswith((_STALE, SUSPECT))
    if state.last_outcome not in _ANSWERS:
        return False
    return not is_doubtful


# --- failures -------------------------------------------------------------------------


def next_poll_after_failure(
    interval_s: float,
    failure_points: float,
    outcome: Outcome,
    now: datetime,
    *,
    retry_after_s: float | None = None,
) -> datetime:
    """Return when a source that failed is due: each failure point doubles the pause, up
    to 30 days.

    The pause starts from the interval, at most an hour, or from a day if the outcome is
    `gone`.
    """
    if outcome == "gone":
        first_s = POLL_OF_GONE.pauses_s[0]
    else:  # a source polled daily that fails once is due again within the day
        first_s = min(_clamped(interval_s), POLL.pauses_s[0])
    pause_s = first_s * 2.0 ** min(failure_points, 32.0)
    return now + timedelta(
        seconds=min(max(pause_s, retry_after_s or 0.0), LONGEST_PAUSE_S)
    )


def _clamped(seconds: float) -> float:
    """Return the interval within the limits of sources that are not civic: five minutes
    to a day.
    """
    return min(max(seconds, MIN_INTERVAL_S), MAX_INTERVAL_S)


# --- which due sources a run polls ----------------------------------------------------


Speed = Literal["quick", "slow"]
SLOW_MS = 10_000  # of the last poll's requests


def sources_of_runs(
    due: Sequence[Source], states: Iterable[SourceState], busy: Collection[str]
) -> dict[Speed, list[Source]]:
    """Return the due sources that a quick and a slow run may poll; `busy` are the ids
    that unfinished runs poll.
    """
    slow: set[str] = set()
    for state in states:
        if (state.elapsed_ms or 0) >= SLOW_MS:
            slow.add(state.source_id)
    shares: dict[Speed, list[Source]] = {"quick": [], "slow": []}
    for source in due:
        if source.source_id in busy:
            continue
        speed: Speed = "slow" if source.source_id in slow else "quick"
        shares[speed].append(source)
    return shares


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
