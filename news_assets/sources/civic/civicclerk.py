"""CivicClerk (CivicPlus): `https://{client}.api.civicclerk.com/v1/Events`, OData v4,
and `/v1/Meetings/{agendaId}`.

Times end in `Z` and are local all the same. A page has 15 events; `@odata.nextLink`
names the next one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Link,
    Location,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.moments import utc_time, wall_clock
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    json_of,
    listing_changed,
    objects,
    optional_link,
    origin_of,
    requests_to,
    text_at,
    unique_links,
    url_at,
)
from news_assets.sources.civic.vendor_meetings import ParseContext, meeting_of
from news_assets.text.urls import host_of, web_url

_EXPECTED = "an answer of CivicClerk"
_STREET = ("address1", "address2")
_VIDEOS = ("mediaSourcePathMp4", "externalMediaUrl")
_PLACEHOLDER = "select meeting files"
_MAX_DEPTH = 12  # of items within items


def _rows_in(document: Mapping[str, Any]) -> Any:
    """Return the events of a list, or the one that the document is."""
    rows = document.get("value")
    if rows is None and "eventName" in document:
        return [document]
    return rows


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the events of one answer, or the items of one agenda. Lists of categories
    hold no meeting.

    Raises:
        ListingChangedError: Other JSON, or none.
        SourceError: Empty or broken JSON.
    """
    document = json_of(page, _EXPECTED)
    if isinstance(document, list):
        return MeetingListing(meetings=_meetings(document, page, context))
    if not isinstance(document, dict):
        raise listing_changed(page, _EXPECTED)
    if isinstance(document.get("items"), list) and "value" not in document:
        return MeetingListing(meetings=(_agenda(document, page),))
    rows = _rows_in(document)
    if not isinstance(rows, list):
        raise listing_changed(page, _EXPECTED)
    return MeetingListing(
        meetings=_meetings(rows, page, context),
        next_requests=requests_to(_next_url(document, page)),
    )


def _agenda(document: Object, page: Page) -> Meeting:
    agenda = text_at(document, "id", "agendaId")
    return Meeting(
        vendor_id=f"agenda-{agenda}",
        agenda_id=agenda,
        items=tuple(_items(objects(document["items"]), page)),
        is_partial=True,
    )


def _next_url(document: Object, page: Page) -> str | None:
    """Return the next page of an answer, if it is on the same host."""
    stated = document.get("@odata.nextLink")
    url = web_url(stated, page.final_url) if isinstance(stated, str) else None
    if url is None:
        return None
    if host_of(url) != host_of(page.final_url):
        return None
    return url


def _meetings(
    rows: Sequence[object], page: Page, context: ParseContext
) -> tuple[Meeting, ...]:
    meetings = []
    for row in objects(rows):
        if "eventName" in row:
            meetings.append(_meeting(row, page, context))
    return tuple(meetings)


def _meeting(row: Object, page: Page, context: ParseContext) -> Meeting:
    event = text_at(row, "id")
    portal = _portal(page)
    name = text_at(row, "eventName", "agendaName")
    return meeting_of(
        Meeting(
            vendor_id=event,
            agenda_id=text_at(row, "agendaId").removeprefix("0"),
            title=name,
            body=text_at(row, "categoryName", "eventCategoryName") or name,
            location=_location(row.get("eventLocation")),
            url=f"{portal}/event/{event}",
            links=_links(row, page),
            comment=text_at(row, "eventDescription"),
            updated_at=_updated_at(row),
        ),
        context,
        start=wall_clock(text_at(row, "startDateTime", "eventDate")),
        end=wall_clock(text_at(row, "endDateTime")),
    )


def _links(row: Object, page: Page) -> tuple[Link, ...]:
    """Return the files and videos of a meeting."""
    links: list[Link | None] = []
    for one in objects(row.get("publishedFiles")):
        links.append(_file(one, page))
    for name in _VIDEOS:
        links.append(optional_link("Video", url_at(row, page, name)))
    youtube = text_at(row, "youtubeVideoId")
    if youtube:
        href = f"https://www.youtube.com/watch?v={quote(youtube)}"
        links.append(Link(title="Video", href=href))
    return unique_links(links)


def _updated_at(row: Object) -> datetime | None:
    """Return when the last file was published, else when the meeting was entered."""
    published: list[datetime] = []
    for one in objects(row.get("publishedFiles")):
        at = utc_time(text_at(one, "publishOn"))
        if at is not None:
            published.append(at)
    entered_at = utc_time(text_at(row, "createdOn"))
    return max(published, default=entered_at)


def _portal(page: Page) -> str:
    return f"https://{host_of(page.final_url).replace('.api.', '.portal.')}"


def _file(row: Object, page: Page) -> Link | None:
    """Return the API's address of a file: the stated one is signed and expires, and the
    portal's needs a browser.
    """
    kind = text_at(row, "type")
    file = text_at(row, "fileId", "id")
    if not file:
        return None
    path = f"/v1/Meetings/GetMeetingFileStream(fileId={file},plainText=false)"
    return Link(
        title=_title(kind, text_at(row, "name")), href=urljoin(page.final_url, path)
    )


def _title(kind: str, name: str) -> str:
    """Return a file's title, which says its kind."""
    if not kind:
        return name
    if kind.lower() in name.lower():
        return name
    return f"{kind}: {name}".removesuffix(": ")


def _location(value: object) -> Location:
    if not isinstance(value, dict):
        return Location()
    region = f"{text_at(value, 'state')} {text_at(value, 'zipCode')}".strip()
    parts = [text_at(value, name) for name in (*_STREET, "city")]
    return Location(
        name=text_at(value, "name", "locationName"),
        address=", ".join(filter(None, [*parts, region])),
    )


# --- items ----------------------------------------------------------------------------


def _items(rows: Iterable[Object], page: Page) -> Iterator[AgendaItem]:
    for number, (row, section) in enumerate(_flat(rows), start=1):
        yield AgendaItem(
            sequence=number,
            vendor_id=text_at(row, "id"),
            number=_number(row),
            title=text_at(row, "agendaObjectItemName"),
            section=section,
            attachments=tuple(_attachments(row, page)),
        )


def _number(row: Object) -> str:
    return text_at(
        row, "agendaObjectItemNumber", "agendaObjectItemOutlineNumber"
    ).strip(". ")


def _is_item(row: Object, title: str) -> bool:
    """Whether a row is an item: with a title, no heading and no placeholder."""
    if not title:
        return False
    if row.get("isSection") and row.get("childItems"):
        return False
    return not title.lower().startswith(_PLACEHOLDER)


def _flat(
    rows: Iterable[Object], section: str = "", depth: int = 0
) -> list[tuple[Object, str]]:
    """Return the items with the heading above each, without headings and the
    placeholders of the editor.
    """
    found: list[tuple[Object, str]] = []
    for row in sorted(rows, key=_place):
        title = text_at(row, "agendaObjectItemName")
        below = objects(row.get("childItems"))
        if _is_item(row, title):
            found.append((row, section))
        if depth < _MAX_DEPTH:
            heading = title if row.get("isSection") else section
            found += _flat(below, heading, depth + 1)
    return found


def _place(row: Object) -> int:
    place = row.get("sortOrder")
    if isinstance(place, int):
        return place
    return 0


def _attachments(row: Object, page: Page) -> Iterator[Attachment]:
    for one in objects(row.get("attachmentsList")):
        if one.get("isDeleted"):
            continue
        if not one.get("isPublished", True):
            continue
        url = url_at(one, page, "pdfVersionFullPath", "mediaFullPath")
        if url:
            yield Attachment(name=text_at(one, "fileName", "mediaFileName"), url=url)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for what is to come."""
    return (_events(url, f"startDateTime ge {today:%Y-%m-%d}T00:00:00.000Z"),)


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the meetings of these days: the bounds are local, as the
    times are.
    """
    end = last + timedelta(days=1)
    bounds = (
        f"startDateTime ge {first:%Y-%m-%d}T00:00:00.000Z and startDateTime lt"
        f" {end:%Y-%m-%d}T00:00:00.000Z"
    )
    return (_events(url, bounds),)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for the items of a meeting's agenda, which is refused without
    the portal's origin.
    """
    if not meeting.agenda_id:
        return ()
    portal = origin_of(url).replace(".api.", ".portal.")
    headers = (("Origin", portal), ("Referer", f"{portal}/"))
    return (
        Request(url=urljoin(url, f"/v1/Meetings/{meeting.agenda_id}"), headers=headers),
    )


def _events(url: str, where: str) -> Request:
    query = urlencode(
        {"$filter": where, "$orderby": "startDateTime asc,id asc"},
        safe="$:,",
        quote_via=quote,
    )
    return Request(url=urljoin(url, f"/v1/Events?{query}"))
