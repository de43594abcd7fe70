"""A new collection beside the one that is searched, and the swap of the two (blue/green).

Documents enter; the alias moves once the new collection has exactly what is expected. An interrupted rebuild is found
again by its metadata and goes on with what it lacks. Searches never see a half-built index.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

from news_assets.clients.search.parity import parity_problems
from news_assets.clients.search.typesense.collection import (
    aliased,
    collections,
    create_collection,
    point_alias,
    read_collection,
    write_metadata,
)
from news_assets.clients.search.typesense.connection import LINES_AT_ONCE, TypesenseConnection
from news_assets.clients.search.typesense.documents import stored_forms, stories_of
from news_assets.clients.search.typesense.errors import failure
from news_assets.clients.search.typesense.export import stored_frame
from news_assets.clients.search.typesense.lines import unit_rows, whole_lines
from news_assets.clients.search.typesense.schema import CollectionState, metadata_of, schema_changes
from news_assets.clients.search.typesense.writing import accepted_documents, mended_stories
from news_assets.errors import IndexingError
from news_assets.ports import SearchDocument
from news_assets.records import AgencyDays

if TYPE_CHECKING:
    import polars as pl


@dataclass(slots=True)
class Rebuild:
    """A collection that is being filled. `is_resumed`: an interrupted one goes on."""

    connection: TypesenseConnection
    name: str
    dim: int | None
    languages: tuple[str, ...]
    is_resumed: bool = False
    _stories: dict[str, str] = field(default_factory=dict)
    _sent: set[str] = field(default_factory=set)

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents without asking what is there; return {article_id: reason} for those that were refused.

        Raises:
            IndexingError: The server could not take them; sending them again is right.
        """
        accepted, refused = accepted_documents(documents, self.dim)
        for start in range(0, len(accepted), LINES_AT_ONCE):
            refused |= self._send(accepted[start : start + LINES_AT_ONCE])
        return refused

    def _send(self, documents: list[SearchDocument]) -> dict[str, str]:
        stories = stories_of(documents, self._stories)
        self._stories |= stories
        self.connection.delete(self.name, [one.article_id for one in documents if one.article_id in self._sent])
        forms = stored_forms(documents, self.languages, stories)
        lines = whole_lines(forms, unit_rows([one.vector for one in documents]))
        ids = [one.article_id for one in documents]
        self._sent.update(ids)
        refused = self.connection.import_lines(self.name, list(zip(ids, lines, strict=True)), "upsert")
        return {article_id: reason for article_id, (_, reason) in refused.items()}

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; an unknown id is no error."""
        self.connection.delete(self.name, article_ids)

    def stored(self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of what a desk has in the new collection."""
        return stored_frame(self.connection, self.name, desk, keys, first_day)

    def swap(self, expected: Mapping[str, Mapping[str, str]], *, keeps_old: bool = False) -> None:
        """Let searches go to the new collection, if it has what is expected; drop the one before and leftovers.

        Args:
            expected: By desk, the document hash of each article that has to be there, and no other.
            keeps_old: Leave the collection that was searched until now, to go back to.

        Raises:
            IndexingError: Something is missing, left over or in another state; searches go where they went.
        """
        self._check_parity(expected)
        self._mend_stories()
        before = aliased(self.connection)
        state = read_collection(self.connection, self.name)
        write_metadata(self.connection, state, is_finished=True)
        if self.connection.alias in collections(self.connection):
            raise failure(self.connection.where, f"a collection is named {self.connection.alias!r}; drop it first")
        point_alias(self.connection, self.name)
        self._drop_leftovers(before if keeps_old else None)

    def _check_parity(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        problems = parity_problems(expected, self.stored, read_collection(self.connection, self.name).count)
        if problems:
            raise failure(
                self.connection.where,
                f"{self.name} is not complete: {'; '.join(problems)}; searches go on with the index before",
            )

    def _mend_stories(self) -> None:
        """Put duplicates to their original's story that came before it, or in an earlier run."""
        exported = self.connection.export(self.name, ("id", "story", "text_hash", "duplicate_of"))
        lines = mended_stories(json.loads(line) for line in exported.split("\n") if line)
        refused = self.connection.import_lines(self.name, lines, "update")
        if refused:
            reason = next(iter(refused.items()))
            raise failure(self.connection.where, f"duplicates could not be put together: {reason}", is_transient=True)

    def _drop_leftovers(self, kept: str | None) -> None:
        for name in collections(self.connection):
            if name not in (self.name, kept) and is_of_alias(name, self.connection.alias):
                drop(self.connection, name)


def begin_rebuild(
    connection: TypesenseConnection, dim: int | None, model: str | None, languages: tuple[str, ...], now: datetime
) -> Rebuild:
    """Return a new collection to fill, or an unfinished one of the same schema, model and vector length.

    Args:
        connection: The server.
        dim: Length of the vectors; None without embeddings.
        model: Name of the embedding model.
        languages: Whose stemmers make the stems.
        now: Names a new collection.
    """
    metadata = metadata_of(model, dim, languages) | {"is_finished": False}
    unfinished = _unfinished(connection, metadata, dim)
    if unfinished is not None:
        rebuild = Rebuild(connection, unfinished.name, dim, languages, is_resumed=True)
        exported = connection.export(unfinished.name, ("id",))
        rebuild._sent.update(json.loads(line)["id"] for line in exported.split("\n") if line)
        return rebuild
    name = f"{connection.alias}_{now:%Y%m%d%H%M%S}"
    create_collection(connection, name, dim, metadata)
    return Rebuild(connection, name, dim, languages)


def _unfinished(
    connection: TypesenseConnection, metadata: dict[str, object], dim: int | None
) -> CollectionState | None:
    target = aliased(connection)
    fitting = [
        state
        for name, state in collections(connection).items()
        if is_of_alias(name, connection.alias)
        and name != target
        and state.metadata == metadata
        and state.dim == dim
        and not schema_changes(state, dim)
    ]
    return max(fitting, key=lambda state: state.name, default=None)


def is_of_alias(name: str, alias: str) -> bool:
    """Tell whether a collection was made for this alias."""
    suffix = name.removeprefix(f"{alias}_")
    return name != suffix and len(suffix) == 14 and suffix.isdecimal()


def drop(connection: TypesenseConnection, name: str) -> None:
    """Remove a collection; one that is gone is no error."""
    try:
        connection.call("delete", f"/collections/{name}")
    except IndexingError as error:
        if "No collection" not in str(error):
            raise
