"""Fields of collections: validation of their JSON, and their JSON in responses."""

from dataclasses import dataclass
from typing import Any

from news_assets_tests.typesense_server.collections.tokens import STEMMERS, Analysis
from news_assets_tests.typesense_server.errors import ApiError

NUMBERS = ("int32", "int64", "float")
TYPES = frozenset(
    [
        t + array
        for t in ("string", *NUMBERS, "bool", "geopoint")
        for array in ("", "[]")
    ]
    + ["auto", "string*", "image"]
)
FLAGS = (
    "facet",
    "optional",
    "index",
    "sort",
    "infix",
    "stem",
    "store",
    "range_index",
    "drop",
)
NOT_NESTED = (
    "Type `object` or `object[]` can be used only when nested fields are enabled by setting` enable_nested_fields` to "
    "true."
)
MALFORMED_FIELDS = "The `fields` value should be an array of objects containing `name`, `type` and optionally, `facet` properties."


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a collection; `num_dim` is 0 for fields that are no vectors."""

    name: str
    type: str
    facet: bool = False
    optional: bool = False
    index: bool = True
    sort: bool = False
    infix: bool = False
    locale: str = ""
    stem: bool = False
    stem_dictionary: str = ""
    store: bool = True
    range_index: bool = False
    num_dim: int = 0
    vec_dist: str = "cosine"
    hnsw_m: int = 16
    hnsw_ef_construction: int = 200

    @property
    def kind(self) -> str:
        """The type of a single value."""
        return self.type.removesuffix("[]")

    @property
    def is_array(self) -> bool:
        """Whether the field has several values."""
        return self.type.endswith("[]")

    @property
    def is_text(self) -> bool:
        """Whether the field can be searched by words."""
        return self.kind == "string"

    @property
    def analysis(self) -> Analysis:
        """How its texts are tokenized."""
        return Analysis(self.locale, self.stem)

    def as_json(self) -> dict[str, Any]:
        """Return the field as in the response of a collection."""
        shown: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "facet", "index", "infix", "locale", "name", "optional", "sort", "stem", "stem_dictionary", "store",
                "type",
            )
        }  # fmt: skip
        if self.num_dim:
            shown |= {
                "num_dim": self.num_dim,
                "vec_dist": self.vec_dist,
                "hnsw_params": self._hnsw(),
            }
        return shown

    def as_change(self) -> dict[str, Any]:
        """Return the field as in the response to a change of the schema."""
        always: dict[str, Any] = {
            "async_reference": False, "embed": None, "nested": False, "nested_array": 0, "reference": "",
            "symbols_to_index": [], "token_separators": [],
        }  # fmt: skip
        vector = {
            "num_dim": self.num_dim,
            "vec_dist": self.vec_dist,
            "hnsw_params": self._hnsw(),
        }
        return self.as_json() | always | vector | {"range_index": self.range_index}

    def _hnsw(self) -> dict[str, int]:
        return {"M": self.hnsw_m, "ef_construction": self.hnsw_ef_construction}


def field_of(given: dict[str, Any]) -> Field:
    """Validate a field; unknown properties are ignored.

    Raises:
        ApiError: 400, for what the server refuses.
    """
    name, kind = str(given.get("name", "")), str(given.get("type", ""))
    _check_flags(name, given)
    _check_type(name, kind)
    dictionary = str(given.get("stem_dictionary", ""))
    field = Field(
        name=name,
        type=kind,
        facet=given.get("facet", False),
        optional=given.get("optional", kind == "auto"),
        index=given.get("index", True),
        sort=given.get("sort", kind in (*NUMBERS, "bool", "geopoint")),
        infix=given.get("infix", False),
        locale=str(given.get("locale", "")),
        stem=given.get("stem", False) or bool(dictionary),
        stem_dictionary=dictionary,
        store=given.get("store", True),
        range_index=given.get("range_index", False),
        num_dim=_num_dim(kind, given),
        vec_dist=given.get("vec_dist", "cosine"),
        **_hnsw_of(given),
    )
    _check_language(field)
    return field


def _check_flags(name: str, given: dict[str, Any]) -> None:
    for flag in FLAGS:
        if not isinstance(given.get(flag, False), bool):
            raise ApiError(
                400, f"The `{flag}` property of the field `{name}` should be a boolean."
            )


def _check_type(name: str, kind: str) -> None:
    if kind.removesuffix("[]") == "object":
        raise ApiError(400, NOT_NESTED)
    if kind not in TYPES:
        raise ApiError(
            400,
            f"Field `{name}` has an invalid data type `{kind}`, see docs for supported data types.",
        )


def _num_dim(kind: str, given: dict[str, Any]) -> int:
    num_dim = given.get("num_dim", 0)
    if not isinstance(num_dim, int) or num_dim < 0:
        raise ApiError(400, "Property `num_dim` must be a positive integer.")
    if num_dim and kind != "float[]":
        raise ApiError(
            400, "Property `num_dim` is only allowed on a float array field."
        )
    if given.get("vec_dist", "cosine") not in ("cosine", "ip"):
        raise ApiError(400, "Property `vec_dist` is invalid.")
    return num_dim


def _hnsw_of(given: dict[str, Any]) -> dict[str, int]:
    params = given.get("hnsw_params", {})
    return {
        "hnsw_m": params.get("M", 16),
        "hnsw_ef_construction": params.get("ef_construction", 200),
    }


def _check_language(field: Field) -> None:
    if field.locale and len(field.locale) != 2:
        raise ApiError(
            400, f"The `locale` value of the field `{field.name}` is not valid."
        )
    if field.stem and not field.is_text:
        raise ApiError(
            400, "The `stem` property is only allowed for string and string[] fields."
        )
    if field.stem and field.locale and field.locale not in STEMMERS:
        raise ApiError(
            400,
            f"The `locale` value of the field `{field.name}` is not supported for stem.",
        )


def fields_of(given: Any, default_sorting_field: str) -> list[Field]:
    """Validate the fields of a new collection; `id` is implicit.

    Raises:
        ApiError: 400, for what the server refuses.
    """
    if (
        not isinstance(given, list)
        or not given
        or not all(isinstance(field, dict) for field in given)
    ):
        raise ApiError(400, MALFORMED_FIELDS)
    fields = [field_of(field) for field in given if field.get("name") != "id"]
    if len({field.name for field in fields}) < len(fields):
        raise ApiError(400, "There are duplicate field names in the schema.")
    _check_default_sorting(fields, default_sorting_field)
    return fields


def _check_default_sorting(fields: list[Field], name: str) -> None:
    if not name:
        return
    field = next((field for field in fields if field.name == name), None)
    if field is None:
        raise ApiError(
            400,
            f"Default sorting field is defined as `{name}` but is not found in the schema.",
        )
    if field.optional:
        raise ApiError(
            400, f"Default sorting field `{name}` cannot be an optional field."
        )
    if field.type not in NUMBERS:
        raise ApiError(400, f"Default sorting field `{name}` is not a sortable type.")
