"""What a sensor remembers between ticks, and how long a tick waits for changes.

The daemon starts a tick within two seconds after the one before. During its tick a
sensor evaluates the backlog whenever the lake has changed, until it has runs to request
or the tick's time is over. An evaluation covers the last weeks; once a minute, less
often where that takes long, a sweep covers the whole grid. While nothing happens ticks
are longer: Dagster's work for a tick costs some 30 ms of two processes, to look whether
the catalog was written 20 microseconds.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import dagster as dg

from news_assets.defs.partitions import utc_now
from news_assets.defs.resources import mark_of_open_lake
from news_assets.pipeline.run_planner import (
    AgencyDay,
    LastRun,
    last_runs_from_json,
    last_runs_to_json,
)
from news_assets.store.lake import Lake, Mark

TICK_S = 4.4  # a row is stored for each tick
# ticks that a tick of a quiet lake takes; to stop Dagster takes as long
_QUIET_TICKS = 3
_QUIET_AFTER_S = 30.0
_PAUSE_S = 0.1
# work that becomes due by the clock changes nothing in the lake
_EVALUATE_AGAIN_S = 60.0
_EVALUATE_AGAIN_ACTIVE_S = 0.5
# of one core during runs: with 100 pending agency-days an evaluation takes 0.25 s
_EVALUATE_SHARE = 0.08
# bounds that: the first evaluation of a process takes 0.6 s, so the second would wait
# for 8 s
_MAX_WAIT_S = 3.0
_SWEEP_S = 60.0
_SWEEP_SHARE = 0.02  # of one core at most: among 500,000 articles a sweep takes 4 s


@dataclass(frozen=True, slots=True)
class Cursor:
    """The state of a sensor.

    Attributes:
        mark: The mark of the lake that was last seen.
        snapshot: The last commit of the lake that was seen.
        evaluated: The commit of the lake that was last evaluated.
        changed_at: Time when a later commit was last seen, epoch seconds.
        evaluated_at: Time of the last evaluation, epoch seconds.
        swept_at: Time of the last sweep, epoch seconds.
        evaluation_s: Duration of the last evaluation.
        sweep_s: Duration of the last sweep.
        has_backlog: Whether the last evaluation found work.
        last_runs: Those of each desk's agency-days.
    """

    mark: Mark = ()
    snapshot: int = -1
    evaluated: int = -1
    changed_at: float = 0.0
    evaluated_at: float = 0.0
    swept_at: float = 0.0
    evaluation_s: float = 0.0
    sweep_s: float = 0.0
    has_backlog: bool = False
    last_runs: Mapping[str, Mapping[AgencyDay, LastRun]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str | None) -> "Cursor":
        """Return a stored cursor; a new one where it cannot be read."""
        try:
            stored = json.loads(text or "{}")
            last_runs: dict[str, Mapping[AgencyDay, LastRun]] = {}
            for desk, rows in stored.pop("attempts", {}).items():
                last_runs[desk] = last_runs_from_json(rows)
            mark = tuple(stored.pop("mark", ()))
            return cls(last_runs=last_runs, mark=mark, **stored)
        except (ValueError, TypeError, AttributeError):
            return cls()

    def to_json(self) -> str:
        """Return the cursor as text."""
        attempts: dict[str, list[list[object]]] = {}
        for desk, of_desk in self.last_runs.items():
            if of_desk:
                attempts[desk] = last_runs_to_json(of_desk)
        return json.dumps(
            {
                "mark": self.mark,
                "snapshot": self.snapshot,
                "evaluated": self.evaluated,
                "changed_at": self.changed_at,
                "evaluated_at": self.evaluated_at,
                "swept_at": self.swept_at,
                "evaluation_s": self.evaluation_s,
                "sweep_s": self.sweep_s,
                "has_backlog": self.has_backlog,
                "attempts": attempts,
            }
        )

    def after(self, mark: Mark, snapshot: int, now_s: float) -> "Cursor":
        """Return the cursor after a look at the lake, whose last commit is `snapshot`."""
        changed_at = self.changed_at if snapshot == self.snapshot else now_s
        return replace(self, mark=mark, snapshot=snapshot, changed_at=changed_at)

    def tick_s(self, tick_s: float, now_s: float) -> float:
        """Return how long a tick waits: `tick_s`, or longer while nothing happens."""
        if self.has_backlog or now_s - self.changed_at < _QUIET_AFTER_S:
            return tick_s
        return tick_s * _QUIET_TICKS

    def is_look_due(self, mark: Mark | None, now_s: float) -> bool:
        """Return whether the lake may have another commit, or an evaluation is due
        without one.

        `mark` is that of the lake as it is; None if it is not known.
        """
        return mark is None or mark != self.mark or self.is_evaluation_due(now_s)

    def is_evaluation_due(self, now_s: float) -> bool:
        """Return whether the backlog may have changed since the last evaluation."""
        since_s = now_s - self.evaluated_at
        if self.has_backlog:  # runs in progress change the lake all the time
            wait_s = min(self.evaluation_s / _EVALUATE_SHARE, _MAX_WAIT_S)
            return since_s >= max(_EVALUATE_AGAIN_ACTIVE_S, wait_s)
        return self.snapshot != self.evaluated or since_s >= _EVALUATE_AGAIN_S

    def is_sweep_due(self, now_s: float) -> bool:
        """Return whether the next evaluation is to cover the whole grid."""
        return now_s - self.swept_at >= max(_SWEEP_S, self.sweep_s / _SWEEP_SHARE)


OpenLake = Callable[[], Lake]  # returns the lake that this process has open
# the runs to request, the cursor after it, and the reason where there are none
Evaluation = tuple[list[dg.RunRequest], Cursor, str]


def watch(
    context: dg.SensorEvaluationContext,
    evaluate: Callable[[Lake, Cursor, datetime], Evaluation],
    tick_s: float,
    open_lake: OpenLake,
) -> dg.SensorResult:
    """Evaluate whenever the lake has changed, until there are runs to request or the
    tick's time is over.

    For a sensor with resources Dagster opens its storage at each tick, which costs more
    than all the rest. So the lake is opened here.
    """
    cursor = Cursor.from_json(context.cursor)
    reason = "nothing has changed"
    for now in _times_of_tick(cursor.tick_s(tick_s, utc_now().timestamp())):
        if not cursor.is_look_due(mark_of_open_lake(), now.timestamp()):
            continue
        lake = open_lake()
        # before the commit is read: another one in between is then seen next time
        mark = lake.mark()
        cursor = cursor.after(mark, lake.snapshot(), now.timestamp())
        if cursor.is_evaluation_due(now.timestamp()):
            requests, cursor, reason = evaluate(lake, cursor, now)
            if requests:
                return dg.SensorResult(requests, cursor=cursor.to_json())
    return dg.SensorResult(skip_reason=reason, cursor=cursor.to_json())


def _times_of_tick(tick_s: float) -> Iterator[datetime]:
    """Yield the time, ten times a second, until the tick's time is over."""
    ends_at = time.monotonic() + tick_s
    yield utc_now()
    while time.monotonic() < ends_at:
        time.sleep(_PAUSE_S)
        yield utc_now()
