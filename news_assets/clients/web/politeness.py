"""Per-host rate limiting: one request at a time, a pause after each response, and the
host's own Retry-After.

Shared by the threads of a process and the processes of a machine: the state folder
holds a lock file and a file of times for each host. Times are wall-clock seconds,
because they outlive the process; they only pace requests.
"""

import hashlib
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import filelock

from news_assets.folders import private_folder
from news_assets.ports.services import PageRequest
from news_assets.records.desks import VendorLimits
from news_assets.retry_table import HOST_WAIT, HOST_WAIT_IN_RUN

# some sites state an hour, at which most of their pages would never be fetched
_MAX_CRAWL_DELAY_S = 30.0
_MAX_PAUSE_S = 3_600.0  # the longest NEWS_HOST_DELAY_S
_LOCK_POLL_S = 0.02
_REQUEST = ".request"  # suffix of the file with the request in progress
# no request takes that long: the process that holds the lock hangs
_MAX_LOCKED_S = 600.0


class RetryAfterError(Exception):
    """The host requested a pause (Retry-After) that ends in `wait_s` seconds."""

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s
        super().__init__(f"{wait_s:.0f} s left")


class StoppedError(Exception):
    """The wait was cancelled."""


def vendor_slot(vendor: VendorLimits, host: str) -> str:
    """Return the name of the vendor's slot that this host's requests take: always the
    same one.
    """
    return f"vendor/{vendor.kind}/{zlib.crc32(host.encode()) % vendor.slots}"


def takes_a_break(request: PageRequest) -> bool:
    """Return whether the vendor's slot pauses before it goes on to another host."""
    vendor = request.access.vendor
    if vendor is None:
        return False
    return vendor.break_s > 0


@dataclass(frozen=True, slots=True)
class _Times:
    """When the host last responded, the pause kept after that, the end of its
    Retry-After, and the host served.
    """

    responded_at: float = 0.0
    pause_s: float = 0.0
    retry_at: float = 0.0
    served: str = ""

    def remaining_pause_s(self, pause_s: float, now: float) -> float:
        """Return the seconds until the pause ends; none if the clock was set back
        before the last response.
        """
        if self.responded_at > now:
            return 0.0
        ends_at = self.responded_at + max(self.pause_s, pause_s)
        return ends_at - now

    def remaining_retry_s(self, now: float) -> float:
        """Return the seconds until the host's Retry-After ends; none if the clock was
        set back.
        """
        if self.responded_at > now:
            return 0.0
        return self.retry_at - now


@dataclass(slots=True)
class HostSlot:
    """The right to one request. Its holder sets the time of the response (0: now) and
    the Retry-After it carries.
    """

    responded_at: float = 0.0
    retry_after_s: float = 0.0


class RequestNow(NamedTuple):
    """A request in progress: its address, and when it began, in seconds since 1970."""

    url: str
    began_at: float


def requests_now(state_dir: Path) -> list[RequestNow]:
    """Return the requests that processes of this machine have sent and not finished,
    the oldest first.

    Requests of killed processes are left out: no process holds the lock of their host.
    """
    found = []
    for file in state_dir.glob(f"*{_REQUEST}"):
        lock = filelock.FileLock(file.with_suffix(".lock"), thread_local=False)
        try:
            with lock.acquire(timeout=0):
                file.unlink(missing_ok=True)
        except filelock.Timeout:
            began_at, _, url = _text_of(file).partition(" ")
            if url:
                found.append(RequestNow(url, float(began_at)))
    return sorted(found, key=lambda one: one.began_at)


def _text_of(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:  # it ended meanwhile
        return ""


class Politeness:
    """Grants the slots of hosts, and of vendors as if each were a host (`vendor_slot`).

    All processes that keep the pauses together share `state_dir`. The longest of the
    pauses set for a host applies. `served` is the host that a request in a vendor's
    slot is for.
    """

    def __init__(
        self, state_dir: Path, delay_s: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = state_dir
        self._delay_s = delay_s
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        private_folder(state_dir)

    @contextmanager
    def slot(
        self, host: str, stopping: threading.Event, served: str = "", url: str = ""
    ) -> Iterator[HostSlot]:
        """Wait until the host may be requested, and hold it for one request;
        `requests_now` shows its `url`.

        Raises:
            RetryAfterError: The host requested a pause longer than HOST_WAIT_IN_RUN.
            StoppedError: `stopping` was set during the wait.
            OSError: The lock file cannot be used, or another process has held it for
                ten minutes.
        """
        entry = self._host(host)
        with entry.thread_lock:
            self._wait(entry, stopping, served)
            slot = HostSlot()
            try:
                if url:
                    entry.request_file.write_text(f"{self._clock()} {url}")
                yield slot
            finally:
                try:
                    entry.request_file.unlink(missing_ok=True)
                    self._remember(entry, slot, served)
                finally:
                    entry.file_lock.release()

    def wait_s(self, host: str, served: str = "") -> float:
        """Return the seconds until this host may be requested, as far as this process
        knows.
        """
        entry, now = self._host(host), self._clock()
        retry_s = entry.times.remaining_retry_s(now)
        if retry_s > HOST_WAIT_IN_RUN.longest_s:  # `slot` raises at once
            retry_s = 0.0
        return max(0.0, entry.remaining_pause_s(served, now), retry_s)

    def set_crawl_delay(self, host: str, crawl_delay_s: float) -> None:
        """Use a host's Crawl-delay where it is longer than the configured pauses, up to
        _MAX_CRAWL_DELAY_S.
        """
        entry = self._host(host)
        entry.crawl_delay_s = min(crawl_delay_s, _MAX_CRAWL_DELAY_S)

    def set_delay(self, host: str, delay_s: float, break_s: float = 0.0) -> None:
        """Raise the pause of a host or a vendor's slot to `delay_s`, in a slot to
        `break_s` before another host.
        """
        entry = self._host(host)
        entry.delay_s = max(entry.delay_s, delay_s)
        entry.break_s = max(entry.break_s, break_s)

    def _host(self, host: str) -> "_Host":
        if host not in self._hosts:
            digest = hashlib.sha256(host.encode())
            path = self._folder / digest.hexdigest()[:24]
            self._hosts.setdefault(host, _Host(path, self._delay_s))
        return self._hosts[host]

    def _wait(self, entry: "_Host", stopping: threading.Event, served: str) -> None:
        """Take the lock file once the host is due; it is not held during a pause."""
        while not stopping.is_set():
            self._lock_file(entry, stopping)
            entry.times = entry.read_times()
            now = self._clock()
            retry_s = entry.times.remaining_retry_s(now)
            wait_s = max(entry.remaining_pause_s(served, now), retry_s)
            if wait_s <= 0:
                return
            entry.file_lock.release()
            if retry_s > HOST_WAIT_IN_RUN.longest_s:
                raise RetryAfterError(retry_s)
            stopping.wait(wait_s)
        raise StoppedError

    def _lock_file(self, entry: "_Host", stopping: threading.Event) -> None:
        give_up_at = time.monotonic() + _MAX_LOCKED_S
        while time.monotonic() < give_up_at:
            try:
                entry.file_lock.acquire(timeout=0)
            except filelock.Timeout:
                if stopping.wait(_LOCK_POLL_S):
                    raise StoppedError from None
            else:
                return
        raise TimeoutError("another process has held it for ten minutes")

    def _remember(self, entry: "_Host", slot: HostSlot, served: str) -> None:
        if entry.pause_s == entry.break_s == slot.retry_after_s == 0:
            return
        # The pause counts from the response: counted from the request, a slow connect
        # would bring two requests closer together at the server than the pause.
        now = self._clock()
        responded_at = slot.responded_at or now
        retry_at = 0.0
        if slot.retry_after_s:
            retry_at = now + min(slot.retry_after_s, HOST_WAIT.longest_s)
        entry.times = _Times(responded_at, entry.pause_s, retry_at, served)
        entry.times_file.write_text(
            f"{responded_at} {entry.pause_s} {retry_at} {served}"
        )


class _Host:
    """Locks, times and pauses of one host, or of a vendor's slot."""

    def __init__(self, path: Path, delay_s: float) -> None:
        self.thread_lock = threading.Lock()
        self.file_lock = filelock.FileLock(
            path.with_suffix(".lock"), thread_local=False
        )
        self.times_file = path.with_suffix(".times")
        self.request_file = path.with_suffix(_REQUEST)
        self.times = _Times()
        self.delay_s = delay_s
        self.crawl_delay_s = 0.0
        self.break_s = 0.0

    @property
    def pause_s(self) -> float:
        """The pause between two requests."""
        return max(self.delay_s, self.crawl_delay_s)

    def remaining_pause_s(self, served: str, now: float) -> float:
        """Return the seconds until a request for the host `served` may be sent."""
        pause_s = self.pause_s
        if self.times.served != served:
            pause_s = max(pause_s, self.break_s)
        return self.times.remaining_pause_s(pause_s, now)

    def read_times(self) -> _Times:
        """Read the file of times; a missing, torn or impossible one counts as no
        earlier request.
        """
        try:
            numbers = self.times_file.read_text().split()
            responded_at, pause_s, retry_at = map(float, numbers[:3])
        except (FileNotFoundError, ValueError):
            return _Times()
        times = _Times(responded_at, pause_s, retry_at, "".join(numbers[3:]))
        is_possible = (
            pause_s <= _MAX_PAUSE_S  # which NaN is not
            and retry_at - responded_at <= 2 * HOST_WAIT.longest_s
        )
        return times if is_possible else _Times()
