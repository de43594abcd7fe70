"""Batches of items that arrive one by one, and that are stored in one transaction each."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from news_assets.errors import NewsAssetsError

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
