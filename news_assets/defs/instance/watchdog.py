"""Ends a process in which Python code cannot run any more.

Where C code or a regular expression keeps the GIL, the heartbeat stands still, the run
is called failed and requested again, but the process would stay. Its supervisor starts
it again, and the next run leaves out what stopped this one
(`defs/assets/retried_work.py`).
"""

import faulthandler
import threading
from types import TracebackType
from typing import Self

LIMIT_S = 60.0  # no library that a run uses keeps the GIL for more than a second
_INTERVAL_S = 2.0


class Watchdog:
    """Ends this process, with the stacks of its threads on stderr, once no Python code
    has run for `limit_s`.

    faulthandler's timer needs no GIL. A thread puts it off while it gets the GIL. A
    process has one such timer.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._put_off_until_stopped, name="watchdog", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def _put_off_until_stopped(self) -> None:
        while True:
            faulthandler.dump_traceback_later(self._limit_s, exit=True)
            if self._stopped.wait(min(_INTERVAL_S, self._limit_s / 3)):
                faulthandler.cancel_dump_traceback_later()
                return
