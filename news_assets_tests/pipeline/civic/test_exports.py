"""Meetings as calendars."""

from datetime import UTC, datetime, timedelta

import icalendar
import pytest

from news_assets.pipeline.civic.exports import Changes, calendar_of
from news_assets.records.meetings import StoredMeeting
from news_assets_tests.store.examples import full

LISTED = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({}, LISTED),
        ({("m", ""): LISTED + HOUR}, LISTED + HOUR),
        (
            {("m", ""): LISTED + HOUR, ("m", "item"): LISTED + 2 * HOUR},
            LISTED + 2 * HOUR,
        ),
        ({("other", ""): LISTED + HOUR}, LISTED),
    ],
)
def test_an_event_states_its_last_change_and_not_its_last_poll(
    changes: Changes, at: datetime
) -> None:
    meeting = full(
        StoredMeeting,
        meeting_id="m",
        url="https://example.org/m",
        first_seen_at=LISTED,
        last_seen_at=LISTED + 24 * HOUR,
    )
    written = calendar_of([meeting], {}, {}, changes)
    [event] = icalendar.Calendar.from_ical(written).walk("VEVENT")
    assert (event["DTSTAMP"].dt, event["LAST-MODIFIED"].dt) == (at, at)
