"""The collection that searches are put to, and the alias before it: asked for, made and changed.

The alias is what everybody asks for; behind it stands one collection `<alias>_<yyyymmddhhmmss>`. What the schema does
not say is in the collection's `metadata`: schema version, languages of the stems, embedding model, and whether a
rebuild has finished. Documents do not belong here.
"""

from collections.abc import Sequence
from typing import Any

from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.errors import REBUILD, failure
from news_assets.clients.search.typesense.schema import CollectionState, SchemaChange, fields_of
from news_assets.errors import IndexingError

FIRST = "0" * 14  # suffix of the collection that is made where there is none; the same for all who come at once


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


def write_metadata(connection: TypesenseConnection, state: CollectionState, **changed: Any) -> None:
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
