"""Decide whether a request whose connection failed is sent again within the same run,
some seconds later.
"""

import random
import threading
from collections.abc import Sequence

from news_assets.errors import FetchError
from news_assets.ports.reading import PageRequest
from news_assets.records.reading import Page

_JITTER = 0.25  # share of the pause


class QuickTries:
    """The quick tries of the hosts of one `fetch_all`.

    A host has one for each of `pauses_s` until it answers: the pages of a host that is
    down fail without further waits. The requests of a URL take at most `total_s` in
    all, without the pauses.
    """

    def __init__(self, pauses_s: Sequence[float], total_s: float) -> None:
        self._pauses_s = pauses_s
        self._total_s = total_s
        self._tried: dict[str, int] = {}
        self._spent_s: dict[str, float] = {}
        self._lock = threading.Lock()

    def spent_s(self, host: str) -> float:
        """Return the seconds that the earlier tries of this host's request took."""
        return self._spent_s.get(host, 0.0)

    def pause_s(
        self,
        host: str,
        request: PageRequest,
        result: Page | FetchError | None,
        spent_s: float,
    ) -> float | None:
        """Return the pause before the request is sent again; None if its result counts.

        `spent_s` are the seconds that its tries have taken, with this one.
        """
        with self._lock:
            self._spent_s.pop(host, None)
            if not isinstance(result, FetchError) or not result.is_connection:
                self._tried.pop(host, None)
                return None
            tried = self._tried.get(host, 0)
            if (
                not request.retries_connection
                or tried == len(self._pauses_s)
                or spent_s >= self._total_s
            ):
                return None
            self._tried[host], self._spent_s[host] = tried + 1, spent_s
        return self._pauses_s[tried] * random.uniform(1 - _JITTER, 1 + _JITTER)
