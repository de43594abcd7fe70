"""Silent agencies and failing sources of a desk.

The rules are in `pipeline/freshness/source_health.py`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from news_assets.pipeline.freshness.report_contents import HISTORY_DAYS
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.pipeline.freshness.source_health import (
    ANSWERS,
    PollHistory,
    find_failing_sources,
    find_silences,
)
from news_assets.pipeline.publishing_habits import LEARNT_DAYS, PublishingHistory
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.poll_history import (
    entry_days,
    entry_hours,
    entry_times,
    poll_history,
)
from news_assets.store.transaction import Snapshot

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
    day_counts: defaultdict[str, dict[date, int]] = defaultdict(dict)
    for agency, day, count in entry_days(lake, desk.key, HISTORY_DAYS).iter_rows():
        day_counts[agency][day] = count
    hours: defaultdict[str, list[int]] = defaultdict(lambda: [0] * 24)
    for agency, hour, count in entry_hours(
        lake, desk.key, now - _HOURS_SINCE
    ).iter_rows():
        hours[agency][hour] = count
    times = {
        row["agency"]: row for row in entry_times(lake, desk.key).iter_rows(named=True)
    }
    answers = _Answers(_states(lake, desk), _polls(lake, desk, now))
    return [
        PublishingHistory(
            agency=agency.key,
            timezone=agency.timezone,
            day_counts=day_counts[agency.key],
            seen_hours=hours[agency.key],
            first_seen_at=times.get(agency.key, {}).get("first_seen_at"),
            last_entry_at=times.get(agency.key, {}).get("last_entry_at"),
            first_answer_at=answers.first(agency),
            last_answer_at=answers.last(
                agency, times.get(agency.key, {}).get("newest_seen_at")
            ),
        )
        for agency in desk.agencies
        if agency.is_active
    ]


@dataclass(frozen=True, slots=True)
class _Answers:
    """The first and last successful polls of an agency, from the states and polls of
    its sources (by source_id).
    """

    states: Mapping[str, SourceState]
    polls: Mapping[str, PollHistory]

    def first(self, agency: Agency) -> datetime | None:
        return min(
            _known(poll.first_answer_at for poll in self._polls(agency)), default=None
        )

    def last(self, agency: Agency, newest_seen_at: datetime | None) -> datetime | None:
        """Return the last successful poll; of polled sources without one, the time of
        the newest entry.
        """
        polled = [
            self.states[source.source_id]
            for source in agency.sources
            if source.source_id in self.states
        ]
        times = [
            state.last_polled_at for state in polled if state.last_outcome in ANSWERS
        ]
        times += _known(poll.last_answer_at for poll in self._polls(agency))
        return max(times, default=newest_seen_at if polled else None)

    def _polls(self, agency: Agency) -> list[PollHistory]:
        return [
            self.polls[source.source_id]
            for source in agency.sources
            if source.source_id in self.polls
        ]


def _known(times: Iterable[datetime | None]) -> list[datetime]:
    return [time for time in times if time is not None]


def _states(lake: Lake | Snapshot, desk: Desk) -> dict[str, SourceState]:
    return {state.source_id: state for state in lake.read(SourceState, desk=[desk.key])}


def _polls(lake: Lake | Snapshot, desk: Desk, now: datetime) -> dict[str, PollHistory]:
    return {
        row["source_id"]: PollHistory(**row)
        for row in poll_history(lake, desk.key, now).iter_rows(named=True)
    }
