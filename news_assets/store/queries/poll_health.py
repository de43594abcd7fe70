"""The polls and schedule of each source; entries of each agency by day and hour, polls by
outcome, and what they show: silent agencies and failing sources.

The rules are in `pipeline/source_health.py`, which also renders the rows of
sources.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from news_assets.pipeline.publishing_habits import (
    LEARNT_DAYS,
    PublishingHistory,
    rates_of,
)
from news_assets.pipeline.report_contents import HISTORY_DAYS
from news_assets.pipeline.schedule import Forecast, first_interval, forecast
from news_assets.pipeline.source_health import (
    ANSWERS,
    PollHistory,
    find_failing_sources,
    find_silences,
)
from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk
from news_assets.store.lake import Lake
from news_assets.store.tables import made_of
from news_assets.store.transaction import Snapshot

if TYPE_CHECKING:
    import polars


_LAST_POLLS = 10
_POLL_DAYS = 30

Row = dict[str, Any]

_OF_AGENCIES = "$agencies IS NULL OR agency IN (SELECT unnest($agencies))"
_SOURCES = f"""
    SELECT s.source_id, s.desk, coalesce(p.polls, []) AS polls, s.interval_s, s.next_poll_at,
        p.new_ratio,
        s.last_new_at, s.last_polled_at, s.last_outcome, s.last_reason
    FROM sources s
    LEFT JOIN (
        SELECT source_id,
            list_reverse(arg_max(
                {{'polled_at': polled_at, 'outcome': outcome, 'new_count': new_count}},
                polled_at, {_LAST_POLLS}
            )) AS polls,
            sum(new_count) / nullif(sum(entry_count), 0) AS new_ratio
        FROM polls WHERE polled_at >= $since AND ($desk IS NULL OR desk = $desk)
            AND ({_OF_AGENCIES}) GROUP BY source_id
    ) p USING (source_id)
    WHERE ($desk IS NULL OR s.desk = $desk) AND ({_OF_AGENCIES})
    ORDER BY s.source_id
"""


def source_records(
    lake: Lake | Snapshot,
    now: datetime,
    desk: str | None = None,
    agencies: Sequence[str] | None = None,
) -> "polars.DataFrame":
    """Return a row for each source that was ever polled, of all desks and agencies or
    only of these, by source_id.

    Columns: source_id, desk, polls (the last ten of the last 30 days, oldest first:
    polled_at, outcome, new_count), interval_s, next_poll_at, new_ratio (share of new
    entries in the listings of these days, 0 to 1; None without entries, and in
    `source_rows` for civic sources, whose new entries are items of the meetings that
    they list), last_new_at, last_polled_at, last_outcome and last_reason.
    """
    since = now - timedelta(days=_POLL_DAYS)
    return lake.query(_SOURCES, {"since": since, "desk": desk, "agencies": agencies})


def source_rows(
    lake: Lake | Snapshot, desk: Desk, silences: Findings | None, now: datetime
) -> Iterator[Row]:
    """Yield a row for each source of a desk, including inactive agencies; values of
    sources never polled are None.

    `silences` are the findings of `poll_health.silent_agencies`, if they are to be shown.
    Only polls of the desk's agencies are counted: with few agencies 32 ms instead of
    250 ms among 460,000 polls.
    """
    records = source_records(lake, now, desk.key, list(desk.agency_names))
    found = {row["source_id"]: row for row in records.iter_rows(named=True)}
    silent: dict[str, Row] = {}
    if silences is not None:
        for row in silences.rows:
            silent[str(row[0])] = dict(zip(silences.header, row, strict=True))
    for agency in desk.agencies:
        yield from _rows_of(agency, desk, found, silent.get(agency.key, {}))


def forecasts(lake: Lake, desk: Desk, now: datetime) -> dict[str, Forecast]:
    """Return what is expected of each source of the active agencies, by source_id, also
    of those never polled.
    """
    stored = lake.read(SourceState, desk=[desk.key])
    states = {state.source_id: state for state in stored}
    rates = rates_of(lake, desk.sources, now)
    expected = {}
    for source in desk.sources:
        key = source.source_id
        state = states.get(key)
        if state is None:
            expected[key] = forecast(source, rates[key])
        else:
            known = (state.interval_s, state.ttl_s)
            expected[key] = forecast(source, rates[key], *known)
    return expected


def _rows_of(
    agency: Agency, desk: Desk, found: Mapping[str, Row], silence: Row
) -> Iterator[Row]:
    of_agency = {
        "desk": desk.key,
        "agency": agency.key,
        "name": agency.name,
        "type": agency.type,
        "parent": agency.parent,
        "is_active": agency.is_active,
        "reason": agency.reason,
    }
    for source in agency.sources:
        record = found.get(source.source_id, {})
        yield of_agency | {
            "source_id": source.source_id,
            "kind": source.kind,
            "url": source.url,
            "polls": record.get("polls", []),
            "interval_s": (
                first_interval(source)
                if source.every_minutes
                else record.get("interval_s")
            ),
            "next_poll_at": record.get("next_poll_at") if agency.is_active else None,
            "new_ratio": None if source.is_civic else record.get("new_ratio"),
            "last_new_at": record.get("last_new_at"),
            "last_reason": record.get("last_reason"),
            "silent_for": silence.get("silent_for"),
            "habit": silence.get("habit"),
        }


_ENTRY_DAYS = """
    SELECT agency, day, count(DISTINCT article_id)::BIGINT AS entries
    FROM entries WHERE desk = $1 GROUP BY agency, day
"""

_ENTRY_TIMES = """
    SELECT agency, min(first_seen_at) AS first_seen_at, max(first_seen_at) AS newest_seen_at,
        max(least(published_at, first_seen_at)) AS last_entry_at
    FROM entries WHERE desk = $1 GROUP BY agency ORDER BY agency
"""

# Entries that were more than a day old when first seen were listed in bulk; their hour
# has no meaning.
_ENTRY_HOURS = """
    SELECT agency, hour(first_seen_at) AS utc_hour, count(*)::BIGINT AS entries
    FROM entries WHERE desk = $1 AND first_seen_at >= $2 AND day >= first_seen_at::DATE - 1
    GROUP BY ALL ORDER BY agency, utc_hour
"""

# Failures and empty listings are few: their times as lists replace a second scan of the
# polls, half of the work.
_POLL_HISTORY = """
    SELECT source_id, first_polled_at, first_answer_at, last_answer_at, entry_count,
        list_min(
            list_filter(empty_at, lambda t: t > coalesce(last_full_at, '-infinity'))
        ) AS empty_since,
        coalesce(len(failed_since), 0)::BIGINT AS failed_count,
        list_min(failed_since) AS failing_since
    FROM (
        SELECT *,
            list_filter(failed_at, lambda t: t > coalesce(last_answer_at, '-infinity'))
                AS failed_since
        FROM (
            SELECT source_id, min(polled_at) AS first_polled_at,
                min(polled_at) FILTER (answers) AS first_answer_at,
                max(polled_at) FILTER (answers) AS last_answer_at,
                max(polled_at) FILTER (is_listing AND entry_count > 0) AS last_full_at,
                arg_max(entry_count, polled_at) FILTER (is_listing) AS entry_count,
                list(polled_at) FILTER (is_listing AND entry_count = 0) AS empty_at,
                list(polled_at) FILTER (NOT answers) AS failed_at
            FROM (
                SELECT source_id, polled_at, entry_count, outcome = 'ok' AS is_listing,
                    outcome IN ('ok', 'unchanged') AS answers
                FROM polls WHERE desk = $1 AND polled_at >= $2
            )
            GROUP BY source_id
        )
    )
    ORDER BY source_id
"""


def entry_days(lake: Lake | Snapshot, desk: str, days: int) -> "polars.DataFrame":
    """Return agency, day and entries (articles listed) of each agency's last `days` up
    to its newest; no empty days.

    Polars takes a third of DuckDB's time to keep and order these rows.
    """
    import polars as pl

    is_recent = pl.col("day") > pl.col("day").max().over("agency") - pl.duration(
        days=days
    )
    return lake.query(_ENTRY_DAYS, [desk]).filter(is_recent).sort("agency", "day")


def entry_times(lake: Lake | Snapshot, desk: str) -> "polars.DataFrame":
    """Return agency, first_seen_at (of its first entry), newest_seen_at (of its newest)
    and last_entry_at.

    `last_entry_at` is when its latest entry was published, or first seen if no time or
    a future one is stated.
    """
    return lake.query(_ENTRY_TIMES, [desk])


def entry_hours(
    lake: Lake | Snapshot, desk: str, since: datetime
) -> "polars.DataFrame":
    """Return agency, utc_hour (0 to 23) and the number of fresh entries first seen in
    that hour.
    """
    return lake.query(_ENTRY_HOURS, [desk, since])


def poll_history(
    lake: Lake | Snapshot, desk: str, now: datetime, days: int = 30
) -> "polars.DataFrame":
    """Return a row for each source polled in the last `days`, with the columns of
    `PollHistory`.
    """
    return lake.query(_POLL_HISTORY, [desk, now - timedelta(days=days)])


# --- silent agencies and failing sources ----------------------------------------------


_HOURS_SINCE = timedelta(days=LEARNT_DAYS)


def silent_agencies(lake: Lake | Snapshot, desk: Desk, now: datetime) -> Findings:
    """Return the active agencies that are silent longer than their habit explains, the
    most unusual first.

    Columns: agency, last_entry_at, silent_for, missed (entries, at its usual rate),
    habit.
    """
    return find_silences(_published(lake, desk, now), now)


def failing_sources(lake: Lake | Snapshot, desk: Desk, now: datetime) -> Findings:
    """Return the sources of active agencies that fail, list nothing or are not polled,
    the worst kind first.

    Columns: source_id, agency, what, since, reason, failed_polls, failure_points,
    next_poll_at.
    """
    return find_failing_sources(desk, _states(lake, desk), _polls(lake, desk, now), now)


def _published(
    lake: Lake | Snapshot, desk: Desk, now: datetime
) -> list[PublishingHistory]:
    day_counts = _day_counts(lake, desk)
    hours = _hour_counts(lake, desk, now)
    times: dict[str, dict[str, datetime]] = {}
    for row in entry_times(lake, desk.key).iter_rows(named=True):
        times[row["agency"]] = row
    answers = _Answers(_states(lake, desk), _polls(lake, desk, now))
    histories = []
    for one in desk.agencies:
        if not one.is_active:
            continue
        seen = times.get(one.key, {})
        history = PublishingHistory(
            agency=one.key,
            timezone=one.timezone,
            day_counts=day_counts[one.key],
            seen_hours=hours[one.key],
            first_seen_at=seen.get("first_seen_at"),
            last_entry_at=seen.get("last_entry_at"),
            first_answer_at=answers.first(one),
            last_answer_at=answers.last(one, seen.get("newest_seen_at")),
        )
        histories.append(history)
    return histories


def _day_counts(lake: Lake | Snapshot, desk: Desk) -> defaultdict[str, dict[date, int]]:
    """Return the numbers of entries by agency and day."""
    counts: defaultdict[str, dict[date, int]] = defaultdict(dict)
    for agency, day, count in entry_days(lake, desk.key, HISTORY_DAYS).iter_rows():
        counts[agency][day] = count
    return counts


def _hour_counts(
    lake: Lake | Snapshot, desk: Desk, now: datetime
) -> defaultdict[str, list[int]]:
    """Return the numbers of recent entries by agency and hour of the day."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * 24)
    recent = entry_hours(lake, desk.key, now - _HOURS_SINCE)
    for agency, hour, count in recent.iter_rows():
        counts[agency][hour] = count
    return counts


@dataclass(frozen=True, slots=True)
class _Answers:
    """The first and last successful polls of an agency, from the states and polls of
    its sources (by source_id).
    """

    states: Mapping[str, SourceState]
    polls: Mapping[str, PollHistory]

    def first(self, agency: Agency) -> datetime | None:
        times = [poll.first_answer_at for poll in self._polls(agency)]
        return min(filter(None, times), default=None)

    def last(self, agency: Agency, newest_seen_at: datetime | None) -> datetime | None:
        """Return the last successful poll; of polled sources without one, the time of
        the newest entry.
        """
        times: list[datetime | None] = []
        is_polled = False
        for source in agency.sources:
            state = self.states.get(source.source_id)
            if state is None:
                continue
            is_polled = True
            if state.last_outcome in ANSWERS:
                times.append(state.last_polled_at)
        times += [poll.last_answer_at for poll in self._polls(agency)]
        if not is_polled:
            newest_seen_at = None
        return max(filter(None, times), default=newest_seen_at)

    def _polls(self, agency: Agency) -> list[PollHistory]:
        polls = [self.polls.get(source.source_id) for source in agency.sources]
        return [poll for poll in polls if poll is not None]


def _states(lake: Lake | Snapshot, desk: Desk) -> dict[str, SourceState]:
    return {state.source_id: state for state in lake.read(SourceState, desk=[desk.key])}


def _polls(lake: Lake | Snapshot, desk: Desk, now: datetime) -> dict[str, PollHistory]:
    history = poll_history(lake, desk.key, now)
    return {one.source_id: one for one in made_of(PollHistory, history)}
