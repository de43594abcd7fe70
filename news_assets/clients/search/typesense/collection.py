"""Collections and their alias: create, describe, change, and export what a desk has.

Searches address the alias, which points at one collection `<alias>_<yyyymmddhhmmss>`;
writes address the collection. Its `metadata` has the schema version, the languages of
the stems, the embedding model, and whether its rebuild is finished.
"""

import io
import time
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from news_assets.clients.search.documents import of_partitions
from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.documents import day_number
from news_assets.clients.search.typesense.errors import REBUILD, failure
from news_assets.clients.search.typesense.query import desk_filter
from news_assets.clients.search.typesense.schema import (
    CollectionState,
    SchemaChange,
    fields_of,
)
from news_assets.errors import IndexingError
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl

FIRST_SUFFIX = (
    "0" * 14
)  # of a new index's collection; fixed, so that concurrent processes create the same one

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
    every = connection.call("get", "/aliases").get("aliases", [])
    return next(
        (
            str(one["collection_name"])
            for one in every
            if one["name"] == connection.alias
        ),
        None,
    )


def collections(connection: TypesenseConnection) -> dict[str, CollectionState]:
    """Return every collection of the server, by name."""
    listed: Any = connection.call("get", "/collections")
    return {str(one["name"]): _state(one) for one in listed}


def read_collection(connection: TypesenseConnection, name: str) -> CollectionState:
    """Return one collection, by its name or alias."""
    return _state(connection.call("get", f"/collections/{name}"))


def _state(one: dict[str, Any]) -> CollectionState:
    dims = [
        int(field.get("num_dim") or 0)
        for field in one["fields"]
        if field["name"] == "vector"
    ]
    return CollectionState(
        name=str(one["name"]),
        dim=(dims[0] or None) if dims else None,
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


def wait_until_replayed(connection: TypesenseConnection) -> None:
    """Return once the server has no queued writes; while it replays its log, it shows a
    part of the documents.

    Raises:
        IndexingError: Writes are queued for longer than `queue_wait_s`; transient.
    """
    deadline = time.monotonic() + connection.queue_wait_s
    while True:
        status = connection.call("get", "/status")
        queued, state = (
            int(status.get("queued_writes", 0)),
            str(status.get("state", "")),
        )
        if not queued and state in _READY_STATES:
            return
        if time.monotonic() >= deadline:
            reason = f"{queued} writes are waiting (state {state}), as after a restart; try again later"
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

    wait_until_replayed(connection)
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
    frame = (
        pl.read_ndjson(io.StringIO(lines), schema=columns)
        if lines.strip()
        else pl.DataFrame(schema=columns)
    )
    frame = frame.select(
        pl.col("id").alias("article_id"),
        "agency",
        pl.date(
            pl.col("day") // 10_000, pl.col("day") // 100 % 100, pl.col("day") % 100
        ).alias("day"),
        pl.col("document_hash").fill_null(""),
    )
    return of_partitions(frame, keys)


def _day_filters(keys: AgencyDays | None, first_day: date | None) -> list[str]:
    if keys is not None:
        days = {day for _, day in keys.pairs}
        return [f"day:>={day_number(min(days))}", f"day:<={day_number(max(days))}"]
    return [f"day:>={day_number(first_day)}"] if first_day else []
