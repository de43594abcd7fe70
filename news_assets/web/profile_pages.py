"""Profiles: the people, bodies and places that articles name, and the publishers.

A name: the list of some days; the page of one, with its articles, publishers, stories
and the names beside it; and what operators merge. A publisher: its feeds, rhythm and
silence, its sources, its newest articles, and what it changed after publication.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from news_assets.pipeline.stage_declaration import Findings
from news_assets.ports.services import Rows
from news_assets.records.derived import NameMerge, Story
from news_assets.records.desks import Agency, Desk
from news_assets.store.queries.changes import Edit, newest_edits
from news_assets.store.queries.listed_articles import (
    ListedArticle,
    named_articles,
    newest_articles,
)
from news_assets.store.queries.names import (
    NamedArticles,
    NameFilters,
    NameItem,
    kind_of,
    listed_names,
    named_by,
    resolved,
)
from news_assets.store.queries.poll_health import source_rows
from news_assets.store.transaction import Snapshot
from news_assets.text.dates import day_of
from news_assets.web.answers import Part, SourceItem, slice_of
from news_assets.web.archive import Archive
from news_assets.web.forms import FEED_FORMS, Entry, Feed, form_of, json_document
from news_assets.web.operations.article_actions import Render
from news_assets.web.operations.sessions import Sessions, note, read_form
from news_assets.web.parameters import (
    NameParameters,
    OneName,
    OnePublisher,
    SearchAddress,
)
from news_assets.web.trends import Bar, bars_of

KINDS: Final = {"person": "People", "body": "Bodies", "place": "Places"}
_NEWEST: Final = 20  # articles of a page and a feed
_MAX_ID_CHARS: Final = 200
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPublisher:
    """A publisher with the number of its articles that have a name."""

    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    articles: Annotated[int, "number of articles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameView:
    """A person, body or place with what names it."""

    name_id: Annotated[str, "id: kind and words; of a merged name that of the other"]
    kind: Annotated[str, "person, body, place or another kind of a model"]
    name: Annotated[str, "the most frequent spelling"]
    wikidata: Annotated[str | None, "its id in Wikidata, by the file of a desk"]
    aliases: Annotated[Sequence[str], "other spellings, the most frequent first"]
    merges: Annotated[Sequence[NameMerge], "what operators merged into it"]
    article_count: Annotated[int, "number of articles, without copies"]
    newest: Annotated[Sequence[ListedArticle], "the newest articles"]
    publishers: Annotated[Sequence[CountedPublisher], "publishers, most articles first"]
    beside: Annotated[Sequence[NameItem], "the names that most of its articles have"]
    stories: Annotated[Sequence[Story], "its stories, the newest first"]
    days: Annotated[dict[str, int], "number of articles by day"]


# --- lists ----------------------------------------------------------------------------


def read_names(archive: Archive, parameters: NameParameters) -> Part[NameItem]:
    """Return a part of the names of the last days. Raises ParameterError."""
    last_day = archive.today()
    filters = NameFilters(
        first_day=last_day - timedelta(days=parameters.days - 1),
        last_day=last_day + timedelta(days=1),  # it may have begun in the east
        kind=parameters.kind,
        desk=parameters.desk,
        agency=parameters.agency,
    )
    found = listed_names(archive.lake, filters, archive.known_names)
    return slice_of(found, parameters)


def page_of_name(archive: Archive, item: NameItem, base: str) -> str:
    """Return the address of the page of a name."""
    return f"{base}/names/{quote(item.name_id)}"


# --- one name -------------------------------------------------------------------------


def name_view(archive: Archive, one: OneName) -> NameView | None:
    """Return a name, or the one that it was merged into; None where nothing has it."""
    found = named_by(archive.lake, f"{one.kind}/{one.name}", archive.known_names)
    return None if found is None else _view(archive, found)


def _view(archive: Archive, found: NamedArticles) -> NameView:
    ids = found.article_ids[:_NEWEST]
    days = set(found.article_days[:_NEWEST])
    publishers = []
    for (desk, agency), count in found.publishers.items():
        publishers.append(CountedPublisher(desk=desk, agency=agency, articles=count))
    return NameView(
        name_id=found.name_id,
        kind=kind_of(found.name_id),
        name=found.name,
        wikidata=archive.known_names.wikidata.get(found.name_id),
        aliases=found.aliases,
        merges=found.merges,
        article_count=found.article_count,
        newest=named_articles(archive.lake, ids, days),
        publishers=publishers,
        beside=found.beside,
        stories=found.stories,
        days=dict(found.days),
    )


class NamePages:
    """The handlers of a name; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, sessions: Sessions, render: Render) -> None:
        self._archive = archive
        self._sessions = sessions
        self._render = render

    def name(self, request: Request) -> Response:
        """Return the page of a name, or its feed; 404 where no article has it."""
        one = OneName.of(request.path_params)
        view = name_view(self._archive, one)
        if view is None:
            raise HTTPException(404, f"no article names {one.kind}/{one.name}")
        form = form_of(request)
        if form in FEED_FORMS:
            base = str(request.base_url).rstrip("/")
            return FEED_FORMS[form](_feed(self._archive, view, base, form))
        if form:
            return json_document(asdict(view))
        path = f"/names/{quote(view.name_id)}"
        search = SearchAddress(entity=view.name, sort="date")
        return self._render(
            request,
            "name.html",
            view=view,
            bars=bars_of(view.days),
            search=search,
            feeds={form: path + form for form in FEED_FORMS},
        )

    def change(self, request: Request, body: bytes) -> Response:
        """Merge a name into another one, or with an empty one separate it again."""
        who = self._sessions.check(request)
        form = read_form(body)
        name_id = form.get("name", "").strip()[:_MAX_ID_CHARS]
        same_as = form.get("same_as", "").strip()[:_MAX_ID_CHARS]
        now = datetime.now(UTC)
        if same_as:
            self._archive.lake.transact(
                lambda rows: _merge(rows, name_id, same_as, who, now)
            )
        else:
            self._archive.lake.transact(lambda rows: _separate(rows, name_id, who, now))
        _log.warning("%s changes the name %s: same as %r", who, name_id, same_as)
        return RedirectResponse(f"/names/{quote(name_id)}", 303)


def _merge(rows: Rows, name_id: str, same_as: str, who: str, now: datetime) -> None:
    into = resolved(rows.read(NameMerge))
    if not _is_id(name_id) or not _is_id(same_as):
        raise HTTPException(400, "ids of names are like person/ana-lima")
    if into.get(same_as, same_as) == name_id:
        raise HTTPException(400, f"{same_as} is merged into {name_id} already")
    merge = NameMerge(name_id=name_id, same_as=same_as, merged_by=who, merged_at=now)
    rows.upsert([merge])
    note(rows, who, "merge names", f"{name_id} into {same_as}", now)


def _separate(rows: Rows, name_id: str, who: str, now: datetime) -> None:
    found = rows.read(NameMerge, name_id=[name_id])
    if not found:
        raise HTTPException(404, f"{name_id[:80]} is not merged")
    rows.delete(NameMerge, name_id=[name_id])
    note(rows, who, "separate names", f"{name_id} from {found[0].same_as}", now)


def _is_id(text: str) -> bool:
    kind, _, words = text.partition("/")
    return bool(kind and words) and "/" not in words


def _entry(archive: Archive, row: ListedArticle, base: str) -> Entry:
    published = row.published_at or row.first_seen_at
    return Entry(
        key=row.article_id,
        title=row.title or row.url,
        url=row.url,
        page=f"{base}/articles/{row.article_id}",
        published=published,
        updated=published,
        summary=row.summary or "",
        authors=[archive.agency_name(row.agency)],
        language=row.language,
    )


def _feed(archive: Archive, view: NameView, base: str, form: str) -> Feed:
    page = f"{base}/names/{quote(view.name_id)}"
    entries = [_entry(archive, row, base) for row in view.newest]
    return Feed(
        title=view.name,
        id=page + form,
        here=page + form,
        page=page,
        following=None,
        entries=entries,
    )


# --- publishers -----------------------------------------------------------------------


_DAYS: Final = 30  # of the rhythm
_SHOWN: Final = 10  # newest articles and changes
_OF: Final = "desk = $desk AND agency = $agency"
_RHYTHM: Final = f"""
    SELECT day::VARCHAR, count(*) FROM raw_articles
    WHERE {_OF} AND day >= $first_day AND outcome != 'withdrawn' GROUP BY day
"""
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PublisherView:
    """A publisher with what is stored of it. `agency` is None where no desk file has it
    any more. `bars` are the articles of the last 30 days.
    """

    desk: str
    key: str
    name: str
    agency: Agency | None
    sources: Sequence[SourceItem]
    newest: Sequence[ListedArticle]
    changes: Sequence[Edit]
    bars: Sequence[Bar]
    article_count: int
    address: SearchAddress


class PublisherPages:
    """The handler of a publisher; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def publisher(self, request: Request) -> Response:
        """Return the page of a publisher; 404 where nothing is known of it."""
        one = OnePublisher.of(request.path_params)
        view = _publisher_view(self._archive, one, datetime.now(UTC))
        if view is None:
            raise HTTPException(
                404, f"no publisher {one.agency} in the desk {one.desk}"
            )
        found = view.address.model_copy(update={"sort": "relevance"})
        feeds = {form: found.url(f"/search{form}", page=None) for form in FEED_FORMS}
        return self._render(request, "publisher.html", view=view, feeds=feeds)


def _publisher_view(
    archive: Archive, one: OnePublisher, now: datetime
) -> _PublisherView | None:
    """Return a publisher; None where no desk file and no article has it."""
    desk, agency = _declared(archive, one)
    newest = newest_articles(
        archive.lake, desk=one.desk, agency=one.agency, limit=_SHOWN
    )
    if agency is None and not newest:
        return None
    today = day_of(now, archive.zone_of(one.desk, one.agency))
    first_day = today - timedelta(days=_DAYS - 1)
    sources: Sequence[SourceItem] = ()
    with archive.lake.latest() as lake:
        counts = _counts_by_day(lake, one, first_day)
        if desk is not None and agency is not None:
            # silences are judged by what the whole desk publishes
            silences = archive.silences(lake, desk, now)
            sources = _sources_of(lake, desk, agency, silences, now)
    changes = newest_edits(
        archive.lake,
        first=_EVER,
        silent_only=False,
        desk=one.desk,
        agency=one.agency,
        limit=_SHOWN,
    )
    return _PublisherView(
        desk=one.desk,
        key=one.agency,
        name=archive.agency_name(one.agency),
        agency=agency,
        sources=sources,
        newest=newest,
        changes=changes,
        bars=_bars(counts, first_day, today),
        article_count=sum(counts.values()),
        address=SearchAddress(sort="date", desk=one.desk, agency=one.agency),
    )


def _declared(archive: Archive, one: OnePublisher) -> tuple[Desk | None, Agency | None]:
    for desk in archive.desks:
        if desk.key != one.desk:
            continue
        for agency in desk.agencies:
            if agency.key == one.agency:
                return desk, agency
    return None, None


def _sources_of(
    lake: Snapshot, desk: Desk, agency: Agency, silences: Findings, now: datetime
) -> list[SourceItem]:
    alone = replace(desk, agencies=(agency,))
    return [SourceItem(**row) for row in source_rows(lake, alone, silences, now)]


def _counts_by_day(
    lake: Snapshot, one: OnePublisher, first_day: date
) -> dict[str, int]:
    given = {"desk": one.desk, "agency": one.agency, "first_day": first_day}
    return dict(lake.query(_RHYTHM, given).iter_rows())


def _bars(counts: dict[str, int], first: date, last: date) -> Sequence[Bar]:
    """Return a bar for each day, also where the first and last days have none."""
    ends = {first.isoformat(): 0, last.isoformat(): 0}
    return bars_of(ends | counts)
