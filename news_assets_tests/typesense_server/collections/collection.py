"""A collection: its schema, documents and indexes."""

import time
from collections.abc import Iterable
from typing import Any

from news_assets_tests.typesense_server.collections.documents import (
    Document,
    check_id,
    checked,
)
from news_assets_tests.typesense_server.collections.indexes import (
    TextIndex,
    VectorIndex,
    index_of,
)
from news_assets_tests.typesense_server.collections.schema import Field, fields_of
from news_assets_tests.typesense_server.errors import ApiError

INCOMPATIBLE = "Schema change is incompatible with the type of documents already stored in this collection. "


class Collection:
    """Documents are numbered in insertion order; numbers are not reused."""

    def __init__(self, given: dict[str, Any]) -> None:
        if "name" not in given:
            raise ApiError(400, "Parameter `name` is required.")
        if "fields" not in given:
            raise ApiError(400, "Parameter `fields` is required.")
        self.name = str(given["name"])
        self.default_sorting_field = str(given.get("default_sorting_field", ""))
        self.fields = {
            field.name: field
            for field in fields_of(given["fields"], self.default_sorting_field)
        }
        self.extra: dict[str, Any] = (
            {"metadata": given["metadata"]} if "metadata" in given else {}
        )
        self.created_at = int(time.time())
        self.documents: dict[int, Document] = {}
        self.numbers: dict[str, int] = {}
        self.next_number = 0
        self.indexes: dict[str, TextIndex | VectorIndex] = {}
        for field in self.fields.values():
            self._index_field(field)

    def as_json(self) -> dict[str, Any]:
        """Return the collection as the server shows it."""
        return {
            "created_at": self.created_at,
            "curation_sets": [],
            "default_sorting_field": self.default_sorting_field,
            "enable_nested_fields": False,
            "fields": [field.as_json() for field in self.fields.values()] or None,
            "name": self.name,
            "num_documents": len(self.documents),
            "symbols_to_index": [],
            "synonym_sets": [],
            "token_separators": [],
            **self.extra,
        }

    def text_index(self, name: str) -> TextIndex:
        """Return the index of a text field."""
        index = self.indexes[name]
        assert isinstance(index, TextIndex)
        return index

    def vector_index(self, name: str) -> VectorIndex | None:
        """Return the index of a vector field, or None for other fields."""
        index = self.indexes.get(name)
        return index if isinstance(index, VectorIndex) else None

    def one(self, document_id: str) -> Document:
        """Return the document with this id.

        Raises:
            ApiError: 404.
        """
        if document_id not in self.numbers:
            raise ApiError(404, f"Could not find a document with id: {document_id}")
        return self.documents[self.numbers[document_id]]

    def write(
        self, action: str, document: Document, dirty_values: str = ""
    ) -> Document:
        """Store a document by `create`, `upsert`, `update` or `emplace`; return the
        stored document.

        Raises:
            ApiError: 400, 404 or 409, as the server words it.
        """
        document_id = check_id(document)
        if document_id is None and action == "update":
            raise ApiError(400, "For update, the `id` key must be provided.")
        number = self.numbers.get(document_id or "")
        if number is None:
            if action == "update":
                self.one(document_id or "")
            return self._add(action, document, dirty_values)
        if action == "create":
            raise ApiError(409, f"A document with id {document_id} already exists.")
        return self._replace(number, document, action != "upsert", dirty_values)

    def _add(self, action: str, document: Document, dirty_values: str) -> Document:
        # a refused document uses up a number too
        number, self.next_number = (
            self.next_number,
            self.next_number + 1,
        )
        sorted_by = "" if action == "emplace" else self.default_sorting_field
        stored = checked(
            document,
            self.fields,
            is_update=False,
            dirty_values=dirty_values,
            sorted_by=sorted_by,
        )
        stored.setdefault("id", str(number))
        self.numbers[stored["id"]] = number
        self._store(number, stored)
        return stored

    def _replace(
        self, number: int, document: Document, is_update: bool, dirty_values: str
    ) -> Document:
        sorted_by = "" if is_update else self.default_sorting_field
        stored = checked(
            document,
            self.fields,
            is_update=is_update,
            dirty_values=dirty_values,
            sorted_by=sorted_by,
        )
        if is_update:
            merged = self.documents[number] | stored
            stored = {
                name: value
                for name, value in merged.items()
                if value is not None or name not in self.fields
            }
        for index in self.indexes.values():
            # a vector that is dropped here stays searchable
            if isinstance(index, TextIndex):
                index.remove(number)
        self._store(number, stored)
        return stored

    def _store(self, number: int, document: Document) -> None:
        self.documents[number] = document
        for name, index in self.indexes.items():
            if document.get(name) is not None:
                index.add(number, document[name])

    def delete(self, numbers: Iterable[int]) -> int:
        """Delete documents and return how many. A vector is deleted only with a
        document that still has it.
        """
        removed = list(numbers)
        for number in removed:
            document = self.documents.pop(number)
            del self.numbers[document["id"]]
            for name, index in self.indexes.items():
                if document.get(name) is not None:
                    index.remove(number)
        return len(removed)

    def change_fields(self, removed: Iterable[str], added: Iterable[Field]) -> None:
        """Change the schema, without validation, and index new fields."""
        for name in removed:
            del self.fields[name]
            self.indexes.pop(name, None)
            if name == self.default_sorting_field:
                self.default_sorting_field = ""
        for field in added:
            self.fields[field.name] = field
            self._index_field(field)

    def _index_field(self, field: Field) -> None:
        index = index_of(field)
        if index is None:
            return
        self.indexes[field.name] = index
        for number, document in self.documents.items():
            if document.get(field.name) is not None:
                index.add(number, document[field.name])
