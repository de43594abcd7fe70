"""Meetings as entries of a feed and as events of a calendar."""

from collections.abc import Sequence
from typing import Final

from news_assets.pipeline.civic.exports import calendar_of, zones_of
from news_assets.records.meetings import StoredMeeting
from news_assets.store.queries.civic.meetings import agendas_of
from news_assets.web.archive import Archive
from news_assets.web.forms.feeds import Entry
from news_assets.web.meetings.answers import MeetingItem
from news_assets.web.meetings.reading import listed_meetings
from news_assets.web.parameters import MAX_LIMIT, MeetingParameters

MAX_EVENTS: Final = 1_000


def entries_of(archive: Archive, meetings: Sequence[MeetingItem], base: str) -> list[Entry]:
    """Return meetings as entries of a feed; the title says when, and whether a meeting is cancelled."""
    return [
        Entry(
            key=f"meetings/{one.meeting_id}",
            title=": ".join(filter(None, ("Cancelled" if one.status == "cancelled" else "", one.when, one.name))),
            url=one.url or one.agenda_url or f"{base}/meetings/{one.meeting_id}",
            page=f"{base}/meetings/{one.meeting_id}",
            published=one.first_seen_at,
            updated=one.last_seen_at,
            summary=" · ".join(filter(None, (one.place, one.status_reason))),
            authors=[archive.agency_name(one.agency)],
        )
        for one in meetings
    ]


def calendar(archive: Archive, parameters: MeetingParameters) -> bytes:
    """Return the meetings of a list, at most MAX_EVENTS, as iCalendar. Raises ParameterError."""
    ids: list[str] = []
    following: str | None = parameters.cursor
    while following is not None and len(ids) < MAX_EVENTS:
        part = listed_meetings(archive, parameters.model_copy(update={"cursor": following, "limit": MAX_LIMIT}))
        ids += [one.meeting_id for one in part.items]
        following = part.next
    return calendar_of_ids(archive, ids)


def calendar_of_ids(archive: Archive, meeting_ids: Sequence[str]) -> bytes:
    """Return these meetings with their agendas as iCalendar, in the same order."""
    rows = {row.meeting_id: row for row in archive.lake.read(StoredMeeting, meeting_id=meeting_ids)}
    found = [rows[key] for key in meeting_ids if key in rows]
    return calendar_of(found, agendas_of(archive.lake, meeting_ids), zones_of(archive.desks))
