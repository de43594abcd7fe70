"""Per-host rate limiting: one request at a time, a pause after each response, and the
host's own Retry-After.

Shared by the threads of a process, and by all processes with the same `HostSlots`.
"""

import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from news_assets.clients.web.host_slots import HostSlots, HostTimes
from news_assets.ports.services import PageRequest
from news_assets.records.desks import VendorLimits
from news_assets.retry_table import HOST_WAIT, HOST_WAIT_IN_RUN

# some sites state an hour, at which most of their pages would never be fetched
_MAX_CRAWL_DELAY_S = 30.0
# no request takes that long: the process that holds the slot hangs
_MAX_TAKEN_S = 600.0


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


@dataclass(slots=True)
class HostSlot:
    """The right to one request. Its holder sets the time of the response (0: now) and
    the Retry-After it carries.
    """

    responded_at: float = 0.0
    retry_after_s: float = 0.0


class Politeness:
    """Grants the slots of hosts, and of vendors as if each were a host (`vendor_slot`).

    The longest of the pauses set for a host applies. `served` is the host that a
    request in a vendor's slot is for.
    """

    def __init__(self, slots: HostSlots, delay_s: float) -> None:
        self._slots = slots
        self._delay_s = delay_s
        self._hosts: dict[str, _Host] = {}

    @contextmanager
    def slot(
        self, host: str, stopping: threading.Event, served: str = "", url: str = ""
    ) -> Iterator[HostSlot]:
        """Wait until the host may be requested, and hold it for one request;
        `HostSlots.requests_now` shows its `url`.

        Raises:
            RetryAfterError: The host requested a pause longer than HOST_WAIT_IN_RUN.
            StoppedError: `stopping` was set during the wait.
            OSError: The slots cannot be used, or another process has held this one for
                ten minutes.
        """
        entry = self._host(host)
        with entry.thread_lock:
            self._wait(entry, stopping, served, url)
            slot = HostSlot()
            try:
                yield slot
            finally:
                entry.times = self._times_after(entry, slot, served)
                self._slots.release(host, entry.times)

    def wait_s(self, host: str, served: str = "") -> float:
        """Return the seconds until this host may be requested, as far as this process
        knows.
        """
        entry = self._host(host)
        now = self._slots.clock()
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

    def close(self) -> None:
        """Close the slots."""
        self._slots.close()

    def _host(self, host: str) -> "_Host":
        if host not in self._hosts:
            self._hosts.setdefault(host, _Host(host, self._delay_s))
        return self._hosts[host]

    def _wait(
        self, entry: "_Host", stopping: threading.Event, served: str, url: str
    ) -> None:
        """Take the slot once the host is due; it is not held during a pause."""
        while not stopping.is_set():
            entry.times = self._taken(entry, stopping, url)
            now = self._slots.clock()
            retry_s = entry.times.remaining_retry_s(now)
            wait_s = max(entry.remaining_pause_s(served, now), retry_s)
            if wait_s <= 0:
                return
            self._slots.release(entry.name)
            if retry_s > HOST_WAIT_IN_RUN.longest_s:
                raise RetryAfterError(retry_s)
            stopping.wait(wait_s)
        raise StoppedError

    def _taken(self, entry: "_Host", stopping: threading.Event, url: str) -> HostTimes:
        """Return the times of the host, once no other process holds its slot."""
        give_up_at = time.monotonic() + _MAX_TAKEN_S
        while time.monotonic() < give_up_at:
            times = self._slots.take(entry.name, url)
            if times is not None:
                return times
            if stopping.wait(self._slots.poll_s):
                raise StoppedError
        raise TimeoutError("another process has held it for ten minutes")

    def _times_after(self, entry: "_Host", slot: HostSlot, served: str) -> HostTimes:
        # The pause counts from the response: counted from the request, a slow connect
        # would bring two requests closer together at the server than the pause.
        now, retry_at = self._slots.clock(), 0.0
        if slot.retry_after_s:
            retry_at = now + min(slot.retry_after_s, HOST_WAIT.longest_s)
        return HostTimes(slot.responded_at or now, entry.pause_s, retry_at, served)


class _Host:
    """The pauses of one host, or of a vendor's slot, and its times as this process
    knows them.
    """

    def __init__(self, name: str, delay_s: float) -> None:
        self.name = name
        self.thread_lock = threading.Lock()
        self.times = HostTimes()
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
