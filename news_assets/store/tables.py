"""The lake's tables, one per row type of `records`, and records as frames and back.

The fields of a row type are `Annotated[type, "meaning"]`. DDL, Polars schema, the UI's
column schema and the column reference are derived from them. Texts are stored as
`text/html.py` makes them storable.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from news_assets.errors import LakeError
from news_assets.records.alerts import (
    ChangeHit,
    Condition,
    Follower,
    Message,
    OperatorAction,
    QueryHit,
    StoredQuery,
    Subscription,
)
from news_assets.records.articles import (
    ArticleRevision,
    CopyKey,
    FeedEntry,
    MovedArticle,
    Poll,
    RawArticle,
    SourceState,
    StoredPage,
)
from news_assets.records.councils import (
    StoredBody,
    StoredMember,
    StoredOffice,
    StoredVote,
)
from news_assets.records.derived import (
    ArticleEmbedding,
    CachedEnrichment,
    Change,
    CivicMention,
    EnrichedArticle,
    Failure,
    IndexedDocument,
    NameMerge,
    Story,
    StoryChange,
    StoryMember,
    ThemeLabel,
)
from news_assets.records.meetings import (
    Matter,
    MeetingChange,
    StoredDocument,
    StoredItem,
    StoredMeeting,
)
from news_assets.records.model_calls import EnrichmentBatch, ModelCall, ModelState
from news_assets.text.limits import storable

if TYPE_CHECKING:
    import polars


SQL_TYPES: dict[Any, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    bytes: "BLOB",
    date: "DATE",
    datetime: "TIMESTAMPTZ",
    tuple[str, ...]: "VARCHAR[]",
    tuple[float, ...]: "FLOAT[]",  # float32, as embedding models return
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, DuckDB type, whether it may be NULL, and its meaning."""

    name: str
    sql_type: str
    is_nullable: bool
    meaning: str


# columns that have the same few values in every file
_IN_EVERY_FILE = frozenset({"desk", "outcome", "stage"})


@dataclass(frozen=True, slots=True)
class Table:
    """One table. An upsert replaces rows with the same `key`; a table without a key is
    append-only.

    Parquet files are partitioned by the month of `partition_column`. `order` is the
    order of reads if it is not that of the key. `sort` is the order of rows inside a
    file: a reader of one agency skips the row groups of the others. A private table, with
    data of readers, is not exported.
    """

    name: str
    record: type
    key: tuple[str, ...] = ()
    partition_column: str | None = None
    order: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    is_private: bool = False

    @property
    def row_order(self) -> tuple[str, ...]:
        """The columns that reads are ordered by."""
        return self.order or self.key

    def is_pruned_by(self, column: str) -> bool:
        """Whether values of this column can tell its files or their row groups apart."""
        has_order = self.partition_column is not None or bool(self.sort)
        return has_order and column not in _IN_EVERY_FILE

    @property
    def is_by_article(self) -> bool:
        """Whether its rows are of an article and of the article's day."""
        return self.key[:1] == ("article_id",) and self.partition_column == "day"


TABLES: tuple[Table, ...] = (
    Table("sources", SourceState, ("source_id",)),
    Table("polls", Poll, (), "polled_at", order=("polled_at", "source_id")),
    Table(
        "entries", FeedEntry, ("source_id", "entry_id"), "day", sort=("agency", "day")
    ),
    Table("meetings", StoredMeeting, ("meeting_id",), sort=("agency", "day")),
    Table("agenda_items", StoredItem, ("item_id",), sort=("agency", "day")),
    Table(
        "meeting_changes",
        MeetingChange,
        (),
        "changed_at",
        order=("changed_at", "meeting_id", "item_id"),
    ),
    Table("matters", Matter, ("desk", "agency", "matter")),
    Table("votes", StoredVote, ("item_id", "person"), sort=("agency", "person")),
    Table("members", StoredMember, ("desk", "agency", "person")),
    Table("bodies", StoredBody, ("desk", "agency", "name")),
    Table("offices", StoredOffice, ("desk", "agency", "office_id")),
    Table("documents", StoredDocument, ("document_id",), "day", sort=("document_id",)),
    Table(
        "pages", StoredPage, ("article_id", "page_hash"), "day", sort=("article_id",)
    ),
    Table("raw_articles", RawArticle, ("article_id",), "day", sort=("article_id",)),
    Table("moved_articles", MovedArticle, ("article_id", "day")),
    Table("copy_keys", CopyKey, ("day", "article_id"), "day", sort=("day",)),
    Table(
        "article_revisions",
        ArticleRevision,
        ("article_id", "rev_n", "replaced_at"),
        "day",
        sort=("article_id",),
    ),
    Table(
        "enriched_articles",
        EnrichedArticle,
        ("article_id",),
        "day",
        sort=("article_id",),
    ),
    Table(
        "enrichments",
        CachedEnrichment,
        ("input_hash",),
        "created_at",
        sort=("input_hash",),
    ),
    Table(
        "theme_labels",
        ThemeLabel,
        ("article_id", "labelled_at"),
        "day",
        sort=("article_id",),
    ),
    Table("model_calls", ModelCall, ("call_id",), "day", sort=("article_id",)),
    Table("language_models", ModelState, ("model",)),
    Table("enrichment_batches", EnrichmentBatch, ("batch_key",)),
    Table(
        "article_embeddings",
        ArticleEmbedding,
        ("article_id",),
        "day",
        sort=("article_id",),
    ),
    Table(
        "indexed_documents",
        IndexedDocument,
        ("article_id",),
        "day",
        sort=("article_id",),
    ),
    Table("story_members", StoryMember, ("article_id",), "day", sort=("day",)),
    Table(
        "civic_mentions",
        CivicMention,
        ("article_id", "kind", "named"),
        "day",
        sort=("kind", "named"),
    ),
    Table("stories", Story, ("story_id",), "day", sort=("story_id",)),
    Table(
        "story_changes",
        StoryChange,
        ("change_id",),
        "day",
        order=("changed_at", "change_id"),
    ),
    Table("failures", Failure, ("article_id", "stage")),
    Table(
        "changes",
        Change,
        ("commit_id", "sequence"),
        "committed_at",
        sort=("commit_id",),
    ),
    Table("followers", Follower, ("name",)),
    Table("saved_queries", StoredQuery, ("name",)),
    Table("name_merges", NameMerge, ("name_id",)),
    Table("subscriptions", Subscription, ("subscription_id",), is_private=True),
    Table(
        "query_hits",
        QueryHit,
        ("query", "article_id"),
        "found_at",
        sort=("article_id",),
    ),
    Table(
        "change_hits",
        ChangeHit,
        ("query", "event"),
        "found_at",
        sort=("article_id",),
    ),
    Table(
        "messages",
        Message,
        ("message_id",),
        "created_at",
        order=("created_at", "message_id"),
    ),
    Table("conditions", Condition, ("name",)),
    Table(
        "operator_actions",
        OperatorAction,
        (),
        "acted_at",
        order=("acted_at", "article_id"),
    ),
)

_TABLE_OF = {table.record: table for table in TABLES}


def table_of(record: type) -> Table:
    """Return the table of a record type.

    Raises:
        KeyError: No table is declared for it.
    """
    return _TABLE_OF[record]


@cache
def columns(table: Table) -> tuple[Column, ...]:
    """Return the table's columns, in the order of the record's fields."""
    hints = get_type_hints(table.record, include_extras=True)
    return tuple(_column(table, name, hint) for name, hint in hints.items())


def _column(table: Table, name: str, hint: Any) -> Column:
    if get_origin(hint) is not Annotated:
        raise TypeError(
            f"{table.record.__name__}.{name} has no meaning: write Annotated[type, 'meaning']"
        )
    annotated, meaning = get_args(hint)[:2]
    plain, is_nullable = _without_none(annotated)
    if plain not in SQL_TYPES:
        raise TypeError(f"{table.record.__name__}.{name}: no column type for {plain}")
    return Column(name, SQL_TYPES[plain], is_nullable, meaning)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    plain = [part for part in get_args(hint) if part is not NoneType]
    return (plain[0] if len(plain) == 1 else hint), len(plain) < len(get_args(hint))


@cache
def polars_schema(table: Table) -> "dict[str, polars.DataType]":
    """Return column name -> Polars data type; times are UTC in microseconds, as in
    DuckDB.
    """
    import polars as pl

    types: dict[str, pl.DataType] = {
        "VARCHAR": pl.String(),
        "BIGINT": pl.Int64(),
        "DOUBLE": pl.Float64(),
        "BOOLEAN": pl.Boolean(),
        "BLOB": pl.Binary(),
        "DATE": pl.Date(),
        "TIMESTAMPTZ": pl.Datetime("us", "UTC"),
        "VARCHAR[]": pl.List(pl.String()),
        "FLOAT[]": pl.List(pl.Float32()),
    }
    return {column.name: types[column.sql_type] for column in columns(table)}


def create_statements(table: Table) -> Iterator[str]:
    """Yield the DDL of a new table, partitioned by month and sorted inside each file."""
    body = ", ".join(f'"{column.name}" {column.sql_type}' for column in columns(table))
    yield f'CREATE TABLE IF NOT EXISTS "{table.name}" ({body})'
    if table.partition_column:
        column = f'"{table.partition_column}"'
        yield f'ALTER TABLE "{table.name}" SET PARTITIONED BY (year({column}), month({column}))'
    if table.sort:
        yield f'ALTER TABLE "{table.name}" SET SORTED BY ({", ".join(table.sort)})'


# --- records and frames ---------------------------------------------------------------


_R = TypeVar("_R")
_Made = TypeVar("_Made")

# The values of columns that do not allow None, in rows from before the column was
# declared.
_EMPTY: dict[str, object] = {
    "VARCHAR": "",
    "BIGINT": 0,
    "DOUBLE": 0.0,
    "BOOLEAN": False,
    "BLOB": b"",
    "VARCHAR[]": (),
    "FLOAT[]": (),
}


def frame_of(table: Table, rows: Sequence[Any]) -> "polars.DataFrame":
    """Return the rows as a frame with the table's schema, in the given order.

    Raises:
        LakeError: A value has another type than the record declares, or is None in a
            column that does not allow it.
    """
    import polars as pl

    schema = polars_schema(table)
    series = []
    try:
        for column in columns(table):
            values = _values(column, rows)
            kind = schema[column.name]
            series.append(pl.Series(column.name, values, kind, strict=True))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise LakeError(
            f"{table.name}: a row has a value of a wrong type: {error}"
        ) from error
    for column, stored in zip(columns(table), series, strict=True):
        if not column.is_nullable and stored.null_count():
            raise LakeError(
                f"{table.name}.{column.name}: a row has no value, but the column needs one"
            )
    return pl.DataFrame(series)


def _values(column: Column, rows: Sequence[Any]) -> list[Any]:
    values = [getattr(row, column.name) for row in rows]
    if column.sql_type == "VARCHAR":
        return [value and storable(value) for value in values]
    if column.sql_type == "VARCHAR[]":
        return [
            None if value is None else list(map(storable, value)) for value in values
        ]
    if column.sql_type == "FLOAT[]":
        return [None if value is None else list(value) for value in values]
    return values


def records_of(
    table: Table, record: type[_R], frame: "polars.DataFrame"
) -> Iterator[_R]:
    """Yield a record for each row of a frame that has every column of the table."""
    names = [column.name for column in columns(table)]
    values = [_record_values(column, frame[column.name]) for column in columns(table)]
    for row in zip(*values, strict=True):
        yield record(**dict(zip(names, row, strict=True)))


def made_of(kind: Callable[..., _Made], frame: "polars.DataFrame") -> list[_Made]:
    """Return an object for each row, whose columns are the arguments of `kind`."""
    return [kind(**row) for row in frame.iter_rows(named=True)]


def stated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _record_values(column: Column, series: "polars.Series") -> list[Any]:
    """Return a column's values, with the empty value for NULL where the record does not
    allow None.
    """
    values = series.to_list()
    if column.sql_type in ("VARCHAR[]", "FLOAT[]"):
        values = [None if value is None else tuple(value) for value in values]
    if column.is_nullable or not series.null_count():
        return values
    empty = _EMPTY.get(column.sql_type)
    return [empty if value is None else value for value in values]


class ArrowStream:
    """A frame that DuckDB scans through the Arrow C stream; a Polars frame itself would
    need pyarrow.
    """

    def __init__(self, frame: "polars.DataFrame") -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream over all rows at each call."""
        return self._frame.__arrow_c_stream__(requested_schema)
