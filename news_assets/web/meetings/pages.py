"""The pages of a meeting, of a matter and of a person."""

from collections.abc import Callable
from dataclasses import asdict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.web.archive import Archive
from news_assets.web.forms.choice import form_of
from news_assets.web.forms.documents import calendar_file, json_document
from news_assets.web.meetings.forms import calendar_of_meeting
from news_assets.web.meetings.reading import matter_view, meeting_view, person_view
from news_assets.web.parameters import OneMatter, OneMeeting, OnePerson

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
            return calendar_file(calendar_of_meeting(self._archive, one.meeting_id))
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
