"""What a profile costs while nothing happens: CPU and memory of each process, after
some articles.

    python -m news_assets_tests.bench.idle [plain local] [--settle-s 360] [--minutes 2]

After the articles it waits until workers have given their models back. The reference
comes first: `dagster dev` over one asset that does nothing. CPU is in percent of one
core; memory is the proportional set size, in which what processes share
is divided among them.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import psutil
from dagster import RunsFilter

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.settings import Settings
from news_assets_tests.bench.latency import Waiter, by_poll
from news_assets_tests.bench.startup import EMPTY_ASSET
from news_assets_tests.support.profile_with_desk import (
    exported_model,
    profile_with_desk,
)
from news_assets_tests.support.profiles import Profile

GOAL_PERCENT, GOAL_MB = 2.0, 900.0
ARTICLES = 4
_KINDS = {  # a part of the command line, and what the process is
    "instance.worker": "worker",
    "sandbox_child": "reader",
    "api grpc": "code server",
    "code-server start": "parent of the code server",
    "dagster dev": "parent of all",
    "dagster-daemon": "daemon",
    "dagster._daemon": "daemon",
    "webserver": "web server",
    "serve": "pages",
    "supervisord": "supervisor",
}


@dataclass(frozen=True, slots=True)
class Use:
    """What one process has used: its kind, CPU seconds so far, and megabytes now."""

    kind: str
    cpu_s: float
    mb: float


def uses(profile: Profile) -> dict[int, Use]:
    """Return the use of each process of the profile, by process id."""
    found = {}
    for process in profile.tree():
        with suppress(psutil.Error):
            line, times = " ".join(process.cmdline()), process.cpu_times()
            kind = next(
                (kind for part, kind in _KINDS.items() if part in line), line[:40]
            )
            mb = process.memory_full_info().pss / 1e6
            found[process.pid] = Use(kind, times.user + times.system, mb)
    return found


@contextmanager
def after_articles(name: str, models_dir: Path) -> Iterator[Profile]:
    """Run a profile that has processed some articles."""
    embedder = OnnxEmbedder.open(Settings.read().embedding_model, models_dir, 1)
    with profile_with_desk(
        name, models_dir, date(datetime.now(UTC).year, 1, 1), 8, every_minutes=600
    ) as running:
        running.wait_until_quiet()
        waiter = Waiter(running, embedder)
        for number in range(ARTICLES):
            by_poll(running, waiter, f"a{number:03}")
        yield running.profile


@contextmanager
def stock(folder: Path) -> Iterator[Profile]:
    """Run `dagster dev` with Dagster's defaults over an asset that does nothing."""
    (folder / "dagster.yaml").touch()
    (folder / "empty.py").write_text(EMPTY_ASSET, encoding="utf-8")
    profile = Profile(folder, folder, {})
    profile.start("dagster", "dev", "-f", "empty.py", "--port", str(profile.port))
    try:
        profile.wait_until_healthy()
        yield profile
    finally:
        profile.stop()


def measure(name: str, profile: Profile, minutes: float) -> bool:
    """Print the use of each process of a profile; return whether their sum is within
    the goals.
    """
    before, started, began_at = uses(profile), time.monotonic(), datetime.now(UTC)
    time.sleep(minutes * 60)
    after, seconds = uses(profile), time.monotonic() - started
    with profile.instance as instance:
        runs = instance.get_runs(RunsFilter(created_after=began_at))
    print(f"\n{name}; load {os.getloadavg()[0]:.1f}")
    for run in runs:
        print(f"  not idle: {run.job_name} {run.tags.get('dagster/partition', '')}")
    percents = []
    for pid, use in sorted(after.items(), key=lambda item: item[1].kind):
        used_s = use.cpu_s - (before[pid].cpu_s if pid in before else 0.0)
        percents.append(100 * used_s / seconds)
        print(f"  {use.kind:20}{percents[-1]:6.2f} %{use.mb:8.0f} MB")
    percent, mb = sum(percents), sum(use.mb for use in after.values())
    print(
        f"  {'all':20}{percent:6.2f} %{mb:8.0f} MB   goals {GOAL_PERCENT:g} % and {GOAL_MB:g} MB",
        flush=True,
    )
    return percent <= GOAL_PERCENT and mb <= GOAL_MB


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("profiles", nargs="*", default=["plain", "local"])
    parser.add_argument("--settle-s", type=float, default=360.0)
    parser.add_argument("--minutes", type=float, default=2.0)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        stock(Path(folder)) as reference,
    ):
        time.sleep(options.settle_s / 4)
        measure("Dagster alone, with its defaults", reference, options.minutes)
    results = []
    with exported_model() as models:
        for name in options.profiles:
            with after_articles(name, models) as profile:
                time.sleep(options.settle_s)
                title = f"{name}, after {ARTICLES} articles"
                results.append(measure(title, profile, options.minutes))
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
