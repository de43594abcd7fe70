"""Storing rows that a stage made from articles.

A stage reads its articles, works on them for seconds or minutes, and writes in one
short transaction. A row is stored only while its article is still as it was read; what
changed meanwhile is outdated again and left to the next run.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.failures import (
    drop_failures,
    record_outcomes,
    record_provisional,
)
from news_assets.ports.services import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.reading import AgencyDays

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class _Derived(Protocol):
    @property
    def article_id(self) -> str: ...


Derived = TypeVar("Derived", bound=_Derived)


def versions_of(articles: Sequence[RawArticle]) -> dict[str, str]:
    """Return the state of each article by its id."""
    return {article.article_id: article.content_hash for article in articles}


def store_derived(
    rows: Rows,
    stage: Stage,
    keys: AgencyDays,
    changed: Sequence[Derived],
    read: Mapping[str, str],
    now: datetime,
    provisional: Mapping[str, str] = _NONE,
) -> list[Derived]:
    """Return the rows that were stored: those whose article is still as it was read.
    Rows of lost articles are deleted.

    Which of the stored rows failed is recorded. An article without a text does not
    count as an article, as in `store/queries/backlog.py`: if the two differed, such an
    article would stay in the backlog for ever.

    Args:
        rows: The transaction.
        stage: The stage that made the rows.
        keys: The agency-days it works on.
        changed: Rows that are new or changed.
        read: The states in which their articles were read, by article id.
        now: The time of attempts that failed.
        provisional: Why rows with `is_provisional` are to be made again, by article id.
            Rows without a reason are due at once, and leave an earlier failure as it
            is.
    """
    found = rows.frame(
        RawArticle, keys, ("article_id", "content_hash", "text_chars"), outcome=["ok"]
    )
    current = {
        article_id: state or ""
        for article_id, state, text_chars in found.iter_rows()
        if text_chars
    }
    stored = rows.frame(stage.record, keys, ("article_id",)).to_series().to_list()
    kept = [
        row for row in changed if current.get(row.article_id) == read[row.article_id]
    ]
    if gone := [article_id for article_id in stored if article_id not in current]:
        rows.delete(stage.record, article_id=gone)
        drop_failures(rows, stage, gone)
    if kept:
        rows.upsert(kept)
        if stage.then is not None:
            stage.then(rows, kept)
    record_outcomes(
        rows, stage, [row for row in kept if row.article_id not in provisional], now
    )
    made_again = [row for row in kept if provisional.get(row.article_id)]
    record_provisional(rows, stage, made_again, read, provisional, now)
    return kept
