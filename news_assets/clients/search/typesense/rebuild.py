"""Rebuilds the index in a new collection beside the one in use, then points the alias
at it (blue/green).

An interrupted rebuild is found by its metadata and resumed. Searches never see an
incomplete index.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from news_assets.clients.search.parity import parity_problems
from news_assets.clients.search.typesense.collection import (
    aliased,
    collections,
    create_collection,
    point_alias,
    read_collection,
    stored_frame,
    write_metadata,
)
from news_assets.clients.search.typesense.connection import (
    LINES_PER_IMPORT,
    TypesenseConnection,
)
from news_assets.clients.search.typesense.documents import stored_forms
from news_assets.clients.search.typesense.errors import failure
from news_assets.clients.search.typesense.lines import sent_vectors, whole_lines
from news_assets.clients.search.typesense.schema import (
    CollectionState,
    metadata_of,
    schema_changes,
)
from news_assets.clients.search.typesense.writing import accepted_documents
from news_assets.errors import IndexingError
from news_assets.ports.search import SearchDocument

if TYPE_CHECKING:
    import polars as pl


@dataclass(slots=True)
class Rebuild:
    """A collection that is being filled. `is_resumed`: it has documents of an
    interrupted rebuild.
    """

    connection: TypesenseConnection
    name: str
    dim: int | None
    languages: tuple[str, ...]
    is_resumed: bool = False
    _sent: set[str] = field(default_factory=set)

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents without reading what is stored; return {article_id: reason}
        for refused ones.

        Raises:
            IndexingError: The import failed; the documents may be sent again.
        """
        accepted, refused = accepted_documents(documents, self.dim)
        for start in range(0, len(accepted), LINES_PER_IMPORT):
            refused |= self._send(accepted[start : start + LINES_PER_IMPORT])
        return refused

    def _send(self, documents: list[SearchDocument]) -> dict[str, str]:
        self.connection.delete(
            self.name,
            [one.article_id for one in documents if one.article_id in self._sent],
        )
        forms = stored_forms(documents, self.languages)
        lines = whole_lines(forms, sent_vectors([one.vector for one in documents]))
        ids = [one.article_id for one in documents]
        self._sent.update(ids)
        refused = self.connection.import_lines(
            self.name, list(zip(ids, lines, strict=True)), "upsert"
        )
        return {article_id: reason for article_id, (_, reason) in refused.items()}

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        self.connection.delete(self.name, article_ids)

    def stored(self, desk: str) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents in the
        new collection.
        """
        return stored_frame(self.connection, self.name, desk)

    def swap(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """Point the alias at the new collection, and drop every other collection of the
        alias.

        Args:
            expected: By desk, the document hash of each article that the collection
                must have, and no others.

        Raises:
            IndexingError: The collection differs from what is expected; the alias is
                unchanged.
        """
        self._check_parity(expected)
        state = read_collection(self.connection, self.name)
        write_metadata(self.connection, state, is_finished=True)
        if self.connection.alias in collections(self.connection):
            raise failure(
                self.connection.where,
                f"a collection is named {self.connection.alias!r}; drop it first",
            )
        point_alias(self.connection, self.name)
        for name in collections(self.connection):
            if name != self.name and is_of_alias(name, self.connection.alias):
                drop(self.connection, name)

    def _check_parity(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        problems = parity_problems(
            expected, self.stored, read_collection(self.connection, self.name).count
        )
        if problems:
            raise failure(
                self.connection.where,
                f"{self.name} is incomplete: {'; '.join(problems)}; searches still use the old"
                " index",
            )


def begin_rebuild(
    connection: TypesenseConnection,
    dim: int | None,
    model: str | None,
    languages: tuple[str, ...],
    now: datetime,
) -> Rebuild:
    """Return a new collection to fill, or an unfinished one with the same schema, model
    and dimensions.

    Args:
        connection: The server.
        dim: Dimensions of the vectors; None without embeddings.
        model: Name of the embedding model.
        languages: Languages of the stems.
        now: The suffix of a new collection.
    """
    metadata = metadata_of(model, dim, languages) | {"is_finished": False}
    unfinished = _unfinished(connection, metadata, dim)
    if unfinished is not None:
        rebuild = Rebuild(connection, unfinished.name, dim, languages, is_resumed=True)
        exported = connection.export(unfinished.name, ("id",))
        rebuild._sent.update(
            json.loads(line)["id"] for line in exported.split("\n") if line
        )
        return rebuild
    name = f"{connection.alias}_{now:%Y%m%d%H%M%S}"
    create_collection(connection, name, dim, metadata)
    return Rebuild(connection, name, dim, languages)


def _unfinished(
    connection: TypesenseConnection, metadata: dict[str, object], dim: int | None
) -> CollectionState | None:
    target = aliased(connection)
    resumable = [
        state
        for name, state in collections(connection).items()
        if is_of_alias(name, connection.alias)
        and name != target
        and state.metadata == metadata
        and state.dim == dim
        and not schema_changes(state, dim)
    ]
    return max(resumable, key=lambda state: state.name, default=None)


def is_of_alias(name: str, alias: str) -> bool:
    """Return whether a collection was created for this alias, by its name."""
    suffix = name.removeprefix(f"{alias}_")
    return name != suffix and len(suffix) == 14 and suffix.isdecimal()


def drop(connection: TypesenseConnection, name: str) -> None:
    """Delete a collection if it exists."""
    try:
        connection.call("delete", f"/collections/{name}")
    except IndexingError as error:
        if "No collection" not in str(error):
            raise
