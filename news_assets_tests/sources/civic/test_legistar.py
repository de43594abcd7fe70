from datetime import UTC, date, datetime
from urllib.parse import parse_qsl

import pytest

from news_assets.errors import ListingChangedError
from news_assets.records.meetings import AgendaItem, Attachment, Location, Vote
from news_assets.sources.civic import legistar_pages
from news_assets.sources.civic.vendors import CIVIC_KINDS
from news_assets_tests.sources.civic.answers import listing, local, one, page

BASE = "https://webapi.legistar.com/v1/springfield"
EVENT = {
    "EventId": 71,
    "EventBodyName": "Parks Board",
    "EventDate": "2026-03-19T00:00:00",
    "EventTime": "1:00 PM",
    "EventLocation": "City Hall\r\n1 Main St, Springfield, IL 62701",
    "EventAgendaStatusName": "Final",
    "EventAgendaFile": "https://legistar.granicus.com/springfield/71_A.pdf",
    "EventMinutesFile": None,
    "EventVideoPath": None,
    "EventComment": "Bring a chair",
    "EventInSiteURL": "https://springfield.legistar.com/MeetingDetail.aspx?LEGID=71",
    "EventLastModifiedUtc": "2026-03-01T10:00:00.123",
}
ITEMS = [
    {
        "EventItemId": 12,
        "EventItemEventId": 71,
        "EventItemAgendaSequence": 2,
        "EventItemAgendaNumber": "2.A",
        "EventItemTitle": "Ordinance on trees",
        "EventItemMatterFile": "26-0585",
        "EventItemMatterId": 900,
        "EventItemMatterType": "Ordinance",
        "EventItemMatterAttachments": [
            {"MatterAttachmentName": "Draft", "MatterAttachmentHyperlink": "https://a.example.org/draft.pdf"},
            {"MatterAttachmentName": "Map", "MatterAttachmentHyperlink": "map 1.pdf"},
        ],
        "EventItemVoteInfo": [{"VotePersonName": "A. Bee", "VoteValueName": "Yea"}],
    },
    {"EventItemId": 13, "EventItemEventId": 71, "EventItemAgendaSequence": None, "EventItemTitle": "Late item, raised from the floor by a member who had not put it on the agenda"},
    {"EventItemId": 11, "EventItemEventId": 71, "EventItemAgendaSequence": 1, "EventItemTitle": "NEW BUSINESS"},
]  # fmt: skip


def test_an_event_is_local_and_final_means_confirmed() -> None:
    meeting = one("legistar", [EVENT], f"{BASE}/events")
    assert local(meeting) == "2026-03-19T13:00:00-05:00"
    assert (meeting.vendor_id, meeting.title, meeting.status, meeting.all_day) == (
        "71",
        "Parks Board",
        "confirmed",
        False,
    )
    assert meeting.location == Location(
        name="City Hall", address="1 Main St, Springfield, IL 62701"
    )
    assert meeting.agenda_url == "https://legistar.granicus.com/springfield/71_A.pdf"
    assert meeting.updated_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_an_hour_in_prose_leaves_only_the_day() -> None:
    meeting = one(
        "legistar",
        [EVENT | {"EventTime": "After the 5:00 PM meeting"}],
        f"{BASE}/events",
    )
    assert (local(meeting), meeting.all_day) == ("2026-03-19T00:00:00-05:00", True)


def test_a_cancelled_event_stays() -> None:
    assert (
        one(
            "legistar",
            [EVENT | {"EventAgendaStatusName": "Cancelled"}],
            f"{BASE}/events",
        ).status
        == "cancelled"
    )


def test_items_are_in_the_order_of_the_agenda_with_files_and_votes() -> None:
    meeting = one("legistar", ITEMS, f"{BASE}/events/71/eventitems")
    assert (meeting.vendor_id, meeting.is_partial) == ("71", True)
    first, last = meeting.items
    assert last.vendor_id == "13"
    assert first.version.startswith("12@")
    assert first == AgendaItem(
        sequence=1,
        vendor_id="12",
        number="2.A",
        title="Ordinance on trees",
        section="NEW BUSINESS",
        matter_file="26-0585",
        matter_id="900",
        matter_type="Ordinance",
        votes=(Vote(person="A. Bee", value="Yea"),),
        version=first.version,
        attachments=(
            Attachment(name="Draft", url="https://a.example.org/draft.pdf"),
            Attachment(
                name="Map",
                url="https://springfield.legistar1.com/springfield/attachments/map%201.pdf",
            ),
        ),
    )


def test_xml_is_read_like_json() -> None:
    space = "http://schemas.datacontract.org/2004/07/LegistarWebAPI.Models.v1"
    fields = "".join(
        f"<{name}>{value}</{name}>"
        for name, value in EVENT.items()
        if value is not None
    )
    xml = f'<ArrayOfGranicusEvent xmlns="{space}"><!--a--><GranicusEvent><!--b-->{fields}</GranicusEvent></ArrayOfGranicusEvent>'
    assert local(one("legistar", xml, f"{BASE}/events")) == "2026-03-19T13:00:00-05:00"


def test_refusals_are_told_apart() -> None:
    unknown = "LegistarConnectionString setting is not set up in InSite for client: springfeld"
    assert listing("legistar", unknown, BASE, 500).state == "unknown_client"
    assert listing("legistar", "", BASE, 403).state == "closed"
    assert listing("legistar", "Key or Token is required", BASE, 403).state == "closed"
    assert (
        listing("legistar", "<title>Just a moment...</title>", BASE, 403).state
        == "blocked"
    )
    assert listing("legistar", "oops", BASE, 500).state == "blocked"
    assert listing("legistar", [], BASE).state == "empty"
    old = listing("legistar", [EVENT | {"EventDate": "2024-01-05T00:00:00"}], BASE)
    assert (old.state, old.problems) == (
        "stale",
        ("stale: the newest meeting is of 2024-01-05",),
    )


def test_requests_filter_by_local_days_and_keep_the_token() -> None:
    vendor = CIVIC_KINDS["legistar"]
    assert vendor.days
    [request] = vendor.days(f"{BASE}?token=T", date(2026, 3, 1), date(2026, 3, 31))
    assert request.url.startswith(
        f"{BASE}/events?token=T&$filter=EventDate+ge+datetime'2026-03-01'"
    )
    assert "datetime'2026-04-01'" in request.url
    assert request.headers == (("Accept", "application/json"),)


def test_the_signal_overlaps_three_days_because_changes_are_dated_back() -> None:
    vendor = CIVIC_KINDS["legistar"]
    assert vendor.signal
    assert (
        "2026-03-07T12"
        in vendor.signal(BASE, datetime(2026, 3, 10, 12, tzinfo=UTC)).url
    )


def test_a_full_answer_names_the_next_one() -> None:
    events = [EVENT | {"EventId": number} for number in range(1000)]
    [following] = listing(
        "legistar", events, f"{BASE}/events?$top=1000&$skip=1000"
    ).next_requests
    assert following.url == f"{BASE}/events?$top=1000&$skip=2000"


CALENDAR = """<table class="rgMasterTable"><thead><tr><th class="rgHeader">Name</th><th class="rgHeader">Meeting Date</th>
<th class="rgHeader"><img alt="ics"></th><th class="rgHeader">Meeting Time</th><th class="rgHeader">Meeting Location</th>
<th class="rgHeader">Meeting Details</th><th class="rgHeader">Agenda</th><th class="rgHeader">Video</th></tr></thead>
<tr class="rgRow"><td><a href="DepartmentDetail.aspx?ID=1">Parks Board</a></td><td>3/19/2026</td>
<td><a href="View.ashx?M=IC&amp;ID=88&amp;GUID=G"><img alt="Export"></a></td><td>1:00 PM</td><td>City Hall<br><em>Cancelled</em></td>
<td><a href="MeetingDetail.aspx?ID=88&amp;GUID=G">Meeting&nbsp;details</a></td>
<td><a href="View.ashx?M=A&amp;ID=88&amp;GUID=G">Agenda</a></td>
<td><a href="#" onclick="window.open('Video.aspx?Mode=Granicus&amp;ID1=3','video');return false;">Video</a></td></tr>
<tr class="rgAltRow"><td>Zoning</td><td>3/20/2026</td><td></td><td></td><td></td>
<td><a href="MeetingDetail.aspx?LEGID=90">Meeting details</a></td><td><a>Not&nbsp;available</a></td><td></td></tr></table>"""
SITE = "https://springfield.legistar.com/Calendar.aspx"


def test_a_calendar_is_read_by_its_headings() -> None:
    parks, zoning = listing("legistar_html", CALENDAR, SITE).meetings
    assert (parks.vendor_id, local(parks), parks.status) == (
        "88",
        "2026-03-19T13:00:00-05:00",
        "cancelled",
    )
    assert (
        parks.agenda_url
        == "https://springfield.legistar.com/View.ashx?M=A&ID=88&GUID=G"
    )
    assert (
        parks.video_url
        == "https://springfield.legistar.com/Video.aspx?Mode=Granicus&ID1=3"
    )
    assert [link.title for link in parks.links] == ["Agenda", "Video"]
    assert (zoning.vendor_id, zoning.all_day, zoning.links) == ("90", True, ())


def test_a_meetings_page_gives_its_items() -> None:
    page = """<a id="x_hypName">Parks Board</a><a id="x_lblDate">3/19/2026</a><span id="x_lblTime">1:00 PM</span>
    <span id="x_lblLocation">City Hall</span><span id="x_lblAgendaStatus">Final</span>
    <a id="x_hypAgenda" href="View.ashx?M=A&amp;ID=88">Agenda</a>
    <table class="rgMasterTable"><tr><th class="rgHeader">File #</th><th class="rgHeader">Agenda #</th>
    <th class="rgHeader">Type</th><th class="rgHeader">Title</th></tr>
    <tr class="rgRow"><td><a href="LegislationDetail.aspx?ID=5&amp;GUID=H">26-0585</a></td><td>2.A.</td><td>Ordinance</td>
    <td>On trees</td></tr></table>"""
    meeting = one(
        "legistar_html",
        page,
        "https://springfield.legistar.com/MeetingDetail.aspx?ID=88&GUID=G",
    )
    assert (meeting.vendor_id, local(meeting), meeting.status) == (
        "88",
        "2026-03-19T13:00:00-05:00",
        "confirmed",
    )
    [item] = meeting.items
    assert (item.number, item.title, item.matter_file, item.matter_id) == (
        "2.A",
        "On trees",
        "26-0585",
        "5",
    )


def test_another_year_is_the_form_sent_again() -> None:
    form = '<form><input type="hidden" name="__VIEWSTATE" value="v=1"><input type="hidden" name="__EVENTTARGET"></form>'
    request = legistar_pages.year(page(form, SITE), 2025)
    assert (request.method, request.url) == ("POST", SITE)
    assert dict(parse_qsl(request.body.decode())) == {
        "__VIEWSTATE": "v=1",
        "__EVENTTARGET": "ctl00$ContentPlaceHolder1$lstYears",
        "ctl00_ContentPlaceHolder1_lstYears_ClientState": '{"value":"2025"}',
    }
    with pytest.raises(ListingChangedError):
        legistar_pages.year(page("<p>a", SITE), 2025)
