"""The `facts` records of all documents in memory, as columns of numbers: filters, facets, recency and duplicates.

A column is indexed by the document's number `n`; deleted documents stay as gaps (`is_alive` False).
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.duplicates import Bools, Duplicates
from news_assets.clients.search.embedded.schema import FACTS
from news_assets.clients.search.embedded.terms import Int64s
from news_assets.ports import SearchQuery

Scalar = TypeVar("Scalar", bound=np.generic)

PATH_SEPARATOR = "\x1f"  # between the codes of a theme path, which is stored as one value

_COLUMNS = ("desk", "agency", "language", "theme", "month", "day", "length", "published")
_BATCH_ROWS = 250_000
_GROWTH = 1.25  # capacity of a grown column by its size


def _columns(size: int) -> dict[str, npt.NDArray[Any]]:
    return {name: np.zeros(size, FACTS[name]) for name in _COLUMNS}


@dataclass(slots=True)
class DocumentTable:
    """Facts of every document; `refresh` reads what was written since the last time."""

    connection: sqlite3.Connection
    size: int = 1  # one more than the highest number; numbers start at 1
    count: int = 0
    columns: dict[str, npt.NDArray[Any]] = field(default_factory=lambda: _columns(1))
    is_alive: Bools = field(default_factory=lambda: np.zeros(1, np.bool_))
    duplicates: Duplicates = field(default_factory=Duplicates)
    values: list[tuple[str, str]] = field(default_factory=lambda: [("", "")])  # by code: kind and value
    _codes: dict[tuple[str, str], int] = field(default_factory=dict)
    _capacity: dict[str, npt.NDArray[Any]] = field(default_factory=lambda: _columns(1024))  # `columns` are views
    _capacity_alive: Bools = field(default_factory=lambda: np.zeros(1024, np.bool_))
    _length_sum: int = 0
    _last_deletion: int = 0

    def refresh(self) -> None:
        """Read new documents, codes and deletions."""
        for code, kind, value in self.connection.execute(
            "SELECT code, kind, value FROM codes WHERE code >= ? ORDER BY code", (len(self.values),)
        ):
            self.values.append((kind, value))
            self._codes[kind, value] = code
        deletions = self.connection.execute(
            "SELECT deletion, n FROM deleted WHERE deletion > ? ORDER BY deletion", (self._last_deletion,)
        ).fetchall()
        if deletions:
            self._remove(np.array([n for _, n in deletions if n < self.size], np.int64))
            self._last_deletion = deletions[-1][0]
        cursor = self.connection.execute("SELECT facts FROM documents WHERE n >= ? ORDER BY n", (self.size,))
        while rows := cursor.fetchmany(_BATCH_ROWS):
            self._add(np.frombuffer(b"".join(facts for (facts,) in rows), FACTS))
        (last,) = self.connection.execute("SELECT coalesce(max(last_n), 0) FROM parts").fetchone()
        self._grow(max(self.size, last + 1))  # postings of a part keep the numbers of deleted documents

    def _remove(self, ns: Int64s) -> None:
        ns = np.unique(ns[self.is_alive[ns]])
        self.is_alive[ns] = False
        self.count -= len(ns)
        self._length_sum -= int(self.columns["length"][ns].sum(dtype=np.int64))

    def _add(self, new: npt.NDArray[np.void]) -> None:
        ns = new["n"].astype(np.int64)
        self._grow(int(ns[-1]) + 1)
        for name, column in self.columns.items():
            column[ns] = new[name]
        self.is_alive[ns] = True
        self.count += len(ns)
        self._length_sum += int(new["length"].sum(dtype=np.int64))
        self.duplicates.add(new, self.is_alive)

    def _grow(self, size: int) -> None:
        if size > len(self._capacity_alive):
            capacity = int(size * _GROWTH)
            self._capacity = {name: _grown(column, capacity) for name, column in self._capacity.items()}
            self._capacity_alive = _grown(self._capacity_alive, capacity)
            self.duplicates.leader = _grown(self.duplicates.leader, capacity)
            self.duplicates.original = _grown(self.duplicates.original, capacity)
        self.size = size
        self.columns = {name: column[:size] for name, column in self._capacity.items()}
        self.is_alive = self._capacity_alive[:size]

    def languages(self) -> list[str]:
        """Return the languages of the documents, as they state them."""
        return [value for kind, value in self.values if kind == "language" and value]

    def average_length(self) -> float:
        """Return the average number of words of a document; 1 for an empty index."""
        return self._length_sum / self.count if self.count else 1.0

    def matching(self, query: SearchQuery) -> Bools:
        """Return a mask, by document number, of the documents that pass the query's filters."""
        mask: Bools = self.is_alive.copy()
        for kind, wanted in (("desk", query.desk), ("agency", query.agency)):
            if wanted is not None:
                mask &= self.columns[kind] == self._codes.get((kind, wanted), -1)
        if query.language is not None:
            mask &= self._has_code("language", lambda value: is_language(value, query.language))
        if query.theme is not None:
            mask &= self._has_code("theme", lambda value: query.theme in value.split(PATH_SEPARATOR))
        if query.from_day is not None:
            mask &= self.columns["day"] >= query.from_day.toordinal()
        if query.to_day is not None:
            mask &= self.columns["day"] <= query.to_day.toordinal()
        return mask

    def _has_code(self, kind: str, is_wanted: Any) -> Bools:
        wanted = np.array([known == kind and is_wanted(value) for known, value in self.values], np.bool_)
        found: Bools = wanted.take(self.columns[kind])
        return found

    def facets(self, ns: Int64s) -> dict[str, dict[str, int]]:
        """Return the number of these documents by agency, theme (every level), language and month."""
        themes: dict[str, int] = {}
        for path, count in self._counts("theme", ns):
            for code in path.split(PATH_SEPARATOR) if path else ():
                themes[code] = themes.get(code, 0) + count
        months = np.bincount(self.columns["month"].take(ns))
        return {
            "agency": _most_first(self._counts("agency", ns)),
            "theme": _most_first(themes.items()),
            "language": _most_first((value, count) for value, count in self._counts("language", ns) if value),
            "month": {f"{m // 12:04d}-{m % 12 + 1:02d}": int(months[m]) for m in np.flatnonzero(months)[::-1].tolist()},
        }

    def _counts(self, kind: str, ns: Int64s) -> list[tuple[str, int]]:
        counts = np.bincount(self.columns[kind].take(ns))
        return [(self.values[code][1], int(counts[code])) for code in np.flatnonzero(counts).tolist()]

    def group_count(self, ns: Int64s) -> int:
        """Return the number of these documents, counting duplicates once."""
        seen = np.zeros(self.size, np.bool_)
        seen[self.duplicates.leader.take(ns)] = True
        return int(np.count_nonzero(seen))


def is_language(value: str, wanted: str | None) -> bool:
    """Return whether a language passes the filter: `pt` takes `pt-BR`, `pt-BR` takes `pt` but not `pt-PT`."""
    value, wanted = value.lower(), (wanted or "").lower()
    return value == wanted or value.startswith(f"{wanted}-") or (wanted.startswith(f"{value}-") and bool(value))


def month_number(day: date) -> int:
    """Return the number of a day's month, as `facts` has it."""
    return day.year * 12 + day.month - 1


def _grown(array: npt.NDArray[Scalar], size: int) -> npt.NDArray[Scalar]:
    return np.concatenate([array, np.zeros(size - len(array), array.dtype)])


def _most_first(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(counts, key=lambda pair: (-pair[1], pair[0])))
