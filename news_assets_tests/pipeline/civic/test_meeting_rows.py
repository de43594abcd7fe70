"""A meeting keeps its id, whatever is listed of it later, and whichever source lists
it.
"""

from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from news_assets.pipeline.civic.meeting_rows import known_rows
from news_assets.records.desks import Source
from news_assets.records.meetings import Meeting, StoredMeeting

ZONE = "America/Chicago"
TODAY = date(2026, 3, 2)
SOURCE = Source(
    source_id="civic/springfieldIL/granicus",
    desk="civic",
    agency="springfieldIL",
    kind="granicus",
    url="https://springfield.granicus.com/",
    timezone=ZONE,
    language="en",
    is_civic=True,
)
OTHER = replace(SOURCE, source_id="civic/springfieldIL/icalendar", kind="icalendar")


def listed(
    title: str = "City Council", day: int = 10, hour: int = 18, vendor_id: str = ""
) -> Meeting:
    starts_at = datetime(2026, 3, day, hour, tzinfo=ZoneInfo(ZONE))
    return Meeting(vendor_id=vendor_id, title=title, body=title, starts_at=starts_at)


def stored(
    meeting_id: str,
    title: str = "City Council",
    day: int = 10,
    hour: int = 18,
    vendor_id: str = "",
    of: Source = SOURCE,
) -> StoredMeeting:
    starts_at = datetime(2026, 3, day, hour, tzinfo=ZoneInfo(ZONE)).astimezone(UTC)
    return StoredMeeting(
        meeting_id=meeting_id,
        desk="civic",
        agency="springfieldIL",
        source_id=of.source_id,
        day=date(2026, 3, day),
        vendor_id=vendor_id,
        agenda_id="",
        body=title,
        title=title,
        starts_at=starts_at,
        ends_at=None,
        is_all_day=False,
        status="tentative",
        location_name="",
        location_address="",
        url=None,
        agenda_url=None,
        packet_url=None,
        minutes_url=None,
        video_url=None,
        links_json="[]",
        comment="",
        participation_json="[]",
        listed_hash="",
        items_asked_at=None,
        first_seen_at=starts_at,
        last_seen_at=starts_at,
    )


def ids(
    meetings: list[Meeting], rows: list[StoredMeeting], source: Source = SOURCE
) -> dict[str, str]:
    keyed = {f"{place}": meeting for place, meeting in enumerate(meetings)}
    return {
        key: row.meeting_id
        for key, row in known_rows(source, keyed, rows, TODAY).items()
    }


def test_a_meeting_that_gets_a_vendors_id_with_its_agenda_keeps_its_own() -> None:
    assert ids([listed(vendor_id="event-7")], [stored("a")]) == {"0": "a"}


def test_a_recorded_meeting_with_another_vendors_id_is_the_same() -> None:
    assert ids([listed(vendor_id="clip-9")], [stored("a", vendor_id="event-7")]) == {
        "0": "a"
    }


def test_a_meeting_without_an_id_may_be_renamed_moved_in_time_or_moved_to_another_day() -> (
    None
):
    rows = [
        stored("a", "Zoning Board of Appeals", day=10),
        stored("b", "Parks", day=12),
        stored("c", "Library", day=20),
    ]
    meetings = [
        listed("Appeals Panel", day=10),
        listed("Parks", day=12, hour=9),
        listed("Library", day=21),
    ]
    assert ids(meetings, rows) == {"0": "a", "1": "b", "2": "c"}


def test_a_meeting_of_another_source_is_the_same_at_the_same_time_only() -> None:
    rows = [stored("a", vendor_id="7"), stored("b", day=17, vendor_id="8")]
    assert ids([listed(), listed(day=24)], rows, OTHER) == {"0": "a"}


def test_two_meetings_of_a_body_on_one_day_are_told_apart_by_their_hours() -> None:
    rows = [stored("a", hour=16), stored("b", hour=18)]
    assert ids([listed(hour=18), listed(hour=16)], rows) == {"0": "b", "1": "a"}


def test_meetings_with_ids_of_their_own_are_not_confused() -> None:
    rows = [stored("a", vendor_id="1"), stored("b", day=17, vendor_id="2")]
    assert ids([listed(day=24, vendor_id="3")], rows) == {}
