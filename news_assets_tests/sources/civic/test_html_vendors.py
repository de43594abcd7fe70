"""Granicus, CivicPlus, IQM2, NovusAgenda, Municode's pages, and pages of PDF links."""

from dataclasses import replace
from datetime import date

from news_assets.records.desks import Selectors
from news_assets.records.meetings import Location
from news_assets.sources.civic.vendors import CIVIC_KINDS, read_answer
from news_assets_tests.sources.civic.answers import context, listing, local, one, page

VIEW = "https://springfield.granicus.com/ViewPublisher.php?view_id=4"


def granicus_row(
    name: str, when: str, clip: int, attributes: str = "class=listingRow"
) -> str:
    return f"""<tr {attributes}><td class=listItem headers=Name>{name}</td><td class=listItem>{when}</td>
    <td class=listItem>00h&nbsp;20m</td><td><a href="//springfield.granicus.com/AgendaViewer.php?view_id=4&amp;clip_id={clip}">
    Agenda</a></td><td><a href="javascript:void(0);"
    onclick="window.open('//springfield.granicus.com/MediaPlayer.php?view_id=4&amp;clip_id={clip}','player')">Video</a></td></tr>"""


def test_granicus_rows_are_read_whatever_their_class() -> None:
    rows = granicus_row(
        "Council", "November&nbsp; 7,&nbsp;2025 - 8:00&nbsp;AM", 7
    ) + granicus_row("Zoning", "1767225600Dec 31, 2025", 8, "class=noshade")
    council, zoning = listing("granicus", f"<table>{rows}</table>", VIEW).meetings
    assert (council.vendor_id, council.title, local(council)) == (
        "clip-7",
        "Council",
        "2025-11-07T08:00:00-06:00",
    )
    assert (
        council.agenda_url
        == "https://springfield.granicus.com/AgendaViewer.php?view_id=4&clip_id=7"
    )
    assert (
        council.video_url
        == "https://springfield.granicus.com/MediaPlayer.php?view_id=4&clip_id=7"
    )
    assert (zoning.vendor_id, zoning.all_day, local(zoning)) == (
        "clip-8",
        True,
        "2025-12-31T00:00:00-06:00",
    )


def test_granicus_columns_may_be_swapped_and_a_meeting_is_listed_twice() -> None:
    swapped = """<tr class=odd><td>Mar 12, 2026 - 6:00 PM</td><td>Council</td>
    <td><a href="/AgendaViewer.php?view_id=4&amp;event_id=3">Agenda</a></td></tr>"""
    meeting = one(
        "granicus",
        f"<table>{swapped}</table><h2>Archived</h2><table>{swapped}</table>",
        VIEW,
    )
    assert (meeting.vendor_id, meeting.title, meeting.status) == (
        "event-3",
        "Council",
        "tentative",
    )


def test_a_granicus_panel_names_the_body() -> None:
    panel = '<div class="CollapsiblePanel"><div class="CollapsiblePanelTab">*City Council</div><table>'
    meeting = one(
        "granicus",
        f"{panel}{granicus_row('Special', 'Mar 1, 2026', 1)}</table></div>",
        VIEW,
    )
    assert (meeting.body, meeting.title) == ("City Council", "Special")


def test_a_granicus_agenda_gives_hour_place_and_items() -> None:
    agenda = """<title>Agenda</title><center>SPRINGFIELD<br>PLANNING COMMISSION MEETING<br>AGENDA<br>
    Thursday, March  12, 2026 at<br>7:00 pm<br></center><div>Place: City Hall, 1 Main St, Springfield, IL 62701</div>
    <table><tr><td>1.</td><td><a name="agenda9" href="/MediaPlayer.php?clip_id=5&amp;meta_id=9">CALL TO ORDER<br>Chair Bee</a></td></tr></table>
    <table><tr><td>a.</td><td>Lease of the barn</td></tr></table>
    <blockquote><a href="/MetaViewer.php?view_id=4&amp;clip_id=5&amp;meta_id=10">Staff report</a></blockquote>
    <table><tr><td></td><td>Text without a number</td></tr></table>"""
    meeting = one(
        "granicus",
        agenda,
        "https://springfield.granicus.com/AgendaViewer.php?view_id=4&clip_id=5",
    )
    assert (meeting.vendor_id, meeting.title) == (
        "clip-5",
        "PLANNING COMMISSION MEETING",
    )
    assert local(meeting) == "2026-03-12T19:00:00-05:00"
    assert meeting.location == Location(
        name="City Hall", address="1 Main St, Springfield, IL 62701"
    )
    found = [
        (
            item.number,
            item.title,
            item.vendor_id,
            [one.name for one in item.attachments],
        )
        for item in meeting.items
    ]
    assert found == [
        ("1", "CALL TO ORDER", "9", []),
        ("a", "Lease of the barn", "", ["Staff report"]),
    ]


def test_a_granicus_feed_has_the_day_in_its_titles() -> None:
    feed = """<?xml version="1.0"?><rss><channel><!--a--><copyright>&#xD800;</copyright><item><title>Planning Commission - Mar 12, 2026</title>
    <link>https://springfield.granicus.com/AgendaViewer.php?view_id=4&amp;clip_id=5</link></item></channel></rss>"""
    meeting = one(
        "granicus",
        feed,
        "https://springfield.granicus.com/ViewPublisherRSS.php?view_id=4&mode=agendas",
    )
    assert (meeting.vendor_id, meeting.title, local(meeting)) == (
        "clip-5",
        "Planning Commission",
        "2026-03-12T00:00:00-05:00",
    )


AGENDA_CENTER = """<h2>▼Airport Board</h2><table><tr class="catAgendaRow"><td><h4><a name="_03192026-808"></a>
<a href="/AgendaCenter/ViewFile/Agenda/_03192026-808?html=true"><strong><abbr>Mar</abbr> 19, 2026</strong> — Posted Mar 2, 2026
11:47 AM</a></h4><p>Airport Board Agenda</p></td><td class="minutes"></td><td class="downloads"><ol>
<li><a href="/AgendaCenter/ViewFile/Agenda/_03192026-808?html=true">HTML</a></li>
<li><a href="/AgendaCenter/ViewFile/Agenda/_03192026-808">PDF</a></li>
<li><a href="/AgendaCenter/ViewFile/Agenda/_03192026-808?packet=true">Packet</a></li></ol></td></tr></table>"""


def test_civicplus_has_days_without_hours_and_the_heading_is_the_body() -> None:
    meeting = one(
        "civicplus", AGENDA_CENTER, "https://www.springfield.gov/AgendaCenter"
    )
    base = "https://www.springfield.gov/AgendaCenter/ViewFile/Agenda/_03192026-808"
    assert (meeting.vendor_id, meeting.body, meeting.title) == (
        "808",
        "Airport Board",
        "Airport Board Agenda",
    )
    assert (local(meeting), meeting.all_day) == ("2026-03-19T00:00:00-05:00", True)
    assert (meeting.agenda_url, meeting.packet_url) == (
        f"{base}?html=true",
        f"{base}?packet=true",
    )
    assert [link.title for link in meeting.links] == [
        "Agenda (HTML)",
        "Agenda",
        "Packet",
    ]


def test_an_agenda_center_without_rows_is_empty_and_another_page_is_not() -> None:
    assert (
        listing("civicplus", "<div id=AgendaCenter>No records</div>").state == "empty"
    )


IQM2 = """<div class="Row MeetingRow"><div class="RowLink"><a href="/Citizens/Detail_Meeting.aspx?ID=23"
title="THURSDAY, MARCH 19, 2026  6:30 PM&#13;&#13;Board:&#09;Council&#13;Type:&#09;Regular&#13;Status:&#09;{status}&#13;&#13;&#09;Chambers&#13;&#09;65
Main Street, Springfield, IL  62701">Mar 19, 2026 6:30 PM </a>{cancelled}</div><div class="RowRight MeetingLinks">
<a href="FileOpen.aspx?Type=14&amp;ID=9" >Agenda</a><a href="" class="HiddenDocumentLink">Minutes</a></div>
<div class="RowDetails">Council - Regular</div></div>"""
CITIZENS = "https://springfield.iqm2.com/Citizens/Calendar.aspx"


def test_iqm2s_rows_state_place_and_status_in_a_title() -> None:
    meeting = one("iqm2", IQM2.format(status="Scheduled", cancelled=""), CITIZENS)
    assert (meeting.vendor_id, meeting.title, meeting.body) == (
        "23",
        "Council - Regular",
        "Council",
    )
    assert local(meeting) == "2026-03-19T18:30:00-05:00"
    assert (meeting.location.name, meeting.status) == ("Chambers", "tentative")
    assert [link.href for link in meeting.links] == [
        "https://springfield.iqm2.com/Citizens/FileOpen.aspx?Type=14&ID=9"
    ]


def test_iqm2s_cancelled_rows_are_kept() -> None:
    assert (
        one("iqm2", IQM2.format(status="Cancelled", cancelled=""), CITIZENS).status
        == "cancelled"
    )
    mark = "<span class=MeetingCancelled>Cancelled</span>"
    assert (
        one("iqm2", IQM2.format(status="", cancelled=mark), CITIZENS).status
        == "cancelled"
    )


def test_iqm2s_meeting_page_gives_items_with_sections_and_files() -> None:
    detail = """<table><tr><td class=MeetingHeading><span id=x_lblMeetingGroup>Council</span><br>
    <span id=x_lblMeetingType>Regular</span><br><span id=x_lblMeetingDate>3/19/2026 6:00 PM</span><br> Room 5
    <div class=MeetingAddress>N/A N/A, NA  N/A</div><span id=x_lblMeetingStatus></span></td></tr></table>
    <div class=MeetingDownloads><a href="FileOpen.aspx?Type=1&amp;ID=9">Agenda Packet</a></div><table id=MeetingDetail>
    <tr><td class=Num>1.</td><td class=Title><strong>New Business</strong></td></tr>
    <tr><td></td><td class=Num>A.</td><td class=Title><a href="Detail_LegiFile.aspx?MeetingID=23&amp;ID=77">2026-114 : Trees</a></td></tr>
    <tr><td></td><td></td><td class=Num>a.</td><td class=Title><a href="FileOpen.aspx?Type=4&amp;ID=8">Map</a></td></tr></table>"""
    meeting = one(
        "iqm2",
        detail,
        "https://springfield.iqm2.com/Citizens/Detail_Meeting.aspx?ID=23",
    )
    assert (meeting.vendor_id, local(meeting)) == ("23", "2026-03-19T18:00:00-05:00")
    assert meeting.location == Location(name="Room 5")
    [item] = meeting.items
    assert (item.section, item.number, item.title) == ("New Business", "A", "Trees")
    assert (item.matter_id, item.matter_file, item.attachments[0].name) == (
        "77",
        "2026-114",
        "Map",
    )
    assert "Detail_LegiFile.aspx" in item.details_urls[0]


NOVUS = """<table class=rgMasterTable><tr><th class=rgHeader>Date</th><th class=rgHeader>Meeting Type</th>
<th class=rgHeader>Location</th><th class=rgHeader>Time</th><th class=rgHeader></th></tr>
<tr class=rgRow><td>3/19/26</td><td>City Council</td><td>Annex</td><td>5:30 PM</td>
<td><a onclick="window.open('MeetingView.aspx?MeetingID=31&amp;doctype=Agenda')" href="#"><img alt="Online Agenda"></a></td></tr>
<tr class=rgAltRow><td>03/26/2026</td><td>Zoning - Cancelled</td><td></td><td></td><td></td></tr></table>"""
NOVUS_URL = "https://springfield.novusagenda.com/agendapublic/"


def test_novus_columns_are_told_by_their_headings() -> None:
    council, zoning = listing("novusagenda", NOVUS, NOVUS_URL).meetings
    assert (council.vendor_id, council.title, local(council)) == (
        "31",
        "City Council",
        "2026-03-19T17:30:00-05:00",
    )
    assert (
        council.agenda_url == f"{NOVUS_URL}MeetingView.aspx?MeetingID=31&doctype=Agenda"
    )
    assert council.location == Location(name="Annex")
    assert (zoning.status, zoning.all_day) == ("cancelled", True)


def test_a_novus_agenda_gives_items_with_attachments() -> None:
    agenda = """<table><tr><td>1.</td><td><a href="CoverSheet.aspx?ItemID=501&amp;MeetingID=31">Trees</a></td></tr>
    <tr><td></td><td><a href="AttachmentViewer.ashx?AttachmentID=9">Map</a></td></tr></table>"""
    meeting = one(
        "novusagenda",
        agenda,
        f"{NOVUS_URL}MeetingView.aspx?MeetingID=31&doctype=Agenda",
    )
    [item] = meeting.items
    assert (meeting.vendor_id, item.vendor_id, item.number, item.title) == (
        "31",
        "501",
        "1",
        "Trees",
    )
    assert item.attachments[0].url == f"{NOVUS_URL}AttachmentViewer.ashx?AttachmentID=9"


GUID = "0123456789abcdef0123456789abcdef"
BLOB = f"https://mccmeetings.blob.core.usgovcloudapi.net/s-pubu/MEET-Agenda-{GUID}.pdf"


def test_municodes_published_table_has_date_and_hour_apart() -> None:
    table = f"""<table class="div-table mcm"><tr><td class=meeting>March 19, 2026 Planning Commission Meeting</td>
    <td class=venue>Council Chamber - 12 Oak Street, Springfield, IL</td><td class=time>6:00 PM</td>
    <td class=agenda><a href="{BLOB}"><img></a></td><td class=minutes></td></tr></table>"""
    meeting = one("municode", table, "https://meetings.municode.com/PublishPage?cid=S")
    assert (meeting.vendor_id, local(meeting)) == (GUID, "2026-03-19T18:00:00-05:00")
    assert meeting.location == Location(
        name="Council Chamber", address="12 Oak Street, Springfield, IL"
    )
    assert meeting.agenda_url == BLOB


def test_municodes_site_states_the_time_in_an_attribute() -> None:
    table = f"""<div class="view-meetings"><table><tr class=odd><td><span content="2026-03-19T19:00:00-07:00">3/19</span></td>
    <td class="views-field views-field-title">City Council</td>
    <td class="views-field views-field-field-agendas"><a href="{BLOB}">PDF</a></td>
    <td class="views-field views-field-view-node"><a href="/bc-cc/page/city-council-9">View</a></td></tr></table>
    <li class="pager-next"><a href="/?page=1">next</a></li></div>"""
    found = listing("municode", table, "https://s.municodemeetings.com/")
    [meeting] = found.meetings
    assert (meeting.title, local(meeting)) == (
        "City Council",
        "2026-03-19T19:00:00-05:00",
    )
    assert (meeting.agenda_url, meeting.url) == (
        BLOB,
        "https://s.municodemeetings.com/bc-cc/page/city-council-9",
    )
    assert [request.url for request in found.next_requests] == [
        "https://s.municodemeetings.com/?page=1"
    ]


def test_municodes_agenda_gives_items_by_section() -> None:
    agenda = """<section class=agenda-section><h2 class=section-header>ORDINANCES</h2><ul class=agenda-items>
    <li><num>1.</num> <span>On trees</span></li>
    <ul class=agenda_item_attachments><li><a href="/a.pdf">Draft.pdf</a></li></ul></ul></section>"""
    meeting = one(
        "municode",
        agenda,
        f"https://meetings.municode.com/adaHtmlDocument/index?cc=S&me={GUID}",
    )
    [item] = meeting.items
    assert (meeting.vendor_id, item.section, item.number, item.title) == (
        GUID,
        "ORDINANCES",
        "1",
        "On trees",
    )
    assert item.attachments[0].name == "Draft.pdf"


def test_links_to_pdfs_are_dated_by_text_name_or_surroundings() -> None:
    links = """<h2>Library Board</h2><ul><li><a href="/a/agenda_3-19-26.pdf">Agenda</a>
    <a href="/a/minutes_3-19-26.pdf">Minutes</a></li><li>April 16, 2026 <a href="/a/x.pdf">Agenda</a></li>
    <li><a href="/a/20260521_agenda.pdf">Agenda</a></li><li><a href="/a/bylaws.pdf">Bylaws</a></li></ul>"""
    found = listing("pdf_links", links, "https://www.springfield.gov/library")
    assert [(local(one) or "")[:10] for one in found.meetings] == [
        "2026-03-19",
        "2026-04-16",
        "2026-05-21",
    ]
    assert [link.title for link in found.meetings[0].links] == ["Agenda", "Minutes"]
    assert found.meetings[0].title == "Library Board"
    assert found.problems == ("1 of 4 entries have no date or no document",)


def test_selectors_tell_what_a_meeting_is() -> None:
    body = """<div class=m><b>Budget Board</b><i>19 March 2026, 6 pm</i><a href="/f/1">Agenda</a></div>"""
    selectors = Selectors(item=".m", title="b", date="i", link="a")
    [meeting] = read_answer(
        CIVIC_KINDS["pdf_links"], page(body), replace(context(), selectors=selectors)
    ).meetings
    assert (meeting.title, local(meeting)) == (
        "Budget Board",
        "2026-03-19T18:00:00-05:00",
    )


def test_an_item_without_a_selector_for_links_has_its_pdf_links() -> None:
    body = """<p class=m>March 19, 2026 <a href="/f/a.PDF">Agenda</a> <a href="/map">Map</a></p>"""
    [meeting] = read_answer(
        CIVIC_KINDS["pdf_links"],
        page(body),
        replace(context(), selectors=Selectors(item=".m")),
    ).meetings
    assert [link.title for link in meeting.links] == ["Agenda"]


def test_requests_for_days_name_them() -> None:
    first, last = date(2026, 3, 1), date(2026, 3, 31)
    base = {
        "iqm2": "https://s.iqm2.com",
        "civicplus": "https://www.s.gov",
        "municode": "https://s.municodemeetings.com",
    }
    urls = {
        kind: days(url, first, last)[0].url
        for kind, url in base.items()
        if (days := CIVIC_KINDS[kind].days)
    }
    assert urls == {
        "iqm2": "https://s.iqm2.com/Citizens/Calendar.aspx?From=3/1/2026&To=3/31/2026",
        "civicplus": "https://www.s.gov/AgendaCenter/Search/?term=&CIDs=all&startDate=03%2F01%2F2026"
        "&endDate=03%2F31%2F2026&dateRange=&dateSelector=",
        "municode": "https://s.municodemeetings.com/api/v1/public/meeting/list.json?datefrom=2026-03-01&dateto=2026-03-31",
    }
