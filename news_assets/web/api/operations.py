"""What the API can be asked: each operation declared once, for its route and for the
description.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from news_assets.records.councils import StoredMember, StoredOffice
from news_assets.records.derived import Change, Failure
from news_assets.search import SearchHit
from news_assets.store.queries.listed_articles import ListedArticle
from news_assets.store.queries.stored_meetings import VoteOfPerson
from news_assets.web.answers import (
    AgencyItem,
    ArticleView,
    CoverageItem,
    Part,
    SearchPart,
    SourceItem,
)
from news_assets.web.archive import Archive
from news_assets.web.meetings.answers import (
    AgendaLine,
    ItemDocument,
    MatterView,
    MeetingItem,
    MeetingView,
    PersonView,
)
from news_assets.web.meetings.reading import (
    listed_meetings,
    matter_view,
    meeting_view,
    person_view,
)
from news_assets.web.operations.reading import (
    agencies,
    changes,
    covered,
    failures,
    sources,
)
from news_assets.web.parameters import (
    ArticleParameters,
    ChangeParameters,
    CoverageParameters,
    FailureParameters,
    MeetingParameters,
    OfDesk,
    OneArticle,
    OneMatter,
    OneMeeting,
    OnePerson,
    ParameterError,
    Parameters,
    SearchAddress,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing to ask for with GET.

    `path` is that below /api/v1, with parameters in braces. `read` returns an instance
    of `answer`, a dataclass, or None if there is no such thing. `item` is the type of
    the answer's items, or of the answer itself. `parts` are the types within it whose
    fields are explained too.
    """

    path: str
    summary: str
    parameters: type[Parameters]
    read: Callable[[Archive, Any], Any]
    answer: Any
    item: type
    parts: tuple[type, ...] = ()

    @property
    def route(self) -> str:
        """The path for the router: the last parameter may have slashes."""
        return f"{self.path[:-1]}:path}}" if self.path.endswith("}") else self.path

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
)
SOURCES: Final = Operation(
    path="sources",
    summary="The sources of the desk files with their health",
    parameters=OfDesk,
    read=sources,
    answer=Part[SourceItem],
    item=SourceItem,
)
FAILURES: Final = Operation(
    path="failures",
    summary="The articles for which a stage has failed, newest first",
    parameters=FailureParameters,
    read=failures,
    answer=Part[Failure],
    item=Failure,
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
OPERATIONS: Final = (
    SEARCH,
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
    ),
    MEETINGS,
    Operation(
        path="meetings/{meeting_id}",
        summary="One meeting with its agenda, documents and what it says about taking part",
        parameters=OneMeeting,
        read=meeting_view,
        answer=MeetingView,
        item=MeetingView,
        parts=(AgendaLine, ItemDocument),
    ),
    Operation(
        path="matters/{desk}/{agency}/{matter}",
        summary="One matter with its appearances in meetings",
        parameters=OneMatter,
        read=matter_view,
        answer=MatterView,
        item=MatterView,
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
        path="agencies",
        summary="The agencies of the desk files",
        parameters=OfDesk,
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
