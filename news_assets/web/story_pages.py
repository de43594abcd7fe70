"""The stories of some days as a list and a feed; and the page of a story: its publishers
in the order in which they told it, and what became of it.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.publishing_habits import duration
from news_assets.search import Filters
from news_assets.store.queries.ranked_stories import (
    StoryFilters,
    StoryItem,
    ranked_stories,
)
from news_assets.store.queries.told_stories import StoryArticle, ToldStory, told_story
from news_assets.web.answers import Part, part_of
from news_assets.web.archive import Archive
from news_assets.web.forms import Entry, form_of, json_document
from news_assets.web.operations.article_actions import Render
from news_assets.web.parameters import OneStory, StoryParameters, cursor_of

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


class StoryPages:
    """The handler of a story; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def story(self, request: Request) -> Response:
        """Return the page of a story; 404 for an unknown one."""
        one = OneStory(story_id=request.path_params["story_id"])
        view = story_view(self._archive, one)
        if view is None:
            raise HTTPException(404, f"no story {one.story_id}")
        if form_of(request):
            return json_document(asdict(view))
        return self._render(
            request, "story.html", view=view, delays=delays_of(view.articles)
        )


def story_view(archive: Archive, one: OneStory) -> ToldStory | None:
    """Return a story, or the one that it became part of; None for an unknown one."""
    return told_story(archive.lake, one.story_id)


def delays_of(articles: Sequence[StoryArticle]) -> dict[str, str]:
    """Return how long after the first article each other one was told, by its id."""
    if not articles:
        return {}
    first = articles[0].told_at
    return {
        article.article_id: duration(article.told_at - first)
        for article in articles
        if article.told_at > first
    }
