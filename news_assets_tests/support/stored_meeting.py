"""A meeting of a council as it is stored, with two agenda items and a document."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from news_assets.records.meetings import StoredDocument, StoredItem, StoredMeeting

DESK_FILE: Final = """\
desk: cities
timezone: America/Chicago
language: en
first_day: 2026-01-01
agencies:
  springfieldIL:
    name: Springfield
    sources: [{kind: primegov, url: "https://springfield.primegov.com/"}]
"""
DAY, SEEN = date(2026, 12, 1), datetime(2026, 11, 23, tzinfo=UTC)
MEETING = StoredMeeting(
    meeting_id="springfieldIL-primegov-7",
    desk="cities",
    agency="springfieldIL",
    source_id="cities/springfieldIL/primegov-1",
    day=DAY,
    vendor_id="7",
    agenda_id="70",
    body="City Council",
    title="Regular Meeting",
    starts_at=datetime(2026, 12, 2, 0, 30, tzinfo=UTC),
    ends_at=None,
    is_all_day=False,
    status="confirmed",
    location_name="Council Chamber",
    location_address="300 S 7th St",
    url=None,
    agenda_url="https://springfield.primegov.com/Portal/Meeting?meetingTemplateId=70",
    packet_url=None,
    minutes_url=None,
    video_url=None,
    links_json='[{"title": "Agenda", "href": "https://springfield.primegov.com/Portal/Meeting?meetingTemplateId=70"}]',
    comment="Comments to clerk@springfield.gov",
    participation_json='[{"kind": "email", "value": "clerk@springfield.gov", "purpose": "comment", "start": 12}]',
    listed_hash="",
    items_asked_at=SEEN,
    first_seen_at=SEEN,
    last_seen_at=SEEN,
)
ITEM = StoredItem(
    item_id="springfieldIL-primegov-7-1",
    meeting_id=MEETING.meeting_id,
    desk="cities",
    agency="springfieldIL",
    day=DAY,
    sequence=2,
    number="2.A",
    title="Ordinance rezoning 5 acres for affordable housing",
    section="Public hearings",
    matter="file:26-101",
    matter_file="26-101",
    matter_id=None,
    matter_type="Ordinance",
    sponsors=("Alder Lee",),
    votes_json="[]",
    attachment_names=("Staff report", "Map"),
    attachment_urls=(
        "https://springfield.gov/report.pdf",
        "https://springfield.gov/map.pdf",
    ),
    document_ids=("a" * 64, "b" * 64),
    filter_tier=None,
    filter_reason=None,
    article_id="a-1",
    first_seen_at=SEEN,
    last_seen_at=SEEN,
)
ROLL_CALL = replace(
    ITEM,
    item_id="springfieldIL-primegov-7-0",
    sequence=1,
    number="1",
    title="Roll call",
    matter="",
    matter_file=None,
    matter_type=None,
    sponsors=(),
    section="",
    attachment_names=(),
    attachment_urls=(),
    document_ids=(),
    article_id=None,
    filter_tier="dropped",
    filter_reason='procedural: "roll call"',
)
REPORT = StoredDocument(
    document_id="a" * 64,
    article_id="a-1",
    desk="cities",
    agency="springfieldIL",
    day=DAY,
    trace_id="t",
    url="https://springfield.gov/report.pdf",
    name="Staff report",
    kind="pdf",
    content_hash="c" * 64,
    title=None,
    pages=3,
    characters=40,
    text="# Staff report\n\nStaff recommends approval.\n",
    is_scanned=False,
    outcome="ok",
    reason=None,
    copy_of=None,
    etag=None,
    last_modified=None,
    fetched_at=SEEN,
)
