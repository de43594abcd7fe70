"""Rows made from articles, stored only while the article is still as it was read; runs may overlap.

A stage reads its articles, works on them for seconds or minutes, and writes in one short transaction. What changed in
the lake meanwhile is behind again and left to the next run.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from news_assets.pipeline.stage_state.failures import DerivedRow, drop_failures
from news_assets.ports import Rows
from news_assets.records import AgencyDays, RawArticle

Derived = TypeVar("Derived", bound=DerivedRow)


def versions_of(articles: Sequence[RawArticle]) -> dict[str, str]:
    """Return the state of each article, which tells whether it is still the one that was read."""
    return {article.article_id: article.content_hash for article in articles}


def store_derived(
    rows: Rows, keys: AgencyDays, record: type[Derived], changed: Sequence[Derived], read: Mapping[str, str]
) -> list[Derived]:
    """Return the rows that were stored: those whose article is still as it was read. Rows of lost articles go.

    An article without a text is none here, as in `store/queries/backlog.py`: what one of the two counts and the
    other does not
    would be behind for ever.
    """
    found = rows.frame(RawArticle, keys, ("article_id", "content_hash", "text_chars"), outcome=["ok"])
    current = {article_id: state or "" for article_id, state, text_chars in found.iter_rows() if text_chars}
    stored = rows.frame(record, keys, ("article_id",)).to_series().to_list()
    kept = [row for row in changed if current.get(row.article_id) == read[row.article_id]]
    if gone := [article_id for article_id in stored if article_id not in current]:
        rows.delete(record, article_id=gone)
        drop_failures(rows, record, gone)
    if kept:
        rows.upsert(kept)
    return kept
