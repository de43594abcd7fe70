"""What a collection should be made of, and where one differs from that: no requests.

`ports.SearchDocument`'s declaration and the server's description of a collection enter; fields, differences and errors
that name both sides leave.

Accents fold only in fields without a locale, and Portuguese is stemmed only with one: so no field has a locale, `title`
and `text` are as written, and `title_stems` and `stems` hold stems of our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from news_assets.clients.search.typesense.errors import REBUILD, failure
from news_assets.ports import SearchColumn, SearchDocument

SCHEMA_VERSION = 1
DEFAULT_LANGUAGES = ("pt", "en")

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
