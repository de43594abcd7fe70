"""Kills workers during their runs and checks that every article is stored and indexed
once without intervention.

python -m news_assets_tests.bench.killed_workers [plain local scaleout] [--kills 10]
"""

import argparse
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from operator import methodcaller
from pathlib import Path

import psutil

from news_assets.records.articles import RawArticle
from news_assets_tests.support.profile_with_desk import (
    ALL,
    exported_model,
    profile_with_desk,
)
from news_assets_tests.support.profiles import Profile
from news_assets_tests.support.synthetic_desk import stored_entries

AGENCIES, PER_DAY = 40, 3


def kill_during_a_run(profile: Profile, rng: random.Random, killed: set[str]) -> None:
    """Kill the process that executes a run, up to two seconds after it started."""
    while True:
        with profile.instance as instance:
            active = [
                run
                for run in instance.get_runs(limit=10)
                if run.status.value == "STARTED"
            ]
        fresh = [
            run
            for run in active
            if run.job_name == "synthetic_articles" and run.run_id not in killed
        ]
        if fresh:
            time.sleep(rng.uniform(0.1, 2.0))
            with suppress(StopIteration, IndexError, psutil.Error, ProcessLookupError):
                run = profile.run(fresh[0].run_id)
                if not run.is_finished:
                    profile.kill_worker(profile.pid_of_worker(run))
                    killed.add(run.run_id)
                    return
        time.sleep(0.05)


def measure(name: str, kills: int, models_dir: Path) -> bool:
    """Print the result of one profile; return whether no article was lost or stored
    twice.
    """
    rng, killed = random.Random(11), set[str]()
    today = datetime.now(UTC).date()
    with profile_with_desk(
        name, models_dir, today - timedelta(days=kills), agencies=AGENCIES
    ) as running:
        running.profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        expected: set[str] = set()
        started = time.perf_counter()
        for number in range(kills):
            entries = stored_entries(
                running.desk,
                [today - timedelta(days=number)],
                PER_DAY,
                datetime.now(UTC),
            )
            expected |= {entry.article_id for entry in entries}
            running.lake.transact(methodcaller("upsert", entries))
            kill_during_a_run(running.profile, rng, killed)
        killing_s = time.perf_counter() - started
        current_s = running.wait_until_current()
        running.wait_until_quiet()
        stored = Counter(
            running.lake.frame(RawArticle, None, ("article_id",), outcome=["ok"])[
                "article_id"
            ].to_list()
        )
        documents = Counter(running.index.stored("synthetic")["article_id"].to_list())
        with running.profile.instance as instance:
            runs = Counter(
                run.status.value
                for run in instance.get_runs()
                if run.job_name == "synthetic_articles"
            )
    lost = len(expected - stored.keys()) + len(expected - documents.keys())
    twice = sum(
        count - 1 for counts in (stored, documents) for count in counts.values()
    )
    print(
        f"{name:9} {len(killed)} workers killed within {killing_s:.0f} s, {len(expected)} articles: {lost} lost, "
        f"{twice} twice, current {current_s:.0f} s after the last kill; runs: {dict(runs)}",
        flush=True,
    )
    return lost == twice == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="*", default=list(ALL))
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    with exported_model() as models:
        sys.exit(
            not all([measure(name, options.kills, models) for name in options.profiles])
        )


if __name__ == "__main__":
    main()
