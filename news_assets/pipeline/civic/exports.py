"""Meetings in the formats of others: iCalendar (RFC 5545), and events of Open Civic
Data as JSON.

Both keep our ids, so that an import of a later export changes events and adds none.
Times are in the agency's zone.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from news_assets.records.desks import Desk
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets.text.dates import zone_info

_MAX_LISTED: Final = 60  # agenda items in the description of a calendar event
_PRODUCT = "-//news_assets//meetings//EN"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "news_assets/meetings")
_CALENDAR_STATUS = {"cancelled": "CANCELLED", "tentative": "TENTATIVE"}

# of meetings by meeting_id, in the order of the agenda
_Items = Mapping[str, Sequence[StoredItem]]
Zones = Mapping[tuple[str, str], str]  # by desk and agency
# by meeting_id and item_id, which is empty for the meeting itself
Changes = Mapping[tuple[str, str], datetime]


def zones_of(desks: Iterable[Desk]) -> Zones:
    """Return the time zones of the agencies of desks, by desk and agency."""
    zones: dict[tuple[str, str], str] = {}
    for desk in desks:
        for agency in desk.agencies:
            zones[desk.key, agency.key] = agency.timezone
    return zones


def calendar_of(
    meetings: Sequence[StoredMeeting], items: _Items, zones: Zones, changes: Changes
) -> bytes:
    """Return an iCalendar file with an event for each meeting that has a day.

    Args:
        meetings: The meetings.
        items: Their agendas.
        zones: Time zones of their agencies.
        changes: When they and their items changed last. Others are as they were when
            they were first listed.
    """
    from icalendar import Calendar

    calendar = Calendar()
    calendar.add("prodid", _PRODUCT)
    calendar.add("version", "2.0")
    changed_at: dict[str, datetime] = {}
    for (meeting_id, _), at in changes.items():
        changed_at[meeting_id] = max(at, changed_at.get(meeting_id, at))
    years: list[int] = []
    for meeting in meetings:
        if meeting.day is not None:
            years.append(meeting.day.year)
            of_meeting = items.get(meeting.meeting_id, ())
            at = changed_at.get(meeting.meeting_id, meeting.first_seen_at)
            calendar.add_component(_event(meeting, of_meeting, zones, at))
    if years:
        calendar.add_missing_timezones(
            first_date=date(min(years), 1, 1), last_date=date(max(years) + 2, 1, 1)
        )
    return bytes(calendar.to_ical())


def _event(
    meeting: StoredMeeting,
    items: Sequence[StoredItem],
    zones: Zones,
    changed_at: datetime,
) -> Any:
    from icalendar import Event

    event = Event()
    event.add("uid", meeting.meeting_id)
    event.add("dtstamp", changed_at.astimezone(UTC))
    event.add("last-modified", changed_at.astimezone(UTC))
    event.add("summary", name_of(meeting))
    event.add("status", _CALENDAR_STATUS.get(meeting.status, "CONFIRMED"))
    _add_times(event, meeting, zones)
    stated = {
        "location": _place(meeting),
        "url": meeting.url or meeting.agenda_url,
        "description": _description(meeting, items),
    }
    for name, value in stated.items():
        if value:
            event.add(name, value)
    return event


def _add_times(event: Any, meeting: StoredMeeting, zones: Zones) -> None:
    """Add the start of a meeting to its event, and its end where that is later."""
    if meeting.starts_at is None or meeting.is_all_day:
        event.add("dtstart", meeting.day)
        return
    event.add("dtstart", _local(meeting.starts_at, meeting, zones))
    if meeting.ends_at is not None and meeting.ends_at > meeting.starts_at:
        event.add("dtend", _local(meeting.ends_at, meeting, zones))


def _place(meeting: StoredMeeting) -> str:
    return ", ".join(filter(None, (meeting.location_name, meeting.location_address)))


def _documents(meeting: StoredMeeting) -> list[tuple[str, str]]:
    """Return the name and address of each document of a meeting."""
    stated = (
        ("agenda", meeting.agenda_url),
        ("packet", meeting.packet_url),
        ("minutes", meeting.minutes_url),
    )
    found: list[tuple[str, str]] = []
    for name, url in stated:
        if url:
            found.append((name, url))
    return found


def _description(meeting: StoredMeeting, items: Sequence[StoredItem]) -> str:
    lines = [meeting.status_reason or ""]
    for name, url in _documents(meeting):
        lines.append(f"{name.capitalize()}: {url}")
    lines.append(meeting.comment)
    kept = [item for item in items if item.filter_tier != "dropped"]
    lines += [f"{item.number} {item.title}".strip() for item in kept[:_MAX_LISTED]]
    if len(kept) > _MAX_LISTED:
        lines.append(f"and {len(kept) - _MAX_LISTED} more")
    return "\n".join(filter(None, lines))


def name_of(meeting: StoredMeeting) -> str:
    """Return the title with its body in front, unless it names the body itself."""
    if meeting.body and meeting.body.lower() not in meeting.title.lower():
        return f"{meeting.body}: {meeting.title}" if meeting.title else meeting.body
    return meeting.title or meeting.body or "Meeting"


def _local(at: datetime, meeting: StoredMeeting, zones: Zones) -> datetime:
    zone = zones.get((meeting.desk, meeting.agency), "UTC")
    return at.astimezone(zone_info(zone))


# --- Open Civic Data ------------------------------------------------------------------


def ocd_event(
    meeting: StoredMeeting, items: Sequence[StoredItem], zones: Zones
) -> dict[str, Any]:
    """Return a meeting as an Event of Open Civic Data, with its agenda; dates without
    an hour are days.
    """
    classification = "meeting"
    if "committee" in meeting.body.lower():
        classification = "committee-meeting"
    url = meeting.url or meeting.agenda_url
    end_date = ""
    if meeting.ends_at:
        end_date = _date(meeting.ends_at, meeting, zones)
    return {
        "_type": "event",
        "_id": f"ocd-event/{uuid.uuid5(_NAMESPACE, meeting.meeting_id)}",
        "name": name_of(meeting),
        "description": meeting.comment,
        "classification": classification,
        "start_date": _date(meeting.starts_at, meeting, zones),
        "end_date": end_date,
        "all_day": meeting.is_all_day,
        "timezone": zones.get((meeting.desk, meeting.agency), "UTC"),
        "status": meeting.status,
        "location": {
            "name": _place(meeting) or "unknown",
            "url": "",
            "coordinates": None,
        },
        "participants": _participants(meeting),
        **_linked(meeting),
        "agenda": [_agenda_item(item) for item in items],
        "sources": [{"note": "", "url": url}] if url else [],
        "extras": {
            "meeting_id": meeting.meeting_id,
            "desk": meeting.desk,
            "agency": meeting.agency,
        },
    }


def _participants(meeting: StoredMeeting) -> list[dict[str, str]]:
    """Return the body of a meeting as its host."""
    if not meeting.body:
        return []
    return [{"note": "host", "name": meeting.body, "entity_type": "organization"}]


def _linked(meeting: StoredMeeting) -> dict[str, list[Any]]:
    """Return the documents, media and links of a meeting."""
    media: list[Any] = []
    if meeting.video_url:
        media.append(_link("recording", meeting.video_url))
    links: list[Any] = []
    for link in json.loads(meeting.links_json):
        links.append({"note": link["title"], "url": link["href"]})
    documents = [_link(name, href) for name, href in _documents(meeting)]
    return {"documents": documents, "media": media, "links": links}


def _date(at: datetime | None, meeting: StoredMeeting, zones: Zones) -> str:
    if at is None or meeting.is_all_day:
        return str(meeting.day or "")
    return _local(at, meeting, zones).isoformat(timespec="seconds")


def _link(note: str, url: str) -> dict[str, Any]:
    return {"note": note, "links": [{"url": url, "media_type": "", "text": ""}]}


def _agenda_item(item: StoredItem) -> dict[str, Any]:
    matter = {"entity_type": "bill", "name": item.matter_file, "note": "consideration"}
    files = zip(item.attachment_names, item.attachment_urls, strict=True)
    return {
        "description": item.title,
        "order": item.number or str(item.sequence),
        "classification": [item.section] if item.section else [],
        "subjects": [],
        "notes": [item.filter_reason] if item.filter_reason else [],
        "related_entities": [matter] if item.matter_file else [],
        "media": [_link(name, url) for name, url in files],
        "extras": {"item_id": item.item_id},
    }
