"""CivicWeb, BoardDocs, OnBase and the Archive Center: single answers."""

import json
from datetime import date
from urllib.parse import parse_qs, urlsplit

import pytest

from news_assets.records.meetings import Location, Meeting
from news_assets.sources.civic import boarddocs, civicengage, civicweb
from news_assets.sources.civic import onbase as onbase
from news_assets_tests.sources.civic.answers import listing, local, one

# --- CivicWeb -------------------------------------------------------------------------

PORTAL = "https://springfield.civicweb.net/"
SERVICE = f"{PORTAL}Services/MeetingsService.svc/meetings"
CIVICWEB = {
    "Id": 11014,
    "MeetingDate": "2026-03-19",
    "MeetingDateTime": "2026-03-19 17:00",
    "MeetingLocation": "Chambers, 700 N. Main St.",
    "MeetingTime": "05:00 PM",
    "Name": "Work Session - CIAC - Mar 19 2026",
    "Published": True,
    "TypeId": 24,
    "VideoIcon": "",
}


def test_civicwebs_times_are_local_and_the_day_is_no_part_of_the_name() -> None:
    meeting = one("civicweb", [CIVICWEB], SERVICE)
    assert (meeting.vendor_id, meeting.title, local(meeting)) == (
        "11014",
        "Work Session - CIAC",
        "2026-03-19T17:00:00-05:00",
    )
    assert meeting.location == Location(name="Chambers", address="700 N. Main St.")
    assert meeting.url == f"{PORTAL}Portal/MeetingInformation.aspx?Id=11014"


@pytest.mark.parametrize(
    ("name", "title", "status"),
    [
        ("Closed Meeting- Jun 27 2026", "Closed Meeting", "tentative"),
        ("City Council - 18 Mar 2026", "City Council", "tentative"),
        ("Council - Mar 31 2026 Amended Agenda", "Council Amended Agenda", "tentative"),
        ("***CANCELLED*** City Council - 18 Mar 2026", "City Council", "cancelled"),
        ("City Council - CANCELLED - Mar 18 2026", "City Council - CANCELLED", "cancelled"),
        ("Mar 18 2026", "Mar 18 2026", "tentative"),
    ],
)  # fmt: skip
def test_names_of_civicweb(name: str, title: str, status: str) -> None:
    meeting = one("civicweb", [CIVICWEB | {"Name": name}], SERVICE)
    assert (meeting.title, meeting.status) == (title, status)


def test_midnight_on_civicweb_is_no_hour() -> None:
    assert one(
        "civicweb", [CIVICWEB | {"MeetingDateTime": "2026-03-19 00:00"}], SERVICE
    ).all_day


def test_an_unpublished_agenda_is_not_requested() -> None:
    published = one("civicweb", [CIVICWEB], SERVICE)
    hidden = one("civicweb", [CIVICWEB | {"Published": False}], SERVICE)
    [request] = civicweb.items(PORTAL, published)
    assert request.url == f"{SERVICE}/11014/meetingDocuments"
    assert civicweb.items(PORTAL, hidden) == ()


def civicweb_documents(*documents: dict[str, object]) -> Meeting:
    return one("civicweb", list(documents), f"{SERVICE}/7/meetingDocuments")


def test_drafts_closed_sessions_and_documents_of_a_later_day_are_left_out() -> None:
    common = {
        "MeetingId": 7,
        "Name": "Council & Board",
        "Html": "",
        "PublicReleaseDelayDateString": "",
    }
    meeting = civicweb_documents(
        common | {"Id": 1, "DocumentType": 1},
        common | {"Id": 4, "DocumentType": 4},
        common | {"Id": 12, "DocumentType": 12},
        common
        | {"Id": 10, "DocumentType": 10, "PublicReleaseDelayDateString": "2999-01-01"},
    )
    links = [(link.title, link.href) for link in meeting.links]
    assert links == [
        ("Agenda", f"{PORTAL}document/4/Council%20%26%20Board.pdf"),
        ("Agenda (HTML)", f"{PORTAL}document/1"),
    ]
    assert (meeting.vendor_id, meeting.is_partial, meeting.minutes_url) == (
        "7",
        True,
        None,
    )


WORD_LINE = '<p><a name="{0}"></a></p><table><tr><td><p>{1}</p></td><td><p>{2}</p></td><td><p>{3}</p></td></tr></table>'


def test_a_heading_of_civicweb_is_an_item_only_if_it_is_numbered_and_nothing_is_below_it() -> (
    None
):
    html = "".join(
        (
            WORD_LINE.format("AgendaHeading1", "1.", "JOBS OF THE WEEK", ""),
            WORD_LINE.format("AgendaHeading2", "2.", "CONSENT", ""),
            WORD_LINE.format("AgendaHeading3", "2.1", "Contracts", ""),
            WORD_LINE.format("AgendaItem4", "2.1.1.", '<b>PAVING</b><p><a href="/document/5/a.pdf?handle=A">WS #24-035 - Pdf</a></p>', "2"),
            WORD_LINE.format("AgendaHeading5", "&nbsp;", "PUBLIC NOTICES", ""),
        )
    )  # fmt: skip
    meeting = civicweb_documents(
        {"Id": 1, "DocumentType": 1, "Html": html, "MeetingId": 7}
    )
    found = [
        (item.number, item.title, item.section, item.vendor_id, item.matter_file)
        for item in meeting.items
    ]
    assert found == [
        ("1", "JOBS OF THE WEEK", "", "heading-1", None),
        ("2.1.1", "PAVING", "Contracts", "4", "WS #24-035"),
    ]
    assert [(file.name, file.url) for file in meeting.items[1].attachments] == [
        ("WS #24-035", f"{PORTAL}document/5/a.pdf?handle=A")
    ]


def test_an_agenda_of_civicweb_without_anchors_is_read_by_its_numbers() -> None:
    rows = "<tr><td>1.</td><td>Minutes of May</td></tr><tr><td></td><td>Text</td></tr><tr><td>2.</td><td>Paving<p><a href='/document/9'>Plan</a></td></tr>"
    meeting = civicweb_documents(
        {"Id": 1, "DocumentType": 1, "Html": f"<table>{rows}</table>", "MeetingId": 7}
    )
    assert [
        (item.number, item.title, len(item.attachments)) for item in meeting.items
    ] == [
        ("1", "Minutes of May", 0),
        ("2", "Paving", 1),
    ]


def test_the_head_of_an_agenda_says_that_the_meeting_is_cancelled() -> None:
    html = f"<p><b>This meeting has been cancelled</b></p>{WORD_LINE.format('AgendaItem4', '1.', 'Paving', '')}"
    assert (
        civicweb_documents(
            {"Id": 1, "DocumentType": 1, "Html": html, "MeetingId": 7}
        ).status
        == "cancelled"
    )


def test_an_item_about_a_cancellation_does_not_cancel_the_meeting() -> None:
    html = WORD_LINE.format("AgendaItem4", "1.", "Cancelled", "")
    assert (
        civicweb_documents(
            {"Id": 1, "DocumentType": 1, "Html": html, "MeetingId": 7}
        ).status
        == "tentative"
    )


def test_civicweb_is_asked_for_a_span_of_days_because_without_one_it_answers_with_nothing() -> (
    None
):
    [request] = civicweb.days(PORTAL, date(2026, 3, 1), date(2026, 3, 31))
    assert request.url == f"{SERVICE}?from=2026-03-01&to=2026-03-31&loadall=false"
    assert listing("civicweb", [], SERVICE).state == "empty"


# --- BoardDocs ------------------------------------------------------------------------

BOARD = "https://go.boarddocs.com/il/springfield/Board.nsf/Public"
FOLDER = BOARD.removesuffix("Public")
LIST = f"{FOLDER}BD-GetMeetingsList?open&committee=AB9A2R259AF0&body=School%20Board"
AGENDA = f"{FOLDER}PRINT-AgendaDetailed?open&id=DQ3VPX80F260"


@pytest.mark.parametrize(
    "menu",
    [
        '<a class="committee-trigger" committeeid="AB9A2R259AF0" aria-label="School Board"></a>',
        '<select name="committeeid"><option value="">All</option><option value="AB9A2R259AF0">School Board</option></select>',
    ],
)
def test_the_committees_of_a_board_are_requested_one_by_one(menu: str) -> None:
    found = listing("boarddocs", f"<html><body>{menu}</body></html>", BOARD)
    [request] = found.next_requests
    assert (request.url, request.method, request.body) == (
        LIST,
        "POST",
        b"current_committee_id=AB9A2R259AF0",
    )
    assert found.state == "empty"


def test_a_boards_list_has_days_without_hours_and_may_end_with_an_empty_object() -> (
    None
):
    row = {
        "unique": "DQ3VPX80F260",
        "name": "REGULAR MEETING",
        "current": "1",
        "numberdate": "20260317",
        "unid": "0F3",
    }
    meeting = one("boarddocs", [row, {}], LIST)
    assert (meeting.vendor_id, meeting.body, meeting.title) == (
        "DQ3VPX80F260",
        "School Board",
        "REGULAR MEETING",
    )
    assert (local(meeting), meeting.all_day) == ("2026-03-17T00:00:00-05:00", True)
    assert meeting.url == f"{FOLDER}goto?open&id=DQ3VPX80F260"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        # the row of 17 March stays, beside the new one
        (
            "Postponed to March 24, 2026--REGULAR MEETING",
            "cancelled",
        ),
        ("Rescheduled to March 17, 2026 - REGULAR MEETING", "tentative"),
        ("CANCELLED - REGULAR MEETING", "cancelled"),
    ],
)
def test_a_postponed_meeting_of_a_board_keeps_its_day(name: str, status: str) -> None:
    assert (
        one(
            "boarddocs", [{"unique": "D", "name": name, "numberdate": "20260317"}], LIST
        ).status
        == status
    )


DETAILED = """<div id="print-top-meeting-info"><div class="print-meeting-date">Tuesday, March 17, 2026</div>
<div class="print-meeting-name">REGULAR MEETING</div><div class="print-meeting-description">3700 S. HIGH ST.<br>6:00PM</div></div>
<div class="container item agendaorder"><div style="font-weight: bold;">Subject 9.2 Minutes of the Meeting</div>
<div class="print-files"><div class="public-file"><a href="/il/springfield/Board.nsf/files/DWV1/$file/Min.pdf">Minutes.pdf (3,798 KB)</a></div></div></div>
<div class="container item agendaorder"><dl class="row"><dt>Subject</dt><dd>A. Call to Order</dd></dl><dl><dt>Category</dt><dd>1. OPENING</dd></dl></div>"""


def test_a_detailed_agenda_gives_the_hour_and_the_items_with_their_files() -> None:
    meeting = one("boarddocs", DETAILED, AGENDA)
    assert (meeting.vendor_id, local(meeting), meeting.is_partial) == (
        "DQ3VPX80F260",
        "2026-03-17T18:00:00-05:00",
        True,
    )
    found = [
        (
            item.number,
            item.title,
            item.section,
            [file.name for file in item.attachments],
        )
        for item in meeting.items
    ]
    assert found == [
        ("9.2", "Minutes of the Meeting", "", ["Minutes.pdf"]),
        ("A", "Call to Order", "1. OPENING", []),
    ]


def test_an_empty_agenda_is_not_posted_yet() -> None:
    found = listing("boarddocs", "", AGENDA)
    assert (found.state, found.meetings) == ("empty", ())


def test_an_agenda_is_requested_by_a_form() -> None:
    [request] = boarddocs.items(BOARD, Meeting(vendor_id="DQ3VPX80F260"))
    assert (request.url, request.method, request.body) == (
        AGENDA,
        "POST",
        b"id=DQ3VPX80F260",
    )


# --- OnBase ---------------------------------------------------------------------------

SITE = "https://records.springfield.gov/OnBaseAgendaOnline/"
VIEW = f"{SITE}Documents/ViewAgenda?meetingId=12&type=agenda&doctype=1"
ROW = """<table><tr class="meeting-row" data-meeting-id="12"><td data-sortable-type="mtgName">March 17, 2026</td>
<td data-sortable-type="mtgType">City Council</td><td data-sortable-type="mtgTime">3/17/2026 6:30:00 PM</td><td>
<a href="/OnBaseAgendaOnline/Meetings/ViewMeeting?id=12&amp;doctype=1">Agenda</a>
<a href="/OnBaseAgendaOnline/Documents/{0}/a.pdf?documentType=1&amp;meetingId=12" title="Download Agenda for March 17, 2026 City Council on 3/17/2026 6:30:00 PM"><img></a>
<a href="/OnBaseAgendaOnline/Documents/DownloadFile/p.pdf?documentType=5&amp;meetingId=12">Agenda Packet</a></td></tr></table>"""


@pytest.mark.parametrize(
    ("listed", "led_to"),
    [("Downloadfile", "Downloadfile"), ("DownloadFile", "DownloadFileBytes")],
)
def test_a_row_of_onbase_and_where_its_files_are(listed: str, led_to: str) -> None:
    meeting = one("onbase", ROW.format(listed), f"{SITE}Meetings/Search?dropid=11")
    assert (meeting.vendor_id, meeting.title, local(meeting)) == (
        "12",
        "City Council",
        "2026-03-17T18:30:00-05:00",
    )
    assert (
        meeting.agenda_url
        == f"{SITE}Documents/{led_to}/a.pdf?documentType=1&meetingId=12"
    )
    assert (
        meeting.packet_url
        == f"{SITE}Documents/DownloadFileBytes/p.pdf?documentType=5&meetingId=12"
    )
    assert [link.title for link in meeting.links] == ["Agenda", "Agenda Packet"]


def test_a_meeting_of_onbase_outside_a_table_is_what_its_links_say() -> None:
    link = '<p>3/17/2026</p><a href="/211agendaonlinecouncil/Meetings/ViewMeeting?id=5262&amp;doctype=1&amp;site=council" title="View Agenda for Closed Session City Council on 3/17/2026 10:00:00 AM">Agenda</a>'
    meeting = one(
        "onbase",
        f"<div>{link}</div>",
        "https://springfield.hylandcloud.com/211agendaonlinecouncil/",
    )
    assert (meeting.title, local(meeting)) == (
        "Closed Session City Council",
        "2026-03-17T10:00:00-05:00",
    )
    [request] = onbase.items(
        "https://springfield.hylandcloud.com/211agendaonlinecouncil/", meeting
    )
    assert request.url.startswith(
        "https://springfield.hylandcloud.com/211agendaonlinecouncil/Documents/ViewAgenda?"
    )


def test_onbases_results_as_json_are_read_with_the_clock_that_they_state() -> None:
    row = {
        "ID": 7,
        "Name": "CANCELLED Planning",
        "MeetingTypeName": "Planning",
        "Time": "2026-03-17T18:30:00-04:00",
        "IsAgendaAvailable": True,
    }
    script = f"<script>showSearchResults(new SearchResults({json.dumps({'Meetings': [row]})}));</script>"
    meeting = one(
        "onbase", f"<html><body>{script}</body></html>", f"{SITE}Meetings/Search"
    )
    assert (local(meeting), meeting.status, meeting.body) == (
        "2026-03-17T18:30:00-05:00",
        "cancelled",
        "Planning",
    )
    assert meeting.agenda_url == f"{SITE}Meetings/ViewMeeting?id=7&doctype=1"


def test_a_search_of_onbase_keeps_the_kinds_of_the_sources_address() -> None:
    [request] = onbase.days(
        f"{SITE}?mtids=109,110", date(2026, 3, 1), date(2026, 3, 31)
    )
    assert request.url.startswith(f"{SITE}Meetings/Search?")
    assert parse_qs(urlsplit(request.url).query) == {
        "dropid": ["11"],
        "mtids": ["109,110"],
        "dropsv": ["03/01/2026 00:00:00"],
        "dropev": ["03/31/2026 23:59:59"],
    }


def test_an_item_whose_link_is_only_a_file_number_has_its_subject_from_the_next_line() -> (
    None
):
    cell = '<p><a href="javascript:loadAgendaItem(24195,false);">File No. VAC-26-09</a></p><p>Hearing on alleys</p>'
    meeting = one("onbase", f"<table><tr><td>5.</td><td>{cell}</td></tr></table>", VIEW)
    [item] = meeting.items
    assert (item.vendor_id, item.number, item.title, item.matter_file) == (
        "24195",
        "5",
        "Hearing on alleys",
        "VAC-26-09",
    )
    assert item.details_urls == (
        f"{SITE}Meetings/ViewMeetingAgendaItem?meetingId=12&itemId=24195&isSection=false&type=agenda",
    )


def test_an_outline_without_items_is_continued_by_the_page_for_screen_readers() -> None:
    [request] = listing(
        "onbase", "<html><body>Please wait</body></html>", VIEW
    ).next_requests
    assert request.url == f"{SITE}Meetings/ViewMeetingAgenda?meetingId=12&type=agenda"


def test_an_items_own_page_has_its_documents_and_not_those_of_others() -> None:
    link = '<a href="/OnBaseAgendaOnline/Documents/DownloadFile/{0}.pdf?meetingId=12&amp;itemId={1}&amp;isAttachment=True">{0}</a>'
    page = f"<html><body>{link.format('Plan', 101)}{link.format('Other', 999)}</body></html>"
    meeting = one(
        "onbase",
        page,
        f"{SITE}Meetings/ViewMeetingAgendaItem?meetingId=12&itemId=101&isSection=false",
    )
    [item] = meeting.items
    assert (meeting.vendor_id, item.vendor_id, item.sequence) == ("12", "101", 0)
    assert [file.name for file in item.attachments] == ["Plan"]
    assert "/DownloadFileBytes/Plan.pdf?" in item.attachments[0].url


# --- the Archive Center ---------------------------------------------------------------

ARCHIVE = "https://www.springfield.gov/Archive.aspx"


def archive(*titles: str, amid: int = 30) -> list[Meeting]:
    links = "".join(
        f'<a href="Archive.aspx?ADID={number}">{title}</a>'
        for number, title in enumerate(titles, start=8)
    )
    return list(
        listing(
            "civicengage",
            f"<html><body><h1>Archive Center</h1>{links}</body></html>",
            f"{ARCHIVE}?AMID={amid}",
        ).meetings
    )


@pytest.mark.parametrize(
    ("title", "body", "status"),
    [
        ("City Council Agenda - March 17, 2026", "City Council", "tentative"),
        ("03-17-2026 City Council Agenda", "City Council", "tentative"),
        (
            "Planning Commission Agenda Packet (3/17/2026)",
            "Planning Commission",
            "tentative",
        ),
        (
            "Special City Council Agenda - CANCELLED - March 17, 2026",
            "Special City Council",
            "cancelled",
        ),
        (
            "Notice of Cancellation - City Council - March 17, 2026",
            "City Council",
            "cancelled",
        ),
    ],
)
def test_titles_of_an_archive(title: str, body: str, status: str) -> None:
    [meeting] = archive(title)
    assert (meeting.body, meeting.status, local(meeting)) == (
        body,
        status,
        "2026-03-17T00:00:00-05:00",
    )


def test_a_revised_agenda_is_of_the_same_meeting_and_counts() -> None:
    [meeting] = archive(
        "City Council Agenda - March 17, 2026",
        "City Council Revised Agenda - March 17, 2026",
    )
    assert (meeting.vendor_id, meeting.agenda_url) == ("8", f"{ARCHIVE}?ADID=9")


def test_minutes_in_a_category_of_their_own_complete_the_meeting() -> None:
    [agenda], [minutes] = (
        archive("City Council Agenda - March 3, 2026"),
        archive("City Council Minutes - March 3, 2026", amid=31),
    )
    assert (minutes.is_partial, minutes.agenda_id == agenda.agenda_id) == (True, True)
    assert minutes.minutes_url == f"{ARCHIVE}?ADID=8"


def test_documents_without_a_day_are_a_problem_and_no_meeting() -> None:
    found = listing(
        "civicengage",
        '<html>Archive Center<a href="Archive.aspx?ADID=8">Budget</a></html>',
        f"{ARCHIVE}?AMID=30",
    )
    assert (found.meetings, found.problems) == (
        (),
        ("1 documents have no date in their title",),
    )


def test_the_form_names_the_categories_of_agendas_and_minutes() -> None:
    options = "".join(
        f'<option value="{number}">{name}</option>'
        for number, name in (
            (0, "All"),
            (30, "Council Agendas"),
            (31, "Council Minutes"),
            (32, "Council Audio Minutes"),
            (82, "Crime Reports"),
        )
    )
    found = listing(
        "civicengage", f'<select name="lngArchiveMasterID">{options}</select>', ARCHIVE
    )
    assert [request.url for request in found.next_requests] == [
        f"{ARCHIVE}?AMID=30",
        f"{ARCHIVE}?AMID=31",
    ]


@pytest.mark.parametrize("url", [f"{ARCHIVE}?AMID=30,31", f"{ARCHIVE}?AMID=30&AMID=31"])
def test_an_address_may_name_several_categories(url: str) -> None:
    requests = civicengage.upcoming(url, date(2026, 3, 1))
    assert [request.url for request in requests] == [
        f"{ARCHIVE}?AMID=30",
        f"{ARCHIVE}?AMID=31",
    ]
