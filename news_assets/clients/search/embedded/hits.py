"""Hits as a reader sees them: what is stored of the listed documents, with a snippet each.

Document numbers and scores enter; `SearchHit`s leave.
"""

import sqlite3
from dataclasses import dataclass
from datetime import date

from news_assets.clients.search.snippet import Marker, snippet
from news_assets.ports import SearchHit


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of an answer: document numbers with scores, how many there are in all, facets, and what to mark."""

    page: tuple[tuple[int, float], ...]
    found: int
    facets: dict[str, dict[str, int]]
    marker: Marker


_COLUMNS = (
    "article_id, title, url, desk, agency, day, theme_code, language, coalesce(nullif(text, ''), summary, '') AS text"
)


def hits_of(connection: sqlite3.Connection, listed: Listed) -> tuple[SearchHit, ...]:
    """Return the hits of a page, best first."""
    find = f"SELECT {_COLUMNS} FROM documents JOIN texts USING (n) WHERE n = ?"
    return tuple(_hit(connection.execute(find, (n,)).fetchone(), score, listed.marker) for n, score in listed.page)


def _hit(row: tuple[str, ...], score: float, marker: Marker) -> SearchHit:
    article_id, title, url, desk, agency, day, theme_code, language, text = row
    return SearchHit(
        article_id=article_id,
        title=title,
        url=url,
        desk=desk,
        agency=agency,
        day=date.fromisoformat(day),
        score=score,
        snippet=snippet(text, marker.spans(text, language)),
        theme_code=theme_code,
        language=language,
    )
