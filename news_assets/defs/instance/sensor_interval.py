"""The pause between two rounds of the daemon's sensors, which Dagster has no setting
for.

A tick that requests runs ends at once, and the next one starts with the next round.
With Dagster's five seconds an entry that is stored meanwhile waits for up to five
seconds, more than all its stages take.
"""

import sys
from typing import Final

INTERVAL_S: Final = 2.0  # a round costs 10 ms


def shorten_sensor_interval() -> None:
    """Let the daemon start a round of sensors each two seconds; in other processes, do
    nothing.
    """
    daemon = sys.modules.get("dagster._daemon.sensor")
    if daemon is not None:
        daemon.MIN_INTERVAL_LOOP_TIME = INTERVAL_S  # type: ignore[attr-defined]
