"""Meetings as entries of a feed and as events of a calendar."""

from collections.abc import Sequence
from typing import Final

from news_assets.pipeline.civic.exports import calendar_of, zones_of
from news_assets.records.meetings import StoredMeeting
from news_assets.store.queries.stored_meetings import agendas_of
from news_assets.web.archive import Archive
from news_assets.web.forms.feeds import Entry
from news_assets.web.meetings.answers import MeetingItem
from news_assets.web.meetings.reading import meetings_from
from news_assets.web.parameters import MeetingParameters

_MAX_EVENTS: Final = 1_000


def entries_of(
    archive: Archive, meetings: Sequence[MeetingItem], base: str
) -> list[Entry]:
    """Return meetings as entries of a feed; the title says when, and whether a meeting
    is cancelled.
    """
    return [
        Entry(
            key=f"meetings/{one.meeting_id}",
            title=": ".join(
                filter(
                    None,
                    (
                        "Cancelled" if one.status == "cancelled" else "",
                        one.when,
                        one.name,
                    ),
                )
            ),
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
    """Return the meetings of a list, at most _MAX_EVENTS, as iCalendar. Raises
    ParameterError.
    """
    _, found = meetings_from(archive, parameters, _MAX_EVENTS)
    return _calendar_of(archive, [row for _, row in found])


def calendar_of_meeting(archive: Archive, meeting_id: str) -> bytes:
    """Return a meeting with its agenda as iCalendar."""
    return _calendar_of(
        archive, archive.lake.read(StoredMeeting, meeting_id=[meeting_id])
    )


def _calendar_of(archive: Archive, meetings: Sequence[StoredMeeting]) -> bytes:
    agendas = agendas_of(archive.lake, [row.meeting_id for row in meetings])
    return calendar_of(meetings, agendas, zones_of(archive.desks))
