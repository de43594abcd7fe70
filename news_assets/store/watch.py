"""A cheap watch of a lake's commits, for sensors that wait for the next one."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from news_assets.store.address import Address

Mark = tuple[int, ...]

# all waiting sensors of a process together read a Postgres catalog at most so often
_SHARED_S = 0.2
# SQLite writes a commit to its log, syncs the file, and then lets readers see it
_SETTLED_S = 1.0


class Watch:
    """Reads when a catalog was last written. Thread-safe.

    Of a SQLite catalog that is the time and the size of the file and of its write-ahead
    log, some 20 microseconds for both. Opening the file here would release the locks
    that DuckDB holds on it. A Postgres catalog is on another machine: its last commit
    is read, once for all threads.
    """

    def __init__(
        self,
        address: Address,
        snapshot: Callable[[], int],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._catalog = None if address.is_postgres else Path(address.catalog)
        self._log = Path(f"{address.catalog}-wal")
        self._snapshot, self._clock = snapshot, clock
        self._reading = threading.Lock()
        self._read_at = float("-inf")
        self._mark: Mark = ()

    def mark(self) -> Mark:
        """Return the mark of now, see `Lake.mark`. Raises LakeError where Postgres is
        unavailable.
        """
        if self._catalog is not None:
            return self._of_files(self._catalog)
        with self._reading:
            # a clock may be set back
            if abs(self._clock() - self._read_at) >= _SHARED_S:
                self._mark = (self._snapshot(),)
                self._read_at = self._clock()
            return self._mark

    def _of_files(self, catalog: Path) -> Mark:
        """Return a mark that is another one at each call until all that was written can
        be read.
        """
        mark = *_state_of(catalog), *_state_of(self._log)
        now_ns = round(self._clock() * 1e9)
        is_settled = now_ns - max(mark[0], mark[2]) >= _SETTLED_S * 1e9
        return mark if is_settled else (*mark, now_ns)


def _state_of(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
