"""Jobs in no provider's dialect: which lines are run, what comes of each, when the job
ends.
"""

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from news_assets_tests.support.model_server.asked import Answer, Asked
from news_assets_tests.support.model_server.faults import STATUS, Fault

if TYPE_CHECKING:
    from news_assets_tests.support.model_server.server import ModelServer


class BatchFault(Enum):
    """One failure of one batch."""

    REFUSED = auto()  # 400, nothing is made
    LOST_REPLY = auto()  # 500 after the batch was made
    HALF_EXPIRED = auto()  # the second half is not run
    EXPIRED = auto()  # nothing is run
    FAILED = auto()  # refused after it was made, nothing is run
    # each result stands there twice, the second time with another answer
    DUPLICATE_IDS = auto()
    MISSING_IDS = auto()  # every third result is left out
    UNKNOWN_IDS = auto()  # results of ids that were not sent


@dataclass(frozen=True)
class Line:
    """One request of a batch and what came of it: an answer, the HTTP status of an
    error, or None if it was not run.
    """

    custom_id: str
    asked: Asked
    outcome: Answer | int | None


@dataclass
class Job:
    """A batch. `key` is what its maker called it; `polls_left` counts the polls that
    still see it running.
    """

    id: str
    key: str
    model: str
    created_at: int
    lines: list[Line]
    fault: BatchFault | None
    polls_left: int
    details: dict[str, Any] = field(default_factory=dict)
    was_read: bool = False

    @property
    def state(self) -> str:
        """One of running, ended, expired and failed."""
        if self.polls_left > 0:
            return "running"
        by_fault = {
            BatchFault.EXPIRED: "expired",
            BatchFault.HALF_EXPIRED: "expired",
            BatchFault.FAILED: "failed",
        }
        return by_fault.get(self.fault, "ended") if self.fault else "ended"

    def poll(self) -> None:
        """Count one poll."""
        self.polls_left -= 1

    def results(self) -> list[Line]:
        """Return the lines with their results, in another order than they were sent."""
        lines = list(self.lines)
        match self.fault:
            case BatchFault.MISSING_IDS:
                lines = [line for n, line in enumerate(lines) if n % 3]
            case BatchFault.DUPLICATE_IDS:
                lines += [
                    Line(line.custom_id, line.asked, Answer("{}", None))
                    for line in lines
                ]
                return lines
            case BatchFault.UNKNOWN_IDS:
                lines += [
                    Line(f"other-{n}", line.asked, line.outcome)
                    for n, line in enumerate(lines)
                ]
        random.Random(len(lines)).shuffle(lines)
        return lines


def run(
    server: "ModelServer",
    key: str,
    model: str,
    requests: Iterable[tuple[str, Asked, dict[str, Any]]],
    path: str,
) -> Job:
    """Make a job of (custom id, what is asked, body) and run its lines; each run line
    counts as a call.
    """
    with server.lock:
        fault = server.batch_faults.pop(0) if server.batch_faults else None
        requests = list(requests)
        runs = {BatchFault.EXPIRED: 0, BatchFault.FAILED: 0, BatchFault.REFUSED: 0}
        runs |= {BatchFault.HALF_EXPIRED: len(requests) // 2}
        run_count = runs.get(fault, len(requests)) if fault else len(requests)
        lines = [
            Line(
                custom_id,
                asked,
                _outcome(server, asked, path, body) if n < run_count else None,
            )
            for n, (custom_id, asked, body) in enumerate(requests)
        ]
        job = Job(
            f"batch{len(server.jobs) + 1}",
            key,
            model,
            int(server.clock().timestamp()),
            lines,
            fault,
            server.batch_polls,
        )
        if fault is not BatchFault.REFUSED:
            server.jobs.append(job)
        return job


def _outcome(
    server: "ModelServer", asked: Asked, path: str, body: dict[str, Any]
) -> Answer | int:
    fault = server.record(asked, path, body, is_batch=True)
    return (
        STATUS[fault]
        if fault in STATUS
        else server.answer_to(asked, None if fault is Fault.HANG else fault)
    )


def status_of_reply(job: Job) -> int:
    """Return the HTTP status of the reply to the request that made the job."""
    return (
        {BatchFault.REFUSED: 400, BatchFault.LOST_REPLY: 500}.get(job.fault, 200)
        if job.fault
        else 200
    )


def found(server: "ModelServer", job_id: str) -> Job:
    """Return a job."""
    return next(job for job in server.jobs if job.id == job_id)


def jsonl(rows: Iterable[dict[str, Any]]) -> bytes:
    """Return objects as lines of JSON."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def counts(job: Job, **names: Callable[[Answer | int | None], bool]) -> dict[str, int]:
    """Return how many lines each condition holds for; all 0 while the job is running."""
    is_over = job.state != "running"
    return {
        name: sum(holds(line.outcome) for line in job.lines) * is_over
        for name, holds in names.items()
    }
