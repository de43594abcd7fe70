"""Run the jobs of many hosts concurrently, one at a time per host, and repeat a request
whose connection failed. A vendor's slot counts as one host.

A worker takes the host that is due next, so hundreds of hosts that wait for their pause
need no threads.
"""

import heapq
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import httpx

from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest
from news_assets.records.reading import Page

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
