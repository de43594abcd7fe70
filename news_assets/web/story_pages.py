"""The stories of some days as a list and a feed; the page and the feed of a story: its articles
and publishers, what they all say and what only one says, what happened in order, and stories
about something alike; and the briefing, for the API and as Markdown.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import Annotated, Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.publishing_habits import duration
from news_assets.pipeline.stories.briefing import Briefing, briefing_markdown
from news_assets.pipeline.stories.statements import (
    Sentence,
    Statement,
    statements_of,
)
from news_assets.records.derived import Story, StoryChange
from news_assets.search import Filters
from news_assets.store.queries.changes import Edit
from news_assets.store.queries.names import (
    NameFilters,
    NameItem,
    ids_of_name,
    listed_names,
)
from news_assets.store.queries.news_links import NewsLink
from news_assets.store.queries.story_contents import (
    NearStory,
    StoryArticle,
    StoryContents,
    StoryPublisher,
    near_stories,
    story_contents,
)
from news_assets.store.queries.story_lists import (
    StoryFilters,
    StoryItem,
    briefing_of,
    ranked_stories,
)
from news_assets.web.answers import Part, part_of
from news_assets.web.archive import Archive
from news_assets.web.article_views import edit_entries
from news_assets.web.forms import FEED_FORMS, Entry, Feed, form_of, json_document
from news_assets.web.operations.article_actions import Render
from news_assets.web.parameters import (
    BriefingParameters,
    OneStory,
    StoryParameters,
    cursor_of,
)

_NEAREST: Final = 40  # articles, whose stories are looked at
_SHOWN: Final = 5  # stories about something alike
_THEMES: Final = 4
_NAMES: Final = 12
_SAME_MATTER: Final = 2  # names that stories about one matter share


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedTheme:
    """A theme of a story."""

    theme_code: Annotated[str, "code of the theme"]
    articles: Annotated[int, "number of the story's articles with it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryView:
    """A story with its articles and publishers in order of publication.

    `changes` are what became of it, `shared` and `alone` what several publishers say
    and what only one says; `names` are those that several publishers name, if there are
    several. `earlier` stories ended before it and share names with it. `reports_on` are
    the matters, meetings and laws that its articles name.
    """

    story: Story
    articles: Sequence[StoryArticle]
    publishers: Sequence[StoryPublisher]
    edits: Sequence[Edit]
    changes: Sequence[StoryChange]
    shared: Sequence[Statement]
    alone: Sequence[Sentence]
    names: Sequence[NameItem]
    themes: Sequence[CountedTheme]
    earlier: Sequence[Story]
    related: Sequence[Story]
    reports_on: Sequence[NewsLink]


def story_view(archive: Archive, one: OneStory) -> StoryView | None:
    """Return a story, or the one that it became part of; None for an unknown one."""
    contents = story_contents(archive.lake, one.story_id)
    if contents is None:
        return None
    statements = statements_of(contents.texts)
    names = _names(archive, contents)
    name_ids = {one.name_id for one in names}
    near = [
        one for one in _near(archive, contents) if _is_alike(one, contents, name_ids)
    ]
    earlier = [one.story for one in near if _is_earlier(one, contents.story, name_ids)]
    related = [one.story for one in near if one.story not in earlier]
    return StoryView(
        story=contents.story,
        articles=contents.articles,
        publishers=contents.publishers,
        edits=contents.edits,
        changes=contents.changes,
        shared=statements.shared,
        alone=statements.alone,
        names=names[:_NAMES],
        themes=_themes(contents.articles),
        earlier=earlier[:_SHOWN],
        related=related[:_SHOWN],
        reports_on=_reports_on(archive, contents),
    )


def _reports_on(archive: Archive, contents: StoryContents) -> list[NewsLink]:
    """Return what the articles of a story report on, each matter, meeting and law once."""
    ids = [one.article_id for one in contents.articles]
    days = (contents.story.day, contents.story.last_day)
    with archive.lake.latest() as lake:
        links = archive.reports_on(lake, ids, days)
    found: dict[tuple[str, ...], NewsLink] = {}
    for link in links:
        found.setdefault(link.target, link)
    return list(found.values())


def _near(archive: Archive, contents: StoryContents) -> list[NearStory]:
    hits = archive.near(contents.story.article_id, _NEAREST)
    ids = [hit.article_id for hit in hits]
    days = [hit.day for hit in hits]
    return near_stories(archive.lake, ids, days, contents.story.story_id)


def _names(archive: Archive, contents: StoryContents) -> list[NameItem]:
    """Return the names that the most publishers have; without those of one alone, if
    there are several.
    """
    filters = NameFilters(
        first_day=contents.story.day,
        last_day=contents.story.last_day,
        article_ids=[one.article_id for one in contents.articles],
    )
    listed = listed_names(archive.lake, filters, archive.known_names)
    fewest = min(2, contents.story.publisher_count)
    found = [one for one in listed if one.publishers >= fewest]
    return sorted(found, key=lambda one: (-one.publishers, one.name_id))


def _is_alike(near: NearStory, contents: StoryContents, name_ids: set[str]) -> bool:
    """Return whether a story has a name or a theme of this one: in a small archive the
    nearest vectors are about anything.
    """
    if not name_ids.isdisjoint(near.name_ids):
        return True
    themes = {one.theme_code for one in contents.articles}
    return near.theme_code is not None and near.theme_code in themes


def _is_earlier(near: NearStory, story: Story, name_ids: set[str]) -> bool:
    """Return whether a story is an earlier one of the same matter."""
    if near.story.last_day >= story.day:
        return False
    return len(name_ids.intersection(near.name_ids)) >= _SAME_MATTER


def _themes(articles: Sequence[StoryArticle]) -> list[CountedTheme]:
    counts = Counter(one.theme_code for one in articles if one.theme_code)
    return [
        CountedTheme(theme_code=code, articles=count)
        for code, count in counts.most_common(_THEMES)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoryEvent:
    """An event of a story; of article, edit and change it has one."""

    at: datetime
    article: StoryArticle | None = None
    edit: Edit | None = None
    change: StoryChange | None = None


def _events_of_story(view: StoryView) -> list[_StoryEvent]:
    """Return articles, edits and what became of the story in the order of time."""
    events: list[_StoryEvent] = []
    for article in view.articles:
        events.append(_StoryEvent(at=article.published_at, article=article))
    for edit in view.edits:
        events.append(_StoryEvent(at=edit.replaced_at, edit=edit))
    for change in view.changes:
        events.append(_StoryEvent(at=change.changed_at, change=change))
    return sorted(events, key=attrgetter("at"))


# --- lists ----------------------------------------------------------------------------


def listed_stories(archive: Archive, parameters: StoryParameters) -> Part[StoryItem]:
    """Return a part of the stories of some days, by rank. Raises ParameterError,
    QueryError.
    """
    after = parameters.position(float, str)
    first_day, last_day = parameters.span(archive.today())
    found = ranked_stories(
        archive.lake,
        StoryFilters(
            first_day=first_day,
            last_day=last_day,
            publishers=parameters.publishers,
            desk=parameters.desk,
            agency=parameters.agency,
            theme=parameters.theme,
            language=parameters.language,
            article_ids=_articles_with(archive, parameters, first_day, last_day),
            names=_ids_of_name(archive, parameters.name),
        ),
        after=(after[0], after[1]) if after else None,
        limit=parameters.limit + 1,
    )
    return part_of(
        found, parameters.limit, lambda one: cursor_of(one.rank, one.story_id)
    )


def _ids_of_name(archive: Archive, name_id: str | None) -> set[str] | None:
    """Return the ids of a person, body or place and of what was merged with it."""
    if not name_id:
        return None
    with archive.lake.latest() as reader:
        return ids_of_name(reader, name_id, archive.known_names)


def _articles_with(
    archive: Archive, parameters: StoryParameters, first_day: date, last_day: date
) -> set[str] | None:
    """Return the articles with the words of a list; None if it has none."""
    if not parameters.text:
        return None
    filters = Filters(
        desk=parameters.desk,
        agency=parameters.agency,
        from_day=first_day,
        to_day=last_day,
    )
    return archive.articles_with(parameters.text, filters)


def page_of_story(archive: Archive, story: StoryItem, base: str) -> str:
    """Return the address of the page of a story."""
    return f"{base}/stories/{story.story_id}"


def story_entries(
    archive: Archive, stories: Sequence[StoryItem], base: str
) -> list[Entry]:
    """Return stories as entries of a feed; the publishers are the authors."""
    entries = []
    for story in stories:
        page = page_of_story(archive, story, base)
        names = _publisher_names(archive, story.publishers)
        entry = Entry(
            key=f"stories/{story.story_id}",
            title=story.title or story.story_id,
            url=page,
            page=page,
            published=story.first_seen_at,
            updated=story.last_seen_at,
            summary=", ".join(names),
            authors=names,
            language=story.language,
        )
        entries.append(entry)
    return entries


def _publisher_names(archive: Archive, publishers: Sequence[str]) -> list[str]:
    """Return the names of publishers, which are given as `desk/agency`."""
    return [archive.agency_name(one.partition("/")[2]) for one in publishers]


# --- one story ------------------------------------------------------------------------


_EVENTS: Final = 60  # on the page of a story; its JSON has all
_PUBLISHERS: Final = 40
_PICTURES: Final = 4


class StoryPages:
    """The handler of a story; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def story(self, request: Request) -> Response:
        """Return the page of a story, or its feed, or it as JSON; 404 for an unknown
        one.
        """
        one = OneStory(story_id=request.path_params["story_id"])
        view = story_view(self._archive, one)
        if view is None:
            raise HTTPException(404, f"no story {one.story_id}")
        path = f"/stories/{quote(view.story.story_id)}"
        if (form := form_of(request)) in FEED_FORMS:
            return _feed_of(self._archive, view, form, path, request)
        if form:
            return json_document(asdict(view))
        events = _events_of_story(view)
        return self._render(
            request,
            "story.html",
            view=view,
            path_of_story=path,
            feeds={form: path + form for form in FEED_FORMS},
            titles={one.article_id: one for one in view.articles},
            publishers=view.publishers[:_PUBLISHERS],
            events=events[:_EVENTS],
            more_events=max(0, len(events) - _EVENTS),
            pictures=[one for one in view.articles if one.has_image][:_PICTURES],
            delay_text=_delay_text,
        )


def _delay_text(seconds: float) -> str:
    return duration(timedelta(seconds=seconds))


def _feed_of(
    archive: Archive, view: StoryView, form: str, path: str, request: Request
) -> Response:
    """Return the articles of a story and their edits as a feed, newest first."""
    base = str(request.base_url).rstrip("/")
    entries = [_entry_of(archive, one, base) for one in view.articles]
    entries += edit_entries(archive, view.edits, base)
    entries.sort(key=lambda entry: entry.updated, reverse=True)
    feed = Feed(
        title=view.story.title or view.story.story_id,
        id=base + path + form,
        here=base + path + form,
        page=base + path,
        following=None,
        entries=entries[:_EVENTS],
    )
    return FEED_FORMS[form](feed)


def _entry_of(archive: Archive, article: StoryArticle, base: str) -> Entry:
    return Entry(
        key=article.article_id,
        title=article.title or article.url,
        url=article.url,
        page=f"{base}/articles/{article.article_id}",
        published=article.published_at,
        updated=article.published_at,
        authors=[archive.agency_name(article.agency)],
        language=article.language or None,
    )


def read_briefing(archive: Archive, parameters: BriefingParameters) -> Briefing:
    """Return the briefing of these stories. Raises ParameterError, QueryError."""
    stories = listed_stories(archive, parameters).items
    days = parameters.span(archive.today())
    query = parameters.text
    return briefing_of(archive.lake, stories, days, query, archive.agency_name)


def markdown_handler(archive: Archive) -> Callable[[Request], Response]:
    """Return the handler that answers with Markdown."""

    def answer(request: Request) -> Response:
        parameters = BriefingParameters.of(request.query_params)
        text = briefing_markdown(read_briefing(archive, parameters))
        return Response(text, media_type="text/markdown")

    return answer
