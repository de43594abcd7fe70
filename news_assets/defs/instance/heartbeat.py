"""A worker's sign of life while it executes a run, and the judgement of one who watches it.

The beats lie in Dagster's own storage, so they work the same with files and with servers, and are seen from every
machine. A beat is compared with the one seen before and never with a clock: machines need not agree on the time, and
while the storage is away nobody is judged. What is done about a dead worker is Dagster's run monitoring.
"""

import logging
import signal
import threading
from types import TracebackType
from typing import Self

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus

BEAT_S = 2.0
STILL_LOOKS = 3  # unmoved at so many looks in a row is dead: with 3 s between looks 9 to 12 s after the last beat
WORKER_TAG = "news/worker"

_ENDED_BY_OTHERS = (DagsterRunStatus.CANCELING, DagsterRunStatus.CANCELED, DagsterRunStatus.FAILURE)
_logger = logging.getLogger(__name__)


class Heartbeat:
    """Beats from a thread of its own while the main thread executes the run, and interrupts it when others end it."""

    def __init__(self, instance: DagsterInstance, worker: str, run_id: str) -> None:
        self._instance, self._worker, self._run_id = instance, worker, run_id
        self.count = 0  # of beats
        self._over = threading.Event()
        self.has_interrupted = False

    def __enter__(self) -> Self:
        self._beat()
        self._instance.add_run_tags(self._run_id, {WORKER_TAG: self._worker})
        self._thread = threading.Thread(target=self._beat_until_over, name="heartbeat", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat_until_over(self) -> None:
        while not self._over.wait(BEAT_S):
            try:
                self._beat()
                self._interrupt_if_ended()
            except Exception as error:  # noqa: BLE001  whatever the storage raises while it is away, the next beat counts
                _logger.warning("no heartbeat for run %s: %s", self._run_id, error)

    def _beat(self) -> None:
        self.count += 1
        self._instance.daemon_cursor_storage.set_cursor_values({_key(self._worker): f"{self._run_id} {self.count}"})

    def _interrupt_if_ended(self) -> None:
        run = self._instance.get_run_by_id(self._run_id)
        is_ended = run is None or run.status in _ENDED_BY_OTHERS
        if is_ended and not self.has_interrupted and not self._over.is_set():
            self.has_interrupted = True
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)  # to that thread, so that a waiting call returns


class HeartbeatWatch:
    """What one watcher has seen of the workers' beats."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, int]] = {}

    def is_alive(self, instance: DagsterInstance, run: dg.DagsterRun) -> bool:
        """Tell whether the run's worker still executes it; call it at intervals longer than a beat.

        A run that no worker has taken (one started at a command line) executes in a process of its own and counts as
        alive.
        """
        worker = run.tags.get(WORKER_TAG)
        if worker is None:
            return True
        beat = instance.daemon_cursor_storage.get_cursor_values({_key(worker)}).get(_key(worker), "")
        before, still = self._seen.get(worker, ("", 0))
        still = still + 1 if beat == before else 0
        self._seen[worker] = (beat, still)
        return beat.split(" ")[0] == run.run_id and still < STILL_LOOKS


def _key(worker: str) -> str:
    return f"news_assets/heartbeat/{worker}"
