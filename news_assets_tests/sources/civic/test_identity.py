from dataclasses import replace
from datetime import date, time

from news_assets.records.meetings import Link, Meeting, MeetingListing
from news_assets.sources.civic.identity import changed_days, fingerprints
from news_assets.sources.civic.moments import Moment
from news_assets.sources.civic.vendor_meetings import meeting_of
from news_assets_tests.sources.civic.answers import context


def meeting(number: int, day: int) -> Meeting:
    start = Moment(date(2026, 3, day), time(19))
    stated = Meeting(vendor_id=str(number), title="Council")
    return meeting_of(stated, context(), start=start)


def prints(*meetings: Meeting) -> dict[str, str]:
    return fingerprints(MeetingListing(meetings=meetings))


def test_only_days_whose_meetings_changed_are_named() -> None:
    known = prints(meeting(1, 12), meeting(2, 13), meeting(3, 14))
    found = prints(
        meeting(3, 14),
        replace(meeting(2, 13), title="Council - Cancelled"),
        meeting(4, 20),
    )
    assert changed_days(known, found, lists_changes_only=False) == {
        "2026-03-12",
        "2026-03-13",
        "2026-03-20",
    }
    assert changed_days(known, found, lists_changes_only=True) == {
        "2026-03-13",
        "2026-03-20",
    }


def test_time_and_recordings_are_no_change() -> None:
    video = Link(title="Video", href="https://v.example.org/1")
    later = replace(
        meeting(1, 12), status="passed", links=(video,), video_url=video.href
    )
    assert prints(later) == prints(meeting(1, 12))
    assert prints(replace(later, status="cancelled")) != prints(meeting(1, 12))
