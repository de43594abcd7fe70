"""Entries by day and hour, and polls summed up for each source."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk, Source
from news_assets.store.lake import Lake
from news_assets.store.queries.poll_health import (
    entry_days,
    entry_hours,
    entry_times,
    failing_sources,
    poll_history,
    silent_agencies,
)
from news_assets_tests.store.examples import sparse
from news_assets_tests.store.queries.polled_rows import (
    DAY,
    HOUR,
    NOW,
    entry,
    poll,
    store,
)


def test_entries_are_counted_by_day_and_article_back_from_each_agencys_last_day(
    lake: Lake,
) -> None:
    last, old = date(2026, 11, 19), date(2026, 3, 1)
    twice = entry("mec", last, 1, source_id="govbr/mec/feed-2")
    other_desk = entry("mec", last, 7, desk="g1", source_id="g1/mec/feed-1")
    store(lake, entry("mec", last), entry("mec", last, 1), twice, other_desk)
    store(
        lake,
        entry("mec", last - 9 * DAY),
        entry("mec", last - 10 * DAY),
        entry("anp", old),
    )

    assert entry_days(lake, "govbr", 10).rows() == [
        ("anp", old, 1),
        ("mec", last - 9 * DAY, 1),
        ("mec", last, 2),
    ]


def test_the_last_entry_has_its_time_of_publication_but_none_after_it_was_seen(
    lake: Lake,
) -> None:
    day = date(2026, 11, 19)
    seen_at = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
    store(
        lake,
        entry("mec", day, first_seen_at=seen_at),
        entry("mec", day - DAY, first_seen_at=seen_at - DAY),
    )
    store(lake, entry("anp", day, published_at=None, first_seen_at=seen_at))
    store(lake, entry("ibama", day, published_at=seen_at + DAY, first_seen_at=seen_at))

    assert entry_times(lake, "govbr").rows() == [
        ("anp", seen_at, seen_at, seen_at),
        ("ibama", seen_at, seen_at, seen_at),
        ("mec", seen_at - DAY, seen_at, datetime(2026, 11, 19, 12, 0, tzinfo=UTC)),
    ]


def test_hours_count_only_entries_that_were_recent_when_first_seen(lake: Lake) -> None:
    day = date(2026, 11, 19)
    seen_at = datetime(2026, 11, 19, 18, 59, tzinfo=UTC)
    backlog = entry("mec", day - 5 * DAY, first_seen_at=seen_at)
    store(
        lake,
        entry("mec", day, 1),
        entry("mec", day, 2),
        entry("mec", day - DAY, 3, first_seen_at=seen_at),
        backlog,
    )

    assert entry_hours(lake, "govbr", NOW - 30 * DAY).rows() == [
        ("mec", 12, 2),
        ("mec", 18, 1),
    ]
    assert entry_hours(lake, "govbr", seen_at).rows() == [("mec", 18, 1)]


def test_polls_are_summed_up_for_each_source(lake: Lake) -> None:
    store(
        lake,
        poll("failing", 40 * DAY, "ok", 20),
        poll("failing", 6 * HOUR, "failed"),
        poll("failing", 5 * HOUR, "ok", 20),
        poll("failing", 4 * HOUR, "unchanged"),
        poll("failing", 3 * HOUR, "failed"),
        poll("failing", 2 * HOUR, "gone"),
        poll("empty", 5 * HOUR, "ok", 0),
        poll("empty", 4 * HOUR, "ok", 3),
        poll("empty", 3 * HOUR, "ok", 0),
        poll("empty", 2 * HOUR, "unchanged"),
        poll("never", HOUR, "blocked"),
        poll("elsewhere", HOUR, "ok", desk="g1"),
    )
    found = [
        row[:1] + tuple(_hours_ago(cell) for cell in row[1:])
        for row in poll_history(lake, "govbr", NOW).rows()
    ]

    # source, first poll, first and last answer, entries, empty since, failed polls,
    # failing since
    assert found == [
        ("empty", "5 h", "5 h", "2 h", 0, "3 h", 0, None),
        ("failing", "6 h", "5 h", "4 h", 20, None, 2, "3 h"),
        ("never", "1 h", None, None, None, None, 1, "1 h"),
    ]


def _hours_ago(cell: object) -> object:
    return f"{(NOW - cell) // HOUR} h" if isinstance(cell, datetime) else cell


def state(agency: str, outcome: str = "unchanged", **given: Any) -> SourceState:
    values = {
        "source_id": f"govbr/{agency}/feed-1",
        "desk": "govbr",
        "agency": agency,
        "last_polled_at": NOW,
        "next_poll_at": NOW + HOUR,
        "interval_s": 900.0,
        "failure_points": 0.0,
        "last_outcome": outcome,
    }
    return sparse(SourceState, **values | given)


def desk(*active: str, inactive: tuple[str, ...] = ()) -> Desk:
    agencies = tuple(
        Agency(
            key=key,
            name=key,
            timezone="America/Sao_Paulo",
            language="pt",
            sources=(
                Source(
                    source_id=f"govbr/{key}/feed-1",
                    desk="govbr",
                    agency=key,
                    kind="feed",
                    url=f"https://example.org/{key}",
                    timezone="America/Sao_Paulo",
                    language="pt",
                ),
            ),
            is_active=key in active,
        )
        for key in (*active, *inactive)
    )
    return Desk(
        key="govbr",
        timezone="America/Sao_Paulo",
        language="pt",
        first_day=date(2026, 1, 1),
        agencies=agencies,
    )


def test_only_the_agency_that_stopped_is_silent(lake: Lake) -> None:
    # to the 20th of November
    days = [date(2026, 9, 1) + number * DAY for number in range(81)]
    alive = [entry("anp", day, number) for day in days for number in range(4)]
    dead = [entry("mec", day, number) for day in days[:-10] for number in range(4)]
    store(lake, *alive, *dead, state("anp"), state("mec"), state("new"))

    row = (
        "mec",
        datetime(2026, 11, 10, 12, 3, tzinfo=UTC),
        "10 days 2 h",
        pytest.approx(36, abs=5),
        "4.0 a day; never a day without",
    )
    header = ("agency", "last_entry_at", "silent_for", "missed", "habit")
    assert silent_agencies(lake, desk("anp", "mec", "new"), NOW) == Findings(
        3, header, (row,)
    )
    assert silent_agencies(
        lake, desk("anp", "new", inactive=("mec",)), NOW
    ) == Findings(2, header, ())


def test_an_agency_whose_source_fails_is_not_silent(lake: Lake) -> None:
    days = [date(2026, 9, 1) + number * DAY for number in range(60)]
    store(lake, *(entry("mec", day, number) for day in days for number in range(4)))
    store(
        lake,
        state("mec", "failed", failure_points=9.0),
        poll("govbr/mec/feed-1", DAY, "failed"),
    )

    assert silent_agencies(lake, desk("mec"), NOW).rows == ()
    assert [row[2] for row in failing_sources(lake, desk("mec"), NOW).rows] == ["fails"]


def test_an_agency_without_entries_after_days_of_answers_is_found(lake: Lake) -> None:
    store(
        lake,
        state("mec"),
        poll("govbr/mec/feed-1", 4 * DAY, "ok"),
        poll("govbr/mec/feed-1", HOUR, "unchanged"),
    )

    assert silent_agencies(lake, desk("mec"), NOW).rows == (
        ("mec", None, "4 days", None, "no entry since the first poll"),
    )
    assert [row[2:5] for row in failing_sources(lake, desk("mec"), NOW).rows] == [
        ("lists nothing", NOW - 4 * DAY, "the listing has no entries")
    ]


def test_in_an_empty_lake_no_agency_is_silent_and_sources_were_never_polled(
    lake: Lake,
) -> None:
    assert silent_agencies(lake, desk("mec"), NOW).rows == ()
    assert [row[0:3] for row in failing_sources(lake, desk("mec"), NOW).rows] == [
        ("govbr/mec/feed-1", "mec", "never polled")
    ]
