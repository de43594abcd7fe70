"""Collections and their alias: create, describe, change, export what a desk has, and
rebuild.

Searches address the alias, which points at one collection `<alias>_<yyyymmddhhmmss>`;
writes address the collection. Its `metadata` has the schema version, the languages of
the stems, the embedding model, and whether its rebuild is finished.

A rebuild fills a new collection beside the one in use, then points the alias at it. An
interrupted rebuild is found by its metadata and resumed. Searches never see an
incomplete index.
"""

import io
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from news_assets.clients.search.stored_documents import of_partitions, parity_problems
from news_assets.clients.search.typesense.collection_schema import (
    CollectionState,
    SchemaChange,
    fields_of,
    metadata_of,
    schema_changes,
)
from news_assets.clients.search.typesense.document_import import accepted_documents
from news_assets.clients.search.typesense.document_lines import (
    day_number,
    sent_vectors,
    stored_forms,
    whole_lines,
)
from news_assets.clients.search.typesense.query import desk_filter
from news_assets.clients.search.typesense.server_errors import REBUILD, failure
from news_assets.clients.search.typesense.server_requests import (
    LINES_PER_IMPORT,
    TypesenseConnection,
)
from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchDocument
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl


# of a new index's collection; fixed, so that concurrent processes create the same one
FIRST_SUFFIX = "0" * 14

_QUEUE_POLL_S = 0.25
_READY_STATES = ("LEADER", "FOLLOWER")


def create_collection(
    connection: TypesenseConnection,
    name: str,
    dim: int | None,
    metadata: dict[str, Any],
) -> None:
    """Create a collection, unless one of this name exists."""
    schema = {
        "name": name,
        "fields": fields_of(dim),
        "default_sorting_field": "published_ts",
        "metadata": metadata,
    }
    try:
        connection.call("post", "/collections", schema)
    except IndexingError as error:
        if "already exists" not in str(error):
            raise


def write_metadata(
    connection: TypesenseConnection, state: CollectionState, **changed: Any
) -> None:
    """Change entries of a collection's metadata."""
    connection.call(
        "patch", f"/collections/{state.name}", {"metadata": state.metadata | changed}
    )


def point_alias(connection: TypesenseConnection, name: str) -> None:
    """Point the alias at this collection, which is searched from then on."""
    connection.call("put", f"/aliases/{connection.alias}", {"collection_name": name})


def aliased(connection: TypesenseConnection) -> str | None:
    """Return the name of the collection behind the alias; None without an alias."""
    for one in connection.call("get", "/aliases").get("aliases", []):
        if one["name"] == connection.alias:
            return str(one["collection_name"])
    return None


def collections(connection: TypesenseConnection) -> dict[str, CollectionState]:
    """Return every collection of the server, by name."""
    listed: Any = connection.call("get", "/collections")
    return {str(one["name"]): _state(one) for one in listed}


def read_collection(connection: TypesenseConnection, name: str) -> CollectionState:
    """Return one collection, by its name or alias."""
    return _state(connection.call("get", f"/collections/{name}"))


def _state(one: dict[str, Any]) -> CollectionState:
    dim = None
    for declared in one["fields"]:
        if declared["name"] == "vector":
            dim = int(declared.get("num_dim") or 0) or None
    return CollectionState(
        name=str(one["name"]),
        dim=dim,
        count=int(one["num_documents"]),
        fields=tuple(one["fields"]),
        metadata=one.get("metadata") or {},
    )


def current_collection(connection: TypesenseConnection) -> CollectionState | None:
    """Return the collection behind the alias; None without an alias.

    Raises:
        IndexingError: The alias points at a missing collection, or a collection has its
            name.
    """
    every, target = collections(connection), aliased(connection)
    if connection.alias in every:
        raise failure(
            connection.where,
            f"a collection is named {connection.alias!r}, which must be an alias; "
            f"drop the collection or choose another alias, then run {REBUILD}",
        )
    if target is not None and target not in every:
        raise failure(
            connection.where,
            f"the alias {connection.alias!r} points at {target!r}, which is missing; run {REBUILD}",
        )
    return every[target] if target else None


def add_fields(
    connection: TypesenseConnection,
    state: CollectionState,
    changes: Sequence[SchemaChange],
) -> list[SchemaChange]:
    """Add missing fields to a collection; return the changes.

    Raises:
        IndexingError: A change is not an addition; nothing was changed.
    """
    others = [change for change in changes if not change.is_additive]
    if others:
        raise failure(connection.where, " | ".join(map(str, others)))
    names = {change.field for change in changes}
    fields = [field for field in fields_of(state.dim) if field["name"] in names]
    if fields:
        connection.call("patch", f"/collections/{state.name}", {"fields": fields})
    return list(changes)


# --- export ---------------------------------------------------------------------------


def _wait_until_replayed(connection: TypesenseConnection) -> None:
    """Return once the server has no queued writes; while it replays its log, it shows a
    part of the documents.

    Raises:
        IndexingError: Writes are queued for longer than `queue_wait_s`; transient.
    """
    deadline = time.monotonic() + connection.queue_wait_s
    while True:
        status = connection.call("get", "/status")
        queued = int(status.get("queued_writes", 0))
        state = str(status.get("state", ""))
        if not queued and state in _READY_STATES:
            return
        if time.monotonic() >= deadline:
            reason = (
                f"{queued} writes are waiting (state {state}), as after a restart;"
                " try again later"
            )
            raise failure(connection.where, reason, is_transient=True)
        time.sleep(_QUEUE_POLL_S)


def stored_frame(
    connection: TypesenseConnection,
    name: str,
    desk: str,
    keys: AgencyDays | None = None,
    first_day: date | None = None,
) -> "pl.DataFrame":
    """Return article_id, agency, day and document_hash of a desk's documents, or of
    some partitions or days.
    """
    import polars as pl

    _wait_until_replayed(connection)
    columns = {
        "id": pl.String,
        "agency": pl.String,
        "day": pl.Int64,
        "document_hash": pl.String,
    }
    lines = ""
    if keys is None or keys.pairs:
        filter_by = " && ".join([desk_filter(desk), *_day_filters(keys, first_day)])
        lines = connection.export(name, tuple(columns), filter_by)
    frame = pl.DataFrame(schema=columns)
    if lines.strip():
        frame = pl.read_ndjson(io.StringIO(lines), schema=columns)
    number = pl.col("day")
    frame = frame.select(
        pl.col("id").alias("article_id"),
        "agency",
        pl.date(number // 10_000, number // 100 % 100, number % 100).alias("day"),
        pl.col("document_hash").fill_null(""),
    )
    return of_partitions(frame, keys)


def _day_filters(keys: AgencyDays | None, first_day: date | None) -> list[str]:
    if keys is not None:
        days = {day for _, day in keys.pairs}
        return [f"day:>={day_number(min(days))}", f"day:<={day_number(max(days))}"]
    return [f"day:>={day_number(first_day)}"] if first_day else []


@dataclass(slots=True)
class Rebuild:
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
        for start in range(0, len(accepted), LINES_PER_IMPORT):
            refused |= self._send(accepted[start : start + LINES_PER_IMPORT])
        return refused

    def _send(self, documents: list[SearchDocument]) -> dict[str, str]:
        ids = [one.article_id for one in documents]
        self.connection.delete(self.name, [one for one in ids if one in self._sent])
        forms = stored_forms(documents, self.languages)
        lines = whole_lines(forms, sent_vectors([one.vector for one in documents]))
        self._sent.update(ids)
        pairs = list(zip(ids, lines, strict=True))
        refused = self.connection.import_lines(self.name, pairs, "upsert")
        return {article_id: reason for article_id, (_, reason) in refused.items()}

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
) -> Rebuild:
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
        return Rebuild(
            connection, unfinished.name, dim, languages, is_resumed=True, _sent=sent
        )
    name = f"{connection.alias}_{now:%Y%m%d%H%M%S}"
    create_collection(connection, name, dim, metadata)
    return Rebuild(connection, name, dim, languages)


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
    suffix = name.removeprefix(f"{alias}_")
    return name != suffix and len(suffix) == 14 and suffix.isdecimal()


def drop(connection: TypesenseConnection, name: str) -> None:
    """Delete a collection if it exists."""
    try:
        connection.call("delete", f"/collections/{name}")
    except IndexingError as error:
        if "No collection" not in str(error):
            raise
