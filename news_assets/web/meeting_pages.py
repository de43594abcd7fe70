"""The pages of a meeting, of a matter, of a law and of a person, and meetings as entries of a
feed and as events of a calendar.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time
from typing import Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.civic.exports import calendar_of, zones_of
from news_assets.records.meetings import StoredMeeting
from news_assets.store.queries.news_links import NewsLink
from news_assets.store.queries.stored_meetings import agendas_of, last_changes
from news_assets.web.archive import Archive
from news_assets.web.forms import (
    FEED_FORMS,
    Entry,
    Feed,
    calendar_file,
    form_of,
    json_document,
)
from news_assets.web.meeting_views import (
    MatterView,
    MeetingItem,
    PersonView,
    law_view,
    matter_view,
    meeting_view,
    meetings_from,
    person_view,
)
from news_assets.web.operations.article_actions import Render
from news_assets.web.parameters import (
    MeetingParameters,
    OneLaw,
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
    changes = last_changes(archive.lake, [one.meeting_id for one in meetings])
    entries = []
    for one in meetings:
        page = f"{base}/meetings/{one.meeting_id}"
        cancelled = "Cancelled" if one.status == "cancelled" else ""
        entry = Entry(
            key=f"meetings/{one.meeting_id}",
            title=": ".join(filter(None, (cancelled, one.when, one.name))),
            url=one.url or one.agenda_url or page,
            page=page,
            published=one.first_seen_at,
            updated=changes.get((one.meeting_id, ""), one.first_seen_at),
            summary=" · ".join(filter(None, (one.place, one.status_reason))),
            authors=[archive.agency_name(one.agency)],
        )
        entries.append(entry)
    return entries


def _appearances(archive: Archive, view: MatterView, base: str) -> list[Entry]:
    """Return the appearances of a matter as entries of a feed, the newest first."""
    meetings = [one.meeting.meeting_id for one in view.appearances]
    changes = last_changes(archive.lake, meetings)
    entries = []
    for one in reversed(view.appearances):
        meeting, item = one.meeting, one.item
        changed_at = meeting.first_seen_at
        for item_id in ("", item.item_id):
            at = changes.get((meeting.meeting_id, item_id))
            if at is not None:
                changed_at = max(changed_at, at)
        facts = (item.title, item.action, item.result, item.tally, item.decision)
        page = _page(base, f"/meetings/{meeting.meeting_id}")
        entry = Entry(
            key=item.article_id or f"items/{item.item_id}",
            title=f"{one.step}: {meeting.when} {meeting.name}",
            url=meeting.url or page,
            page=page,
            published=meeting.first_seen_at,
            updated=changed_at,
            summary=" · ".join(filter(None, facts)),
            authors=[archive.agency_name(meeting.agency)],
        )
        entries.append(entry)
    return entries


def _news(archive: Archive, links: Sequence[NewsLink], base: str) -> list[Entry]:
    """Return news on a matter or law as entries of a feed."""
    entries = []
    for one in links:
        page = _page(base, f"/articles/{one.article_id}")
        day = datetime.combine(one.day, time(), UTC)
        entry = Entry(
            key=one.article_id,
            title=one.title,
            url=page,
            page=page,
            published=day,
            updated=day,
            summary=one.passage,
            authors=[archive.agency_name(one.agency)],
        )
        entries.append(entry)
    return entries


def _votes(archive: Archive, view: PersonView, base: str) -> list[Entry]:
    """Return the votes of a person as entries of a feed, the newest first."""
    changes = last_changes(archive.lake, [vote.meeting_id for vote in view.votes])
    entries = []
    for vote in view.votes:
        page = url = _page(base, f"/meetings/{vote.meeting_id}")
        if vote.article_id:
            url = _page(base, f"/articles/{vote.article_id}")
        day = datetime.combine(vote.day or date(1970, 1, 1), time(), UTC)
        facts = (vote.body, vote.action, vote.result, vote.matter_file)
        entry = Entry(
            key=f"votes/{view.person}/{vote.item_id}",
            title=f"{vote.value}: {vote.title}",
            url=url,
            page=page,
            published=day,
            updated=changes.get((vote.meeting_id, vote.item_id), day),
            summary=" · ".join(filter(None, facts)),
            authors=[archive.agency_name(view.agency)],
        )
        entries.append(entry)
    return entries


def _page(base: str, path: str) -> str:
    return base + quote(path, safe="/:")


def calendar(archive: Archive, parameters: MeetingParameters) -> bytes:
    """Return the meetings of a list, at most _MAX_EVENTS, as iCalendar. Raises
    ParameterError.
    """
    _, found = meetings_from(archive, parameters, _MAX_EVENTS)
    return _calendar_of(archive, [row for _, row in found])


def _calendar_of_meeting(archive: Archive, meeting_id: str) -> bytes:
    """Return a meeting with its agenda as iCalendar."""
    meetings = archive.lake.read(StoredMeeting, meeting_id=[meeting_id])
    return _calendar_of(archive, meetings)


def _calendar_of(archive: Archive, meetings: Sequence[StoredMeeting]) -> bytes:
    ids = [row.meeting_id for row in meetings]
    agendas = agendas_of(archive.lake, ids)
    changes = last_changes(archive.lake, ids)
    return calendar_of(meetings, agendas, zones_of(archive.desks), changes)


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
        path = quote(f"/matters/{one.desk}/{one.agency}/{one.matter}", safe="/:")
        if (form := form_of(request)) in FEED_FORMS:
            base = _base(request)
            entries = _appearances(self._archive, view, base)
            entries += _news(self._archive, view.news, base)
            return _feed(request, view.matter.title, path, form, entries)
        if form:
            return json_document(asdict(view))
        return self._render(request, "matter.html", view=view, feeds=_feeds_of(path))

    def law(self, request: Request) -> Response:
        """Return a law or national bill with the news that names it."""
        one = OneLaw.of(request.path_params)
        view = law_view(self._archive, one)
        if view is None:
            raise HTTPException(404, f"no article names {one.law}")
        path = f"/laws/{quote(view.law)}"
        if (form := form_of(request)) in FEED_FORMS:
            entries = _news(self._archive, view.news, _base(request))
            return _feed(request, view.name, path, form, entries)
        if form:
            return json_document(asdict(view))
        return self._render(request, "law.html", view=view, feeds=_feeds_of(path))

    def person(self, request: Request) -> Response:
        """Return a member of a body with the votes."""
        one = OnePerson.of({**request.query_params, **request.path_params})
        view = person_view(self._archive, one)
        if view is None:
            raise HTTPException(
                404, f"no person {one.person} of {one.agency} in the desk {one.desk}"
            )
        path = quote(f"/persons/{one.desk}/{one.agency}/{one.person}")
        if (form := form_of(request)) in FEED_FORMS:
            entries = _votes(self._archive, view, _base(request))
            return _feed(request, view.name, path, form, entries)
        if form:
            return json_document(asdict(view))
        return self._render(
            request, "person.html", view=view, parameters=one, feeds=_feeds_of(path)
        )


def _feeds_of(path: str) -> dict[str, str]:
    """Return the addresses of the feeds of a page by form."""
    return {form: path + form for form in FEED_FORMS}


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")


def _feed(
    request: Request, title: str, path: str, form: str, entries: Sequence[Entry]
) -> Response:
    """Return the feed of the page with this path."""
    page = _base(request) + path
    feed = Feed(
        title=title,
        id=page + form,
        here=page + form,
        page=page,
        following=None,
        entries=entries,
    )
    return FEED_FORMS[form](feed)
