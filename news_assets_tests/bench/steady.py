"""Cost of polling 160 agencies that publish nothing: CPU beside Dagster's idle CPU, and
growth of its storage.

    python -m news_assets_tests.bench.steady [plain local] [--minutes 60]
    [--idle-minutes 5]

CPU is that of all processes of the profile, in percent of one core. The first poll,
which finds everything new, and the runs it causes are not measured.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil

from news_assets.records.articles import Poll
from news_assets_tests.support.profile_with_desk import (
    RunningDesk,
    exported_model,
    profile_with_desk,
)
from news_assets_tests.support.profiles import Profile

AGENCIES, EVERY_MINUTES = 160, 15
TARGET_PERCENT = 30.0
SENSORS = ("due_sources", "pending_entries", "stale_stages", "lost_documents")


def cpu_s(profile: Profile) -> float:
    """Return the CPU seconds of all processes so far, including those that have ended."""
    total = 0.0
    for process in profile.tree():
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += (
                times.user + times.system + times.children_user + times.children_system
            )
    return total


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def percent(profile: Profile, minutes: float) -> float:
    """Return the CPU use over some minutes, in percent of one core."""
    before, started = cpu_s(profile), time.monotonic()
    time.sleep(minutes * 60)
    return 100 * (cpu_s(profile) - before) / (time.monotonic() - started)


def switch(profile: Profile, names: Iterable[str], *, on: bool) -> None:
    for name in names:
        profile.switch(name, on=on)


def measure(name: str, minutes: float, idle_minutes: float, models_dir: Path) -> bool:
    """Print the CPU use of one profile; return whether it is within the target."""
    today = datetime.now(UTC).date()
    with profile_with_desk(
        name, models_dir, today, every_minutes=EVERY_MINUTES
    ) as running:
        while running.lake.frame(Poll, None, ("polled_at",)).height < AGENCIES:
            time.sleep(1)
        running.wait_until_quiet()
        switch(running.profile, SENSORS, on=False)
        idle = percent(running.profile, idle_minutes)
        switch(running.profile, SENSORS[1:], on=True)
        evaluating = percent(running.profile, idle_minutes)
        switch(running.profile, SENSORS[:1], on=True)
        before = _counts(running)
        busy = percent(running.profile, minutes)
        bytes_, polls, runs = (
            after - first for after, first in zip(_counts(running), before, strict=True)
        )
    hours = minutes / 60
    print(
        f"{name}: {AGENCIES} agencies, each every {EVERY_MINUTES} min, nothing new, {minutes:g} min\n"
        f"  CPU, % of one core: Dagster idle {idle:.1f}, sensors evaluating {evaluating:.1f}, steady polling {busy:.1f}"
        f" (target {TARGET_PERCENT:.0f})\n"
        f"  per hour: {polls / hours:.0f} polls in {runs / hours:.0f} runs; Dagster's storage grows by "
        f"{bytes_ / hours / 1e6:.1f} MB (rows older than a day are deleted daily)",
        flush=True,
    )
    return busy <= TARGET_PERCENT


def _counts(running: RunningDesk) -> tuple[int, int, int]:
    polls = running.lake.frame(Poll, None, ("polled_at",)).height
    with running.profile.instance as instance:
        return (
            folder_bytes(running.home / ".news" / "dagster"),
            polls,
            instance.get_runs_count(),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="*", default=["plain", "local"])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--idle-minutes", type=float, default=5)
    options = parser.parse_args()
    with exported_model() as models:
        results = [
            measure(name, options.minutes, options.idle_minutes, models)
            for name in options.profiles
        ]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
