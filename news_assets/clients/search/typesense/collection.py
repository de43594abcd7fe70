"""Collections and their alias: fields, create, describe, change, and export what a desk
has.

Searches address the alias, which points at one collection `<alias>_<yyyymmddhhmmss>`;
writes address the collection. Its `metadata` has the schema version, the languages of
the stems, the embedding model, and whether its rebuild is finished.

The fields follow from the declaration of `ports.SearchDocument`. The server folds
accents only in fields without a locale, and stems Portuguese only in fields with one.
So no field has a locale: `title` and `text` are as written, `title_stems` and `stems`
have stems made by this program.
"""

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from news_assets.clients.search.index_texts import of_partitions
from news_assets.clients.search.typesense.documents import (
    day_number,
    fields_of,
)
from news_assets.clients.search.typesense.search_requests import desk_filter
from news_assets.clients.search.typesense.server import (
    REBUILD,
    TypesenseConnection,
    failure,
)
from news_assets.errors import IndexingError
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl


_SCHEMA_VERSION = 3
DEFAULT_LANGUAGES = ("pt", "en")

_COMPARED = {
    "facet": False,
    "optional": False,
    "index": True,
    "num_dim": 0,
    "locale": "",
    "stem": False,
}


@dataclass(frozen=True, slots=True)
class CollectionState:
    """A collection as the server describes it."""

    name: str
    dim: int | None
    count: int
    fields: tuple[dict[str, Any], ...]
    metadata: dict[str, Any]

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages whose stemmers made the stems."""
        return tuple(self.metadata.get("languages", ()))


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One field that differs. `is_additive`: it can be added without a rebuild."""

    field: str
    expected: str
    stored: str
    is_additive: bool

    def __str__(self) -> str:
        remedy = f"needs {REBUILD}"
        if self.is_additive:
            remedy = "`news-assets search-fields` adds it"
        return f"{self.field}: expected {self.expected}, stored {self.stored}; {remedy}"


def metadata_of(
    model: str | None, dim: int | None, languages: Sequence[str]
) -> dict[str, Any]:
    """Return the metadata of a collection."""
    return {
        "schema_version": _SCHEMA_VERSION,
        "languages": list(languages),
        "model": model,
        "dim": dim,
    }


def schema_changes(
    state: CollectionState, dim: int | None = None
) -> list[SchemaChange]:
    """Return where a collection differs from what this program writes; extra fields are
    ignored.
    """
    stored = {field["name"]: field for field in state.fields}
    changes = []
    for field in fields_of(dim or state.dim):
        name = field["name"]
        expected = _described(field)
        is_optional = False
        found = "nothing"
        if name in stored:
            found = _described(stored[name])
        else:
            is_optional = bool(field.get("optional"))
        if found != expected:
            changes.append(SchemaChange(name, expected, found, is_optional))
    return changes


def _described(field: dict[str, Any]) -> str:
    """Return the type of a field and its compared properties that are not the default."""
    described = [str(field.get("type", ""))]
    for name, default in _COMPARED.items():
        value = field.get(name, default)
        if value != default:
            described.append(f"{name}={value}")
    return " ".join(described)


def check_agreement(
    where: str, state: CollectionState, languages: Sequence[str]
) -> None:
    """Raise IndexingError, with both values, if a collection has another schema version
    or other languages.
    """
    version = state.metadata.get("schema_version")
    pairs = (
        ("languages of the stems", "+".join(languages), "+".join(state.languages)),
        ("schema", f"version {_SCHEMA_VERSION}", f"version {version}"),
    )
    for what, expected, stored in pairs:
        if stored and expected != stored:
            raise failure(
                where,
                f"{what}: this program has {expected}, the index {stored}; run {REBUILD}",
            )


def check_schema(where: str, state: CollectionState) -> None:
    """Raise IndexingError if a collection's fields are not those that this program
    writes.
    """
    changes = schema_changes(state)
    if changes:
        raise failure(
            where, "the index's fields differ: " + " | ".join(map(str, changes))
        )


# --- collections ----------------------------------------------------------------------


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
    """Return the name of the collection that the alias points at; None without an alias."""
    for one in connection.call("get", "/aliases").get("aliases", []):
        if one["name"] == connection.alias:
            return str(one["collection_name"])
    return None


def collections(connection: TypesenseConnection) -> dict[str, CollectionState]:
    """Return every collection of the server, by name."""
    found = {}
    listed: Any = connection.call("get", "/collections")
    for one in listed:
        state = _state(one)
        found[state.name] = state
    return found


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
    """Return the collection that the alias points at; None without an alias.

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
    frame = pl.DataFrame(schema=columns)
    if keys is None or keys.pairs:
        filters = [desk_filter(desk), *_day_filters(keys, first_day)]
        lines = connection.export(name, tuple(columns), " && ".join(filters))
        if lines.strip():
            frame = pl.read_ndjson(io.StringIO(lines), schema=columns)
    number = pl.col("day")
    day = pl.date(number // 10_000, number // 100 % 100, number % 100)
    frame = frame.select(
        pl.col("id").alias("article_id"),
        "agency",
        day.alias("day"),
        pl.col("document_hash").fill_null(""),
    )
    return of_partitions(frame, keys)


def _day_filters(keys: AgencyDays | None, first_day: date | None) -> list[str]:
    if keys is not None:
        days = {day for _, day in keys.pairs}
        return [f"day:>={day_number(min(days))}", f"day:<={day_number(max(days))}"]
    if first_day is None:
        return []
    return [f"day:>={day_number(first_day)}"]
