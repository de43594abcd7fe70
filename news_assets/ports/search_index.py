"""Ports of the embedder and of the search index."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import (
    TYPE_CHECKING,
    Annotated,
    Literal,
    Protocol,
    get_args,
    get_origin,
    get_type_hints,
)

from news_assets.records.reading import AgencyDays, Embedded

if TYPE_CHECKING:
    import polars as pl

SearchMode = Literal["keyword", "vector", "hybrid"]
SearchSort = Literal["relevance", "date"]


class Embedder(Protocol):
    """Embeds texts as unit vectors."""

    model: str
    dim: int

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one vector per text, in order. Raises EmbedError."""
        ...

    def embed_query(self, query: str) -> Embedded:
        """Return the vector of a query; some models need another prefix for queries.
        Raises EmbedError.
        """
        ...


@dataclass(frozen=True, slots=True)
class SearchColumn:
    """The meaning of a field of `SearchDocument`, and its use in an index with columns.

    `facet`: the name under which hits are counted by its values, and of the filter by
    one of them; empty if there is none. `label`: the facet as pages name it. `source`:
    the row with a column of the same name that the field is copied from; the filter of
    such a facet takes whole values. Fields without a source are composed in
    `pipeline/index.py`.
    `has_many_values`: there may be as many values as documents, so only the most
    frequent are counted. `is_sorted`: hits are sorted by it. `is_stored_only`: it is
    shown or compared, but not searched.
    """

    meaning: str
    facet: str = ""
    label: str = ""
    source: Literal["", "article", "enrichment"] = ""
    has_many_values: bool = False
    is_sorted: bool = False
    is_stored_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """An article as stored in the search index. Fields without a `SearchColumn` are not
    stored.

    `trace_id` is for the document's receipt.
    """

    article_id: Annotated[str, SearchColumn("id of the article and of the document")]
    desk: Annotated[str, SearchColumn("key of the desk", facet="desk", label="Desk")]
    agency: Annotated[
        str, SearchColumn("key of the agency", facet="agency", label="Publisher")
    ]
    agency_name: Annotated[str, SearchColumn("name of the agency", is_stored_only=True)]
    day: Annotated[
        date,
        SearchColumn(
            "day of publication in the agency's time zone",
            facet="day",
            is_sorted=True,
        ),
    ]
    url: Annotated[str, SearchColumn("address of the article", is_stored_only=True)]
    title: Annotated[str, SearchColumn("headline")]
    text: Annotated[str, SearchColumn("text without Markdown")]
    summary: Annotated[
        str | None, SearchColumn("summary of one or two sentences", is_stored_only=True)
    ] = None
    section: Annotated[
        str | None, SearchColumn("section of the site", is_stored_only=True)
    ] = None
    authors: Annotated[
        tuple[str, ...],
        SearchColumn(
            "authors as the page names them", source="article", is_stored_only=True
        ),
    ] = ()
    tags: Annotated[
        tuple[str, ...],
        SearchColumn("tags of the page", source="article", is_stored_only=True),
    ] = ()
    keywords: Annotated[
        tuple[str, ...],
        SearchColumn(
            "key terms, most significant first",
            source="enrichment",
            is_stored_only=True,
        ),
    ] = ()
    theme_code: Annotated[
        str | None,
        SearchColumn(
            "code of the most specific theme", source="enrichment", is_stored_only=True
        ),
    ] = None
    theme_path: Annotated[
        tuple[str, ...],
        SearchColumn(
            "codes of the theme from level 1 down", facet="theme", label="Theme"
        ),
    ] = ()
    language: Annotated[
        str | None, SearchColumn("BCP 47 code", facet="language", label="Language")
    ] = None
    theme_labels: Annotated[
        tuple[str, ...],
        SearchColumn(
            "theme labels from level 1 down", source="enrichment", is_stored_only=True
        ),
    ] = ()
    image_url: Annotated[
        str | None, SearchColumn("main image", source="article", is_stored_only=True)
    ] = None
    published_ts: Annotated[
        int, SearchColumn("time of publication in Unix seconds", is_sorted=True)
    ] = 0
    text_hash: Annotated[
        str | None,
        SearchColumn(
            "SHA-256 of the normalised text", source="article", is_stored_only=True
        ),
    ] = None
    duplicate_of: Annotated[
        str | None,
        SearchColumn(
            "id of the earlier article with the same address or text", source="article"
        ),
    ] = None
    sentiment: Annotated[
        str | None,
        SearchColumn(
            "tone: positive, neutral or negative",
            facet="sentiment",
            label="Tone",
            source="enrichment",
        ),
    ] = None
    entities: Annotated[
        tuple[str, ...],
        SearchColumn(
            "names of persons, bodies and places",
            facet="entity",
            label="Name",
            source="enrichment",
            has_many_values=True,
        ),
    ] = ()
    body: Annotated[
        str | None,
        SearchColumn(
            "council, board or committee of the meeting",
            facet="body",
            label="Body",
            source="article",
        ),
    ] = None
    matter: Annotated[
        str | None,
        SearchColumn(
            "key of the matter of the agenda item",
            facet="matter",
            label="Matter",
            source="article",
            has_many_values=True,
        ),
    ] = None
    meeting_id: Annotated[
        str | None,
        SearchColumn("id of the meeting", source="article", is_stored_only=True),
    ] = None
    meeting_status: Annotated[
        str | None,
        SearchColumn(
            "confirmed, tentative, cancelled or passed",
            facet="meeting_status",
            label="Meeting",
            source="article",
        ),
    ] = None
    vector: Annotated[
        tuple[float, ...] | None, SearchColumn("embedding of title and text")
    ] = None
    document_hash: Annotated[
        str, SearchColumn("hash of the document's inputs", is_stored_only=True)
    ] = ""
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet of `SearchDocument`: its name, its field, which holds several values if
    `is_list`, and the declaration of the field.
    """

    name: str
    field: str
    is_list: bool
    column: SearchColumn


def _declared_columns() -> Iterator[tuple[str, type, SearchColumn]]:
    """Yield name, type and declaration of each stored field."""
    for field, hint in get_type_hints(SearchDocument, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, column = get_args(hint)
            yield field, kind, column


def _declared_facets() -> tuple[Facet, ...]:
    found = []
    for field, kind, column in _declared_columns():
        if column.facet:
            is_list = get_origin(kind) is tuple
            found.append(Facet(column.facet, field, is_list, column))
    return tuple(found)


# the row that a field is copied from, by the name of the field
COPIED_FIELDS = {
    field: column.source for field, _, column in _declared_columns() if column.source
}
DECLARED_FACETS = _declared_facets()
# filtered by whole values that the documents have from a row
COPIED_FACETS = tuple(one for one in DECLARED_FACETS if one.column.source)
# of the time of publication; months and weeks are counted from the days
TIME_FACETS = ("month", "week", "day")
# in the order of answers
FACETS = (*(one.name for one in DECLARED_FACETS if one.name != "day"), *TIME_FACETS)
# Headings in English, by the name of the facet.
FACET_LABELS = {
    one.name: one.column.label for one in DECLARED_FACETS if one.column.label
}
# of the filters, by their names in an address
FILTER_LABELS = FACET_LABELS | {"from": "From", "to": "To"}


def values_of(wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the value, or the several values, of a filter."""
    if isinstance(wanted, str):
        return (wanted,)
    return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters that every hit passes; None is no filter.

    `desk` and `agency` are keys; `theme` is a code of any level; `language` is a BCP 47
    code, and `pt` takes `pt-BR`; the days of publication are inclusive. `entity`,
    `sentiment`, `body`, `matter` (its key) and `meeting_status` are values as the
    facets list them. Of several agencies or themes, a hit has one.
    """

    desk: str | None = None
    agency: str | tuple[str, ...] | None = None
    theme: str | tuple[str, ...] | None = None
    language: str | None = None
    from_day: date | None = None
    to_day: date | None = None
    entity: str | None = None
    sentiment: str | None = None
    body: str | None = None
    matter: str | None = None
    meeting_status: str | None = None

    @property
    def is_filtered(self) -> bool:
        """Whether there is a filter."""
        filters = (getattr(self, name) for name in Filters.__dataclass_fields__)
        return any(value is not None for value in filters)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery(Filters):
    """One search with its filters; an empty `text` lists the newest.

    `today` is the last day of `date:7d` in the text; None for the day in UTC.
    Hits are the documents with the words, in a search by vector the nearest 100 (or
    `limit`), in a hybrid search both; sorted by date, the newest is first.
    """

    text: str
    mode: SearchMode = "hybrid"
    vector: tuple[float, ...] | None = None
    sort: SearchSort = "relevance"
    limit: int = 10
    offset: int = 0
    explain: bool = False
    today: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an article is a hit.

    `words` are the words of the query that it has, each with the fields that have it:
    title, text, summary, or labels (section, tags and keywords). Ranks begin at 1 and
    count copies; a rank and its score are None if the article is not among the best of
    that ranking, at least 100. `similarity` is the cosine of the vectors.
    """

    words: dict[str, tuple[str, ...]]
    keyword_rank: int | None = None
    keyword_score: float | None = None
    vector_rank: int | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One article of the result. `snippet` is escaped HTML with `<mark>` around the
    matches.

    `published_at` is the time of its first listing if it states none; another
    appearance of a matter has none. `score` is that of the ranking: of the words, the
    cosine, or both fused. `explanation` is given if the query has `explain`.
    """

    article_id: str
    title: str
    url: str
    desk: str
    agency: str
    day: date
    score: float
    snippet: str
    theme_code: str | None = None
    language: str | None = None
    published_at: datetime | None = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Hits in order, their total number `found`, and facets: counts of all hits by value
    of each of `FACETS`, in which copies of one text count once for a value.

    The most frequent value is first; days and months are in ISO format, newest first,
    and so are weeks, each named by its Monday.
    Of entities and matters, only the 100 most frequent are counted. `languages` are
    counts of the documents with the words alone, or of the nearest if there are none.
    """

    hits: tuple[SearchHit, ...]
    found: int
    facets: dict[str, dict[str, int]]
    took_ms: float
    languages: dict[str, int]


class SearchIndex(Protocol):
    """A search index, idempotent by article id and document hash; several processes may
    write at once.
    """

    backend: str

    def vector_dim(self) -> int | None:
        """Return the dimensions of the stored vectors; None if there are no vectors
        yet.
        """
        ...

    def vector_model(self) -> str | None:
        """Return the name of the model of the vectors; None if it is not set yet."""
        ...

    def name_model(self, model: str) -> None:
        """Set the name of the model of the vectors, unless one is set. Raises
        IndexingError.
        """
        ...

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} of those that were rejected.
        Raises IndexingError.
        """
        ...

    def delete(self, article_ids: Sequence[str]) -> None:
        """Delete documents; unknown ids are ignored."""
        ...

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return the result. Raises IndexingError if the query vector has other
        dimensions than the index, and QueryError for a mistake in the text.
        """
        ...

    def count(self) -> int:
        """Return the number of documents."""
        ...

    def stored(
        self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None
    ) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents: all,
        or of some days.
        """
        ...
