"""When to ask again: what a poll or a fetch brought and `now` in, a time out. Pure.

A source is asked again at its own rhythm, within five minutes and a day; at a stated interval; or, where its pace is
civic, twice a day, daily or weekly. A failing one is asked less and less often, but never never: feeds come back from
what looks like death. An article that failed is tried again where that can help, and only so often.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from news_assets.errors import FetchError, ForbiddenAddressError, NewsAssetsError, RobotsError, TooLargeError
from news_assets.records import Outcome, Source, SourceState

MIN_INTERVAL_S = 300.0
MAX_INTERVAL_S = 86_400.0
MAX_PAUSE_S = 30 * 86_400.0
FIRST_INTERVAL_S = 1800.0
CIVIC_BEAT_S = 43_200.0  # of a civic source; its intervals are one, two or fourteen of it
CIVIC_WEEKS = 4  # its entries of so many weeks are counted
STARTS = 4  # places of beats in an interval: each is a run, and a run of its own costs seconds
MAX_ATTEMPTS = 8

# More than two thirds known: asked too often. Less than one third: entries may be lost (Media Cloud's rss-fetcher).
_MOSTLY_KNOWN, _MOSTLY_NEW = 0.67, 0.33
_LENGTHEN, _SHORTEN = 1.25, 0.5  # after a silence of T seconds the interval is about T/4: a night's costs two hours
_MAX_FIRST_PAUSE_S = 3600.0  # a slow source that fails once is not left for a day and a half
_RETRIES_S = (300, 1800, 7200, 21_600, 86_400)  # transient failures; the last one repeats
_SLOW_RETRIES_S = (86_400, 604_800, 604_800, 604_800)  # 404 and 403 come back to life, but late
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # beats are counted from here


def due_sources(sources: Sequence[Source], states: Iterable[SourceState], now: datetime) -> list[Source]:
    """Return the sources to ask now: never asked at this address, or due."""
    next_at = {(state.source_id, state.url): state.next_poll_at for state in states}
    return [source for source in sources if next_at.get((source.source_id, source.url), now) <= now]


def asked_lately(
    sources: Sequence[Source], states: Iterable[SourceState], now: datetime, cooldown: timedelta
) -> dict[str, datetime]:
    """Return, by source_id, when the sources that were asked less than a cooldown ago were asked."""
    asked_at = {(state.source_id, state.url): state.last_polled_at for state in states}
    lately = ((source.source_id, asked_at.get((source.source_id, source.url))) for source in sources)
    return {source_id: at for source_id, at in lately if at is not None and timedelta(0) <= now - at < cooldown}


# --- a source that answered ------------------------------------------------------------------------------------------


def first_interval(source: Source) -> float:
    """Return the pause between two polls, in seconds, of a source whose rhythm is not known yet."""
    if source.every_minutes is not None:
        return clamped(source.every_minutes * 60.0)
    return CIVIC_BEAT_S if source.pace == "civic" else FIRST_INTERVAL_S


def next_interval(interval_s: float, known_count: int, new_count: int, quiet_s: float | None) -> float:
    """Return the pause between two polls, in seconds, that fits a source's own rhythm.

    The counts are of one changed document; an unchanged one counts as all known. `quiet_s` is the time since the
    source last listed something new: where it brings news now, the pause does not grow beyond one entry's share of it,
    so that a feed of fifty items with ten new ones a day is not asked once a day.
    """
    known_ratio = known_count / (known_count + new_count) if known_count + new_count else 1.0
    if known_ratio < _MOSTLY_NEW:
        return clamped(interval_s * _SHORTEN)
    if known_ratio <= _MOSTLY_KNOWN:
        return clamped(interval_s)
    longer_s = interval_s * _LENGTHEN
    if new_count and quiet_s is not None:
        longer_s = min(longer_s, quiet_s / new_count)
    return clamped(longer_s)


def civic_interval(recent_count: int) -> float:
    """Return the pause, in seconds, of a body that publishes by meetings: half a day, a day or a week.

    `recent_count` are the source's entries of the last CIVIC_WEEKS: two a week or more, one or more, or fewer.
    """
    a_week = recent_count / CIVIC_WEEKS
    return CIVIC_BEAT_S * (1 if a_week >= 2 else 2 if a_week >= 1 else 14)


def next_poll_at(
    source: Source,
    interval_s: float,
    now: datetime,
    *,
    is_first: bool = False,
    max_age_s: float | None = None,
    ttl_s: float | None = None,
) -> datetime:
    """Return when a source that answered is due: after its interval, or later where server or feed ask for it.

    `every_minutes` is kept whatever they ask for. They are heard up to a day.
    """
    if source.every_minutes is not None:
        return min(_next_beat(source, interval_s, interval_s, now), now + timedelta(seconds=MAX_INTERVAL_S))
    wished_at = now + timedelta(seconds=clamped(max(max_age_s or 0.0, ttl_s or 0.0)))
    if source.pace == "civic":
        return max(_next_beat(source, interval_s, CIVIC_BEAT_S, now), wished_at)
    return max(now + timedelta(seconds=spread(source, interval_s) if is_first else interval_s), wished_at)


def rest_at(now: datetime) -> datetime:
    """Return when a source is due whose listing was longer than what one poll stores."""
    return now + timedelta(seconds=MIN_INTERVAL_S)


def spread(source: Source, interval_s: float) -> float:
    """Return a new source's first interval: from half of its own to all of it, always the same for a source.

    Sources that begin together, 160 of a new desk, are soon asked at different times.
    """
    return interval_s * (1 + _share(source)) / 2


def _next_beat(source: Source, interval_s: float, beat_s: float, now: datetime) -> datetime:
    """Return the next beat of a source with a fixed interval: its beats are its own, and stay whenever it is asked.

    Without them, sources that were once asked together (a new desk, the morning after a night switched off) would stay
    together for ever. A poll off the beat is followed by a pause of MIN_INTERVAL_S to that much beyond the interval.
    """
    beat, least = timedelta(seconds=beat_s), timedelta(seconds=MIN_INTERVAL_S)
    earliest = now + timedelta(seconds=interval_s) - beat + min(least, beat / 2)
    first = _EPOCH + beat * int(_share(source) * STARTS) / STARTS
    return max(earliest + (first - earliest) % beat, now + least)


def _share(source: Source) -> float:
    """Return a number of a source's own, from 0 to below 1, evenly spread over all sources."""
    return int.from_bytes(hashlib.sha256(source.source_id.encode()).digest()[:4]) / 2**32


# --- what failed -----------------------------------------------------------------------------------------------------


def next_try_at(
    interval_s: float, failure_points: float, outcome: Outcome, now: datetime, *, retry_after_s: float | None = None
) -> datetime:
    """Return when a source that failed is due: each failure point doubles the pause, up to 30 days.

    The pause starts from the interval, at most an hour; from a day where the server says that the source is gone.
    """
    first_s = MAX_INTERVAL_S if outcome == "gone" else min(clamped(interval_s), _MAX_FIRST_PAUSE_S)
    pause_s = first_s * 2.0 ** min(failure_points, 32.0)
    return now + timedelta(seconds=min(max(pause_s, retry_after_s or 0.0), MAX_PAUSE_S))


def retry_at(attempts: int, failure: NewsAssetsError | Outcome, now: datetime) -> datetime | None:
    """Return when a failed article is tried again, None where that cannot help any more.

    `attempts` counts the tries so far, this one included. Transient failures come back after minutes, then hours and
    days, later where Retry-After says so, and are given up after MAX_ATTEMPTS; other refusals after a day and
    then weekly, a few times; what is gone, forbidden to us or too large never does.
    """
    if isinstance(failure, NewsAssetsError) and failure.is_transient:
        return _retry_transient(attempts, failure, now)
    if _is_final(failure) or attempts > len(_SLOW_RETRIES_S):
        return None
    return now + timedelta(seconds=_SLOW_RETRIES_S[max(attempts, 1) - 1])


def stage_retry_at(attempts: int, now: datetime) -> datetime | None:
    """Return when a stage tries an article again that it could not enrich, embed or index; None where it gives up."""
    if attempts >= MAX_ATTEMPTS:
        return None
    return now + timedelta(seconds=_RETRIES_S[min(max(attempts, 1), len(_RETRIES_S)) - 1])


def outcome_of(error: NewsAssetsError) -> Outcome:
    """Return the outcome that an error stands for: gone, blocked (we are not let in) or failed."""
    if isinstance(error, RobotsError | ForbiddenAddressError):
        return "blocked"
    if isinstance(error, FetchError):
        if error.status == 410:
            return "gone"
        if error.status in (401, 403, 451) or error.reason.startswith("blocked"):
            return "blocked"
    return "failed"


def _retry_transient(attempts: int, failure: NewsAssetsError, now: datetime) -> datetime | None:
    due_at = stage_retry_at(attempts, now)
    asked_s = failure.retry_after_s if isinstance(failure, FetchError) else None
    return due_at and max(due_at, now + timedelta(seconds=min(asked_s or 0.0, MAX_PAUSE_S)))


def _is_final(failure: NewsAssetsError | Outcome) -> bool:
    if isinstance(failure, str):
        return failure not in ("failed", "blocked")
    if isinstance(failure, RobotsError | ForbiddenAddressError | TooLargeError):
        return True
    return isinstance(failure, FetchError) and failure.status in (None, 410)


def clamped(seconds: float) -> float:
    """Return a pause within what sources are asked at that are not civic: every five minutes to once a day."""
    return min(max(seconds, MIN_INTERVAL_S), MAX_INTERVAL_S)
