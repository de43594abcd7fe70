"""The server's data: collections, aliases and keys."""

from dataclasses import dataclass, field
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.errors import NO_COLLECTION, ApiError
from news_assets_tests.typesense_server.keys import Keys


@dataclass(slots=True)
class Store:
    """Collections, aliases and keys in memory."""

    keys: Keys
    collections: dict[str, Collection] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    presets: dict[str, dict[str, Any]] = field(default_factory=dict)
    curation_sets: dict[str, dict[str, Any]] = field(default_factory=dict)

    def collection(self, name: str) -> Collection:
        """Return the collection with this name or alias; an alias of an alias is not
        resolved.

        Raises:
            ApiError: 404.
        """
        if name not in self.collections:
            name = self.aliases.get(name, "")
        if name not in self.collections:
            raise ApiError(404, NO_COLLECTION)
        return self.collections[name]

    def create(self, given: dict[str, Any]) -> Collection:
        """Create a collection; its name may equal that of an alias.

        Raises:
            ApiError: 400 or 409.
        """
        collection = Collection(given)
        if collection.name in self.collections:
            raise ApiError(
                409, f"A collection with name `{collection.name}` already exists."
            )
        self.collections[collection.name] = collection
        return collection

    def drop(self, name: str) -> dict[str, Any]:
        """Delete a collection by its name or alias; the alias stays without a target.

        Raises:
            ApiError: 404.
        """
        try:
            collection = self.collection(name)
        except ApiError:
            raise ApiError(404, f"No collection with name `{name}` found.") from None
        shown = collection.as_json()
        del self.collections[collection.name]
        return shown

    def newest_first(self) -> list[Collection]:
        """Return the collections, newest first, as they are listed."""
        return list(self.collections.values())[::-1]

    def put_alias(self, name: str, given: dict[str, Any]) -> dict[str, str]:
        """Set an alias, even for a collection that does not exist.

        Raises:
            ApiError: 400, or 500 for a name that is a collection's.
        """
        if "collection_name" not in given:
            raise ApiError(400, "Parameter `collection_name` is required.")
        if name in self.collections:
            raise ApiError(
                500, f"Name `{name}` conflicts with an existing collection name."
            )
        self.aliases[name] = str(given["collection_name"])
        return self.alias(name)

    def put_preset(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Store search parameters under a name."""
        self.presets[name] = {"name": name, "value": given.get("value", {})}
        return self.presets[name]

    def alias(self, name: str) -> dict[str, str]:
        """Return an alias as JSON.

        Raises:
            ApiError: 404.
        """
        if name not in self.aliases:
            raise ApiError(404, NO_COLLECTION)
        return {"collection_name": self.aliases[name], "name": name}
