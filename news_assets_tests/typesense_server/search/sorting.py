"""`sort_by`: parsing and ordering."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.search.filters import passing

MAX_SORTS = 3
_PARTS = re.compile(r"[^,()]+(?:\([^)]*\))?(?::\w+)?|:\w+")
_SORT = re.compile(r"\s*([\w.]+)\s*(?:\((.*)\))?\s*:\s*(\w+)\s*")
_SORTABLE = ("int32", "int64", "float", "bool", "string")


@dataclass(slots=True)
class Hit:
    """A found document. `rank` is its text score or fusion score."""

    number: int
    rank: float = 0
    text_score: int | None = None
    distance: float | None = None
    fusion: float | None = None
    words: tuple[tuple[str, str], ...] = ()
    tokens_asked: int = 1
    is_curated: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort criterion."""

    name: str
    argument: str
    is_descending: bool


def parse(collection: Collection, text: str) -> list[Sort]:
    """Parse the criteria.

    Raises:
        ApiError: 400 or 404.
    """
    parts = [part for part in _PARTS.findall(text) if part.strip()]
    if len(parts) > MAX_SORTS:
        raise ApiError(400, f"Only upto {MAX_SORTS} sort fields are allowed.")
    return [_sort_of(collection, part) for part in parts]


def _sort_of(collection: Collection, text: str) -> Sort:
    match = _SORT.fullmatch(text)
    if match is None:
        raise ApiError(400, "Parameter `sort_by` is malformed.")
    name, argument, order = match.groups()
    field = collection.fields.get(name)
    if not name.startswith("_") and (
        field is None or not field.sort or field.type not in _SORTABLE
    ):
        raise ApiError(
            404, f"Could not find a field named `{name}` in the schema for sorting."
        )
    if order.lower() not in ("asc", "desc"):
        raise ApiError(400, f"Order for field` {name}` should be either ASC or DESC.")
    return Sort(name, argument or "", order.lower() == "desc")


def ordered(collection: Collection, hits: list[Hit], sorts: list[Sort]) -> list[Hit]:
    """Return the hits in order, by default of rank and the collection's sorting field;
    ties newest first.

    A document without the value comes last, in either direction.
    """
    if not sorts:
        sorts = [Sort("_text_match", "", True), Sort("_vector_distance", "", False)]
        if collection.default_sorting_field:
            sorts.append(Sort(collection.default_sorting_field, "", True))
    result = sorted(hits, key=lambda hit: hit.number, reverse=True)
    if len(sorts) < MAX_SORTS:
        sorts = [
            *sorts,
            Sort("_text_match", "", True),
            Sort("_vector_distance", "", False),
        ]
    for sort in reversed(sorts):
        result = _by(collection, result, sort)
    return result


def _by(collection: Collection, hits: list[Hit], sort: Sort) -> list[Hit]:
    if sort.name == "_text_match" and "buckets" in sort.argument:
        return _by_bucket(hits, int(sort.argument.partition(":")[2]))
    value = _value_of(collection, sort)
    having = [hit for hit in hits if value(hit) is not None]
    missing = [hit for hit in hits if value(hit) is None]
    ranked = sorted(having, key=value, reverse=sort.is_descending)
    return missing + ranked if "first" in sort.argument else ranked + missing


def _value_of(collection: Collection, sort: Sort) -> Callable[[Hit], Any]:
    if sort.name == "_text_match":
        return lambda hit: hit.rank
    if sort.name == "_vector_distance":
        # a hit without a vector counts as nearest
        return lambda hit: hit.distance or 0.0
    if sort.name == "_eval":
        passes = passing(collection, sort.argument)
        return lambda hit: hit.number in passes
    return lambda hit: _comparable(collection.documents[hit.number].get(sort.name))


def _comparable(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _by_bucket(hits: list[Hit], buckets: int) -> list[Hit]:
    """Return the hits in the given order within each of `count` buckets of equal size,
    best bucket first.
    """
    ranked = sorted(hits, key=lambda hit: hit.rank, reverse=True)
    size = -(-len(ranked) // max(buckets, 1)) or 1
    part_of = {hit.number: position // size for position, hit in enumerate(ranked)}
    return sorted(hits, key=lambda hit: part_of[hit.number])
