"""The stories of some days as a list and a feed, and the page and the feed of a story."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from typing import Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.publishing_habits import duration
from news_assets.search import Filters
from news_assets.store.queries.story_contents import StoryArticle
from news_assets.store.queries.story_lists import (
    StoryFilters,
    StoryItem,
    ranked_stories,
)
from news_assets.web.answers import Part, part_of
from news_assets.web.archive import Archive
from news_assets.web.article_versions import edit_entries
from news_assets.web.forms import FEED_FORMS, Entry, Feed, form_of, json_document
from news_assets.web.operations.article_actions import Render
from news_assets.web.parameters import OneStory, StoryParameters, cursor_of
from news_assets.web.story_views import StoryView, events_of_story, story_view

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
        ),
        after=(after[0], after[1]) if after else None,
        limit=parameters.limit + 1,
    )
    return part_of(
        found, parameters.limit, lambda one: cursor_of(one.rank, one.story_id)
    )


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
        names = publisher_names(archive, story.publishers)
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


def publisher_names(archive: Archive, publishers: Sequence[str]) -> list[str]:
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
        events = events_of_story(view)
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
