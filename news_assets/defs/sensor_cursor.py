"""A sensor's memory, and how its tick waits for something to happen; what to ask for is not decided here.

The daemon begins a tick every five seconds. Instead of looking once, it looks whenever the lake has moved, until it has
something to ask for or its time is over; between two looks it costs the lake a few milliseconds a second. A look goes
back over the last weeks; once a minute, less often where that takes long, one sweeps the whole grid.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from news_assets.defs.clock import utc_now
from news_assets.pipeline.freshness.run_planner import Asked, Cell, memory_from_json, memory_to_json

TICK_S = 4.4  # the daemon begins the next tick five seconds after this one
_PAUSE_S = 0.2
_LOOK_AGAIN_S = 30.0  # what becomes due by the clock moves nothing in the lake
_LOOK_AGAIN_WAITING_S = 1.0
_LOOK_SHARE = 0.08  # of one core at most while runs are going: among 100 pending agency-days a look takes 0.25 s
_SWEEP_S = 60.0
_SWEEP_SHARE = 0.02  # of one core at most: among 500,000 articles a sweep takes 4 s


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a sensor remembers: the commit it last looked at, when and how long, and what it asked for by desk."""

    snapshot: int = -1
    looked_at: float = 0.0
    swept_at: float = 0.0
    look_s: float = 0.0
    sweep_s: float = 0.0
    is_waiting: bool = False
    memory: Mapping[str, Mapping[Cell, Asked]] = field(default_factory=dict)

    @classmethod
    def read(cls, written: str | None) -> "Cursor":
        """Return the cursor that was written down; a new one where it cannot be read."""
        try:
            stored = json.loads(written or "{}")
            memory = {desk: memory_from_json(rows) for desk, rows in stored.pop("memory", {}).items()}
            return cls(memory=memory, **stored)
        except (ValueError, TypeError, AttributeError):
            return cls()

    def written(self) -> str:
        """Return it as text."""
        memory = {desk: memory_to_json(asked) for desk, asked in self.memory.items() if asked}
        return json.dumps(
            {
                "snapshot": self.snapshot,
                "looked_at": self.looked_at,
                "swept_at": self.swept_at,
                "look_s": self.look_s,
                "sweep_s": self.sweep_s,
                "is_waiting": self.is_waiting,
                "memory": memory,
            }
        )

    def has_to_look(self, snapshot: int, now_s: float) -> bool:
        """Whether there may be something new since the last look."""
        since_s = now_s - self.looked_at
        if self.is_waiting:  # runs are going, and move the lake all the time
            return since_s >= max(_LOOK_AGAIN_WAITING_S, self.look_s / _LOOK_SHARE)
        return snapshot != self.snapshot or since_s >= _LOOK_AGAIN_S

    def has_to_sweep(self, now_s: float) -> bool:
        """Whether the look is to go over the whole grid."""
        return now_s - self.swept_at >= max(_SWEEP_S, self.sweep_s / _SWEEP_SHARE)


def moments(tick_s: float) -> Iterator[datetime]:
    """Yield the time, five times a second, until the tick's time is over."""
    ends_at = time.monotonic() + tick_s
    yield utc_now()
    while time.monotonic() < ends_at:
        time.sleep(_PAUSE_S)
        yield utc_now()
