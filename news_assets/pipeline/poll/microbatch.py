"""Group polls into batches, each of which is stored in one transaction."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from news_assets.pipeline.batches import with_ticks
from news_assets.pipeline.poll.listings import Polled

_PAUSE_S = 1.0  # least time from one batch to the next
# largest share of the time spent storing: slow transactions get larger, rarer batches
_BUSY_SHARE = 0.2
_MAX_BATCH_BYTES = 40_000_000  # 400 pages of 100 kB
# polls without a listing in one transaction, which takes 0.2 s of CPU whatever it
# stores
MAX_QUIET = 200
_TICK_S = 0.1  # a batch is at most so late


def micro_batches(
    polls: Generator[Polled, None, None],
    pause_s: float = _PAUSE_S,
    max_bytes: int = _MAX_BATCH_BYTES,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[list[Polled]]:
    """Yield the polls in order, in batches that the caller stores before it takes the
    next.

    The first listing is yielded as soon as it arrives. After that, a batch with a
    listing or with MAX_QUIET polls is yielded every `pause_s`, less often if storing
    takes long, and at once if it holds about `max_bytes`. Other polls wait for the next
    listing: a run that is killed before loses them, and the next run polls these
    sources again.
    """
    batch: list[Polled] = []
    held_bytes, not_before = 0, 0.0
    with closing(with_ticks(polls, _TICK_S)) as arrivals:
        for polled in arrivals:
            if polled is not None:
                batch.append(polled)
                held_bytes += _held_bytes(polled)
            if held_bytes >= max_bytes or (
                clock() >= not_before and _is_worth_storing(batch)
            ):
                started_at = clock()
                yield batch
                not_before = started_at + max(
                    pause_s, (clock() - started_at) / _BUSY_SHARE
                )
                batch, held_bytes = [], 0
    if batch:
        yield batch


def _is_worth_storing(batch: list[Polled]) -> bool:
    return len(batch) >= MAX_QUIET or any(
        polled.listing is not None for polled in batch
    )


def _held_bytes(polled: Polled) -> int:
    """Return about how much memory a poll takes: its page, and the listing made of it."""
    return 1000 + (2 * len(polled.page.body) if polled.page else 0)
