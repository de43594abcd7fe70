"""What is known of every document, in memory, as columns of numbers: filters, facets, recency and duplicates.

`facts` records of the search file enter; masks, counts and groups leave. Words and vectors do not belong here.

A column's index is the document's number `n`; numbers of deleted documents stay in it as gaps (`is_alive` False).
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from news_assets.clients.search_schema import FACTS
from news_assets.clients.search_terms import Int64s
from news_assets.ports import SearchQuery

Bools = npt.NDArray[np.bool_]

PATH_SEPARATOR = "\x1f"  # parts the codes of a theme path, which is stored as one value


@dataclass(slots=True)
class DocumentTable:
    """Facts of every document; `refresh` catches up with what was written."""

    connection: sqlite3.Connection
    size: int = 1  # one more than the highest number; 0 is never given
    count: int = 0
    facts: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(1024, FACTS))
    is_alive: Bools = field(default_factory=lambda: np.zeros(1024, np.bool_))
    leader: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))  # first document of a group of duplicates
    original: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))  # by leader: the one that is none
    values: list[tuple[str, str]] = field(default_factory=lambda: [("", "")])  # by code: kind and value
    columns: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    _codes: dict[tuple[str, str], int] = field(default_factory=dict)
    _first_of: dict[int, int] = field(default_factory=dict)
    _last_deletion: int = 0

    # --- catching up -------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read documents, codes and deletions that came since the last time."""
        deletions = self.connection.execute(
            "SELECT deletion, n FROM deleted WHERE deletion > ? ORDER BY deletion", (self._last_deletion,)
        ).fetchall()
        rows = self.connection.execute("SELECT facts FROM documents WHERE n >= ? ORDER BY n", (self.size,)).fetchall()
        for code, kind, value in self.connection.execute(
            "SELECT code, kind, value FROM codes WHERE code >= ? ORDER BY code", (len(self.values),)
        ):
            self.values.append((kind, value))
            self._codes[kind, value] = code
        self.is_alive[[n for _, n in deletions if n < self.size]] = False
        if rows:
            self._add(np.frombuffer(b"".join(facts for (facts,) in rows), FACTS))
        gone = [n for _, n in deletions if n < self.size]
        if deletions:
            self._last_deletion = deletions[-1][0]
            self.is_alive[gone] = False
        self.count = int(np.count_nonzero(self.is_alive))
        if rows or gone:
            self._set_columns()

    def _add(self, new: npt.NDArray[np.void]) -> None:
        ns = new["n"].astype(np.int64)
        self._grow(int(ns[-1]) + 1)
        self.facts[ns] = new
        self.is_alive[ns] = True
        self._group(new, ns)

    def _grow(self, size: int) -> None:
        if size > len(self.facts):
            capacity = max(size, 2 * len(self.facts))
            for name in ("facts", "is_alive", "leader", "original"):
                old = getattr(self, name)
                grown = np.zeros(capacity, old.dtype)
                grown[: self.size] = old[: self.size]
                setattr(self, name, grown)
        self.size = size

    def _group(self, new: npt.NDArray[np.void], ns: Int64s) -> None:
        """Settle each new document's group: its original's, else that of the first with its text, else its own.

        Duplicates whose original is not here share a group as well, and the original joins it when it comes.
        """
        originals = np.where(new["original_key"] != 0, new["original_key"], new["id_key"]).tolist()
        keys = (ns.tolist(), new["id_key"].tolist(), originals, new["text_key"].tolist())
        for n, own, original, text in zip(*keys, strict=True):
            first = self._first_of.get(original) or (text and self._first_of.get(text)) or n
            first = int(self.leader[first]) if first != n else n
            self.leader[n] = first
            if original == own and not self.is_alive[self.original[first]]:
                self.original[first] = n
            self._first_of.setdefault(original, first)
            if text:
                self._first_of.setdefault(text, first)

    def _set_columns(self) -> None:
        """Lay the columns that every search reads side by side, instead of strided over records."""
        live = self.facts[: self.size]
        self.columns = {
            name: np.ascontiguousarray(live[name])
            for name in ("desk", "agency", "language", "theme", "month", "day", "length", "published")
        }

    # --- asking ------------------------------------------------------------------------------------------------------

    def languages(self) -> list[str]:
        """Return the languages documents are in, as they state them."""
        return [value for kind, value in self.values if kind == "language" and value]

    def matching(self, query: SearchQuery) -> Bools:
        """Return which documents pass the query's filters, by number."""
        mask: Bools = self.is_alive[: self.size].copy()
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
        found: Bools = wanted[self.columns[kind]]
        return found

    def facets(self, ns: Int64s) -> dict[str, dict[str, int]]:
        """Return how many of these documents there are by agency, theme (every level), language and month."""
        if not self.columns:
            return {"agency": {}, "theme": {}, "language": {}, "month": {}}
        themes: dict[str, int] = {}
        for path, count in self._counts("theme", ns):
            for code in path.split(PATH_SEPARATOR) if path else ():
                themes[code] = themes.get(code, 0) + count
        months = np.bincount(self.columns["month"][ns])
        return {
            "agency": _most_first(self._counts("agency", ns)),
            "theme": _most_first(themes.items()),
            "language": _most_first((value, count) for value, count in self._counts("language", ns) if value),
            "month": {f"{m // 12:04d}-{m % 12 + 1:02d}": int(months[m]) for m in np.flatnonzero(months)[::-1].tolist()},
        }

    def _counts(self, kind: str, ns: Int64s) -> list[tuple[str, int]]:
        counts = np.bincount(self.columns[kind][ns])
        return [(self.values[code][1], int(counts[code])) for code in np.flatnonzero(counts).tolist()]

    def group_count(self, ns: Int64s) -> int:
        """Return how many documents these are when duplicates count once."""
        seen = np.zeros(self.size, np.bool_)
        seen[self.leader[ns]] = True
        return int(np.count_nonzero(seen))


def is_language(value: str, wanted: str | None) -> bool:
    """Return whether a document's language is the wanted one: `pt` takes `pt-BR`, `pt-BR` takes no `pt-PT`."""
    value, wanted = value.lower(), (wanted or "").lower()
    return value == wanted or value.startswith(f"{wanted}-") or (wanted.startswith(f"{value}-") and bool(value))


def month_number(day: date) -> int:
    """Return a month's number, as the facts keep it."""
    return day.year * 12 + day.month - 1


def _most_first(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(counts, key=lambda pair: (-pair[1], pair[0])))
