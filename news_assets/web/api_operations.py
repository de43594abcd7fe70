"""The API below /api/v1: each operation declared once, for its route and for the description as
OpenAPI 3.1.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_type_hints

from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.stories.briefing import BriefedStory, Briefing, Quote
from news_assets.pipeline.stories.statements import Sentence, Statement
from news_assets.pipeline.stories.unusual import RisingTheme
from news_assets.records.councils import StoredMember, StoredOffice
from news_assets.records.derived import Change, NameMerge, Story, StoryChange
from news_assets.search import SearchHit
from news_assets.store.queries.changes import Edit
from news_assets.store.queries.listed_articles import ListedArticle
from news_assets.store.queries.listed_failures import ListedFailure
from news_assets.store.queries.names import NameItem
from news_assets.store.queries.news_links import NewsLink
from news_assets.store.queries.stored_meetings import VoteOfPerson
from news_assets.store.queries.story_contents import StoryArticle, StoryPublisher
from news_assets.store.queries.story_lists import StoryItem
from news_assets.web.answers import (
    AgencyItem,
    ArticleView,
    CoverageItem,
    HitStory,
    Part,
    SearchPart,
    SourceItem,
)
from news_assets.web.archive import Archive
from news_assets.web.article_views import listed_edits
from news_assets.web.forms import json_document
from news_assets.web.meeting_views import (
    AgendaLine,
    ItemDocument,
    LawView,
    MatterView,
    MeetingItem,
    MeetingView,
    PersonView,
    law_view,
    listed_meetings,
    matter_view,
    meeting_view,
    person_view,
)
from news_assets.web.morning_page import (
    MorningStory,
    MorningView,
    PlaceStories,
    SilenceItem,
    ThemeStories,
    morning_view,
    silent_publishers,
)
from news_assets.web.operations.monitoring import (
    agencies,
    changes,
    covered,
    failures,
    sources,
)
from news_assets.web.operations.polls import PATH as POLLS_PATH
from news_assets.web.operations.polls import PollRequest
from news_assets.web.parameters import (
    AgencyParameters,
    ArticleParameters,
    BriefingParameters,
    ChangeParameters,
    CoverageParameters,
    EditParameters,
    FailureParameters,
    MeetingParameters,
    MorningParameters,
    NameParameters,
    OfDesk,
    OneArticle,
    OneLaw,
    OneMatter,
    OneMeeting,
    OneName,
    OnePerson,
    OneStory,
    ParameterError,
    Parameters,
    SearchAddress,
    StoryParameters,
    TrendAddress,
)
from news_assets.web.profile_pages import (
    CountedPublisher,
    NameView,
    name_view,
    read_names,
)
from news_assets.web.story_pages import (
    CountedTheme,
    StoryView,
    listed_stories,
    read_briefing,
    story_view,
)
from news_assets.web.trends import TrendPoint, Trends, TrendSeries, read_trends


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing to ask for with GET.

    `path` is that below /api/v1, with parameters in braces. `read` returns an instance
    of `answer`, a dataclass, or None if there is no such thing. `item` is the type of
    the answer's items, or of the answer itself. `parts` are the types within it whose
    fields are explained too. `for_operators`: others do not read it where
    NEWS_OPERATOR_TOKEN is set.
    """

    path: str
    summary: str
    parameters: type[Parameters]
    read: Callable[[Archive, Any], Any]
    answer: Any
    item: type
    parts: tuple[type, ...] = ()
    for_operators: bool = False

    @property
    def route(self) -> str:
        """The path for the router: the last parameter may have slashes."""
        if self.path.endswith("}"):
            return f"{self.path[:-1]}:path}}"
        return self.path

    def given(self, values: Mapping[str, str]) -> Parameters:
        """Return the parameters with these values. Raises ParameterError."""
        names = self.parameters.names()
        if unknown := [name for name in values if name not in names]:
            raise ParameterError(
                f"{unknown[0][:40]} is no parameter; there are: {', '.join(names)}"
            )
        return self.parameters.of(values)

    @property
    def name(self) -> str:
        """Its id in the description, such as `articles` or `articles_article_id`."""
        return self.path.translate(str.maketrans("/", "_", "{}"))


SEARCH: Final = Operation(
    path="search",
    summary="Search the articles by words, by meaning or both; without words the newest",
    parameters=SearchAddress,
    read=Archive.search,
    answer=SearchPart,
    item=SearchHit,
    parts=(HitStory,),
)
SOURCES: Final = Operation(
    path="sources",
    summary="The sources of the desk files with their health",
    parameters=OfDesk,
    read=sources,
    answer=Part[SourceItem],
    item=SourceItem,
    for_operators=True,
)
FAILURES: Final = Operation(
    path="failures",
    summary="The articles for which a stage has failed, newest first",
    parameters=FailureParameters,
    read=failures,
    answer=Part[ListedFailure],
    item=ListedFailure,
    for_operators=True,
)
COVERAGE: Final = Operation(
    path="coverage",
    summary=(
        "The number of articles by agency and day in the last days, of failed ones, and of those"
        " that wait"
    ),
    parameters=CoverageParameters,
    read=covered,
    answer=Part[CoverageItem],
    item=CoverageItem,
    for_operators=True,
)
MEETINGS: Final = Operation(
    path="meetings",
    summary=(
        "The meetings of councils and bodies: those to come, then past ones, the nearest day first"
    ),
    parameters=MeetingParameters,
    read=listed_meetings,
    answer=Part[MeetingItem],
    item=MeetingItem,
)
EDITS: Final = Operation(
    path="edits",
    summary="The texts that publishers replaced after publication, newest first",
    parameters=EditParameters,
    read=listed_edits,
    answer=Part[Edit],
    item=Edit,
)
SILENCES: Final = Operation(
    path="silences",
    summary="The publishers that are silent for longer than their habit explains",
    parameters=OfDesk,
    read=silent_publishers,
    answer=Part[SilenceItem],
    item=SilenceItem,
)
STORIES: Final = Operation(
    path="stories",
    summary=(
        "The stories of a day or of the last days, those of the most publishers and the newest"
        " first"
    ),
    parameters=StoryParameters,
    read=listed_stories,
    answer=Part[StoryItem],
    item=StoryItem,
)
TRENDS: Final = Operation(
    path="trends",
    summary="The number or share of the articles that searches find, by day, week or month",
    parameters=TrendAddress,
    read=read_trends,
    answer=Trends,
    item=Trends,
    parts=(TrendSeries, TrendPoint),
)
_BRIEFING: Final = Operation(
    path="briefing",
    summary=(
        "What the articles of the stories of some days say, or of those about a query: sentences,"
        " verbatim, each with its source"
    ),
    parameters=BriefingParameters,
    read=read_briefing,
    answer=Briefing,
    item=Briefing,
    parts=(BriefedStory, Quote),
)
NAMES: Final = Operation(
    path="names",
    summary="The people, bodies and places of the last days, those of the most articles first",
    parameters=NameParameters,
    read=read_names,
    answer=Part[NameItem],
    item=NameItem,
)
OPERATIONS: Final = (
    SEARCH,
    NAMES,
    Operation(
        path="names/{kind}/{name}",
        summary="One person, body or place with its articles, publishers and stories",
        parameters=OneName,
        read=name_view,
        answer=NameView,
        item=NameView,
        parts=(NameItem, NameMerge, CountedPublisher, Story),
    ),
    TRENDS,
    Operation(
        path="articles",
        summary="The articles as stored, newest first, without their texts",
        parameters=ArticleParameters,
        read=Archive.articles,
        answer=Part[ListedArticle],
        item=ListedArticle,
    ),
    Operation(
        path="articles/{article_id}",
        summary="One article with its text, enrichment, revisions, copies and history",
        parameters=OneArticle,
        read=lambda archive, one: archive.article(one.article_id),
        answer=ArticleView,
        item=ArticleView,
        parts=(NewsLink,),
    ),
    EDITS,
    MEETINGS,
    Operation(
        path="meetings/{meeting_id}",
        summary="One meeting with its agenda, documents and what it says about taking part",
        parameters=OneMeeting,
        read=meeting_view,
        answer=MeetingView,
        item=MeetingView,
        parts=(AgendaLine, ItemDocument, NewsLink),
    ),
    Operation(
        path="matters/{desk}/{agency}/{matter}",
        summary="One matter with its appearances in meetings",
        parameters=OneMatter,
        read=matter_view,
        answer=MatterView,
        item=MatterView,
        parts=(NewsLink,),
    ),
    Operation(
        path="laws/{law}",
        summary="One law or national bill with the news that names it",
        parameters=OneLaw,
        read=law_view,
        answer=LawView,
        item=LawView,
        parts=(NewsLink,),
    ),
    Operation(
        path="persons/{desk}/{agency}/{person}",
        summary="One member of a body with the offices and the votes, the newest first",
        parameters=OnePerson,
        read=person_view,
        answer=PersonView,
        item=PersonView,
        parts=(VoteOfPerson, StoredOffice, StoredMember),
    ),
    Operation(
        path="morning",
        summary=(
            "The morning page of a day: its stories, rising themes, silent edits, silent"
            " publishers and the next meetings"
        ),
        parameters=MorningParameters,
        read=morning_view,
        answer=MorningView,
        item=MorningView,
        parts=(
            MorningStory,
            StoryItem,
            ThemeStories,
            PlaceStories,
            RisingTheme,
            SilenceItem,
        ),
    ),
    SILENCES,
    STORIES,
    Operation(
        path="stories/{story_id}",
        summary=(
            "One story with its articles in order of publication, and what its publishers say"
            " together and alone"
        ),
        parameters=OneStory,
        read=story_view,
        answer=StoryView,
        item=StoryView,
        parts=(
            Story,
            StoryArticle,
            StoryPublisher,
            Edit,
            StoryChange,
            Sentence,
            Statement,
            CountedTheme,
            NewsLink,
        ),
    ),
    _BRIEFING,
    Operation(
        path="agencies",
        summary="The agencies of the desk files; with a name those that fit, the best first",
        parameters=AgencyParameters,
        read=agencies,
        answer=Part[AgencyItem],
        item=AgencyItem,
    ),
    SOURCES,
    FAILURES,
    COVERAGE,
    Operation(
        path="changes",
        summary=(
            "What was stored, enriched, embedded, indexed or withdrawn after a cursor, at least"
            " once and in order"
        ),
        parameters=ChangeParameters,
        read=changes,
        answer=Part[Change],
        item=Change,
    ),
)


PREFIX = "/api/v1"


def handler_of(operation: Operation, archive: Archive) -> Callable[[Request], Response]:
    """Return the handler that answers requests for an operation with JSON."""

    def answer(request: Request) -> Response:
        found = operation.read(
            archive, operation.given({**request.query_params, **request.path_params})
        )
        if found is None:
            raise HTTPException(404, f"there is nothing at {request.url.path}")
        return json_document(asdict(found))

    return answer


_REF = "#/components/schemas/{model}"
_PROBLEM = {
    "description": "The request cannot be answered; `detail` says why",
    "content": {
        "application/problem+json": {"schema": {"$ref": _REF.format(model="Problem")}}
    },
}
_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457)",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {
            "type": "string",
            "description": "about:blank: `title` and `status` say what kind of error it is",
        },
        "title": {"type": "string", "description": "the status in words"},
        "status": {"type": "integer", "description": "the HTTP status"},
        "detail": {
            "type": "string",
            "description": "what is wrong, and what would be right",
        },
    },
}

_POLLS = {
    "operationId": "request_polls",
    "summary": "Request a poll of agencies of one desk, now or of past days; for operators",
    "security": [{"operator": []}],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": PollRequest.model_json_schema(ref_template=_REF)
            }
        },
    },
    "responses": {
        "202": {
            "description": "The run of Dagster that polls",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["run_id", "url"],
                        "properties": {
                            "run_id": {
                                "type": "string",
                                "description": "id of the run",
                            },
                            "url": {"type": "string", "description": "page of the run"},
                        },
                    }
                }
            },
        },
        "default": _PROBLEM,
    },
}


def api_map(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return what stands at the address of the API itself: its description, and the
    address of each operation.
    """
    return {
        "openapi": f"{PREFIX}/openapi.json",
        "operations": {
            one.name: {"url": f"{PREFIX}/{one.path}", "summary": one.summary}
            for one in operations
        },
    }


def describe(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """Return the description of these operations."""
    known = list(operations)
    mode: Literal["serialization"] = "serialization"
    inputs = [(one.name, mode, TypeAdapter[Any](one.answer)) for one in known]
    answers, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REF)
    schemas = definitions.get("$defs", {})
    for schema in schemas.values():
        # the same for the parts of all lists, of which clients make the names of types
        schema.pop("title", None)
    for one in known:
        for kind in (one.item, *one.parts):
            _add_meanings(schemas.get(kind.__name__, {}), kind)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "news_assets",
            "version": version,
            "description": (
                "The articles of the archive, and the state of agencies and sources. Lists come in"
                " parts: pass `next` as `cursor` for the part that follows. Answers have an ETag."
            ),
        },
        "servers": [{"url": PREFIX}],
        "paths": (
            {
                f"/{one.path}": {"get": _get(one, answers[(one.name, mode)])}
                for one in known
            }
            | {f"/{POLLS_PATH}": {"post": _POLLS}}
        ),
        "components": {
            "schemas": schemas | {"Problem": _PROBLEM_SCHEMA},
            "securitySchemes": {"operator": {"type": "http", "scheme": "bearer"}},
        },
    }


def _get(operation: Operation, answer: dict[str, Any]) -> dict[str, Any]:
    # without the token where NEWS_OPERATOR_TOKEN is not set
    security: list[dict[str, list[str]]] = []
    if operation.for_operators:
        security = [{}, {"operator": []}]
    return {
        "security": security,
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters_of(operation),
        "responses": {
            "200": {
                "description": "The answer",
                "content": {"application/json": {"schema": answer}},
            },
            "default": _PROBLEM,
        },
    }


def parameters_of(operation: Operation) -> list[dict[str, Any]]:
    """Return the parameters of an operation as OpenAPI describes them."""
    schemas = operation.parameters.model_json_schema()["properties"]
    found = []
    for name in operation.parameters.names():
        in_path = f"{{{name}}}" in operation.path
        schema = {
            key: value
            for key, value in schemas[name].items()
            if key not in ("title", "description")
        }
        found.append(
            {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path,
                "description": schemas[name].get("description", ""),
                "schema": schema,
            }
        )
    return found


def _add_meanings(schema: dict[str, Any], item: type) -> None:
    """Add the strings of the annotations of a dataclass to its schema."""
    for name, hint in get_type_hints(item, include_extras=True).items():
        meanings = [
            one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str)
        ]
        if meanings and name in schema.get("properties", {}):
            schema["properties"][name]["description"] = meanings[0]
