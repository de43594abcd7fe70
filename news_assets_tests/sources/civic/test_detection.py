from datetime import UTC, datetime

import pytest

from news_assets.desks.desk_files import load_desks
from news_assets.records.reading import Page
from news_assets.sources.civic.detection import (
    VendorAddress,
    vendors_of_address,
    vendors_of_page,
)
from news_assets.sources.source_kinds import ALL_KINDS


def page(body: str, url: str = "https://www.springfield.gov/meetings") -> Page:
    return Page(
        url=url,
        final_url=url,
        status=200,
        body=body.encode(),
        fetched_at=datetime(2026, 11, 23, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("url", "kinds"),
    [
        (
            "https://springfield.legistar.com/Calendar.aspx",
            ["legistar", "legistar_html"],
        ),
        ("https://webapi.legistar.com/v1/springfield/events?$top=1", ["legistar"]),
        ("https://springfield.primegov.com/public/portal?x=1", ["primegov"]),
        (
            "https://springfieldil.portal.civicclerk.com/event/7/files/agenda/9",
            ["civicclerk"],
        ),
        (
            "https://springfield.granicus.com/ViewPublisherRSS.php?view_id=3&mode=agendas",
            ["granicus"],
        ),
        (
            "https://springfield.granicus.com/AgendaViewer.php?view_id=3&clip_id=1",
            ["granicus"],
        ),
        ("http://SPRINGFIELD.iqm2.com/Citizens/Detail_Meeting.aspx?ID=5", ["iqm2"]),
        (
            "https://springfield.novusagenda.com/agendapublic/meetingsgeneral.aspx",
            ["novusagenda"],
        ),
        (
            "https://springfield-il.municodemeetings.com/bc-cc/page/council-5",
            ["municode"],
        ),
        ("https://pub-springfield.escribemeetings.com/Meeting.aspx?Id=1", ["escribe"]),
        ("https://www.springfield.gov/AgendaCenter/City-Council-3", ["civicplus"]),
        (
            "https://www.springfield.gov/common/modules/iCalendar/iCalendar.aspx?catID=29",
            ["icalendar"],
        ),
        ("https://www.springfield.gov/?post_type=tribe_events&ical=1", ["icalendar"]),
        (
            "https://springfield.civicweb.net/Portal/MeetingInformation.aspx?Org=Cal&Id=2108",
            ["civicweb"],
        ),
        (
            "https://springfieldil.community.diligentoneplatform.com/Portal/",
            ["civicweb"],
        ),
        (
            "https://go.boarddocs.com/il/springfield/Board.nsf/goto?open&id=DQ3VPX80F260",
            ["boarddocs"],
        ),
        (
            "https://records.springfield.gov/OnBaseAgendaOnline/Meetings/ViewMeeting?id=1184&doctype=1",
            ["onbase"],
        ),
        ("https://springfield.hylandcloud.com/211agendaonlinecouncil", ["onbase"]),
        (
            "https://agendas.springfield.gov/SAFCA/Meetings/ViewMeeting?id=7&doctype=1",
            ["onbase"],
        ),
        ("https://www.springfield.gov/Archive.aspx?AMID=30", ["civicengage"]),
        ("https://www.springfield.gov/Archive.aspx?ADID=8497", []),
        ("https://go.boarddocs.com/", []),
        ("https://springfield.granicus.com/", []),
        ("https://www.springfield.gov/council", []),
        ("https://notprimegov.com/", []),
        ("https://[", []),
    ],
)
def test_an_address_of_a_vendor_is_recognised(url: str, kinds: list[str]) -> None:
    assert [one.kind for one in vendors_of_address(url)] == kinds


def test_each_address_of_the_built_in_desk_is_recognised_as_itself() -> None:
    [desk] = load_desks(["civic"], ALL_KINDS)
    sources = [one for one in desk.sources if one.kind != "pdf_links"]
    wrong = [
        one.url
        for one in sources
        if VendorAddress(one.kind, one.url) not in vendors_of_address(one.url)
    ]
    assert wrong == []


def test_a_page_of_a_city_shows_its_vendors_by_links_and_frames() -> None:
    found = vendors_of_page(
        page("""<html><body><a href="/council">Council</a>
            <a href="https://springfield.primegov.com/Portal/Meeting?meetingTemplateId=5">Agenda</a>
            <iframe src="//springfield.granicus.com/ViewPublisher.php?view_id=2"></iframe>
            <a href="https://springfield.primegov.com/public/portal">All</a></body></html>""")
    )
    assert found == (
        VendorAddress("primegov", "https://springfield.primegov.com/"),
        VendorAddress(
            "granicus", "https://springfield.granicus.com/ViewPublisher.php?view_id=2"
        ),
    )


@pytest.mark.parametrize(
    ("body", "kind", "url"),
    [
        (
            '<a href="/AgendaCenter/ViewFile/Agenda/_1">x</a>',
            "civicplus",
            "https://www.springfield.gov/AgendaCenter",
        ),
        (
            '<table id="ctl00_ContentPlaceHolder1_gridCalendar">',
            "legistar_html",
            "https://www.springfield.gov/",
        ),
        (
            "<script>fetch('/api/v2/PublicPortal/ListUpcomingMeetings')",
            "primegov",
            "https://www.springfield.gov/",
        ),
        (
            "BEGIN:VCALENDAR\r\nVERSION:2.0",
            "icalendar",
            "https://www.springfield.gov/meetings",
        ),
    ],
)
def test_a_page_of_a_vendor_is_recognised_on_a_host_of_the_city(
    body: str, kind: str, url: str
) -> None:
    assert vendors_of_page(page(body))[0] == VendorAddress(kind, url)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://go.boarddocs.com/oh/columbus/board.nsf/vpublic?open", "https://go.boarddocs.com/oh/columbus/board.nsf/Public"),
        ("https://a.gov/x/OnBaseAgendaOnline/Meetings/Search?dropid=4", "https://a.gov/x/OnBaseAgendaOnline/"),
        ("https://a.gov/SAFCA/Meetings/ViewMeeting?id=7", "https://a.gov/SAFCA/"),
        ("https://www.a.gov/archive.aspx", "https://www.a.gov/Archive.aspx"),
    ],
)  # fmt: skip
def test_an_address_known_by_its_path_leads_to_that_of_the_source(
    url: str, base: str
) -> None:
    assert [one.url for one in vendors_of_address(url)] == [base]


def test_an_archive_is_a_vendor_only_where_a_link_says_that_it_has_agendas() -> None:
    found = vendors_of_page(
        page("""<html><body><a href="/Archive.aspx?AMID=82">Crime reports</a>
            <a href="/Archive.aspx?AMID=30">Council agendas</a></body></html>""")
    )
    assert [one.url for one in found] == [
        "https://www.springfield.gov/Archive.aspx?AMID=30"
    ]


def test_a_directory_of_cities_shows_only_its_first_vendors() -> None:
    links = "".join(
        f'<a href="https://city{n}.iqm2.com/Citizens/">{n}</a>' for n in range(50)
    )
    assert len(vendors_of_page(page(f"<html><body>{links}</body></html>"))) == 5
