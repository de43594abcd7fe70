"""Silent agencies and failing sources over a lake."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk, Source
from news_assets.store.lake import Lake
from news_assets.store.queries.health import failing_sources, silent_agencies
from news_assets_tests.store.examples import sparse
from news_assets_tests.store.queries.polled_rows import (
    DAY,
    HOUR,
    NOW,
    entry,
    poll,
    store,
)


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
