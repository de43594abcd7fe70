"""Items that arrive one by one in, what has arrived by now out.

For what costs about the same for one as for many, such as a transaction: the first item is handed on at once, and
whatever comes in the meantime together, so that nobody waits for an item that is late. What is done with them does not
belong here.
"""

import threading
import time
from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

PAUSE_S = 1.0  # from one heap to the next
MAX_WAITING = 400  # items: those with a page are some 100 kB each, and parsing brings at most 50 of them in a second


def in_heaps(items: Iterator[T], pause_s: float = PAUSE_S, max_waiting: int = MAX_WAITING) -> Iterator[list[T]]:
    """Yield the items in their order, as many together as came since the last time, every `pause_s` or when full.

    They are drawn in a thread of its own, which waits where `max_waiting` are not taken yet. What `items` raises is
    raised here behind the last item before it. Leaving early closes a generator behind the item it is at.
    """
    arrivals: _Arrivals[T] = _Arrivals(max_waiting)
    threading.Thread(target=arrivals.draw, args=(items,), name="arrivals", daemon=True).start()
    try:
        handed_on = -pause_s
        while heap := arrivals.take(handed_on + pause_s):
            handed_on = time.monotonic()
            yield heap
    finally:
        arrivals.leave()
    if arrivals.error is not None:
        raise arrivals.error


class _Arrivals(Generic[T]):
    """What has been drawn and not been taken."""

    def __init__(self, max_waiting: int) -> None:
        self.error: BaseException | None = None
        self._waiting: list[T] = []
        self._max_waiting = max_waiting
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
            self._changed.wait_for(lambda: self._is_over or len(self._waiting) < self._max_waiting)
            self._waiting.append(item)
            self._changed.notify_all()
            return not self._is_over

    def take(self, not_before: float) -> list[T]:
        """Return what has come, once it is something and it is time (monotonic) or all has come; at the end nothing."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._waiting)
            self._changed.wait_for(
                lambda: self._is_over or len(self._waiting) >= self._max_waiting,
                timeout=max(0.0, not_before - time.monotonic()),
            )
            taken, self._waiting = self._waiting, []
            self._changed.notify_all()
            return taken

    def leave(self) -> None:
        """Let nothing more be put here, and nobody wait."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
