"""The search index on a Typesense server, through the official client.

Implements `ports.SearchIndex`. Documents and queries enter, answers leave; the parts are in the modules
beside this one. Several processes may write at once; a rebuild goes on beside the index that is searched.

Duplicates are one hit, as in the embedded index. It differs from that where the server decides: of a query's words
only those at its ends are left out when few documents have all of them, quoted phrases forgive endings, and of more
than ten duplicates that match, the original may not be among those that are looked at.
"""

import threading
import time
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from news_assets.clients.search.typesense.collection import (
    FIRST,
    add_fields,
    create_collection,
    current_collection,
    point_alias,
    read_collection,
    write_metadata,
)
from news_assets.clients.search.typesense.connection import (
    SEARCH_TIMEOUT_S,
    WRITE_TIMEOUT_S,
    TypesenseAddress,
    TypesenseConnection,
)
from news_assets.clients.search.typesense.errors import REBUILD, failure
from news_assets.clients.search.typesense.export import stored_frame
from news_assets.clients.search.typesense.keys import search_key
from news_assets.clients.search.typesense.rebuild import Rebuild, begin_rebuild
from news_assets.clients.search.typesense.schema import (
    DEFAULT_LANGUAGES,
    CollectionState,
    SchemaChange,
    check_agreement,
    check_schema,
    metadata_of,
    schema_changes,
    vector_field,
)
from news_assets.clients.search.typesense.searcher import Searcher
from news_assets.clients.search.typesense.writing import DocumentWriter, first_dim
from news_assets.errors import IndexingError
from news_assets.ports import SearchAnswer, SearchDocument, SearchQuery
from news_assets.records import AgencyDays

if TYPE_CHECKING:
    import polars as pl


class IndexSettings(TypedDict, total=False):
    """What an index is opened with beside its address.

    model: Name of the embedding model, compared with that of the index where both are known.
    languages: Whose stemmers, one after the other, make the stems of documents and queries.
    search_timeout_s: How long a search may take.
    write_timeout_s: How long a batch of documents or an export may take.
    """

    model: str | None
    languages: tuple[str, ...]
    search_timeout_s: float
    write_timeout_s: float


class TypesenseSearchIndex:
    """A search index on a server. Safe to use from several threads."""

    backend = "typesense"

    def __init__(
        self, connection: TypesenseConnection, dim: int | None, model: str | None, languages: tuple[str, ...]
    ) -> None:
        self.connection = connection
        self._dim = dim
        self._model = model
        self._languages = languages
        self._state: CollectionState | None = None
        self._searcher = Searcher(connection, languages, lambda: self._state, self._refreshed)
        self._lock = threading.Lock()  # one writer of this process settles the vector field

    @classmethod
    def open(cls, address: str, api_key: str, dim: int | None = None, **settings: Unpack[IndexSettings]) -> Self:
        """Return the index at this address, which is made where there is none.

        Args:
            address: `typesense://host:port`, or `typesense+https://...`; `/name` after it is another alias than
                `news_articles`.
            api_key: A key that may do everything.
            dim: Length of the vectors that will be stored, where it is known.
            settings: What is not as usual.

        Raises:
            IndexingError: The server is away or refuses the key, or the index was made for something else.
        """
        index = cls.connect(address, api_key, dim, **settings)
        try:
            index._prepare()
        except BaseException:
            index.close()
            raise
        return index

    @classmethod
    def connect(cls, address: str, api_key: str, dim: int | None = None, **settings: Unpack[IndexSettings]) -> Self:
        """Return the index without asking the server yet: for a rebuild of one that `open` refuses.

        Raises:
            IndexingError: The address is none.
        """
        try:
            parsed = TypesenseAddress.parse(address)
        except ValueError as error:
            raise IndexingError(f"the search address {error}") from error
        connection = TypesenseConnection(
            parsed,
            api_key,
            search_timeout_s=settings.get("search_timeout_s", SEARCH_TIMEOUT_S),
            write_timeout_s=settings.get("write_timeout_s", WRITE_TIMEOUT_S),
        )
        return cls(connection, dim, settings.get("model"), settings.get("languages", DEFAULT_LANGUAGES))

    def _prepare(self) -> None:
        state = current_collection(self.connection)
        if state is None:
            first = f"{self.connection.alias}_{FIRST}"
            create_collection(self.connection, first, self._dim, metadata_of(self._model, self._dim, self._languages))
            point_alias(self.connection, first)
            state = read_collection(self.connection, first)
        check_agreement(self.connection.where, state, self._dim, self._model, self._languages)
        self._state = state

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing -----------------------------------------------------------------------------------------------------

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for those that were refused.

        A document that is stored with the same hash is not written again. Of two with one id, the later one counts.
        After an error some may be stored; sending all of them again is right.

        Raises:
            IndexingError: The server could not take them, or the index was made for something else.
        """
        if not documents:
            return {}
        state = self._writable(documents)
        writer = DocumentWriter(self.connection, self.connection.alias, self._languages, state.dim)
        return writer.upsert(documents)

    def _writable(self, documents: Sequence[SearchDocument]) -> CollectionState:
        """Return what is written to, checked, with a field for vectors as soon as one comes."""
        with self._lock:
            state = self._refreshed()
            check_schema(self.connection.where, state)
            dim = None if state.dim else self._dim or first_dim(documents)
            if dim is None:
                return state
            self._add_vectors(state.name, dim)
            return self._refreshed()

    def _add_vectors(self, name: str, dim: int) -> None:
        try:
            self.connection.call("patch", f"/collections/{name}", {"fields": [vector_field(dim)]})
        except IndexingError as error:
            if "already part" not in str(error):  # another process was first
                raise

    def _refreshed(self) -> CollectionState:
        state = current_collection(self.connection)
        if state is None:
            raise failure(self.connection.where, f"the alias {self.connection.alias!r} is gone; {REBUILD} mends it")
        check_agreement(self.connection.where, state, self._dim, self._model, self._languages)
        self._state = state
        return state

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; an unknown id is no error."""
        self.connection.delete(self.connection.alias, article_ids)

    # --- searching ---------------------------------------------------------------------------------------------------

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return the answer; any text is a valid query.

        A hybrid search without a vector is a keyword search; an empty text without a vector lists the newest. In a
        hybrid search `found` and facets are those of the words, where these find anything.

        Raises:
            IndexingError: The query's vector has another length than the index's, or no direction; or the server
                could not answer.
        """
        started = time.perf_counter()
        hits, found, facets = self._searcher.answered(query)
        return SearchAnswer(hits=hits, found=found, facets=facets, took_ms=(time.perf_counter() - started) * 1000)

    # --- what is there -----------------------------------------------------------------------------------------------

    def vector_dim(self) -> int | None:
        """Return the length of the vectors; None where there are none yet."""
        return self._refreshed().dim

    def vector_model(self) -> str | None:
        """Return the name of the model that makes the vectors; None where it was not said yet."""
        model: str | None = self._refreshed().metadata.get("model")
        return model

    def name_model(self, model: str) -> None:
        """Remember what makes the vectors; a name that is there already stays."""
        with self._lock:
            state = self._refreshed()
            if state.metadata.get("model") is None:
                write_metadata(self.connection, state, model=model)

    def count(self) -> int:
        """Return how many documents there are."""
        return self._refreshed().count

    def stored(self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of what a desk has in the index: all, or of some days.

        Raises:
            IndexingError: The server is away, or replays its log and has only a part; transient.
        """
        return stored_frame(self.connection, self.connection.alias, desk, keys, first_day)

    # --- looking after it --------------------------------------------------------------------------------------------

    def begin_rebuild(self, dim: int | None, model: str | None, now: datetime) -> Rebuild:
        """Return a new collection to fill beside the one that is searched, or an unfinished one to go on with.

        Args:
            dim: Length of the vectors; None without embeddings.
            model: Name of the embedding model.
            now: Names a new collection.
        """
        return begin_rebuild(self.connection, dim, model, self._languages, now)

    def schema_changes(self) -> list[SchemaChange]:
        """Return where the index's fields differ from what this program writes."""
        return schema_changes(self._refreshed(), self._dim)

    def apply_schema_changes(self) -> list[SchemaChange]:
        """Add the fields that are missing; return what was added.

        Raises:
            IndexingError: A field differs in a way that needs a rebuild; nothing was changed then.
        """
        changes = self.schema_changes()
        return add_fields(self.connection, self._refreshed(), changes, self._dim)

    def search_key(self, desk: str | None, expires_at: datetime, description: str) -> str:
        """Return a key that may only search, until then, and only this desk's documents where one is named."""
        return search_key(self.connection, desk, expires_at, description)
