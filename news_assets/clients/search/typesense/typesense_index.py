"""The search index on a Typesense server, shared by several processes, and its rebuild.

Writes go to the collection's own name, not to the alias: after a restart the server
replays its log in parallel queues and resolves an alias when a write is queued, so that
writes through the alias are lost or undone.

Copies are one hit, as in the embedded index. Some things differ: quoted phrases match
other endings; of the documents with some of a query's words, the best 250 are ranked;
and only the copies among the best hits are subtracted from the number of matches.

A rebuild fills a new collection beside the one in use, then points the alias at it. An
interrupted rebuild is found by its metadata and resumed. Searches never see an
incomplete index.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, Unpack

from news_assets.clients.search.index_texts import parity_problems
from news_assets.clients.search.typesense.collection import (
    DEFAULT_LANGUAGES,
    FIRST_SUFFIX,
    CollectionState,
    SchemaChange,
    add_fields,
    aliased,
    check_agreement,
    check_schema,
    collections,
    create_collection,
    current_collection,
    metadata_of,
    point_alias,
    read_collection,
    schema_changes,
    stored_frame,
    write_metadata,
)
from news_assets.clients.search.typesense.documents import (
    DocumentWriter,
    accepted_documents,
    batched,
    first_dim,
    reasons_of,
    sent_vectors,
    stored_forms,
    vector_field,
    whole_lines,
)
from news_assets.clients.search.typesense.search_requests import SCOPE, desk_filter
from news_assets.clients.search.typesense.searcher import Searcher
from news_assets.clients.search.typesense.server import (
    LINES_PER_IMPORT,
    REBUILD,
    SEARCH_TIMEOUT_S,
    WRITE_TIMEOUT_S,
    MissingCollectionError,
    TypesenseAddress,
    TypesenseConnection,
    failure,
)
from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchAnswer, SearchDocument, SearchQuery
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl


@dataclass(slots=True)
class _Rebuild:
    """A collection that is being filled. `is_resumed`: it has documents of an
    interrupted rebuild.
    """

    connection: TypesenseConnection
    name: str
    dim: int | None
    languages: tuple[str, ...]
    is_resumed: bool = False
    _sent: set[str] = field(default_factory=set)

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents without reading what is stored; return {article_id: reason}
        for refused ones.

        Raises:
            IndexingError: The import failed; the documents may be sent again.
        """
        accepted, refused = accepted_documents(documents, self.dim)
        for batch in batched(accepted, LINES_PER_IMPORT):
            refused |= self._send(batch)
        return refused

    def _send(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        ids = [one.article_id for one in documents]
        again = [one for one in ids if one in self._sent]
        self.connection.delete(self.name, again)
        forms = stored_forms(documents, self.languages)
        vectors = sent_vectors([one.vector for one in documents])
        lines = whole_lines(forms, vectors)
        self._sent.update(ids)
        pairs = list(zip(ids, lines, strict=True))
        refused = self.connection.import_lines(self.name, pairs, "upsert")
        return reasons_of(refused)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        self.connection.delete(self.name, article_ids)

    def stored(self, desk: str) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents in the
        new collection.
        """
        return stored_frame(self.connection, self.name, desk)

    def swap(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """Point the alias at the new collection, and drop every other collection of the
        alias.

        Args:
            expected: By desk, the document hash of each article that the collection
                must have, and no others.

        Raises:
            IndexingError: The collection differs from what is expected; the alias is
                unchanged.
        """
        self._check_parity(expected)
        state = read_collection(self.connection, self.name)
        write_metadata(self.connection, state, is_finished=True)
        if self.connection.alias in collections(self.connection):
            raise failure(
                self.connection.where,
                f"a collection is named {self.connection.alias!r}; drop it first",
            )
        point_alias(self.connection, self.name)
        for name in collections(self.connection):
            if name != self.name and is_of_alias(name, self.connection.alias):
                drop(self.connection, name)

    def _check_parity(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        count = read_collection(self.connection, self.name).count
        problems = parity_problems(expected, self.stored, count)
        if problems:
            raise failure(
                self.connection.where,
                f"{self.name} is incomplete: {'; '.join(problems)}; searches still use the old"
                " index",
            )


def begin_rebuild(
    connection: TypesenseConnection,
    dim: int | None,
    model: str | None,
    languages: tuple[str, ...],
    now: datetime,
) -> _Rebuild:
    """Return a new collection to fill, or an unfinished one with the same schema, model
    and dimensions.

    Args:
        connection: The server.
        dim: Dimensions of the vectors; None without embeddings.
        model: Name of the embedding model.
        languages: Languages of the stems.
        now: The suffix of a new collection.
    """
    metadata = metadata_of(model, dim, languages) | {"is_finished": False}
    unfinished = _unfinished(connection, metadata, dim)
    if unfinished is not None:
        lines = connection.export(unfinished.name, ("id",)).split("\n")
        sent = {json.loads(line)["id"] for line in lines if line}
        return _Rebuild(
            connection, unfinished.name, dim, languages, is_resumed=True, _sent=sent
        )
    name = f"{connection.alias}_{now:%Y%m%d%H%M%S}"
    create_collection(connection, name, dim, metadata)
    return _Rebuild(connection, name, dim, languages)


def _unfinished(
    connection: TypesenseConnection, metadata: dict[str, object], dim: int | None
) -> CollectionState | None:
    """Return the newest unfinished collection with this metadata and these dimensions."""
    target = aliased(connection)
    for name, state in sorted(collections(connection).items(), reverse=True):
        if name == target or not is_of_alias(name, connection.alias):
            continue
        is_same = state.metadata == metadata and state.dim == dim
        if is_same and not schema_changes(state, dim):
            return state
    return None


def is_of_alias(name: str, alias: str) -> bool:
    """Return whether a collection was created for this alias, by its name."""
    prefix = f"{alias}_"
    if not name.startswith(prefix):
        return False
    suffix = name.removeprefix(prefix)
    return len(suffix) == 14 and suffix.isdecimal()


def drop(connection: TypesenseConnection, name: str) -> None:
    """Delete a collection if it exists."""
    try:
        connection.call("delete", f"/collections/{name}")
    except IndexingError as error:
        if "No collection" not in str(error):
            raise


# --- the index ------------------------------------------------------------------------


_Written = TypeVar("_Written")


class _IndexSettings(TypedDict, total=False):
    """Optional settings of an index.

    languages: Their stemmers, one after the other, make the stems of documents and
    queries. search_timeout_s: Timeout of a search. write_timeout_s: Timeout of an
    import or export.
    """

    languages: tuple[str, ...]
    search_timeout_s: float
    write_timeout_s: float


class TypesenseSearchIndex:
    """Implements `ports.SearchIndex`. Safe to use from several threads."""

    backend = "typesense"

    def __init__(
        self, connection: TypesenseConnection, languages: tuple[str, ...]
    ) -> None:
        self.connection = connection
        self._languages = languages
        self._state: CollectionState | None = None
        self._searcher = Searcher(
            connection, languages, lambda: self._state, self._refreshed
        )
        self._lock = threading.Lock()  # held while a writer adds the vector field

    @classmethod
    def open(
        cls, address: str, api_key: str, **settings: Unpack[_IndexSettings]
    ) -> Self:
        """Return the index at this address, which is created if missing.

        Args:
            address: `typesense://host:port` or `typesense+https://...`; `/name` after
                it is another alias than `news_articles`.
            api_key: A key with all permissions.
            settings: Settings other than the defaults.

        Raises:
            IndexingError: The server is unavailable or refuses the key, or the index
                has other languages or another schema version.
        """
        index = cls.connect(address, api_key, **settings)
        try:
            index._prepare()
        except BaseException:
            index.close()
            raise
        return index

    @classmethod
    def connect(
        cls, address: str, api_key: str, **settings: Unpack[_IndexSettings]
    ) -> Self:
        """Return the index without a request, as for a rebuild. Raises IndexingError if
        the address is invalid.
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
        return cls(connection, settings.get("languages", DEFAULT_LANGUAGES))

    def _prepare(self) -> None:
        state = current_collection(self.connection)
        if state is None:
            first = f"{self.connection.alias}_{FIRST_SUFFIX}"
            create_collection(
                self.connection, first, None, metadata_of(None, None, self._languages)
            )
            point_alias(self.connection, first)
            state = read_collection(self.connection, first)
        check_agreement(self.connection.where, state, self._languages)
        self._state = state

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing ----------------------------------------------------------------------

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for refused ones.

        A document that is stored with the same hash is not written again. Of two with
        one id, the later one is stored. After an error some documents may be stored;
        all of them may be sent again.

        Raises:
            IndexingError: The import failed, or the index has other fields, languages
                or schema version.
        """
        if not documents:
            return {}

        def write(state: CollectionState) -> dict[str, str]:
            return DocumentWriter(
                self.connection, state.name, self._languages, state.dim
            ).upsert(documents)

        return self._on_current(lambda: self._writable(documents), write)

    def _on_current(
        self,
        current: Callable[[], CollectionState],
        write: Callable[[CollectionState], _Written],
    ) -> _Written:
        """Write to the collection that the alias points at; once more whenever a rebuild
        moved the alias meanwhile.

        A write that began before the move and ended after it is repeated as well, since
        the old collection is dropped.
        """
        while True:
            state = current()
            try:
                written = write(state)
            except MissingCollectionError:
                if aliased(self.connection) == state.name:
                    raise
                continue
            if aliased(self.connection) == state.name:
                return written

    def _writable(self, documents: Sequence[SearchDocument]) -> CollectionState:
        """Return the checked collection, to which a field is added with the first
        vector.
        """
        with self._lock:
            state = self._refreshed()
            check_schema(self.connection.where, state)
            dim = None if state.dim else first_dim(documents)
            if dim is None:
                return state
            self._add_vectors(state.name, dim)
            return self._refreshed()

    def _add_vectors(self, name: str, dim: int) -> None:
        try:
            self.connection.call(
                "patch", f"/collections/{name}", {"fields": [vector_field(dim)]}
            )
        except IndexingError as error:
            if "already part" not in str(error):  # added by another process
                raise

    def _refreshed(self) -> CollectionState:
        state = current_collection(self.connection)
        if state is None:
            raise failure(
                self.connection.where,
                f"the alias {self.connection.alias!r} is missing; run {REBUILD}",
            )
        check_agreement(self.connection.where, state, self._languages)
        self._state = state
        return state

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        self._on_current(
            self._refreshed,
            lambda state: self.connection.delete(state.name, article_ids),
        )

    # --- searching --------------------------------------------------------------------

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return hits, their number and facets; any text is a valid query.

        A hybrid search without a vector is a keyword search; an empty text without a
        vector lists the newest. In a hybrid search, `found` and facets are those of the
        words, if any document matches them. `found` is the number of matching documents
        less the copies among the best `search_requests.CANDIDATES`: exact up to that number, else
        too high by the copies that rank below. A search by vector finds at most that
        number.

        Raises:
            IndexingError: The query's vector has other dimensions than the index's, or
                no direction, or the server is unavailable.
        """
        started = time.perf_counter()
        found = self._searcher.search(query)
        return SearchAnswer(
            hits=found.hits,
            found=found.found,
            facets=found.facets,
            took_ms=(time.perf_counter() - started) * 1000,
            languages=found.languages,
        )

    # --- contents ---------------------------------------------------------------------

    def vector_dim(self) -> int | None:
        """Return the dimensions of the stored vectors; None if there are none."""
        return self._refreshed().dim

    def vector_model(self) -> str | None:
        """Return the name of the embedding model; None if none is stored."""
        model: str | None = self._refreshed().metadata.get("model")
        return model

    def name_model(self, model: str) -> None:
        """Store the name of the embedding model, unless one is stored."""
        with self._lock:
            state = self._refreshed()
            if state.metadata.get("model") is None:
                write_metadata(self.connection, state, model=model)

    def count(self) -> int:
        """Return the number of documents."""
        return self._refreshed().count

    def stored(
        self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None
    ) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents, or of
        some partitions or days.

        Raises:
            IndexingError: The server is unavailable, or replays its log and shows a
                part; transient.
        """
        return stored_frame(
            self.connection, self.connection.alias, desk, keys, first_day
        )

    # --- maintenance ------------------------------------------------------------------

    def begin_rebuild(
        self, dim: int | None, model: str | None, now: datetime
    ) -> _Rebuild:
        """Return a new collection to fill beside the one in use, or an unfinished one;
        see `begin_rebuild` of this module.
        """
        return begin_rebuild(self.connection, dim, model, self._languages, now)

    def schema_changes(self) -> list[SchemaChange]:
        """Return where the index's fields differ from what this program writes."""
        return schema_changes(self._refreshed())

    def apply_schema_changes(self) -> list[SchemaChange]:
        """Add the missing fields; return the changes.

        Raises:
            IndexingError: A field differs in a way that needs a rebuild; nothing was
                changed.
        """
        state = self._refreshed()
        return add_fields(self.connection, state, schema_changes(state))

    def search_key(
        self, desk: str | None, expires_at: datetime, description: str
    ) -> str:
        """Return a key that can search one desk, or all for None, until a time, and
        never shows vectors.

        It is derived from a stored key that is restricted to the alias, which is the
        name that searches use.
        """
        key = {
            "actions": ["documents:search"],
            "collections": [self.connection.alias],
            "description": description,
        }
        expiry = {"expires_at": int(expires_at.timestamp())}
        parent = self.connection.call("post", "/keys", key | expiry)
        scope = expiry | SCOPE | ({"filter_by": desk_filter(desk)} if desk else {})
        return self.connection.scoped_key(str(parent["value"]), scope)
