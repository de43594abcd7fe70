"""What the server keeps: collections, aliases and keys."""

from dataclasses import dataclass, field
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.errors import NO_COLLECTION, ApiError
from news_assets_tests.typesense_server.keys import Keys


@dataclass(slots=True)
class Store:
    """All in memory."""

    keys: Keys
    collections: dict[str, Collection] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def collection(self, name: str) -> Collection:
        """Return the collection of this name, or the one an alias of this name points at (no alias of an alias).

        Raises:
            ApiError: 404.
        """
        if name not in self.collections:
            name = self.aliases.get(name, "")
        if name not in self.collections:
            raise ApiError(404, NO_COLLECTION)
        return self.collections[name]

    def create(self, given: dict[str, Any]) -> Collection:
        """Return a new collection; it may take an alias's name.

        Raises:
            ApiError: 400 or 409.
        """
        collection = Collection(given)
        if collection.name in self.collections:
            raise ApiError(409, f"A collection with name `{collection.name}` already exists.")
        self.collections[collection.name] = collection
        return collection

    def drop(self, name: str) -> dict[str, Any]:
        """Remove a collection, also through its alias, which stays and points at nothing.

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
        """Return the collections in the order they are listed."""
        return list(self.collections.values())[::-1]

    def put_alias(self, name: str, given: dict[str, Any]) -> dict[str, str]:
        """Point an alias at a name, whether there is such a collection or not.

        Raises:
            ApiError: 400, or 500 for a name that is a collection's.
        """
        if "collection_name" not in given:
            raise ApiError(400, "Parameter `collection_name` is required.")
        if name in self.collections:
            raise ApiError(500, f"Name `{name}` conflicts with an existing collection name.")
        self.aliases[name] = str(given["collection_name"])
        return self.alias(name)

    def alias(self, name: str) -> dict[str, str]:
        """Return an alias as it is shown.

        Raises:
            ApiError: 404.
        """
        if name not in self.aliases:
            raise ApiError(404, NO_COLLECTION)
        return {"collection_name": self.aliases[name], "name": name}
