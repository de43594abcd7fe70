"""POST /multi_search: several searches in one request, with an error for each search."""

from typing import Any

from news_assets_tests.typesense_server.collections.store import Store
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.keys import with_sealed
from news_assets_tests.typesense_server.search.search import search

MAX_SEARCHES = 50
UNION_HITS = 10


def searches_of(body: Any) -> list[dict[str, Any]]:
    """Return the searches of a body.

    Raises:
        ApiError: 400, or 500 for an empty list, as the server responds.
    """
    searches = body.get("searches") if isinstance(body, dict) else None
    if not isinstance(searches, list):
        raise ApiError(400, "Missing `searches` array.")
    if not searches:
        raise ApiError(500, "Embedded params parsing error.")
    return searches


def searched(store: Store, name: str, params: dict[str, str]) -> dict[str, Any]:
    """Return the response to a search of a collection, with the parameters of a preset
    that the request lacks.

    Raises:
        ApiError: 400, 404 or 422.
    """
    preset = store.presets.get(params.get("preset", ""), {"value": {}})["value"]
    given = with_sealed(
        _texts(preset),
        {name: value for name, value in params.items() if name != "preset"},
    )
    return search(store.collection(name), given, store.curation_sets)


def multi_search(
    store: Store, body: Any, query: dict[str, str], sealed: dict[str, Any]
) -> dict[str, Any]:
    """Return the results in order. Parameters of the query string replace those of the
    searches.

    Raises:
        ApiError: 400 or 500.
    """
    searches = searches_of(body)
    if len(searches) > int(query.get("limit_multi_searches", MAX_SEARCHES)):
        raise ApiError(
            400, "Number of multi searches exceeds `limit_multi_searches` parameter."
        )
    given = [with_sealed(_texts(one) | query, sealed) for one in searches]
    if body.get("union") is True:
        return _union(store, given)
    return {"results": [_result(store, params) for params in given]}


def _union(store: Store, searches: list[dict[str, str]]) -> dict[str, Any]:
    """Return the hits of all searches as one list by text score; only the first page of
    ten is simulated.

    Raises:
        ApiError: The error of any search.
    """
    answers = [
        searched(store, params.get("collection", ""), params) for params in searches
    ]
    hits = [
        hit
        | {
            "collection": answer["request_params"]["collection_name"],
            "search_index": order,
        }
        for order, answer in enumerate(answers)
        for hit in answer["hits"]
    ]
    return {
        "found": sum(answer["found"] for answer in answers),
        "hits": sorted(hits, key=lambda hit: -hit.get("text_match", 0))[:UNION_HITS],
        "out_of": sum(answer["out_of"] for answer in answers),
        "page": 0,
        "search_cutoff": False,
        "search_time_ms": 0,
        "union_request_params": [
            answer["request_params"] | {"found": answer["found"]} for answer in answers
        ],
    }


def _texts(search: Any) -> dict[str, str]:
    values = search.values() if isinstance(search, dict) else [None]
    if any(isinstance(value, list | dict) or value is None for value in values):
        raise ApiError(400, "One or more search parameters are malformed.")
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in search.items()
    }


def _result(store: Store, params: dict[str, str]) -> dict[str, Any]:
    try:
        return searched(store, params.get("collection", ""), params)
    except ApiError as error:
        return {"code": error.status, "error": error.message}
