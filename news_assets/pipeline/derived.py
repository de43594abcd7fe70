"""Rows made from articles, stored only while the article is still as it was read; runs may overlap.

A stage reads its articles, works on them for seconds or minutes, and writes in one short transaction. What changed in
the lake meanwhile is behind again and left to the next run.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from news_assets.ports import Rows
from news_assets.records import AgencyDays, RawArticle


class DerivedRow(Protocol):
    """A row that belongs to one article."""

    @property
    def article_id(self) -> str:
        """The article's id."""
        ...


Derived = TypeVar("Derived", bound=DerivedRow)


def versions_of(articles: Sequence[RawArticle]) -> dict[str, str]:
    """Return the state of each article, which tells whether it is still the one that was read."""
    return {article.article_id: article.content_hash for article in articles}


def store_derived(
    rows: Rows, keys: AgencyDays, record: type[Derived], changed: Sequence[Derived], read: Mapping[str, str]
) -> list[Derived]:
    """Return the rows that were stored: those whose article is still as it was read. Rows of lost articles go."""
    columns = ("article_id", "content_hash", "outcome")
    current = {row[0]: row[1] or "" for row in rows.frame(RawArticle, keys, columns).iter_rows() if row[2] == "ok"}
    stored = rows.frame(record, keys, ("article_id",)).to_series().to_list()
    kept = [row for row in changed if current.get(row.article_id) == read[row.article_id]]
    if gone := [article_id for article_id in stored if article_id not in current]:
        rows.delete(record, article_id=gone)
    if kept:
        rows.upsert(kept)
    return kept
