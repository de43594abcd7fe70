"""Items that arrive one by one in, what has arrived by now out.

For what costs about the same for one as for many, such as a transaction: the first item is handed on at once, and
whatever comes in the meantime together, so that nobody waits for an item that is late. What is done with them does not
belong here.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

PAUSE_S = 1.0  # from one heap to the next, at least
BUSY_SHARE = 0.2  # of the time at most is spent on heaps: where they are dear, fewer and larger ones come
MAX_WAITING = 40_000_000  # the sizes of what waits, in total: 400 pages of 100 kB


def in_heaps(
    items: Iterator[T], size_of: Callable[[T], int], pause_s: float = PAUSE_S, max_waiting: int = MAX_WAITING
) -> Iterator[list[T]]:
    """Yield the items in their order, as many together as came since the last time, every `pause_s` or when full.

    Who takes long with a heap waits longer for the next (BUSY_SHARE). The items are drawn in a thread of its own, which
    waits where those not taken yet have a size of `max_waiting` together. What `items` raises is raised here behind the
    last item before it. Leaving early closes a generator behind the item it is at.
    """
    arrivals = _Arrivals(size_of, max_waiting)
    threading.Thread(target=arrivals.draw, args=(items,), name="arrivals", daemon=True).start()
    try:
        not_before = 0.0
        while heap := arrivals.take(not_before):
            handed_on = time.monotonic()
            yield heap
            took_s = time.monotonic() - handed_on
            not_before = handed_on + max(pause_s, took_s / BUSY_SHARE)
    finally:
        arrivals.leave()
    if arrivals.error is not None:
        raise arrivals.error


class _Arrivals(Generic[T]):
    """What has been drawn and not been taken."""

    def __init__(self, size_of: Callable[[T], int], max_waiting: int) -> None:
        self.error: BaseException | None = None
        self._waiting: list[T] = []
        self._size = 0
        self._size_of, self._max_waiting = size_of, max_waiting
        self._is_over = False
        self._changed = threading.Condition()

    def draw(self, items: Iterator[T]) -> None:
        """Put every item here until there are no more, or nobody takes them."""
        try:
            for item in items:
                if not self._put(item):
                    break
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that takes
            self.error = error
        finally:
            if isinstance(items, Generator):
                items.close()
            self.leave()

    def _put(self, item: T) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._size < self._max_waiting)
            self._waiting.append(item)
            self._size += self._size_of(item)
            self._changed.notify_all()
            return not self._is_over

    def take(self, not_before: float) -> list[T]:
        """Return what has come, once it is something and it is time (monotonic) or all has come; at the end nothing."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._waiting)
            self._changed.wait_for(
                lambda: self._is_over or self._size >= self._max_waiting,
                timeout=max(0.0, not_before - time.monotonic()),
            )
            taken, self._waiting, self._size = self._waiting, [], 0
            self._changed.notify_all()
            return taken

    def leave(self) -> None:
        """Let nothing more be put here, and nobody wait."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
