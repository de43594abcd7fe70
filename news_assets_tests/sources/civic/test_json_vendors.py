"""PrimeGov, CivicClerk, eScribe and Municode: JSON lists of meetings, and pages of
items.
"""

import json
from datetime import date

import pytest

from news_assets.records.meetings import Location
from news_assets.sources.civic.vendors import CIVIC_KINDS
from news_assets_tests.sources.civic.answers import listing, local, one

DOCUMENTS = [
    {"id": 1, "templateId": 10, "compileOutputType": 1, "templateName": "Agenda"},
    {"id": 2, "templateId": 11, "compileOutputType": 3, "templateName": "HTML Packet"},
]
PRIMEGOV = {
    "id": 55,
    "title": "City Council",
    "dateTime": "2026-03-19T18:00:00",
    "documentList": DOCUMENTS,
    "videoUrl": "//v.example.org/1",
}
AT = "https://springfield.primegov.com/api/v2/PublicPortal/ListUpcomingMeetings"


def test_primegovs_times_are_local_and_documents_are_addressed_by_template() -> None:
    meeting = one("primegov", [PRIMEGOV], AT)
    host = "https://springfield.primegov.com"
    assert (meeting.vendor_id, local(meeting)) == ("55", "2026-03-19T18:00:00-05:00")
    assert (
        meeting.agenda_url
        == f"{host}/Public/CompiledDocument?meetingTemplateId=10&compileOutputType=1"
    )
    assert meeting.packet_url == f"{host}/Portal/Meeting?meetingTemplateId=11"
    assert meeting.video_url == "https://v.example.org/1"


def test_primegovs_older_form_has_texts_and_addresses_documents_by_id() -> None:
    row = {
        "id": 55,
        "title": "Council",
        "date": "Mar 19, 2026",
        "time": "06:00 PM",
        "documentList": DOCUMENTS,
    }
    meeting = one("primegov", [row], AT)
    assert local(meeting) == "2026-03-19T18:00:00-05:00"
    assert (
        meeting.agenda_url
        == "https://springfield.primegov.com/Public/CompiledDocument/1"
    )
    assert (
        meeting.packet_url
        == "https://springfield.primegov.com/Portal/Meeting?compiledMeetingDocumentFileId=2"
    )


def test_primegovs_cancellation_is_in_the_name_of_a_document_and_copies_are_left_out() -> (
    None
):
    cancelled = PRIMEGOV | {
        "documentList": [DOCUMENTS[0] | {"templateName": "Notice of Cancellation"}]
    }
    found = listing(
        "primegov",
        [cancelled, PRIMEGOV | {"id": 56, "title": "City Council - SAP"}],
        AT,
    )
    assert [meeting.status for meeting in found.meetings] == ["cancelled"]
    assert found.problems == ("1 Spanish copies left out",)


def test_primegovs_agenda_page_gives_items() -> None:
    page = """<div class="meeting-item" data-itemid="7" data-mig="m7"><span class="number">1.</span>
    <div class="item-title">Budget</div><a href="/api/compilemeetingattachmenthistory/1.pdf">Report</a></div>"""
    meeting = one(
        "primegov",
        page,
        "https://springfield.primegov.com/Portal/Meeting?meetingTemplateId=11",
    )
    [item] = meeting.items
    assert (meeting.agenda_id, item.vendor_id, item.matter_id, item.number) == (
        "11",
        "7",
        "m7",
        "1",
    )
    assert one("primegov", [PRIMEGOV], AT).agenda_id == "11"
    assert (item.title, item.attachments[0].name) == ("Budget", "Report")


def test_primegovs_past_is_asked_for_by_year() -> None:
    vendor = CIVIC_KINDS["primegov"]
    assert vendor.days
    urls = [
        request.url.rpartition("/")[2]
        for request in vendor.days(AT, date(2025, 12, 30), date(2026, 1, 5))
    ]
    assert urls == [
        "ListArchivedMeetings?year=2025",
        "ListArchivedMeetings?year=2026",
        "ListUpcomingMeetings",
    ]


CIVICCLERK = {
    "id": 21,
    "eventName": "Board",
    "startDateTime": "2026-03-19T09:30:00Z",
    "endDateTime": "2026-03-19T11:30:00Z",
    "eventLocation": {"address1": "Room 9", "address2": "40 N 2nd ST", "city": "Springfield", "state": "IL", "zipCode": "62701"},
    "publishedFiles": [{"fileId": 94, "type": "Agenda", "name": "Agenda", "publishOn": "2026-03-01T10:00:00Z"}],
}  # fmt: skip
EVENTS = "https://springfield.api.civicclerk.com/v1/Events"


def test_civicclerks_z_is_false() -> None:
    meeting = one("civicclerk", {"value": [CIVICCLERK]}, EVENTS)
    assert local(meeting) == "2026-03-19T09:30:00-05:00"
    assert meeting.ends_at
    assert meeting.ends_at.isoformat() == "2026-03-19T11:30:00-05:00"
    assert meeting.location == Location(
        address="Room 9, 40 N 2nd ST, Springfield, IL 62701"
    )
    assert meeting.agenda_url == (
        "https://springfield.api.civicclerk.com/v1/Meetings/GetMeetingFileStream(fileId=94,plainText=false)"
    )


def test_civicclerks_next_page_is_followed_on_the_same_host_only() -> None:
    same = listing(
        "civicclerk",
        {"value": [CIVICCLERK], "@odata.nextLink": f"{EVENTS}?$skip=15"},
        EVENTS,
    )
    other = listing(
        "civicclerk",
        {"value": [CIVICCLERK], "@odata.nextLink": "https://evil.example.org/"},
        EVENTS,
    )
    assert [request.url for request in same.next_requests] == [f"{EVENTS}?$skip=15"]
    assert other.next_requests == ()


def test_civicclerks_agenda_gives_nested_items_without_placeholders() -> None:
    agenda = {
        "id": 300,
        "items": [
            {"id": 1, "agendaObjectItemName": "<b>Consent</b>", "isSection": True, "sortOrder": 1, "childItems": [
                {"id": 2, "agendaObjectItemName": "Lease", "agendaObjectItemNumber": "1.", "attachmentsList": [
                    {"fileName": "Lease.pdf", "pdfVersionFullPath": "https://f.example.org/l.pdf", "isPublished": True},
                    {"fileName": "Old.pdf", "pdfVersionFullPath": "https://f.example.org/o.pdf", "isDeleted": True}]},
                {"id": 3, "agendaObjectItemName": "Select MEETING FILES to add"}]}],
    }  # fmt: skip
    meeting = one(
        "civicclerk", agenda, "https://springfield.api.civicclerk.com/v1/Meetings/300"
    )
    assert [(item.title, item.section) for item in meeting.items] == [
        ("Lease", "Consent")
    ]
    assert [one.name for one in meeting.items[0].attachments] == ["Lease.pdf"]


ESCRIBE = {
    "ID": "ab12-9c",
    "MeetingName": "Ethics Board",
    "StartDate": "2026/03/19 17:15:00",
    "EndDate": "2026/03/19 18:15:00",
    "Description": "Town Hall, Room #7<br/>80 Cedar Avenue, Springfield, IL ",
    "Location": "Town Hall, Room #7",
    "Url": "https://pub-s.escribemeetings.com/Meeting.aspx?Id=ab12-9c",
    "MeetingDocumentLink": [
        {
            "Title": "Agenda Cover Page (PDF)",
            "Type": "AgendaCover",
            "Url": "FileStream.ashx?DocumentId=1",
        },
        {
            "Title": "Agenda (PDF)",
            "Type": "Agenda",
            "Url": "FileStream.ashx?DocumentId=2",
        },
    ],
}
CALENDAR = (
    "https://pub-s.escribemeetings.com/MeetingsCalendarView.aspx/GetCalendarMeetings"
)


@pytest.mark.parametrize("start", ["2026/03/19 17:15:00", "/Date(1773940500000)/"])
def test_escribes_times_are_local_in_both_forms(start: str) -> None:
    meeting = one("escribe", {"d": [ESCRIBE | {"StartDate": start}]}, CALENDAR)
    assert local(meeting) == "2026-03-19T17:15:00-05:00"


def test_escribes_description_holds_the_address() -> None:
    meeting = one("escribe", {"d": [ESCRIBE]}, CALENDAR)
    assert meeting.location == Location(
        name="Town Hall, Room #7", address="80 Cedar Avenue, Springfield, IL"
    )
    assert (
        meeting.agenda_url
        == "https://pub-s.escribemeetings.com/FileStream.ashx?DocumentId=2"
    )


def test_escribes_agenda_gives_the_innermost_items() -> None:
    page = """<div class="AgendaItemContainer"><div class="AgendaItemTitle">Reports</div>
    <div class="AgendaItemContainer"><div class="AgendaItem AgendaItem9"><div class="AgendaItemCounter">2.1.</div>
    <div class="AgendaItemTitle"><a>Audit</a></div><a href="FileStream.ashx?DocumentId=5">Audit.pdf</a></div></div></div>"""
    meeting = one(
        "escribe", page, "https://pub-s.escribemeetings.com/Meeting.aspx?Id=ab12-9c"
    )
    [item] = meeting.items
    assert (meeting.vendor_id, item.vendor_id, item.number, item.title) == (
        "ab12-9c",
        "9",
        "2.1",
        "Audit",
    )
    assert (item.section, item.attachments[0].name) == ("Reports", "Audit.pdf")


def test_escribes_days_are_asked_for_in_a_body() -> None:
    vendor = CIVIC_KINDS["escribe"]
    assert vendor.days
    [request] = vendor.days(
        "https://pub-s.escribemeetings.com/", date(2026, 3, 1), date(2026, 3, 31)
    )
    assert (request.method, request.url) == ("POST", CALENDAR)
    assert json.loads(request.body) == {
        "calendarStartDate": "2026-03-01",
        "calendarEndDate": "2026-03-31",
    }


@pytest.mark.parametrize(
    "when",
    [
        [{"FromDate": "2026-03-19 18:00:00", "ToDate": "2026-03-19 20:00:00"}],
        [2026, 3, 19, 18, 0, 0],
    ],
)
def test_municodes_dates_are_local_in_both_forms(when: object) -> None:
    row = {
        "MeetingID": 5,
        "OriginMeetingID": "ab12",
        "Title": "Council",
        "GroupName": "City Council",
        "CalendarDate": when,
    }
    meeting = one(
        "municode",
        {"Meetings": [row]},
        "https://s.municodemeetings.com/api/v1/public/meeting/list.json",
    )
    assert (meeting.vendor_id, local(meeting), meeting.body) == (
        "ab12",
        "2026-03-19T18:00:00-05:00",
        "City Council",
    )


def test_a_meeting_that_nothing_tells_from_others_is_a_problem() -> None:
    rows = [
        {"id": None, "title": "", "documentList": []},
        {"id": 7, "title": "Council", "dateTime": "2026-03-12T18:00:00"},
    ]
    assert listing("primegov", rows).problems == (
        "1 meetings have neither id, title nor day",
    )
