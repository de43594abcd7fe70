"""The fields of a collection, from the declaration of `ports.SearchDocument`, and how a
stored collection differs.

The server folds accents only in fields without a locale, and stems Portuguese only in
fields with one. So no field has a locale: `title` and `text` are as written,
`title_stems` and `stems` have stems made by this program.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from news_assets.clients.search.typesense.server_errors import REBUILD, failure
from news_assets.ports.search_index import SearchColumn, SearchDocument

SCHEMA_VERSION = 3
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
    # hex of the key: a filter by the key itself would match ab and AB for a-b
    {"name": "desk_key", "type": "string"},
    {"name": "agency_key", "type": "string"},
    # the same of the values of other facets
    {"name": "facet_keys", "type": "string[]", "optional": True},
    {"name": "languages", "type": "string[]", "optional": True},  # pt-br and pt
    {"name": "vector_hash", "type": "string", "optional": True, "index": False},
)
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
    field: dict[str, Any] = {
        "name": name,
        "type": _TYPES[parts[0] if is_nullable else kind],
    }
    if column.facet:
        field["facet"] = True
    if column.is_sorted:
        field["sort"] = True
    if column.is_stored_only:
        field["index"] = False
    if is_nullable or column.is_stored_only or field["type"].endswith("[]"):
        field["optional"] = True
    return field


def vector_field(dim: int) -> dict[str, Any]:
    """Return the field of vectors with these dimensions; without `num_dim` it is not
    searchable.
    """
    return {
        "name": "vector",
        "type": "float[]",
        "num_dim": dim,
        "vec_dist": "cosine",
        "optional": True,
    }


def fields_of(dim: int | None) -> list[dict[str, Any]]:
    """Return the fields of a collection, with one for vectors if `dim` is given."""
    fields = [*_declared_fields(), *_OWN_FIELDS]
    return [*fields, vector_field(dim)] if dim else fields


def metadata_of(
    model: str | None, dim: int | None, languages: Sequence[str]
) -> dict[str, Any]:
    """Return the metadata of a collection."""
    return {
        "schema_version": SCHEMA_VERSION,
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
        name, expected, is_optional = field["name"], _described(field), False
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
        ("schema", f"version {SCHEMA_VERSION}", f"version {version}"),
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
