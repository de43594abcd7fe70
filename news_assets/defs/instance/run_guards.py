"""What surrounds a run in the process that executes it: its heartbeat, a watchdog, and
a timer of the minutes without a run.

Heartbeats are cursor values in Dagster's storage, so every machine sees them. The check
counts how often a heartbeat has not changed and uses no clock: machines may disagree
about the time, and while the storage is unavailable no worker counts as dead. Dagster's
run monitoring fails the run of a dead worker.

Where C code or a regular expression keeps the GIL, the heartbeat stands still, the run
is called failed and requested again, but the process would stay. The watchdog ends it,
its supervisor starts it again, and a later run leaves out what stopped this one
(`defs/stage_assets.py`).
"""

import faulthandler
import logging
import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus

INTERVAL_S = 2.0
# checks in a row; at a check every 3 s a worker is dead 9 to 12 s after its last
# heartbeat
MAX_UNCHANGED = 3
WORKER_TAG = "news/worker"

_ENDED_ELSEWHERE = (
    DagsterRunStatus.CANCELING,
    DagsterRunStatus.CANCELED,
    DagsterRunStatus.FAILURE,
)
_logger = logging.getLogger(__name__)


class _ThreadWhileEntered:
    """`with` starts a thread that runs `_run` until `_stopped` is set, at its end."""

    def __init__(self, name: str) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

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

    def _run(self) -> None:
        raise NotImplementedError


class Heartbeat(_ThreadWhileEntered):
    """Write heartbeats in a thread while the main thread executes a run; interrupt it
    if the run is ended elsewhere.
    """

    def __init__(self, instance: DagsterInstance, worker: str, run_id: str) -> None:
        super().__init__("heartbeat")
        self._instance = instance
        self._worker = worker
        self._run_id = run_id
        self.count = 0  # heartbeats written
        self.has_interrupted = False

    def __enter__(self) -> Self:
        self._write()
        self._instance.add_run_tags(self._run_id, {WORKER_TAG: self._worker})
        return super().__enter__()

    def _run(self) -> None:
        while not self._stopped.wait(INTERVAL_S):
            try:
                self._write()
                self._interrupt_if_ended()
            except Exception as error:  # noqa: BLE001  whatever an unavailable storage raises: the next one may succeed
                _logger.warning("No heartbeat for run %s: %s", self._run_id, error)

    def _write(self) -> None:
        self.count += 1
        self._instance.daemon_cursor_storage.set_cursor_values(
            {_key(self._worker): f"{self._run_id} {self.count}"}
        )

    def _interrupt_if_ended(self) -> None:
        run = self._instance.get_run_by_id(self._run_id)
        is_ended = run is None or run.status in _ENDED_ELSEWHERE
        if is_ended and not self.has_interrupted and not self._stopped.is_set():
            self.has_interrupted = True
            main = threading.main_thread().ident
            assert main is not None
            # to the main thread, so that a blocking call returns
            signal.pthread_kill(main, signal.SIGINT)


class HeartbeatMonitor:
    """Decides from successive checks whether the worker of a run is alive."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, int]] = {}

    def is_alive(self, instance: DagsterInstance, run: dg.DagsterRun) -> bool:
        """Return whether the run's worker still executes it; call it at intervals
        longer than INTERVAL_S.

        A run without a worker, such as one started on the command line, counts as
        alive.
        """
        worker = run.tags.get(WORKER_TAG)
        if worker is None:
            return True
        value = instance.daemon_cursor_storage.get_cursor_values({_key(worker)}).get(
            _key(worker), ""
        )
        previous, unchanged = self._seen.get(worker, ("", 0))
        unchanged = unchanged + 1 if value == previous else 0
        self._seen[worker] = (value, unchanged)
        return value.split(" ")[0] == run.run_id and unchanged < MAX_UNCHANGED


def _key(worker: str) -> str:
    return f"news_assets/heartbeat/{worker}"


_LIMIT_S = 60.0  # no library that a run uses keeps the GIL for more than a second
_INTERVAL_S = 2.0


class Watchdog(_ThreadWhileEntered):
    """Ends this process, with the stacks of its threads on stderr (during a run, the
    run's own log of stderr), once no Python code has run for `limit_s`.

    faulthandler's timer needs no GIL. A thread puts it off while it gets the GIL. A
    process has one such timer.
    """

    def __init__(self, limit_s: float = _LIMIT_S) -> None:
        super().__init__("watchdog")
        self._limit_s = limit_s

    def _run(self) -> None:
        while True:
            faulthandler.dump_traceback_later(self._limit_s, exit=True)
            if self._stopped.wait(min(_INTERVAL_S, self._limit_s / 3)):
                faulthandler.cancel_dump_traceback_later()
                return


_IDLE_S = 300.0  # polls of a newsroom are more frequent by day


class IdleTimer:
    """Calls `action` once no run was in progress for `idle_s`: `with timer:` around
    each run.

    A run that begins meanwhile waits until `action` has returned.
    """

    def __init__(self, action: Callable[[], None], idle_s: float = _IDLE_S) -> None:
        self._action, self._idle_s = action, idle_s
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer = threading.Timer(self._idle_s, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        with self._lock:
            if self._timer is threading.current_thread():
                self._action()
