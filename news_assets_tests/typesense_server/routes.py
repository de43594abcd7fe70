"""The server's routes: method, path, function, and the action that a key needs."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from news_assets_tests.typesense_server.collections import bulk
from news_assets_tests.typesense_server.collections.alteration import alter
from news_assets_tests.typesense_server.collections.documents import (
    document_of,
    names_of,
    shown,
    text_of,
)
from news_assets_tests.typesense_server.collections.store import Store
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.faults import Faults
from news_assets_tests.typesense_server.search.curation import set_of
from news_assets_tests.typesense_server.search.multi_search import (
    multi_search,
    searched,
)

MAX_QUERY_CHARS = 4000
VERSION = "30.0.dev-4a092b0"  # the server that was recorded
STATS = {
    "cache_hit_ratio": 0.0, "delete_latency_ms": 0, "delete_requests_per_second": 0, "import_latency_ms": 0,
    "import_requests_per_second": 0, "latency_ms": {}, "overloaded_requests_per_second": 0,
    "pending_write_batches": 0, "requests_per_second": {}, "search_latency_ms": 0, "search_requests_per_second": 0,
    "total_requests_per_second": 0.0, "write_latency_ms": 0, "write_requests_per_second": 0,
}  # fmt: skip
METRICS = {"system_memory_total_bytes": "0", "typesense_memory_active_bytes": "0"}


@dataclass(slots=True)
class Call:
    """A request. `names` are those in its path; `sealed` are the parameters of a scoped
    key.
    """

    store: Store
    faults: Faults
    names: list[str]
    query: dict[str, str]
    body: bytes
    raw_query_chars: int = 0
    sealed: dict[str, Any] = field(default_factory=dict)

    def json(self) -> Any:
        """Return the body.

        Raises:
            ApiError: 400.
        """
        try:
            return json.loads(self.body)
        except ValueError:
            raise ApiError(400, "Bad JSON.") from None

    def object(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises:
            ApiError: 400.
        """
        given = self.json()
        if not isinstance(given, dict):
            raise ApiError(400, "Bad JSON.")
        return given

    def text(self) -> str:
        """Return the body as a document.

        Raises:
            ApiError: 400.
        """
        return text_of(self.body)


@dataclass(frozen=True, slots=True)
class Route:
    """A route; no key is needed where `action` is empty."""

    run: Callable[[Call], Any]
    action: str
    status: int = 200
    is_write: bool = False


def _list_collections(call: Call) -> Any:
    excluded = names_of(call.query.get("exclude_fields", ""))
    start = int(call.query.get("offset", "0"))
    stop = start + int(call.query["limit"]) if "limit" in call.query else None
    every = [
        collection.as_json() for collection in call.store.newest_first()[start:stop]
    ]
    return [
        {name: value for name, value in one.items() if name not in excluded}
        for one in every
    ]


def _create_collection(call: Call) -> Any:
    given = call.json()
    return call.store.create(given if isinstance(given, dict) else {}).as_json()


def _alter(call: Call) -> Any:
    return alter(call.store.collection(call.names[0]), call.object())


def _write_document(call: Call) -> Any:
    collection = call.store.collection(call.names[0])
    document = document_of(call.text())
    return collection.write(
        call.query.get("action", "create"), document, call.query.get("dirty_values", "")
    )


def _get_document(call: Call) -> Any:
    document = call.store.collection(call.names[0]).one(call.names[1])
    return shown(
        document,
        call.query.get("include_fields", ""),
        call.query.get("exclude_fields", ""),
    )


def _patch_document(call: Call) -> Any:
    collection = call.store.collection(call.names[0])
    document = document_of(call.text())
    if document.setdefault("id", call.names[1]) != call.names[1]:
        raise ApiError(
            400, "The `id` of the resource does not match the `id` in the JSON body."
        )
    return collection.write("update", document, call.query.get("dirty_values", ""))


def _delete_document(call: Call) -> Any:
    collection, document_id = call.store.collection(call.names[0]), call.names[1]
    if (
        document_id not in collection.numbers
        and call.query.get("ignore_not_found") == "true"
    ):
        return {"id": document_id}
    document = collection.one(document_id)
    collection.delete([collection.numbers[document_id]])
    return document


def _search(call: Call) -> Any:
    if call.raw_query_chars > MAX_QUERY_CHARS:
        raise ApiError(
            400,
            f"Query string exceeds max allowed length of {MAX_QUERY_CHARS}. Use the /multi_search end-point for larger "
            "payloads.",
        )
    return searched(call.store, call.names[0], call.query)


def _delete_alias(call: Call) -> Any:
    shown_alias = call.store.alias(call.names[0])
    del call.store.aliases[call.names[0]]
    return shown_alias


def _put_curation_set(call: Call) -> Any:
    call.store.curation_sets[call.names[0]] = given = set_of(
        call.names[0], call.object()
    )
    return given


def _delete_curation_set(call: Call) -> Any:
    del call.store.curation_sets[call.names[0]]
    return {"name": call.names[0]}


def _delete_key(call: Call) -> Any:
    key = call.store.keys.one(call.names[0])
    del call.store.keys.by_id[key.id]
    return {"id": key.id}


def _health(call: Call) -> Any:
    if not call.faults.is_healthy:
        body = {"ok": False} | (
            {"resource_error": call.faults.out_of} if call.faults.out_of else {}
        )
        raise ApiError(503, json.dumps(body))
    return {"ok": True}


def _status(call: Call) -> Any:
    state = "NOT_READY" if call.faults.is_not_ready else "LEADER"
    return {
        "committed_index": 2,
        "queued_writes": call.faults.queued_writes,
        "state": state,
    }


_ONE = "/collections/*"
_DOCUMENTS = "/collections/*/documents"
ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/health"): Route(_health, ""),
    ("GET", "/health_with_rusage"): Route(_health, ""),
    ("GET", "/debug"): Route(lambda _: {"state": 1, "version": VERSION}, "debug:list"),
    ("GET", "/status"): Route(_status, "status:list"),
    ("GET", "/stats.json"): Route(lambda _: STATS, "stats.json:list"),
    ("GET", "/metrics.json"): Route(lambda _: METRICS, "metrics.json:list"),
    ("GET", "/limits"): Route(lambda _: [], "limits:list"),
    ("GET", "/operations/schema_changes"): Route(lambda _: [], "operations:list"),
    ("POST", "/operations/cache/clear"): Route(
        lambda _: {"success": True}, "operations:clear"
    ),
    ("POST", "/operations/db/compact"): Route(
        lambda _: {"success": True}, "operations:compact"
    ),
    ("POST", "/operations/snapshot"): Route(
        lambda _: {"success": True}, "operations:snapshot", 201
    ),
    ("POST", "/config"): Route(lambda _: {"success": True}, "config:create", 201),
    ("GET", "/collections"): Route(_list_collections, "collections:list"),
    ("POST", "/collections"): Route(
        _create_collection, "collections:create", 201, is_write=True
    ),
    ("GET", _ONE): Route(
        lambda call: call.store.collection(call.names[0]).as_json(), "collections:get"
    ),
    ("PATCH", _ONE): Route(_alter, "collections:update", is_write=True),
    ("DELETE", _ONE): Route(
        lambda call: call.store.drop(call.names[0]), "collections:delete", is_write=True
    ),
    ("POST", _DOCUMENTS): Route(
        _write_document, "documents:create", 201, is_write=True
    ),
    ("PATCH", _DOCUMENTS): Route(
        bulk.update_by_filter, "documents:update", is_write=True
    ),
    ("DELETE", _DOCUMENTS): Route(
        bulk.delete_by_filter, "documents:delete", is_write=True
    ),
    ("POST", f"{_DOCUMENTS}/import"): Route(
        bulk.import_lines, "documents:import", is_write=True
    ),
    ("GET", f"{_DOCUMENTS}/export"): Route(bulk.export_lines, "documents:export"),
    ("GET", f"{_DOCUMENTS}/search"): Route(_search, "documents:search"),
    ("GET", f"{_DOCUMENTS}/*"): Route(_get_document, "documents:get"),
    ("PATCH", f"{_DOCUMENTS}/*"): Route(
        _patch_document, "documents:update", is_write=True
    ),
    ("DELETE", f"{_DOCUMENTS}/*"): Route(
        _delete_document, "documents:delete", is_write=True
    ),
    ("POST", "/multi_search"): Route(
        lambda call: multi_search(call.store, call.json(), call.query, call.sealed),
        "documents:search",
    ),
    ("GET", "/aliases"): Route(
        lambda call: {
            "aliases": [call.store.alias(name) for name in call.store.aliases]
        },
        "aliases:list",
    ),
    ("GET", "/aliases/*"): Route(
        lambda call: call.store.alias(call.names[0]), "aliases:get"
    ),
    ("PUT", "/aliases/*"): Route(
        lambda call: call.store.put_alias(call.names[0], call.object()),
        "aliases:upsert",
        is_write=True,
    ),
    ("DELETE", "/aliases/*"): Route(_delete_alias, "aliases:delete", is_write=True),
    ("PUT", "/presets/*"): Route(
        lambda call: call.store.put_preset(call.names[0], call.object()),
        "presets:upsert",
        is_write=True,
    ),
    ("DELETE", "/presets/*"): Route(
        lambda call: call.store.presets.pop(call.names[0]),
        "presets:delete",
        is_write=True,
    ),
    ("PUT", "/curation_sets/*"): Route(
        _put_curation_set, "curations:upsert", is_write=True
    ),
    ("DELETE", "/curation_sets/*"): Route(
        _delete_curation_set, "curations:delete", is_write=True
    ),
    ("GET", "/keys"): Route(
        lambda call: {
            "keys": [key.as_json() for key in call.store.keys.by_id.values()]
        },
        "keys:list",
    ),
    ("POST", "/keys"): Route(
        lambda call: call.store.keys.create(call.object()).as_json(with_value=True),
        "keys:create",
        201,
        is_write=True,
    ),
    ("GET", "/keys/*"): Route(
        lambda call: call.store.keys.one(call.names[0]).as_json(), "keys:get"
    ),
    ("DELETE", "/keys/*"): Route(_delete_key, "keys:delete", is_write=True),
}


def route_of(method: str, segments: list[str]) -> tuple[Route, list[str]] | None:
    """Return the route of a path and the names in it, or None."""
    for (of_method, pattern), route in ROUTES.items():
        parts = pattern.strip("/").split("/")
        fits = of_method == method and len(parts) == len(segments)
        if fits and all(
            part in ("*", segment)
            for part, segment in zip(parts, segments, strict=True)
        ):
            return route, [
                segment
                for part, segment in zip(parts, segments, strict=True)
                if part == "*"
            ]
    return None
