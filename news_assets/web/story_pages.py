"""The page of a story: its publishers in the order in which they told it, and what became
of it.
"""

from collections.abc import Sequence
from dataclasses import asdict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.publishing_habits import duration
from news_assets.store.queries.told_stories import StoryArticle, ToldStory, told_story
from news_assets.web.archive import Archive
from news_assets.web.forms import form_of, json_document
from news_assets.web.operations.article_actions import Render
from news_assets.web.parameters import OneStory


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
