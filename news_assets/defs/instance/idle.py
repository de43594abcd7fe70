"""What a worker gives back after minutes without a run."""

import ctypes
import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

# polls of a newsroom are more frequent by day, and to load a model takes 0.5 s
IDLE_S = 300.0


class IdleTimer:
    """Calls `release` once no run was in progress for `idle_s`: `with timer:` around
    each run.

    A run that begins meanwhile waits until `release` has returned. `has_released` is
    whether it was called since the last run.
    """

    def __init__(self, release: Callable[[], None], idle_s: float = IDLE_S) -> None:
        self._release, self._idle_s = release, idle_s
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self.has_released = False

    def __enter__(self) -> Self:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.has_released = False
        self._timer = threading.Timer(self._idle_s, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        with self._lock:
            if self._timer is threading.current_thread():
                self._release()
                self.has_released = True


def give_memory_back() -> None:
    """Return freed memory to the system, where the C library can."""
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
