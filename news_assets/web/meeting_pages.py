"""The pages of a meeting, of a matter and of a person, and meetings as entries of a feed and as
events of a calendar.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.civic.exports import calendar_of, zones_of
from news_assets.records.meetings import StoredMeeting
from news_assets.store.queries.stored_meetings import agendas_of
from news_assets.web.archive import Archive
from news_assets.web.forms import Entry, calendar_file, form_of, json_document
from news_assets.web.meeting_views import (
    MeetingItem,
    matter_view,
    meeting_view,
    meetings_from,
    person_view,
)
from news_assets.web.parameters import (
    MeetingParameters,
    OneMatter,
    OneMeeting,
    OnePerson,
)

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


def _calendar_of_meeting(archive: Archive, meeting_id: str) -> bytes:
    """Return a meeting with its agenda as iCalendar."""
    return _calendar_of(
        archive, archive.lake.read(StoredMeeting, meeting_id=[meeting_id])
    )


def _calendar_of(archive: Archive, meetings: Sequence[StoredMeeting]) -> bytes:
    agendas = agendas_of(archive.lake, [row.meeting_id for row in meetings])
    return calendar_of(meetings, agendas, zones_of(archive.desks))


Render = Callable[..., Response]


class MeetingPages:
    """Handlers for a meeting, a matter and a person; `render` makes a page of a
    template and values.
    """

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def meeting(self, request: Request) -> Response:
        """Return a meeting with its agenda, also as iCalendar; in any other form as
        JSON.
        """
        one = OneMeeting.of({**request.query_params, **request.path_params})
        view = meeting_view(self._archive, one)
        if view is None:
            raise HTTPException(404, f"no meeting {one.meeting_id}")
        if (form := form_of(request)) == ".ics":
            return calendar_file(_calendar_of_meeting(self._archive, one.meeting_id))
        if form:
            return json_document(asdict(view))
        return self._render(request, "meeting.html", view=view, parameters=one)

    def matter(self, request: Request) -> Response:
        """Return a matter with its appearances."""
        one = OneMatter.of(request.path_params)
        view = matter_view(self._archive, one)
        if view is None:
            raise HTTPException(
                404, f"no matter {one.matter} of {one.agency} in the desk {one.desk}"
            )
        if form_of(request):
            return json_document(asdict(view))
        return self._render(request, "matter.html", view=view)

    def person(self, request: Request) -> Response:
        """Return a member of a body with the votes."""
        one = OnePerson.of({**request.query_params, **request.path_params})
        view = person_view(self._archive, one)
        if view is None:
            raise HTTPException(
                404, f"no person {one.person} of {one.agency} in the desk {one.desk}"
            )
        if form_of(request):
            return json_document(asdict(view))
        return self._render(request, "person.html", view=view, parameters=one)
