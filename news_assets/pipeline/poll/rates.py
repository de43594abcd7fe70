"""Learns from a source's entries at which rate it publishes in each hour of the week.
Pure.

The rate begins as a general profile (working days, working hours) at the level of the
source. It is then corrected three times, by hour of the day, by weekday and by hour of
the week: each time by the ratio of observed to expected entries, with some entries
added to both, so that few entries change little. `pipeline/schedule.py` decides with
it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from news_assets.ports.services import Reader
from news_assets.records.desks import Source
from news_assets.records.polling import FeedEntry
from news_assets.text.zones import zone_info

if TYPE_CHECKING:
    import polars

_LEARNT_WEEKS = 8
_WEEK_HOURS = 168

_PRIOR_DAYS = 1.0  # a new source counts as observed for a day, with one entry
_PRIOR_ENTRIES = 2.0  # added to the entries of an hour of the day and of a weekday
# added to the entries of an hour of the week: of few sources any hour has many
_PRIOR_HOUR_ENTRIES = 4.0
# a tenth of the entries: old ones pinned to a listing do not show how far back it is
# complete
_OLDEST = 10

_MONDAY = 3 * 24  # 1970 began on a Thursday

Floats = npt.NDArray[np.float64]

_WORKING_DAY = np.array([0.1] * 6 + [0.25, 0.5] + [1.0] * 12 + [0.5, 0.3, 0.25, 0.2])
_PROFILE = np.concatenate([np.tile(_WORKING_DAY, 5), np.tile(0.35 * _WORKING_DAY, 2)])
_PROFILE /= _PROFILE.mean()


@dataclass(frozen=True, slots=True)
class PublishingRates:
    """Entries an hour that are expected of a source, by hour of the week: the first is
    Monday, 00:00, in its zone.
    """

    timezone: str
    per_hour: Floats

    @property
    def per_day(self) -> float:
        """Entries a day, as a mean over the week."""
        return float(self.per_hour.mean()) * 24

    def from_time(self, moment: datetime) -> Iterator[tuple[float, float]]:
        """Yield without end, from a time on, how long a rate holds, in hours, and the
        rate.
        """
        local = moment.astimezone(zone_info(self.timezone))
        hour = local.weekday() * 24 + local.hour
        yield 1 - (local.minute * 60 + local.second) / 3600, float(self.per_hour[hour])
        while True:
            hour = (hour + 1) % _WEEK_HOURS
            yield 1.0, float(self.per_hour[hour])


def rates_of(
    reader: Reader, sources: Iterable[Source], now: datetime
) -> dict[str, PublishingRates]:
    """Return the rates of each source by source_id, learnt from its entries of the last
    _LEARNT_WEEKS.
    """
    zones = {source.source_id: source.timezone for source in sources}
    ages = range(-1, 7 * _LEARNT_WEEKS + 1)
    frame = reader.frame(
        FeedEntry,
        None,
        ("source_id", "published_at", "first_seen_at"),
        source_id=zones,
        day={(now - timedelta(days=ago)).date() for ago in ages},
    )
    published = _seconds(frame["published_at"])
    first_seen = _seconds(frame["first_seen_at"])
    of_source = dict.fromkeys(zones, slice(0))
    start = 0
    # rows are read by key, so that those of a source follow one another
    for count, key in frame["source_id"].rle().struct.unnest().iter_rows():
        of_source[key] = slice(start, start + count)
        start += count
    rates: dict[str, PublishingRates] = {}
    for key, zone in zones.items():
        own = of_source[key]
        rates[key] = learn_rates(published[own], first_seen[own], zone, now)
    return rates


def _seconds(times: "polars.Series") -> Floats:
    seconds: Floats = times.dt.epoch("s").cast(float).fill_null(float("nan")).to_numpy()
    return seconds


def learn_rates(
    published_s: Floats, first_seen_s: Floats, timezone: str, now: datetime
) -> PublishingRates:
    """Return the rates learnt from entries with these times, in seconds since 1970
    (UTC); NaN if none is stated.
    """
    # The offset of today for all weeks: after a clock change, habits are an hour off
    # for some days.
    offset = now.astimezone(zone_info(timezone)).utcoffset() or timedelta()
    offset_s = offset.total_seconds()
    local = _visible_at(published_s, first_seen_s, offset_s) + offset_s
    now_hour = int((now.timestamp() + offset_s) // 3600) + _MONDAY
    hours = np.sort((local // 3600).astype(np.int64)) + _MONDAY
    hours = hours[(hours > now_hour - _LEARNT_WEEKS * _WEEK_HOURS) & (hours < now_hour)]
    start = len(hours) // _OLDEST
    first = int(hours[start]) if len(hours) else now_hour
    observed = _by_week_hour(hours[start + 1 :])
    times = _by_week_hour(np.arange(first, now_hour))
    return PublishingRates(timezone, _rates(observed, times))


def _by_week_hour(hours: "npt.NDArray[np.int64]") -> Floats:
    """Return how many of these hours are each hour of the week."""
    return np.bincount(hours % _WEEK_HOURS, minlength=_WEEK_HOURS).astype(float)


def _visible_at(published_s: Floats, first_seen_s: Floats, offset_s: float) -> Floats:
    """Return when the entries became visible: when they were published, and later by
    the usual lag of the listing.

    A time of midnight is a date. Entries without a time, or with a future one, became
    visible when first seen; those of a first poll say nothing and are not counted. The
    lag is what nine of ten entries exceed: also the hours by which a source misstates
    its zone.
    """
    age_s = first_seen_s - published_s
    is_timed = (age_s >= 0) & ((published_s + offset_s) % 86_400 != 0)
    is_fresh = is_timed & (age_s < 86_400)
    ages_s = np.sort(age_s[is_fresh])
    lag_s = float(ages_s[len(ages_s) // 10]) if len(ages_s) else 0.0
    is_first = first_seen_s == first_seen_s.min(initial=np.inf)
    visible_s = np.where(
        is_timed, np.minimum(published_s + lag_s, first_seen_s), first_seen_s
    )
    kept: Floats = visible_s[is_timed | ~is_first]
    return kept


def _rates(observed: Floats, times: Floats) -> Floats:
    """Return the rates by hour of the week, from the entries in each and how often each
    was observed.
    """
    prior = _PRIOR_DAYS * 24
    rates: Floats = (
        _PROFILE * (observed.sum() + _PRIOR_DAYS) / ((times * _PROFILE).sum() + prior)
    )
    seen = observed.reshape(7, 24)
    due = (times * rates).reshape(7, 24)
    by_hour = _correction(
        _smooth(seen.sum(axis=0)), _smooth(due.sum(axis=0)), _PRIOR_ENTRIES
    )
    due *= by_hour
    by_day = _correction(seen.sum(axis=1), due.sum(axis=1), _PRIOR_ENTRIES)
    rates = rates * np.outer(by_day, by_hour).ravel()
    rates *= _correction(_smooth(observed), _smooth(times * rates), _PRIOR_HOUR_ENTRIES)
    return rates


def _correction(observed: Floats, expected: Floats, prior_entries: float) -> Floats:
    factors: Floats = (observed + prior_entries) / (expected + prior_entries)
    return factors


def _smooth(hours: Floats) -> Floats:
    """Return the mean of each hour with half of its neighbours: habits do not begin on
    the hour.
    """
    smoothed: Floats = (np.roll(hours, 1) + 2 * hours + np.roll(hours, -1)) / 4
    return smoothed
