import pytest

from news_assets.errors import SourceError
from news_assets.records.meetings import Location
from news_assets_tests.sources.civic.answers import listing, local, one


def event(*lines: str) -> str:
    return "\r\n".join(
        (
            "BEGIN:VEVENT",
            "UID:1@example.org",
            "SUMMARY:Library Board",
            *lines,
            "END:VEVENT",
            "",
        )
    )


def calendar(*events: str, before: str = "") -> str:
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{before}{''.join(events)}END:VCALENDAR\r\n"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("DTSTART;TZID=America/New_York:20260319T183000", "2026-03-19T17:30:00-05:00"),
        ("DTSTART:20260319T233000Z", "2026-03-19T18:30:00-05:00"),
        ("DTSTART:20260319T183000", "2026-03-19T18:30:00-05:00"),
        ("DTSTART;VALUE=DATE:20260319", "2026-03-19T00:00:00-05:00"),
    ],
)
def test_zones_of_the_file_are_respected(start: str, expected: str) -> None:
    meeting = one("icalendar", calendar(event(start)))
    assert (local(meeting), meeting.all_day) == (expected, "VALUE=DATE" in start)


def test_an_event_has_place_end_link_and_status() -> None:
    text = event(
        "DTSTART:20260319T183000",
        "DTEND:20260319T203000",
        "LOCATION:Main Library\\, 5 Elm St\\, Springfield",
        "URL:https://www.example.org/e/1",
        "STATUS:CANCELLED",
    )
    meeting = one("icalendar", calendar(text))
    assert meeting.ends_at
    assert meeting.ends_at.isoformat() == "2026-03-19T20:30:00-05:00"
    assert meeting.location == Location(
        name="Main Library", address="5 Elm St, Springfield"
    )
    assert (meeting.status, meeting.links[0].href) == (
        "cancelled",
        "https://www.example.org/e/1",
    )


def test_a_series_keeps_its_local_hour_without_days_taken_out_and_with_moved_ones() -> (
    None
):
    series = event(
        "DTSTART;TZID=America/Chicago:20260303T180000",
        "DTEND;TZID=America/Chicago:20260303T190000",
        "RRULE:FREQ=WEEKLY;UNTIL=20260331T235959Z",
        "EXDATE;TZID=America/Chicago:20260317T180000",
    )
    moved = event(
        "RECURRENCE-ID;TZID=America/Chicago:20260324T180000",
        "DTSTART;TZID=America/Chicago:20260325T200000",
    )
    found = listing("icalendar", calendar(series, moved)).meetings
    assert [local(meeting) for meeting in found] == [
        "2026-03-03T18:00:00-06:00",
        "2026-03-10T18:00:00-05:00",
        "2026-03-31T18:00:00-05:00",
        "2026-03-25T20:00:00-05:00",
    ]
    assert found[-1].vendor_id == "1@example.org#20260324"


def test_a_series_without_end_stops_after_a_year_and_a_rule_by_the_second_is_not_followed() -> (
    None
):
    weekly = listing(
        "icalendar", calendar(event("DTSTART:20260303T180000", "RRULE:FREQ=WEEKLY"))
    ).meetings
    assert len(weekly) == 54
    odd = listing(
        "icalendar", calendar(event("DTSTART:20260303T180000", "RRULE:FREQ=SECONDLY"))
    )
    assert len(odd.meetings) == 1
    assert odd.problems == ("a series could not be repeated: Library Board",)


def test_a_broken_declaration_of_zones_does_not_lose_the_events() -> None:
    zones = "BEGIN:VTIMEZONE\r\nTZID:UTC\r\nTZID:America/Chicago\r\nBEGIN:STANDARD\r\nDTSTART:20240101T000000\r\n"
    zones += (
        "TZOFFSETFROM:+0000\r\nTZOFFSETTO:+0000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    )
    found = listing(
        "icalendar",
        calendar(event("DTSTART;TZID=America/Chicago:20260319T183000"), before=zones),
    )
    assert [local(meeting) for meeting in found.meetings] == [
        "2026-03-19T18:30:00-05:00"
    ]
    assert found.problems == ("zones left out: their declaration cannot be read",)


def test_a_broken_time_loses_only_itself() -> None:
    broken = event(
        "DTSTART:20260319T183000",
        "DTEND:soon",
        "LAST-MODIFIED:20260230",
        "EXDATE:never",
    )
    meeting = one("icalendar", calendar(broken))
    assert (local(meeting), meeting.ends_at, meeting.updated_at) == (
        "2026-03-19T18:30:00-05:00",
        None,
        None,
    )


def test_a_file_that_is_no_calendar_is_an_error() -> None:
    with pytest.raises(SourceError, match="not an iCalendar file"):
        listing("icalendar", "<html>gone</html>")
