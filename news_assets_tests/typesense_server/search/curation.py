"""Pinned and hidden hits: of a request, and of the curation sets that are attached to a
collection.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.documents import names_of
from news_assets_tests.typesense_server.search.sorting import Hit

Item = dict[str, Any]
_DEFAULTS = {
    "excludes": [],
    "filter_curated_hits": False,
    "includes": [],
    "remove_matched_tokens": False,
    "stop_processing": True,
}


def set_of(name: str, given: Item) -> Item:
    """Return a curation set as the server stores it."""
    return {
        "items": [_DEFAULTS | item for item in given.get("items", [])],
        "name": name,
    }


def curated(
    collection: Collection,
    params: dict[str, str],
    sets: Mapping[str, Item],
    hits: list[Hit],
    allowed: set[int],
) -> list[Hit]:
    """Return the hits with pinned ones at their positions and without hidden ones.

    Pinned documents need not match the query, nor pass the filter unless
    `filter_curated_hits` is set.
    """
    items = list(_matching(collection, params, sets))
    pinned = [
        (one["id"], one["position"], _is_filtered(params, item))
        for item in items
        for one in item["includes"]
    ]
    for part in names_of(params.get("pinned_hits", "")):
        document_id, _, position = part.rpartition(":")
        pinned.append((document_id, int(position), _is_filtered(params, {})))
    hidden = {one["id"] for item in items for one in item["excludes"]} | {
        *names_of(params.get("hidden_hits", ""))
    }
    numbers = {
        collection.numbers[document_id]: position
        for document_id, position, is_filtered in pinned
        if document_id in collection.numbers
        and (not is_filtered or collection.numbers[document_id] in allowed)
    }
    gone = {
        collection.numbers[document_id]
        for document_id in hidden
        if document_id in collection.numbers
    }
    shown = [hit for hit in hits if hit.number not in gone | numbers.keys()]
    for number, position in sorted(numbers.items(), key=lambda pair: pair[1]):
        if number not in gone:
            shown.insert(position - 1, Hit(number, is_curated=True))
    return shown


def _is_filtered(params: dict[str, str], item: Item) -> bool:
    return (
        params.get(
            "filter_curated_hits", str(item.get("filter_curated_hits", False))
        ).lower()
        == "true"
    )


def _matching(
    collection: Collection, params: dict[str, str], sets: Mapping[str, Item]
) -> Iterator[Item]:
    if params.get("enable_curations", "true") != "true":
        return
    tags = set(names_of(params.get("curation_tags", "")))
    for name in collection.extra.get("curation_sets", []):
        for item in sets.get(name, {"items": []})["items"]:
            if _fits(item["rule"], params.get("q", ""), tags):
                yield item


def _fits(rule: Item, query: str, tags: set[str]) -> bool:
    if "tags" in rule and tags.isdisjoint(rule["tags"]):
        return False
    if "query" not in rule:
        return "tags" in rule
    return (
        rule["query"] == query
        if rule.get("match") == "exact"
        else rule["query"] in query
    )
