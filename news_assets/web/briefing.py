"""The briefing of some days, or of a query in them, for the API and as Markdown."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.stories.briefing import Briefing, briefing_markdown
from news_assets.store.queries.story_lists import briefing_of
from news_assets.web.archive import Archive
from news_assets.web.parameters import BriefingParameters
from news_assets.web.story_pages import listed_stories


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
