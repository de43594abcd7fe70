"""CivicClerk (CivicPlus): `https://{client}.api.civicclerk.com/v1/Events`, OData v4,
and `/v1/Meetings/{agendaId}`.

Times end in `Z` and are local all the same. A page has 15 events; `@odata.nextLink`
names the next one.
"""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
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
from news_assets.sources.civic.reading.build import Stated, meeting_of
from news_assets.sources.civic.reading.moments import utc_time, wall_clock
from news_assets.sources.civic.reading.page_values import (
    Object,
    changed,
    json_of,
    objects,
    origin_of,
    text_at,
    unique_links,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.text.urls import host_of, web_url

_EXPECTED = "an answer of CivicClerk"
_STREET = ("address1", "address2")
_PLACEHOLDER = "select meeting files"
_MAX_DEPTH = 12  # of items within items


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the events of one answer, or the items of one agenda. Lists of categories
    hold no meeting.

    Raises:
        ListingChangedError: Other JSON, or none.
        SourceError: Empty or broken JSON.
    """
    document = json_of(page, _EXPECTED)
    if (
        isinstance(document, dict)
        and isinstance(document.get("items"), list)
        and "value" not in document
    ):
        found = tuple(_items(objects(document["items"]), page))
        agenda = text_at(document, "id", "agendaId")
        return MeetingListing(
            meetings=(
                Meeting(
                    vendor_id=f"agenda-{agenda}",
                    agenda_id=agenda,
                    items=found,
                    is_partial=True,
                ),
            )
        )
    rows = document.get("value") if isinstance(document, dict) else document
    if isinstance(document, dict) and rows is None and "eventName" in document:
        rows = [document]
    if not isinstance(rows, list):
        raise changed(page, _EXPECTED)
    meetings = [
        _meeting(row, page, reading) for row in objects(rows) if "eventName" in row
    ]
    following = document.get("@odata.nextLink") if isinstance(document, dict) else None
    url = web_url(following, page.final_url) if isinstance(following, str) else None
    is_same_host = url is not None and host_of(url) == host_of(page.final_url)
    return MeetingListing(
        meetings=tuple(meetings),
        next_requests=(Request(url=url),) if url is not None and is_same_host else (),
    )


def _meeting(row: Object, page: Page, reading: Reading) -> Meeting:
    event, portal = text_at(row, "id"), _portal(page)
    name = text_at(row, "eventName", "agendaName")
    start = wall_clock(text_at(row, "startDateTime", "eventDate"))
    files = objects(row.get("publishedFiles"))
    videos = [
        web_url(text_at(row, name), page.final_url)
        for name in ("mediaSourcePathMp4", "externalMediaUrl")
        if text_at(row, name)
    ]
    if youtube := text_at(row, "youtubeVideoId"):
        videos.append(f"https://www.youtube.com/watch?v={quote(youtube)}")
    return meeting_of(
        Stated(
            vendor_id=event,
            agenda_id=text_at(row, "agendaId").removeprefix("0"),
            title=name,
            body=text_at(row, "categoryName", "eventCategoryName") or name,
            start=start,
            end=wall_clock(text_at(row, "endDateTime")),
            location=_location(row.get("eventLocation")),
            url=f"{portal}/event/{event}",
            links=unique_links(
                (
                    *(_file(one, page) for one in files),
                    *(Link(title="Video", href=url) for url in videos if url),
                )
            ),
            comment=text_at(row, "eventDescription"),
            updated_at=max(
                filter(None, (utc_time(text_at(one, "publishOn")) for one in files)),
                default=utc_time(text_at(row, "createdOn")),
            ),
        ),
        reading,
    )


def _portal(page: Page) -> str:
    return f"https://{host_of(page.final_url).replace('.api.', '.portal.')}"


def _file(row: Object, page: Page) -> Link | None:
    """Return the API's address of a file: the stated one is signed and expires, and the
    portal's needs a browser.
    """
    kind, file = text_at(row, "type"), text_at(row, "fileId", "id")
    if not file:
        return None
    path = f"/v1/Meetings/GetMeetingFileStream(fileId={file},plainText=false)"
    return Link(
        title=_title(kind, text_at(row, "name")), href=urljoin(page.final_url, path)
    )


def _title(kind: str, name: str) -> str:
    """Return a file's title, which tells its kind."""
    return (
        name
        if not kind or kind.lower() in name.lower()
        else f"{kind}: {name}".removesuffix(": ")
    )


def _location(value: object) -> Location:
    if not isinstance(value, dict):
        return Location()
    region = " ".join(
        filter(None, (text_at(value, "state"), text_at(value, "zipCode")))
    )
    parts = [
        *(text_at(value, name) for name in _STREET),
        text_at(value, "city"),
        region,
    ]
    return Location(
        name=text_at(value, "name", "locationName"),
        address=", ".join(filter(None, parts)),
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


def _flat(
    rows: Iterable[Object], section: str = "", depth: int = 0
) -> Iterator[tuple[Object, str]]:
    """Yield the items with the heading above each, without headings and the
    placeholders of the editor.
    """
    ordered = sorted(rows, key=_place)
    for row in ordered:
        title = text_at(row, "agendaObjectItemName")
        is_heading = row.get("isSection") and bool(row.get("childItems"))
        if title and not is_heading and not title.lower().startswith(_PLACEHOLDER):
            yield row, section
        if depth < _MAX_DEPTH:
            below = title if row.get("isSection") else section
            yield from _flat(objects(row.get("childItems")), below, depth + 1)


def _place(row: Object) -> int:
    place = row.get("sortOrder")
    return place if isinstance(place, int) else 0


def _attachments(row: Object, page: Page) -> Iterator[Attachment]:
    for one in objects(row.get("attachmentsList")):
        link = text_at(one, "pdfVersionFullPath", "mediaFullPath")
        url = web_url(link, page.final_url) if link else None
        if url and not one.get("isDeleted") and one.get("isPublished", True):
            yield Attachment(name=text_at(one, "fileName", "mediaFileName"), url=url)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for what is to come."""
    return (_events(url, f"startDateTime ge {today:%Y-%m-%d}T00:00:00.000Z"),)


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the request for the meetings of these days: the bounds are local, as the
    times are.
    """
    end = last + timedelta(days=1)
    bounds = (
        f"startDateTime ge {first:%Y-%m-%d}T00:00:00.000Z and startDateTime lt"
        f" {end:%Y-%m-%d}T00:00:00.000Z"
    )
    return (_events(url, bounds),)


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
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
