"""One request at a time per host: the slot and pauses of each host, its own Retry-After,
and the queue of hosts with requests. A vendor's slot counts as one host.

Slots are shared by the threads of a process, and by all processes with the same
`HostSlots`. A worker takes the host that is due next, so hundreds of hosts that wait for
their pause need no threads. A request whose connection failed is repeated.
"""

import heapq
import queue
import random
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import httpx

from news_assets.clients.web.host_slots import HostSlots, HostTimes
from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest
from news_assets.records.desks import VendorLimits
from news_assets.records.reading import Page
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


# --- the queue of hosts ---------------------------------------------------------------

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def host_of(url: str) -> str:
    """Return the host of a URL; empty for an invalid one."""
    try:
        return httpx.URL(url).host
    except httpx.InvalidURL:
        return ""


def run_by_host(
    jobs: Mapping[str, Sequence[_Job]],
    run: Callable[[_Job, threading.Event], _Result],
    wait_s: Callable[[str, _Job], float],
    max_workers: int,
    repeat_s: Callable[[_Job, _Result], float | None] = lambda job, result: None,
    begin_within_s: float | None = None,
) -> Iterator[tuple[_Job, _Result]]:
    """Yield each job with its result as they finish; the jobs of a host run in their
    order.

    At most `max_workers` finished results are buffered. When the caller stops early, no
    further job starts. An exception raised by `run` is raised here after the other jobs
    are done.

    Args:
        jobs: The jobs of each host.
        run: Returns the result of a job. Its event is set when no further job starts.
        wait_s: Returns the seconds until a host may be requested for its next job.
        max_workers: The number of threads.
        repeat_s: Returns the seconds after which a job runs again before the host's
            others, None to yield its result; other hosts go on meanwhile.
        begin_within_s: After these seconds no further job starts, not even one that
            waits to be repeated.
    """
    hosts = _HostQueue(jobs)
    workers = max(1, min(max_workers, len(jobs)))
    pool = ThreadPoolExecutor(workers, thread_name_prefix="fetch")
    work = _Work(hosts, run, wait_s, repeat_s, queue.Queue(maxsize=workers))
    try:
        with hosts.stopped_after(begin_within_s):
            futures = [pool.submit(work.until_stopped) for _ in range(workers)]
            running = workers
            while running:
                item = work.done.get()
                if item is None:
                    running -= 1
                else:
                    yield item
        for future in futures:
            future.result()
    finally:
        work.is_cancelled.set()
        work.drop_results()  # each worker blocks on at most one item, which then fits
        pool.shutdown(wait=False)


@dataclass(slots=True)
class _Work(Generic[_Job, _Result]):
    """What the threads of `run_by_host` do; `done` gets each result, and None at the
    end of each thread.
    """

    hosts: "_HostQueue[_Job]"
    run: Callable[[_Job, threading.Event], _Result]
    wait_s: Callable[[str, _Job], float]
    repeat_s: Callable[[_Job, _Result], float | None]
    done: queue.Queue[tuple[_Job, _Result] | None]
    is_cancelled: threading.Event = field(default_factory=threading.Event)

    def until_stopped(self) -> None:
        """Run jobs as long as there are any."""
        try:
            while (taken := self.hosts.take()) is not None:
                self._run_job(*taken)
        finally:
            self._put(None)

    def _run_job(self, host: str, job: _Job) -> None:
        again: tuple[_Job, float] | None = None
        try:
            result = self.run(job, self.hosts.is_stopped)
            pause_s = self.repeat_s(job, result)
            if pause_s is None:
                self._put((job, result))
            else:
                again = job, pause_s
        finally:
            self.hosts.release(host, self.wait_s, again)

    def _put(self, item: tuple[_Job, _Result] | None) -> None:
        if not self.is_cancelled.is_set():
            self.done.put(item)

    def drop_results(self) -> None:
        """Remove the results that are not yielded any more."""
        while not self.done.empty():
            self.done.get_nowait()


def alternating(
    jobs: Mapping[str, Sequence[_Job]], stays: Callable[[_Job], bool]
) -> Iterator[tuple[str, _Job]]:
    """Yield the jobs with their hosts in an order for a queue of several hosts: one of
    each host after the other.

    After a job that `stays` the next one is of the same host, as long as it has any.
    """
    hosts = deque((host, deque(some)) for host, some in jobs.items() if some)
    while hosts:
        host, waiting = hosts.popleft()
        job = waiting.popleft()
        yield host, job
        if not waiting:
            continue
        if stays(job):
            hosts.appendleft((host, waiting))
        else:
            hosts.append((host, waiting))


class _HostQueue(Generic[_Job]):
    """Hosts with their jobs, ordered by due time, then by the number of jobs that wait."""

    def __init__(self, jobs: Mapping[str, Sequence[_Job]]) -> None:
        self._jobs: dict[str, deque[_Job]] = {}
        self._due: list[tuple[float, int, str]] = []
        for host, of_host in jobs.items():
            if of_host:
                self._jobs[host] = deque(of_host)
                self._due.append((0.0, -len(of_host), host))
        heapq.heapify(self._due)
        self._taken = 0
        self.is_stopped = threading.Event()
        self._changed = threading.Condition()

    def take(self) -> tuple[str, _Job] | None:
        """Wait until a host is due and return it with its next job; None when no jobs
        are left or after `stop`.
        """
        with self._changed:
            while self._may_come():
                wait_s = None
                if self._due:
                    due_at, _, host = self._due[0]
                    wait_s = due_at - time.monotonic()
                    if wait_s <= 0:
                        heapq.heappop(self._due)
                        self._taken += 1
                        return host, self._jobs[host].popleft()
                self._changed.wait(wait_s)
            return None

    def _may_come(self) -> bool:
        """Return whether a job waits, or may after one that runs."""
        if self._due:
            return True
        if self.is_stopped.is_set():
            return False
        return self._taken > 0

    def release(
        self,
        host: str,
        wait_s: Callable[[str, _Job], float],
        again: tuple[_Job, float] | None = None,
    ) -> None:
        """Return a host to the queue after its job, due when its next job may start.

        `again` is a job that runs once more before the others, and its pause in
        seconds.
        """
        with self._changed:
            self._taken -= 1
            pause_s = 0.0
            if again is not None and not self.is_stopped.is_set():
                job, pause_s = again
                self._jobs[host].appendleft(job)
            waiting = self._jobs[host]
            if waiting:
                due_in_s = max(wait_s(host, waiting[0]), pause_s)
                heapq.heappush(
                    self._due, (time.monotonic() + due_in_s, -len(waiting), host)
                )
            self._changed.notify_all()

    @contextmanager
    def stopped_after(self, seconds: float | None) -> Iterator[None]:
        """Stop at the end of the block, or after so many seconds."""
        timer = threading.Timer(seconds or 0.0, self.stop)
        if seconds is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self.stop()

    def stop(self) -> None:
        """Drop every job that has not started, and set `is_stopped`."""
        with self._changed:
            self.is_stopped.set()
            self._due.clear()
            for of_host in self._jobs.values():
                of_host.clear()
            self._changed.notify_all()


# --- quick tries ----------------------------------------------------------------------


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
            if not request.retries_connection:
                return None
            if tried == len(self._pauses_s) or spent_s >= self._total_s:
                return None
            self._tried[host] = tried + 1
            self._spent_s[host] = spent_s
        jitter = random.uniform(1 - _JITTER, 1 + _JITTER)
        return self._pauses_s[tried] * jitter
