"""The collection that searches are put to: its schema, the alias before it, and what must agree before a write.

`ports.SearchDocument`'s declaration and the server's description of a collection enter; schemas, differences and
errors that name both sides leave. Documents do not belong here.

The alias is what everybody asks for; behind it stands one collection `<alias>_<yyyymmddhhmmss>`. What the schema does
not say is in the collection's `metadata`: schema version, languages of the stems, embedding model, and whether a
rebuild has finished.

Accents fold only in fields without a locale, and Portuguese is stemmed only with one: so no field has a locale, `title`
and `text` are as written, and `title_stems` and `stems` hold stems of our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from news_assets.clients.typesense_search.connection import TypesenseConnection
from news_assets.clients.typesense_search.errors import REBUILD, failure
from news_assets.errors import IndexingError
from news_assets.ports import SearchColumn, SearchDocument

SCHEMA_VERSION = 1
DEFAULT_LANGUAGES = ("pt", "en")
FIRST = "0" * 14  # suffix of the collection that is made where there is none; the same for all who come at once

_TYPES: dict[Any, str] = {
    str: "string",
    int: "int64",
    date: "int32",  # yyyymmdd
    tuple[str, ...]: "string[]",
    tuple[float, ...]: "float[]",
}
_OWN_FIELDS: tuple[dict[str, Any], ...] = (
    {"name": "title_stems", "type": "string", "optional": True},
    {"name": "stems", "type": "string", "optional": True},
    {"name": "story", "type": "string", "facet": True},  # what duplicates share
    {"name": "month", "type": "string", "facet": True},
    {"name": "desk_key", "type": "string"},  # the keys' bytes: a filter by the keys would take a-b for ab and for AB
    {"name": "agency_key", "type": "string"},
    {"name": "languages", "type": "string[]", "optional": True},  # pt-br and pt
    {"name": "vector_hash", "type": "string", "optional": True, "index": False},
)
_COMPARED = {"type": "", "facet": False, "optional": False, "index": True, "num_dim": 0, "locale": "", "stem": False}


@dataclass(frozen=True, slots=True)
class CollectionState:
    """What stands behind the alias."""

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
    """One field that differs. `is_additive`: it can be added as it is; else a rebuild is needed."""

    field: str
    wanted: str
    stored: str
    is_additive: bool

    def __str__(self) -> str:
        mends = "`news-assets search-fields` adds it" if self.is_additive else f"needs {REBUILD}"
        return f"{self.field}: wanted {self.wanted}, stored {self.stored}; {mends}"


# --- schema ----------------------------------------------------------------------------------------------------------


@cache
def _declared_fields() -> tuple[dict[str, Any], ...]:
    hints = get_type_hints(SearchDocument, include_extras=True)
    return tuple(
        _field(name, *get_args(hint))
        for name, hint in hints.items()
        if get_origin(hint) is Annotated and name not in ("article_id", "vector")
    )


def _field(name: str, kind: Any, column: SearchColumn) -> dict[str, Any]:
    parts = [part for part in get_args(kind) if part is not NoneType]
    is_nullable = NoneType in get_args(kind)
    field: dict[str, Any] = {"name": name, "type": _TYPES[parts[0] if is_nullable else kind]}
    if column.is_facet:
        field["facet"] = True
    if column.is_sorted:
        field["sort"] = True
    if column.is_stored_only:
        field["index"] = False
    if is_nullable or column.is_stored_only or field["type"].endswith("[]"):
        field["optional"] = True
    return field


def vector_field(dim: int) -> dict[str, Any]:
    """Return the field of vectors of this length; `num_dim` is what makes it searchable."""
    return {"name": "vector", "type": "float[]", "num_dim": dim, "vec_dist": "cosine", "optional": True}


def fields_of(dim: int | None) -> list[dict[str, Any]]:
    """Return the fields of a collection; without a length there is no field for vectors yet."""
    return [*_declared_fields(), *_OWN_FIELDS, *([vector_field(dim)] if dim else [])]


def metadata_of(model: str | None, dim: int | None, languages: Sequence[str]) -> dict[str, Any]:
    """Return what is written beside the schema."""
    return {"schema_version": SCHEMA_VERSION, "languages": list(languages), "model": model, "dim": dim}


def create_collection(connection: TypesenseConnection, name: str, dim: int | None, metadata: dict[str, Any]) -> None:
    """Make a collection; one of this name is left as it is."""
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


def write_metadata(connection: TypesenseConnection, state: "CollectionState", **changed: Any) -> None:
    """Change what is written beside the schema; the rest of it stays."""
    connection.call("patch", f"/collections/{state.name}", {"metadata": state.metadata | changed})


def point_alias(connection: TypesenseConnection, name: str) -> None:
    """Let searches go to this collection from now on."""
    connection.call("put", f"/aliases/{connection.alias}", {"collection_name": name})


# --- what is there ---------------------------------------------------------------------------------------------------


def aliased(connection: TypesenseConnection) -> str | None:
    """Return the name that the alias points at; None without an alias."""
    every = connection.call("get", "/aliases").get("aliases", [])
    return next((str(one["collection_name"]) for one in every if one["name"] == connection.alias), None)


def collections(connection: TypesenseConnection) -> dict[str, CollectionState]:
    """Return every collection of the server by name."""
    listed: Any = connection.call("get", "/collections")
    return {str(one["name"]): _state(one) for one in listed}


def read_collection(connection: TypesenseConnection, name: str) -> CollectionState:
    """Return one collection, by its name or its alias."""
    return _state(connection.call("get", f"/collections/{name}"))


def _state(one: dict[str, Any]) -> CollectionState:
    dims = [int(field.get("num_dim") or 0) for field in one["fields"] if field["name"] == "vector"]
    return CollectionState(
        name=str(one["name"]),
        dim=(dims[0] or None) if dims else None,
        count=int(one["num_documents"]),
        fields=tuple(one["fields"]),
        metadata=one.get("metadata") or {},
    )


def current_collection(connection: TypesenseConnection) -> CollectionState | None:
    """Return what stands behind the alias; None where there is neither alias nor collection.

    Raises:
        IndexingError: The alias points at nothing, or a collection has its name.
    """
    every, target = collections(connection), aliased(connection)
    if connection.alias in every:
        raise failure(
            connection.where,
            f"a collection is named {connection.alias!r}, which has to be an alias; "
            f"drop the collection or choose another name, then {REBUILD}",
        )
    if target is not None and target not in every:
        raise failure(
            connection.where, f"the alias {connection.alias!r} points at {target!r}, which is gone; {REBUILD} mends it"
        )
    return every[target] if target else None


# --- what must agree -------------------------------------------------------------------------------------------------


def schema_changes(state: CollectionState, dim: int | None) -> list[SchemaChange]:
    """Return where a collection differs from what this program writes; fields that it no longer has do no harm."""
    stored = {field["name"]: field for field in state.fields}
    changes = []
    for wanted in fields_of(dim or state.dim):
        there = stored.get(wanted["name"])
        if there is None:
            is_additive = bool(wanted.get("optional"))
            changes.append(SchemaChange(wanted["name"], _said(wanted), "nothing", is_additive))
        elif _said(there) != _said(wanted):
            changes.append(SchemaChange(wanted["name"], _said(wanted), _said(there), is_additive=False))
    return changes


def _said(field: dict[str, Any]) -> str:
    """Return a field's properties that matter, those that are not as usual, in words."""
    given = {name: field.get(name, usual) for name, usual in _COMPARED.items()}
    special = (f"{name}={value}" for name, value in given.items() if value != _COMPARED[name] and name != "type")
    return " ".join([str(given["type"]), *special])


def check_agreement(
    where: str, state: CollectionState, dim: int | None, model: str | None, languages: Sequence[str]
) -> None:
    """Refuse a collection that was made for another model, vector length, schema or languages.

    Raises:
        IndexingError: Names both values and the command that mends it.
    """
    stored_model, version = state.metadata.get("model"), state.metadata.get("schema_version")
    pairs = (
        ("vectors", dim and f"{dim} dimensions", state.dim and f"{state.dim} dimensions"),
        ("embedding model", model, stored_model),
        ("languages of the stems", "+".join(languages), "+".join(state.languages)),
        ("schema", f"version {SCHEMA_VERSION}", f"version {version}"),
    )
    for what, wanted, stored in pairs:
        if wanted and stored and wanted != stored:
            raise failure(where, f"{what}: this program has {wanted}, the index {stored}; {REBUILD} mends it")


def check_schema(where: str, state: CollectionState) -> None:
    """Refuse to write to a collection whose fields are not as this program writes them."""
    changes = schema_changes(state, None)
    if changes:
        raise failure(where, "the index's fields differ: " + " | ".join(map(str, changes)))


def add_fields(
    connection: TypesenseConnection, state: CollectionState, changes: Sequence[SchemaChange], dim: int | None
) -> list[SchemaChange]:
    """Add fields that a collection lacks; return what was added.

    Raises:
        IndexingError: One of the changes is more than an addition; nothing was changed then.
    """
    others = [change for change in changes if not change.is_additive]
    if others:
        raise failure(connection.where, " | ".join(map(str, others)))
    wanted = {change.field for change in changes}
    fields = [field for field in fields_of(dim or state.dim) if field["name"] in wanted]
    if fields:
        connection.call("patch", f"/collections/{state.name}", {"fields": fields})
    return list(changes)
