"""Turns: who may ask a host now. One request at a time, a pause between two, and the pause a host itself asked for.

Holds between the threads of a process and between the processes of a machine: each host has a lock file and a file with
the time of its last answer in the state folder. Knows nothing of HTTP; what a Retry-After says is read in `headers.py`.

Times are wall-clock seconds, because they outlive the process; they pace requests and decide nothing else.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

MAX_CRAWL_DELAY_S = 30.0  # some sites ask for an hour, which would mean never to be read
MAX_RETRY_AFTER_S = 86_400.0  # remembered for a day at most; the schedule keeps the rest
MAX_WAIT_S = 60.0  # a Retry-After up to this long is waited out, a longer one comes back as an error
_POLL_S = 0.02
_MAX_BUSY_S = 600.0  # no request takes that long: whoever holds the host hangs


class HostAsksForPauseError(Exception):
    """The host has asked for a pause of which `wait_s` seconds are left."""

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s
        super().__init__(f"{wait_s:.0f} s left")


class StoppedError(Exception):
    """The wait was called off."""


@dataclass(frozen=True, slots=True)
class _Times:
    """When the host last answered, the pause that its asker keeps, and until when it wants to be left alone."""

    answered_at: float = 0.0
    pause_s: float = 0.0
    closed_until: float = 0.0

    def pause_left(self, delay_s: float, now: float) -> float:
        """Give the seconds until the pause is over. A time ahead of now comes from a clock that was set back."""
        return 0.0 if self.answered_at > now else self.answered_at + max(self.pause_s, delay_s) - now

    def closed_left(self, now: float) -> float:
        """Give the seconds for which the host wants to be left alone."""
        return min(self.closed_until - now, MAX_RETRY_AFTER_S)


class Politeness:
    """Hands out turns at hosts. `state_dir` is shared by all processes that are to be polite together."""

    def __init__(self, state_dir: Path, delay_s: float, clock: Callable[[], float] = time.time) -> None:
        self._folder = state_dir
        self._delay_s = delay_s
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        state_dir.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def turn(self, host: str, stopping: threading.Event) -> Iterator["Turn"]:
        """Wait until the host may be asked, and hold it for one request.

        Raises:
            HostAsksForPauseError: It has asked for a pause longer than MAX_WAIT_S.
            StoppedError: `stopping` was set meanwhile.
            OSError: The lock file cannot be used, or another process has held it for ten minutes.
        """
        entry = self._host(host)
        with entry.thread_lock:
            self._wait(entry, stopping)
            turn = Turn()
            try:
                yield turn
            finally:
                try:
                    self._remember(entry, turn)
                finally:
                    entry.file_lock.release()

    def wait_s(self, host: str) -> float:
        """Return for how long a turn at this host would have to be waited for, as far as this process knows."""
        entry, now = self._host(host), self._clock()
        closed = entry.times.closed_left(now)
        return max(0.0, entry.times.pause_left(entry.pause_s, now), closed if closed <= MAX_WAIT_S else 0.0)

    def slow_down(self, host: str, crawl_delay_s: float) -> None:
        """Keep to a host's own Crawl-delay where it is longer than ours, up to MAX_CRAWL_DELAY_S."""
        self._host(host).pause_s = max(self._delay_s, min(crawl_delay_s, MAX_CRAWL_DELAY_S))

    def _host(self, host: str) -> "_Host":
        if host not in self._hosts:
            name = hashlib.sha256(host.encode()).hexdigest()[:24]
            self._hosts.setdefault(host, _Host(self._folder / name, self._delay_s))
        return self._hosts[host]

    def _wait(self, entry: "_Host", stopping: threading.Event) -> None:
        """Take the lock file once the host is due; never sleep with it, so that nobody is kept out for longer."""
        while not stopping.is_set():
            self._lock_file(entry, stopping)
            entry.times = entry.read_times()
            now = self._clock()
            wait_s = max(entry.times.pause_left(entry.pause_s, now), entry.times.closed_left(now))
            if wait_s <= 0:
                return
            entry.file_lock.release()
            if entry.times.closed_left(now) > MAX_WAIT_S:
                raise HostAsksForPauseError(entry.times.closed_left(now))
            stopping.wait(wait_s)
        raise StoppedError

    def _lock_file(self, entry: "_Host", stopping: threading.Event) -> None:
        give_up_at = time.monotonic() + _MAX_BUSY_S
        while time.monotonic() < give_up_at:
            try:
                entry.file_lock.acquire(timeout=0)
            except filelock.Timeout:
                if stopping.wait(_POLL_S):
                    raise StoppedError from None
            else:
                return
        raise TimeoutError("another process has held it for ten minutes")

    def _remember(self, entry: "_Host", turn: "Turn") -> None:
        if entry.pause_s == 0 and turn.retry_after_s == 0:
            return
        # The pause counts from the answer: counted from the sending, a slow connect would bring two requests closer
        # together at the server than the pause.
        now = self._clock()
        answered_at = turn.answered_at or now
        entry.times = _Times(answered_at, entry.pause_s, now + turn.retry_after_s if turn.retry_after_s else 0.0)
        entry.times_file.write_text(f"{answered_at} {entry.times.pause_s} {entry.times.closed_until}")


class Turn:
    """One request at a host; its holder says when the answer came and what pause it asks for."""

    def __init__(self) -> None:
        self.answered_at = 0.0
        self.retry_after_s = 0.0


class _Host:
    """What turns at one host are taken with."""

    def __init__(self, path: Path, pause_s: float) -> None:
        self.thread_lock = threading.Lock()
        self.file_lock = filelock.FileLock(path.with_suffix(".lock"), thread_local=False)
        self.times_file = path.with_suffix(".times")
        self.times = _Times()
        self.pause_s = pause_s

    def read_times(self) -> _Times:
        """Read the file; a missing or torn one means that nothing is known."""
        try:
            return _Times(*map(float, self.times_file.read_text().split()))
        except (FileNotFoundError, ValueError, TypeError):
            return _Times()
