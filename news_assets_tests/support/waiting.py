"""Waiting for other threads and processes. Only something that hangs takes as long as
HANG_S.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

HANG_S = 120.0


def wait_for(
    found: Callable[[], T],
    *,
    pause_s: float = 0.05,
    limit_s: float = HANG_S,
    log: Path | None = None,
) -> T:
    """Return what `found` gives, once it is true.

    Raises:
        AssertionError: Not within `limit_s`; names the file that tells why.
    """
    deadline = time.monotonic() + limit_s
    while not (value := found()):
        hint = f"; see {log}" if log else ""
        assert time.monotonic() < deadline, f"not after {limit_s:.0f} s{hint}"
        time.sleep(pause_s)
    return value
