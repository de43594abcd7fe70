"""Stores what a run has made: batches of polls or articles, item by item where that
fails, and the rows that a stage makes from articles.

A stage reads its articles, works on them for seconds or minutes, and writes in one
short transaction. A row is stored only while its article is still as it was read; what
changed meanwhile is outdated again and done by the next run.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.failures import (
    drop_failures,
    failure_of,
    record_outage,
    record_outcomes,
)
from news_assets.pipeline.stage_declaration import Stage
from news_assets.ports.services import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure
from news_assets.records.reading import AgencyDays

_T = TypeVar("_T")
_R = TypeVar("_R")

_MAX_MESSAGE_CHARS = 300


def store_apart(
    batch: Sequence[_T],
    store: Callable[[Sequence[_T]], list[_R]],
    failed: Callable[[_T, str], _T],
) -> list[_R]:
    """Store a batch and return the result; where that fails, store each item alone.

    An item that cannot be stored alone either is stored as `failed(item, reason)`, so
    it costs only itself.

    Raises:
        NewsAssetsError: The store is unavailable: another attempt can succeed.
    """
    try:
        return store(batch)
    except (
        Exception
    ) as error:  # a bug that one item uncovers must not stop its neighbours
        if isinstance(error, NewsAssetsError) and error.is_transient:
            raise
        if len(batch) > 1:
            stored: list[_R] = []
            for item in batch:
                stored += store_apart([item], store, failed)
            return stored
        message = " ".join(f"{type(error).__name__}: {error}".split())[
            :_MAX_MESSAGE_CHARS
        ]
    return store([failed(batch[0], f"could not be stored: {message}")])


def with_ticks(
    items: Generator[_T, None, None], tick_s: float
) -> Generator[_T | None, None, None]:
    """Yield the items, and None whenever none has arrived for `tick_s` seconds.

    A thread waits for the next item: `next` may block for a minute, until a slow source
    answers, and a batch that is due must not wait for that. Items that arrive while a
    batch is stored stay in the fetcher's own queue.
    """
    reader = ThreadPoolExecutor(1, thread_name_prefix="items")
    try:
        arriving = reader.submit(next, items)
        while True:
            if not wait([arriving], tick_s).done:
                yield None
                continue
            try:
                item = arriving.result()
            except StopIteration:
                return
            arriving = reader.submit(next, items)
            yield item
    finally:
        reader.submit(items.close)  # runs when the pending `next` has returned
        reader.shutdown(wait=False)


# --- rows made from articles ----------------------------------------------------------


_NONE: Final[Mapping[str, str | None]] = MappingProxyType({})


class _Derived(Protocol):
    @property
    def article_id(self) -> str: ...


Derived = TypeVar("Derived", bound=_Derived)


def states_of(articles: Sequence[RawArticle]) -> dict[str, str]:
    """Return the state of each article by its id."""
    return {article.article_id: article.content_hash for article in articles}


def _present_states(rows: Rows, keys: AgencyDays) -> dict[str, str]:
    """Return the states of the articles with a text, by their ids."""
    columns = ("article_id", "content_hash", "text_chars")
    current: dict[str, str] = {}
    for row in rows.frame(RawArticle, keys, columns, outcome=["ok"]).iter_rows():
        article_id, state, text_chars = row
        if text_chars:
            current[article_id] = state or ""
    return current


def store_derived(
    rows: Rows,
    stage: Stage,
    keys: AgencyDays,
    changed: Sequence[Derived],
    read_states: Mapping[str, str],
    now: datetime,
    provisional: Mapping[str, str | None] = _NONE,
) -> list[Derived]:
    """Store the rows whose article is still as it was read, and return them. Rows of lost
    articles are deleted.

    Which of the stored rows failed is recorded. An article without a text does not
    count as an article, as in `store/queries/backlog.py`: if the two differed, such an
    article would stay in the backlog for ever.

    Args:
        rows: The transaction.
        stage: The stage that made the rows.
        keys: The agency-days it works on.
        changed: Rows that are new or changed.
        read_states: The states in which their articles were read, by article id.
        now: The time of attempts that failed.
        provisional: Why rows with `is_provisional` are to be made again, by article id.
            Rows with None are due at once, and leave an earlier failure as it is.
    """
    current = _present_states(rows, keys)
    stored = rows.frame(stage.record, keys, ("article_id",)).to_series().to_list()
    gone = set(stored) - current.keys()
    if gone:
        rows.delete(stage.record, article_id=gone)
        drop_failures(rows, stage, gone)
    kept: list[Derived] = []
    for row in changed:
        if current.get(row.article_id) == read_states[row.article_id]:
            kept.append(row)
    if kept:
        rows.upsert(kept)
        if stage.then is not None:
            stage.then(rows, kept)
    _record_derived(rows, stage, kept, read_states, now, provisional)
    return kept


def _record_derived(
    rows: Rows,
    stage: Stage,
    kept: Sequence[Derived],
    read_states: Mapping[str, str],
    now: datetime,
    provisional: Mapping[str, str | None],
) -> None:
    """Store which of these stored rows failed, and when provisional ones are retried."""
    final: list[Derived] = []
    retries: list[Failure] = []
    for row in kept:
        reason = provisional.get(row.article_id)
        if row.article_id not in provisional:
            final.append(row)
        elif reason is not None:
            version = read_states[row.article_id]
            retries.append(failure_of(row, stage.name, version, reason, now))
    record_outcomes(rows, stage, final, now)
    record_outage(rows, stage, retries)
