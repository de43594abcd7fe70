"""Operations on many documents: import and export as JSON lines, delete and update by
filter.
"""

import gzip
import json
from typing import TYPE_CHECKING, Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.documents import (
    document_of,
    shown,
    text_of,
)
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.search.filters import passing

if TYPE_CHECKING:
    from news_assets_tests.typesense_server.routes import Call

ACTIONS = ("create", "update", "upsert", "emplace")
_GZIP_MAGIC = b"\x1f\x8b"  # the server checks the body, not a header


def import_lines(call: "Call") -> str:
    """Import the lines of the body and return one line of JSON for each; errors are per
    line.

    Raises:
        ApiError: 400 for a bad parameter, 404 for an unknown collection.
    """
    action = call.query.get("action", "create")
    if action not in ACTIONS:
        raise ApiError(400, "Parameter `action` must be a create|update|upsert.")
    batch_size = call.query.get("batch_size", "40")
    if not batch_size.isdecimal() or int(batch_size) == 0:
        raise ApiError(400, "Parameter `batch_size` must be a positive integer.")
    collection = call.store.collection(call.names[0])
    body = (
        gzip.decompress(call.body) if call.body.startswith(_GZIP_MAGIC) else call.body
    )
    lines = [line for line in text_of(body).split("\n") if line]
    return "\n".join(
        _dumped(_imported(call, collection, action, line)) for line in lines
    )


def _imported(
    call: "Call", collection: Collection, action: str, line: str
) -> dict[str, Any]:
    shows_id, shows_document = (
        call.query.get(name) == "true" for name in ("return_id", "return_doc")
    )
    document: dict[str, Any] = {}
    try:
        document = document_of(line)
        _refuse(call, document)
        stored = collection.write(action, document, call.query.get("dirty_values", ""))
        result: dict[str, Any] = {"success": True} | (
            {"document": stored} if shows_document else {}
        )
        document = stored
    except ApiError as error:
        result = {"code": error.status, "error": error.message, "success": False}
        result |= {"document": line} if shows_document else {}
    return result | ({"id": document["id"]} if shows_id and "id" in document else {})


def _refuse(call: "Call", document: dict[str, Any]) -> None:
    reason = call.faults.refused_ids.get(str(document.get("id")))
    if reason is not None:
        raise ApiError(400, reason)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def export_lines(call: "Call") -> str:
    """Return the documents that match the filter as lines, in insertion order.

    Raises:
        ApiError: 400 or 404.
    """
    collection = call.store.collection(call.names[0])
    numbers = sorted(passing(collection, call.query.get("filter_by", "")))
    include, exclude = (
        call.query.get("include_fields", ""),
        call.query.get("exclude_fields", ""),
    )
    return "\n".join(
        _dumped(shown(collection.documents[number], include, exclude))
        for number in numbers
    )


def delete_by_filter(call: "Call") -> dict[str, int]:
    """Delete the documents that match the filter, or all with `truncate`.

    Raises:
        ApiError: 400 or 404.
    """
    collection = call.store.collection(call.names[0])
    if call.query.get("truncate") == "true":
        return {"num_deleted": collection.delete(list(collection.documents))}
    return {
        "num_deleted": collection.delete(sorted(passing(collection, _filter_by(call))))
    }


def update_by_filter(call: "Call") -> dict[str, int]:
    """Update the given fields of the documents that match the filter.

    Raises:
        ApiError: 400 or 404.
    """
    collection = call.store.collection(call.names[0])
    numbers = sorted(passing(collection, _filter_by(call)))
    change = document_of(call.text())
    for number in numbers:
        collection.write("update", change | {"id": collection.documents[number]["id"]})
    return {"num_updated": len(numbers)}


def _filter_by(call: "Call") -> str:
    filter_by = call.query.get("filter_by", "")
    if not filter_by:
        raise ApiError(400, "Parameter `filter_by` must be provided.")
    return filter_by
