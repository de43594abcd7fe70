"""What a stage declares, the states that its rows are made from, as hashes, and the
checks of its rows; `pipeline/stages.py` lists the stages.
"""

import json
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from news_assets.ports.search_index import COPIED_FIELDS
from news_assets.ports.services import Clock, Lake, Lazy, Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.text.fingerprint import sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state a row is made from, which the row stores in `column`.

    A row is outdated where its stored state differs from the present one, whatever
    changed it and however long ago. One input without a `code_version` is the state itself.
    Otherwise the state is the SHA-256 of the `code_version`, the inputs and the agency's name,
    joined by newlines; inputs of rows that are missing or failed, and NULLs, count as
    empty. `store/queries/backlog.py` renders the same state in SQL.
    """

    column: str
    inputs: tuple[tuple[str, str], ...]  # names of stages and of columns of their rows
    code_version: str | None = None  # another one makes every row outdated

    def of(self, rows: Mapping[str, Any], agency_name: str) -> str:
        """Return the state of these rows, given by stage; a failed row is given as None
        or left out.
        """
        values: list[str] = []
        for stage, column in self.inputs:
            row = rows.get(stage)
            value = getattr(row, column) if row else None
            values.append(value or "")
        if self.code_version is None:
            return str(values[0])
        return sha256("\n".join((self.code_version, *values, agency_name)))


@dataclass(frozen=True, slots=True)
class Findings:
    """How many rows were checked, and the wrong ones; or in `unknown` why they could
    not be checked.

    A check passes with at most `accepted` wrong rows.
    """

    checked: int
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    unknown: str = ""
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check of a desk's rows: its name, the sentence that has to hold, and the
    function that finds exceptions.
    """

    name: str
    sentence: str
    find: Callable[[Reader, str], Findings]


@dataclass(frozen=True, slots=True)
class Option:
    """A switch that a run's configuration may set; off by default."""

    name: str
    meaning: str


class RunStage(Protocol):
    """The function of a stage."""

    def __call__(
        self,
        stage: "Stage",
        lake: Lake,
        desk: Desk,
        keys: AgencyDays,
        clock: Clock,
        only: Collection[str] | None = None,
        **ports_and_options: Any,
    ) -> int:
        """Bring the rows of these agency-days up to date, or of the articles `only`;
        return how many were written. It can be repeated at any time.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One asset by agency and day.

    Attributes:
        name: Name of the asset, and of the stage in `failures`.
        record: Type of its rows.
        upstream: Assets it is made from, where the desk has them.
        run: Its function, which takes the ports and options by name.
        ports: Names of the ports: fetcher, enricher, embedder, search, sandbox.
        options: Its switches.
        state: The state its rows are made from; None for articles, which are made from
            listed entries.
        made_at: Column with the time a row was made.
        then: What else is stored in the transaction that stores rows made from
            articles, given these rows.
        done: What has been done to an article with a row: its column in `status` and in
            the report.
        check: Name of the check that every row is there and current, and the sentence
            that it holds.
        row_checks: Checks of the rows' contents.
        describe: Returns one line about a row, for the history of a URL.
        description: What the asset holds, for Dagster's UI.
        kind: Dagster's kind, which chooses the icon.
        preview: Columns that a materialisation shows.
    """

    name: str
    record: type[Any]
    upstream: tuple[str, ...]
    run: RunStage
    ports: tuple[str, ...]
    options: tuple[Option, ...] = ()
    state: State | None
    made_at: str
    then: Callable[[Rows, Sequence[Any]], object] | None = None
    done: str
    check: tuple[str, str]
    row_checks: tuple[RowCheck, ...] = ()
    describe: Callable[[Any], str]
    description: str
    kind: str
    preview: tuple[str, ...]

    def run_batch(
        self,
        lake: Lake,
        desk: Desk,
        keys: AgencyDays,
        clock: Clock,
        ports: Mapping[str, Any],
        options: Mapping[str, bool] | None = None,
        only: Collection[str] | None = None,
    ) -> int:
        """Call `run` with these options and the ports that it takes, which are opened.

        Raises:
            NewsAssetsError: One of the ports could not be opened or used, or the lake.
        """
        given: dict[str, Any] = dict(options or {})
        for name in self.ports:
            port = ports[name]
            given[name] = port.open() if isinstance(port, Lazy) else port
        return self.run(self, lake, desk, keys, clock, only=only, **given)


def on_call(name: str) -> Callable[..., Any]:
    """Return a function that imports and calls the named one,
    `package.module:function`, with the same arguments.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        return pkgutil.resolve_name(name)(*arguments, **options)

    return call


def of_articles(only: Collection[str] | None) -> dict[str, Collection[str]]:
    """Return the condition of reads that `only` means: none, or the ids of articles."""
    return {} if only is None else {"article_id": only}


# --- the states of articles and documents ---------------------------------------------

ARTICLE_STATE = State(column="content_hash", inputs=(("raw_articles", "content_hash"),))
DOCUMENT_STATE = State(
    column="document_hash",
    inputs=(
        ("raw_articles", "content_hash"),
        ("enriched_articles", "input_hash"),
        ("enriched_articles", "reused_from"),
        ("article_embeddings", "model"),
        ("article_embeddings", "input_hash"),
    ),
    # raise it where documents are built differently: every document is then sent again
    code_version="1",
)

_READ_BY_LATER_STAGES = (
    "article_id",
    "agency",
    "day",
    "url",
    "canonical_url",
    "title",
    "subtitle",
    "text",
    "text_hash",
    "section",
    "category",
    "authors",
    "tags",
    "language",
    "published_at",
    "first_seen_at",
    "image_url",
    "duplicate_of",
)
# empty for news
_OF_AGENDA_ITEMS = (
    "body",
    "matter",
    "meeting_id",
    "meeting_status",
    "filter_reason",
)
# copied to the documents of the index by its declaration, beside those above
_ALSO_COPIED = tuple(
    field
    for field, source in COPIED_FIELDS.items()
    if source == "article" and field not in (*_READ_BY_LATER_STAGES, *_OF_AGENDA_ITEMS)
)


def content_hash(article: RawArticle) -> str:
    """Return the SHA-256 of everything that later stages read of an article."""
    read: tuple[str, ...] = _READ_BY_LATER_STAGES
    if article.meeting_id:
        read += _OF_AGENDA_ITEMS
    content = [getattr(article, name) for name in read]
    for name in _ALSO_COPIED:
        # without a value, an article keeps the state that it had before the column
        if value := getattr(article, name):
            content.append((name, value))
    return sha256(json.dumps(content, ensure_ascii=True, default=str))


def document_hash(
    article: RawArticle,
    enriched: EnrichedArticle | None,
    embedding: ArticleEmbedding | None,
    agency_name: str,
) -> str:
    """Return the state of a search document; failed rows are given as None."""
    rows = {
        "raw_articles": article,
        "enriched_articles": enriched,
        "article_embeddings": embedding,
    }
    return DOCUMENT_STATE.of(rows, agency_name)
