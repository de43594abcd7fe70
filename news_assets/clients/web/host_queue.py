"""Hosts side by side: many requests in, each with its result out, in the order they arrive.

A host is in one worker's hands at a time, and a worker takes whichever host is due next: hundreds of hosts in their
pauses need no threads. How a request is made comes in as an argument.
"""

import heapq
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def side_by_side(
    jobs: Mapping[str, Sequence[Job]],
    ask: Callable[[Job, threading.Event], Result],
    wait_s: Callable[[str], float],
    max_workers: int,
) -> Iterator[tuple[Job, Result]]:
    """Yield each job with its result; `jobs` are keyed by host, `wait_s` says how long a host is to be left alone.

    At most `max_workers` finished results wait for the caller. Where the caller stops early, no further job is begun
    and the event that `ask` gets is set. An exception of `ask` is raised here after the other jobs are done.
    """
    stopping = threading.Event()
    rota = _Rota(jobs)
    workers = max(1, min(max_workers, len(jobs)))
    done: queue.Queue[tuple[Job, Result] | None] = queue.Queue(maxsize=workers)

    def put(item: tuple[Job, Result] | None) -> None:
        if not stopping.is_set():
            done.put(item)

    def work() -> None:
        try:
            while (taken := rota.take()) is not None:
                host, job = taken
                try:
                    put((job, ask(job, stopping)))
                finally:
                    rota.give_back(host, wait_s(host))
        finally:
            put(None)

    pool = ThreadPoolExecutor(workers, thread_name_prefix="fetch")
    try:
        futures = [pool.submit(work) for _ in range(workers)]
        at_work = workers
        while at_work:
            item = done.get()
            if item is None:
                at_work -= 1
            else:
                yield item
        for future in futures:
            future.result()
    finally:
        stopping.set()
        rota.stop()
        _drain(done)  # a worker has at most one item waiting to be put, for which there is room now
        pool.shutdown(wait=False)


def _drain(done: "queue.Queue[tuple[Job, Result] | None]") -> None:
    while not done.empty():
        done.get_nowait()


class _Rota(Generic[Job]):
    """Which host comes next: the one that is due first, and among those the one with most to do."""

    def __init__(self, jobs: Mapping[str, Sequence[Job]]) -> None:
        self._jobs = {host: deque(of_host) for host, of_host in jobs.items() if of_host}
        self._due = [(0.0, -len(of_host), host) for host, of_host in self._jobs.items()]
        heapq.heapify(self._due)
        self._taken = 0
        self._is_stopped = False
        self._changed = threading.Condition()

    def take(self) -> tuple[str, Job] | None:
        """Wait for a host to be due and take its next job; None when nothing is left or all is stopped."""
        with self._changed:
            while self._due or (self._taken and not self._is_stopped):
                left_s = self._due[0][0] - time.monotonic() if self._due else None
                if left_s is not None and left_s <= 0:
                    host = heapq.heappop(self._due)[2]
                    self._taken += 1
                    return host, self._jobs[host].popleft()
                self._changed.wait(left_s)
            return None

    def give_back(self, host: str, wait_s: float) -> None:
        """Put a host back that a worker is done with."""
        with self._changed:
            self._taken -= 1
            if left := len(self._jobs[host]):
                heapq.heappush(self._due, (time.monotonic() + wait_s, -left, host))
            self._changed.notify_all()

    def stop(self) -> None:
        """Drop all that is not begun."""
        with self._changed:
            self._is_stopped = True
            self._due.clear()
            for of_host in self._jobs.values():
                of_host.clear()
            self._changed.notify_all()
