"""The morning page: the stories of a day by their publishers, newness and rarity, themes
with more articles than usual, silent edits, silent publishers and the next meetings.

A cookie keeps when the reader's last visit ended, so that stories that began since are
marked. Today's page has the stories of two days, that of a past day those of the day.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import log2
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from news_assets.pipeline.stories.unusual import RisingTheme, ThemeHabits
from news_assets.store.queries.changes import Edit, newest_edits
from news_assets.store.queries.listed_articles import ListedArticle
from news_assets.store.queries.names import places_of_stories
from news_assets.store.queries.story_lists import (
    StoryFilters,
    StoryItem,
    ranked_stories,
)
from news_assets.text.dates import zone_info
from news_assets.web.answers import Part, slice_of
from news_assets.web.archive import Archive
from news_assets.web.forms import Entry, form_of, json_document
from news_assets.web.meeting_views import MeetingItem, has_meetings, listed_meetings
from news_assets.web.operations.article_actions import Render
from news_assets.web.parameters import (
    ArticleParameters,
    MeetingParameters,
    MorningParameters,
    OfDesk,
)

_RANKED: Final = 60  # stories that the blocks choose from
_TOP, _NEW = 12, 6
_THEMES, _OF_THEME = 6, 3
_PLACES, _OF_PLACE = 4, 3
_FEWEST_OF_PLACE: Final = 2  # stories
# a place of more than this share of the stories is where the newsroom is
_USUAL_PLACE: Final = 0.4
_EDITS, _SILENT, _MEETINGS = 6, 8, 5
_NEWEST: Final = 12  # articles in place of stories
_FEW: Final = 6  # with fewer stories of several publishers, those of one are shown too
# one of so many articles of its publishers has the theme: from here on a story is called
# unusual, and twice as rare weighs as much as a quarter more publishers doubled
_UNUSUAL: Final = 30.0
_RARITY_WEIGHT: Final = 0.25

# --- silent publishers ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceItem:
    """A publisher that is silent for longer than its habit explains."""

    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    last_entry_at: Annotated[datetime | None, "time of its last entry"]
    silent_for: Annotated[str, "how long it has been silent"]
    missed: Annotated[float | None, "entries that it would have published"]
    habit: Annotated[str, "its usual silence"]


def silent_publishers(archive: Archive, parameters: OfDesk) -> Part[SilenceItem]:
    """Return a part of the silent publishers, of each desk the most unusual first."""
    found: list[SilenceItem] = []
    now = datetime.now(UTC)
    with archive.lake.latest() as lake:
        for desk in archive.desks:
            if parameters.desk not in (None, desk.key):
                continue
            silences = archive.silences(lake, desk, now)
            found += [_silence(desk.key, row) for row in silences.rows]
    wanted = [one for one in found if parameters.agency in (None, one.agency)]
    return slice_of(wanted, parameters)


def _silence(desk: str, row: Sequence[Any]) -> SilenceItem:
    agency, last_entry_at, silent_for, missed, habit = row
    return SilenceItem(
        desk=desk,
        agency=agency,
        last_entry_at=last_entry_at,
        silent_for=silent_for,
        missed=missed,
        habit=habit,
    )


def silence_entries(
    archive: Archive, silences: Sequence[SilenceItem], base: str
) -> list[Entry]:
    """Return silent publishers as entries of a feed, one for each silence."""
    entries = []
    for one in silences:
        page = f"{base}/publishers/{one.desk}/{one.agency}"
        at = one.last_entry_at or datetime(1970, 1, 1, tzinfo=UTC)
        entry = Entry(
            key=f"silences/{one.desk}/{one.agency}/{at.isoformat()}",
            title=f"{archive.agency_name(one.agency)}: silent for {one.silent_for}",
            url=page,
            page=page,
            published=at,
            updated=at,
            summary=f"usually {one.habit}",
            authors=[archive.agency_name(one.agency)],
        )
        entries.append(entry)
    return entries


# --- the page -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MorningStory:
    """A story with how unusual its theme is for its publishers."""

    story: StoryItem
    one_in: Annotated[
        float, "one of so many articles of its publishers has its theme of level 1"
    ]

    @property
    def is_unusual(self) -> bool:
        """Whether its publishers rarely have its theme."""
        return self.one_in >= _UNUSUAL

    @property
    def rank(self) -> float:
        """That of the story, raised for rarity."""
        rarity = max(0.0, log2(self.one_in / _UNUSUAL))
        return self.story.rank + _RARITY_WEIGHT * rarity


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeStories:
    """Stories of a theme that are not among the first ones."""

    theme_code: Annotated[str, "code of a theme of level 1"]
    stories: Sequence[MorningStory]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceStories:
    """Stories of a place, the first ones by rank."""

    name_id: Annotated[str, "id of the place, as place/sao-paulo"]
    name: Annotated[str, "its name"]
    stories: Sequence[MorningStory]


@dataclass(frozen=True, slots=True, kw_only=True)
class MorningView:
    """The blocks of the page. `stories` are the first ones by rank, `rising` themes with
    more articles than usual, `edits` silent ones. `silences` are those of now, and a past
    day has none. Where there is no story yet, `newest` are the newest articles.
    """

    day: Annotated[date, "the day"]
    is_today: Annotated[bool, "whether the day is not over"]
    stories: Sequence[MorningStory]
    rising: Sequence[RisingTheme]
    by_theme: Sequence[ThemeStories]
    by_place: Sequence[PlaceStories]
    others: Sequence[MorningStory]
    edits: Sequence[Edit]
    silences: Sequence[SilenceItem]
    meetings: Sequence[MeetingItem]
    newest: Sequence[ListedArticle]

    def since(self, visit: datetime | None) -> list[MorningStory]:
        """Return stories that began after a visit and are not among the first ones."""
        if visit is None:
            return []
        new = [one for one in self.others if one.story.first_seen_at > visit]
        return new[:_NEW]


def morning_view(archive: Archive, parameters: MorningParameters) -> MorningView:
    """Return the blocks of a day, by default of today."""
    today = archive.today()
    day = parameters.day or today
    habits = archive.theme_habits(day, datetime.now(UTC))
    ranked = _ranked(archive, parameters.desk, day, habits, is_today=day >= today)
    top = ranked[:_TOP]
    others = ranked[_TOP:]
    is_today = day == today
    silences: Sequence[SilenceItem] = ()
    if is_today:
        of_desk = OfDesk(desk=parameters.desk, limit=_SILENT)
        silences = silent_publishers(archive, of_desk).items
    newest: Sequence[ListedArticle] = ()
    if not top:
        newest = _newest(archive, parameters.desk, day, is_today=is_today)
    return MorningView(
        day=day,
        is_today=is_today,
        stories=top,
        rising=habits.rising(day),
        by_theme=_by_theme(archive, others),
        by_place=_by_place(archive, ranked, day),
        others=others,
        edits=_silent_edits(archive, parameters.desk, day, is_today=is_today),
        silences=silences,
        meetings=_meetings(archive, parameters.desk, day, is_today=is_today),
        newest=newest,
    )


def _ranked(
    archive: Archive,
    desk: str | None,
    day: date,
    habits: ThemeHabits,
    *,
    is_today: bool,
) -> list[MorningStory]:
    """Return stories by rank and rarity; those of one publisher where there are few of
    several.
    """
    first_day = day - timedelta(days=1) if is_today else day
    found: list[StoryItem] = []
    for publishers in (2, 1):
        filters = StoryFilters(
            first_day=first_day, last_day=day, publishers=publishers, desk=desk
        )
        if len(found) < _FEW:
            found = ranked_stories(archive.lake, filters, limit=_RANKED)
    stories = [_with_rarity(archive, one, habits) for one in found]
    return sorted(stories, key=lambda one: (-one.rank, one.story.story_id))


def _with_rarity(
    archive: Archive, story: StoryItem, habits: ThemeHabits
) -> MorningStory:
    one_in = 1.0
    if story.theme_code:
        theme = archive.theme_path(story.theme_code)[0]
        one_in = habits.one_in(theme, story.publishers)
    return MorningStory(story=story, one_in=one_in)


def _by_theme(archive: Archive, stories: Sequence[MorningStory]) -> list[ThemeStories]:
    """Return the first stories of the themes with the highest ranks."""
    of_theme: dict[str, list[MorningStory]] = {}
    for one in stories:
        if one.story.theme_code:
            theme = archive.theme_path(one.story.theme_code)[0]
            of_theme.setdefault(theme, []).append(one)
    shown = list(of_theme.items())[:_THEMES]
    return [
        ThemeStories(theme_code=theme, stories=found[:_OF_THEME])
        for theme, found in shown
    ]


def _by_place(
    archive: Archive, stories: Sequence[MorningStory], day: date
) -> list[PlaceStories]:
    """Return the first stories of the places that several have, without those that most
    have.
    """
    by_id = {one.story.story_id: one for one in stories}
    first_day = min((one.story.day for one in stories), default=day)
    places = places_of_stories(
        archive.lake, list(by_id), (first_day, day), archive.known_names
    )
    most = max(_FEWEST_OF_PLACE, _USUAL_PLACE * len(stories))
    found = []
    for place in places:
        if _FEWEST_OF_PLACE <= len(place.story_ids) <= most:
            ids = set(place.story_ids)
            shown = [one for key, one in by_id.items() if key in ids][:_OF_PLACE]
            found.append(
                PlaceStories(name_id=place.name_id, name=place.name, stories=shown)
            )
    return found[:_PLACES]


def _silent_edits(
    archive: Archive, desk: str | None, day: date, *, is_today: bool
) -> list[Edit]:
    """Return silent edits of the last 24 hours, or of a past day."""
    until = datetime.now(UTC)
    if not is_today:
        zone = zone_info(archive.usual_zone)
        until = datetime.combine(day + timedelta(days=1), time(), zone)
    return newest_edits(
        archive.lake,
        first=until - timedelta(days=1),
        until=until,
        silent_only=True,
        desk=desk,
        limit=_EDITS,
    )


def _meetings(
    archive: Archive, desk: str | None, day: date, *, is_today: bool
) -> Sequence[MeetingItem]:
    """Return the next meetings, or those of a past day."""
    if not has_meetings(archive):
        return ()
    to_day = None if is_today else day
    wanted = MeetingParameters(desk=desk, from_day=day, to_day=to_day, limit=_MEETINGS)
    return listed_meetings(archive, wanted).items


def _newest(
    archive: Archive, desk: str | None, day: date, *, is_today: bool
) -> Sequence[ListedArticle]:
    """Return the newest articles, or those of a past day."""
    from_day = None if is_today else day
    wanted = ArticleParameters(
        desk=desk, outcome="ok", from_day=from_day, to_day=day, limit=_NEWEST
    )
    return archive.articles(wanted).items


class MorningPage:
    """The handler of the page; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def page(self, request: Request) -> Response:
        """Return the page of a day, in another form as JSON."""
        parameters = MorningParameters.of(request.query_params)
        view = morning_view(self._archive, parameters)
        if form_of(request):
            return json_document(asdict(view))
        today = self._archive.today()
        after = view.day + timedelta(days=1)
        visit = _visit_of(request)
        return self._render(
            request,
            "morning.html",
            view=view,
            parameters=parameters,
            visit=visit,
            since=view.since(visit),
            before=view.day - timedelta(days=1),
            after=after if after <= today else None,
            today=today,
            feeds=_feeds_of(parameters),
        )


def _feeds_of(parameters: MorningParameters) -> dict[str, str]:
    return {
        ".atom": parameters.url("/stories.atom"),
        ".feed.json": parameters.url("/stories.feed.json"),
    }


# --- visits ---------------------------------------------------------------------------


_COOKIE: Final = "news_visit"
_RULES: Final = "Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax"
_VISIT_S: Final = 1800  # without a request, after which a visit is over
_HOUR_S: Final = 3600

_Handler = Callable[[Request], Response]


def _visit_of(request: Request) -> datetime | None:
    """Return the end of the reader's visit before, to the hour, so that readers share
    answers; None for a first visit.
    """
    before, _ = _kept(request)
    if not before:
        return None
    return datetime.fromtimestamp(before - before % _HOUR_S, UTC)


def visit_key(request: Request) -> str:
    """Return what the answer of a request depends on."""
    visit = _visit_of(request)
    return visit.isoformat() if visit else ""


def keeps_visit(handler: _Handler) -> _Handler:
    """Return the handler that keeps the end of this visit and of the one before in a
    cookie, and leads the words of a search to its page.
    """

    def answer(request: Request) -> Response:
        if request.query_params.get("q"):
            return RedirectResponse(f"/search?{request.url.query}")
        response = handler(request)
        before, _ = _kept(request)
        now = int(datetime.now(UTC).timestamp())
        response.headers.append("set-cookie", f"{_COOKIE}={before}.{now}; {_RULES}")
        return response

    return answer


def _kept(request: Request) -> tuple[int, int]:
    """Return the ends of the visit before and of this one so far, in seconds since
    1970; 0 for none.
    """
    before, _, last = request.cookies.get(_COOKIE, "").partition(".")
    if not (_is_time(before) and _is_time(last)):
        return 0, 0
    is_over = datetime.now(UTC).timestamp() - int(last) > _VISIT_S
    return (int(last) if is_over else int(before)), int(last)


def _is_time(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len("9999999999")
