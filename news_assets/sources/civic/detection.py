"""Recognises the vendor of a civic address by its host and path, and of a page by its
links and marks.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from news_assets.records.reading import Page
from news_assets.sources.civic.page_values import origin_of, parameter
from news_assets.sources.html_document import base_of, html_tree, select, words_of
from news_assets.text.urls import web_url

_MAX_LINKED: Final = 5  # vendors that one page links; a page with more is a directory
_HEAD_BYTES: Final = 400_000

# host of a vendor -> kind and base addresses; {client} is the first label of the host
_HOSTS: Final = (
    (
        "legistar.com",
        (
            ("legistar", "https://webapi.legistar.com/v1/{client}"),
            ("legistar_html", "https://{host}/"),
        ),
    ),
    ("primegov.com", (("primegov", "https://{host}/"),)),
    ("api.civicclerk.com", (("civicclerk", "https://{host}/"),)),
    (
        "portal.civicclerk.com",
        (("civicclerk", "https://{client}.api.civicclerk.com/"),),
    ),
    ("iqm2.com", (("iqm2", "https://{host}/Citizens/"),)),
    ("novusagenda.com", (("novusagenda", "https://{host}/agendapublic/"),)),
    ("municodemeetings.com", (("municode", "https://{host}/"),)),
    ("escribemeetings.com", (("escribe", "https://{host}/"),)),
    ("civicweb.net", (("civicweb", "https://{host}/"),)),
    ("community.highbond.com", (("civicweb", "https://{host}/"),)),
    ("community.diligentoneplatform.com", (("civicweb", "https://{host}/"),)),
)
_WEB_API = re.compile(r"/v1/([^/?#]+)", re.IGNORECASE)
_BOARD = re.compile(r"/[a-z]{2,8}/[\w.-]{1,60}/board\.nsf", re.IGNORECASE)
_ONBASE = re.compile(
    r"(?:(?P<named>(?:/[\w.-]{1,60}){0,2}/[\w.-]{0,40}agendaonline[\w.-]{0,40})(?:/|\Z)"
    r"|(?P<other>(?:/[\w.-]{1,60}){0,2})/meetings/viewmeeting(?:agenda(?:item)?)?\Z)",
    re.IGNORECASE,
)
_CALENDAR = re.compile(r"\.ics$|/ical(?:endar)?\.aspx$", re.IGNORECASE)

# what pages of a vendor contain whatever their host -> kind and path
_MARKS: Final = (
    (
        "civicplus",
        re.compile(rb"/agendacenter/(?:viewfile|updatecategorylist)", re.IGNORECASE),
        "/AgendaCenter",
    ),
    (
        "legistar_html",
        re.compile(rb"ctl00_contentplaceholder1_gridcalendar", re.IGNORECASE),
        "/",
    ),
    (
        "primegov",
        re.compile(
            rb"/portal/meeting\?meetingtemplateid=|/api/v2/publicportal/", re.IGNORECASE
        ),
        "/",
    ),
    (
        "iqm2",
        re.compile(rb"/citizens/detail_meeting\.aspx", re.IGNORECASE),
        "/Citizens/",
    ),
    (
        "novusagenda",
        re.compile(rb"displayagendapdf\.ashx\?meetingid=", re.IGNORECASE),
        "/agendapublic/",
    ),
    ("escribe", re.compile(rb"meetingscalendarview\.aspx", re.IGNORECASE), "/"),
    (
        "civicweb",
        re.compile(
            rb"/portal/meeting(?:information|schedule|typelist)\.aspx", re.IGNORECASE
        ),
        "/",
    ),
)

_SOURCES_BY_DOMAIN: Final = dict(_HOSTS)


@dataclass(frozen=True, slots=True)
class VendorAddress:
    """A kind of civic source and the address of one client, as desk files have it."""

    kind: str
    url: str


def vendors_of_address(url: str) -> tuple[VendorAddress, ...]:
    """Return the sources that an address of a vendor belongs to, the best first; none
    for any other address.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return ()
    if host == "webapi.legistar.com":
        return _of_web_api(host, parts.path)
    found = _by_path(url, host, parts.path)
    if found is not None:
        return (found,)
    client, _, domain = host.partition(".")
    kept: list[VendorAddress] = []
    for kind, base in _SOURCES_BY_DOMAIN.get(domain, ()):
        kept.append(VendorAddress(kind, base.format(client=client, host=host)))
    return tuple(kept)


def _of_web_api(host: str, path: str) -> tuple[VendorAddress, ...]:
    """Return the client of Legistar's API that a path names."""
    match = _WEB_API.match(path)
    if not match:
        return ()
    return (VendorAddress("legistar", f"https://{host}/v1/{match[1]}"),)


def _by_path(url: str, host: str, path: str) -> VendorAddress | None:
    """Return the source of a vendor that is known by its path or parameters."""
    view = parameter(url, "view_id")
    if view and host.endswith(".granicus.com"):
        address = f"https://{host}/ViewPublisher.php?view_id={view}"
        return VendorAddress("granicus", address)
    board = _BOARD.match(path)
    if board and host.endswith("boarddocs.com"):
        return VendorAddress("boarddocs", f"https://{host}{board[0]}/Public")
    if match := _ONBASE.match(path):
        folder = match["named"] or match["other"]
        return VendorAddress("onbase", f"{origin_of(url)}{folder}/")
    if path.lower() == "/archive.aspx" and not parameter(url, "adid"):
        category = parameter(url, "amid")
        query = f"?AMID={category}" if category else ""
        return VendorAddress("civicengage", f"{origin_of(url)}/Archive.aspx{query}")
    if "/agendacenter" in path.lower():
        return VendorAddress("civicplus", f"{origin_of(url)}/AgendaCenter")
    if _CALENDAR.search(path) or parameter(url, "ical") == "1":
        return VendorAddress("icalendar", url)
    return None


def vendors_of_page(page: Page) -> tuple[VendorAddress, ...]:
    """Return the sources that a page links or shows in a frame, at most five; else that
    of the vendor that made it.
    """
    if page.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:15].upper() == b"BEGIN:VCALENDAR":
        return (VendorAddress("icalendar", page.final_url),)
    if linked := tuple(dict.fromkeys(_linked(page)))[:_MAX_LINKED]:
        return linked
    head = page.body[:_HEAD_BYTES]
    origin = origin_of(page.final_url)
    found: list[VendorAddress] = []
    for kind, mark, path in _MARKS:
        if mark.search(head):
            found.append(VendorAddress(kind, origin + path))
    return tuple(found)


def _linked(page: Page) -> list[VendorAddress]:
    """Return the sources that a page links or shows; an archive counts if its link
    names agendas.
    """
    tree = html_tree(page)
    if tree is None:
        return []
    base = base_of(tree, page)
    found: list[VendorAddress] = []
    for element in select(tree, "a[href], iframe[src]"):
        url = web_url(element.get("href") or element.get("src") or "", base)
        if url is None:
            continue
        sources = vendors_of_address(url)
        if not _names_agendas(element):
            sources = tuple(one for one in sources if one.kind != "civicengage")
        found += sources
    return found


def _names_agendas(link: HtmlElement) -> bool:
    """Whether a link to an archive says that its documents are agendas: cities archive
    reports and letters too.
    """
    return "agenda" in words_of(link).lower()
