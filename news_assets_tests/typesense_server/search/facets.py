"""`facet_by` and `group_by`: counts of values, and hits grouped by value."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.schema import NUMBERS, Field
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.search.sorting import Hit

MAX_VALUE_CHARS = 255
_RANGE = re.compile(r"([^,:\[\]]+?)\s*:\s*\[\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\]")
_FACET = re.compile(r"([^,()]+)(?:\(([^)]*)\))?")


def facet_counts(
    collection: Collection, params: dict[str, str], numbers: Iterable[int]
) -> list[dict[str, Any]]:
    """Return the counts of the requested facets.

    Raises:
        ApiError: 404 for what is no facet, 400 for a bad `facet_query`.
    """
    asked = [
        (name.strip(), order or "")
        for name, order in _FACET.findall(params.get("facet_by", ""))
        if name.strip()
    ]
    if asked == [("*", "")]:
        asked = [
            (field.name, "") for field in collection.fields.values() if field.facet
        ]
    fields = [(_facet_field(collection, name), order) for name, order in asked]
    wanted, text = _facet_query(
        params.get("facet_query", ""), [field.name for field, _ in fields]
    )
    most = int(params.get("max_facet_values", "10"))
    documents = [collection.documents[number] for number in numbers]
    is_sampled = int(params.get("facet_sample_percent", "100")) < 100
    shown = [
        (field, order) for field, order in fields if not wanted or field.name == wanted
    ]
    return [
        _facet(field, order, documents, text, most) | {"sampled": is_sampled}
        for field, order in shown
    ]


def _facet_field(collection: Collection, name: str) -> Field:
    field = collection.fields.get(name)
    if field is None or not field.facet:
        raise ApiError(
            404, f"Could not find a facet field named `{name}` in the schema."
        )
    return field


def _facet_query(text: str, asked: list[str]) -> tuple[str, str]:
    if not text:
        return "", ""
    name, colon, start = text.partition(":")
    if not colon:
        raise ApiError(400, "Facet query must be in the `facet_field: value` format.")
    if name not in asked:
        raise ApiError(
            400,
            f"Facet query refers to a facet field `{name}` that is not part of `facet_by` parameter.",
        )
    return name, start.strip()


def _facet(
    field: Field, order: str, documents: list[dict[str, Any]], start: str, most: int
) -> dict[str, Any]:
    values = [one for document in documents for one in _values(field, document)]
    counts = Counter(_text(value) for value in values)
    if order.count("["):
        return _in_ranges(field, order, values)
    matching = {text: _marked(field, text, start) for text in counts}
    ranked = sorted(
        (text for text, shown in matching.items() if shown is not None), reverse=True
    )
    ranked.sort(key=lambda text: len(text.encode()))
    ranked.sort(key=lambda text: -counts[text])
    if "_alpha" in order:
        ranked.sort(reverse="desc" in order)
    shown = [
        {"count": counts[text], "highlighted": matching[text], "value": text}
        for text in ranked[:most]
    ]
    return {
        "counts": shown,
        "field_name": field.name,
        "stats": _stats(field, values, len(shown)),
    }


def _stats(field: Field, values: list[Any], total: int) -> dict[str, Any]:
    stats: dict[str, Any] = {"total_values": total}
    if field.kind in NUMBERS and values:
        stats |= {
            "avg": sum(values) / len(values),
            "max": float(max(values)),
            "min": float(min(values)),
        }
        stats["sum"] = float(sum(values))
    return stats


def _in_ranges(field: Field, text: str, values: list[Any]) -> dict[str, Any]:
    """Return the counts of named ranges, `old:[0, 2010], new:[2010, 2100]`, whose ends
    are exclusive.
    """
    counts = {
        label.strip(): sum(float(low) <= value < float(high) for value in values)
        for label, low, high in _RANGE.findall(text)
    }
    ranked = sorted(
        (label for label, count in counts.items() if count),
        key=lambda label: -counts[label],
    )
    shown = [
        {"count": counts[label], "highlighted": "", "value": label} for label in ranked
    ]
    return {
        "counts": shown,
        "field_name": field.name,
        "stats": _stats(field, values, len(shown)),
    }


def _values(field: Field, document: dict[str, Any]) -> list[Any]:
    value = document.get(field.name)
    if value is None:
        return []
    return list(dict.fromkeys(value)) if field.is_array else [value]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)[:MAX_VALUE_CHARS]


def _marked(field: Field, text: str, start: str) -> str | None:
    """Return the value with the matches of `facet_query` highlighted, or None without a
    match.
    """
    if not start:
        return text
    wanted = field.analysis.tokens(start)
    for token, begin, _ in field.analysis.spans(text):
        if wanted and token.startswith(wanted[-1]):
            end = begin + len(wanted[-1])
            return f"{text[:begin]}<mark>{text[begin:end]}</mark>{text[end:]}"
    return None


def check_groups(collection: Collection, params: dict[str, str]) -> list[str]:
    """Return the fields to group by.

    Raises:
        ApiError: 400 or 404.
    """
    names = [
        name.strip() for name in params.get("group_by", "").split(",") if name.strip()
    ]
    for name in names:
        if name not in collection.fields:
            raise ApiError(404, f"Could not find a field named `{name}` in the schema.")
        if not collection.fields[name].facet:
            raise ApiError(400, f"Group by field `{name}` should be a facet field.")
    if names and not 1 <= int(params.get("group_limit", "3")) <= 99:
        raise ApiError(400, "Value of `group_limit` must be between 1 and 99.")
    return names


def groups(
    collection: Collection, names: list[str], hits: list[Hit], joins_missing: bool
) -> list[tuple[list[Any], list[Hit]]]:
    """Return the values and hits of each group, in the order of their first hits."""
    found: dict[str, tuple[list[Any], list[Hit]]] = {}
    for hit in hits:
        document = collection.documents[hit.number]
        key = [document[name] for name in names if document.get(name) is not None]
        is_alone = not joins_missing and len(key) < len(names)
        found.setdefault(f"{key} {hit.number}" if is_alone else str(key), (key, []))[
            1
        ].append(hit)
    return list(found.values())
