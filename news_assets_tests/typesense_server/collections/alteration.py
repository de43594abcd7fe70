"""Changes of a collection's schema (PATCH)."""

from typing import Any

from news_assets_tests.typesense_server.collections.collection import (
    INCOMPATIBLE,
    Collection,
)
from news_assets_tests.typesense_server.collections.documents import checked
from news_assets_tests.typesense_server.collections.schema import Field, field_of
from news_assets_tests.typesense_server.errors import ApiError

CHANGEABLE = ("fields", "metadata", "curation_sets")  # synonym sets are not simulated


def alter(collection: Collection, change: dict[str, Any]) -> dict[str, Any]:
    """Change fields or metadata, all or nothing, and return the response body.

    Raises:
        ApiError: 400.
    """
    if not change:
        raise ApiError(400, "Alter payload is empty.")
    if not set(change) <= set(CHANGEABLE):
        raise ApiError(
            400,
            "Only `fields`, `metadata` and `synonym_sets` can be updated at the moment.",
        )
    answer = (
        {"fields": _alter_fields(collection, change["fields"])}
        if "fields" in change
        else {}
    )
    if "metadata" in change:
        collection.extra["metadata"] = answer["metadata"] = change["metadata"]
    if "curation_sets" in change:
        collection.extra["curation_sets"] = answer["curation_sets"] = change[
            "curation_sets"
        ]
    return answer


def _alter_fields(collection: Collection, given: Any) -> list[dict[str, Any]]:
    if (
        not isinstance(given, list)
        or not given
        or not all(isinstance(one, dict) for one in given)
    ):
        raise ApiError(
            400,
            "The `fields` value should be an array of objects containing the field `name` and other properties.",
        )
    removed, added, answer = [], [], []
    for properties in given:
        name = str(properties.get("name", ""))
        if properties.get("drop"):
            if name not in collection.fields:
                raise ApiError(400, f"Field `{name}` is not part of collection schema.")
            removed.append(name)
            answer.append({"drop": True, "embed": None, "name": name})
        else:
            field = _added(collection, properties, name, name in removed)
            added.append(field)
            answer.append(field.as_change())
    collection.change_fields(removed, added)
    return answer


def _added(
    collection: Collection, properties: dict[str, Any], name: str, is_dropped: bool
) -> Field:
    if name in collection.fields and not is_dropped:
        raise ApiError(
            400,
            f"Field `{name}` is already part of the schema: To change this field, drop it first before adding it back "
            "to the schema.",
        )
    if not properties.get("optional") and any(
        name not in document for document in collection.documents.values()
    ):
        raise ApiError(
            400,
            f"Field `{name}` has been declared in the schema, but is not found in the documents already present in "
            "the collection. If you still want to add this field, set it as `optional: true`.",
        )
    field = field_of(properties)
    _check_documents(collection, field)
    return field


def _check_documents(collection: Collection, field: Field) -> None:
    for document in collection.documents.values():
        if field.name not in document:
            continue
        try:
            checked(
                {field.name: document[field.name]}, {field.name: field}, is_update=False
            )
        except ApiError as error:
            if field.is_array:
                raise ApiError(400, f"{INCOMPATIBLE}error: {error.message}") from None
            raise ApiError(
                400,
                f"{INCOMPATIBLE}Existing data for field `{field.name}` cannot be coerced into "
                f"{error.message.partition('must be ')[2]}",
            ) from None
