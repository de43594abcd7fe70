"""From nothing to a current newsroom: the time and CPU of an article where many wait.

    python -m news_assets_tests.bench.catching_up [plain local] [--articles 200]

A new desk of 8 agencies has this many articles on the day of its first poll. Prints how
long it takes until all are found and in stories, the CPU time of all processes for an
article, and how long each stage took of that, from the events of Dagster's runs: a step
of a run works on many articles, and two workers do so at once.
"""

import argparse
import os
import sys
import time
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path

import dagster as dg

from news_assets_tests.bench.idle import uses
from news_assets_tests.bench.latency import launch
from news_assets_tests.support.profile_with_desk import (
    RunningDesk,
    exported_model,
    profile_with_desk,
)

GOAL_S = 0.42  # an article, two workers on two cores
AGENCIES = 8
WAIT_S = 1200.0


def wait_until_in_stories(running: RunningDesk, articles: int) -> float:
    """Return when this many articles are found and in stories, seconds of the monotonic
    clock.
    """
    counts = (
        "SELECT count(*) FROM indexed_documents",
        "SELECT count(*) FROM story_members",
    )
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        found = [int(running.lake.query(sql).item()) for sql in counts]
        if min(found) >= articles:
            return time.monotonic()
        time.sleep(1.0)
    raise SystemExit(f"found and in stories: {found} of {articles}")


def stage_seconds(instance: dg.DagsterInstance) -> Counter[str]:
    """Return the seconds between start and end of all steps, by the name of the asset."""
    seconds: Counter[str] = Counter()
    for record in instance.get_run_records():
        begun: dict[str, float] = {}
        for entry in instance.all_logs(record.dagster_run.run_id):
            event = entry.dagster_event
            if event is None or event.step_key is None:
                continue
            if event.event_type_value == "STEP_START":
                begun[event.step_key] = entry.timestamp
            if event.event_type_value == "STEP_SUCCESS":
                name = event.step_key.partition("__")[2]
                seconds[name] += entry.timestamp - begun[event.step_key]
    return seconds


def measure(name: str, articles: int, models_dir: Path) -> bool:
    """Print the figures of one profile; return whether an article is within the goal."""
    first_day = date(datetime.now(UTC).year, 1, 1)
    with profile_with_desk(name, models_dir, first_day, AGENCIES) as running:
        running.profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        agencies = [f"a{number:03}" for number in range(AGENCIES)]
        for number in range(articles):
            running.site.publish(agencies[number % AGENCIES], running.today)
        before, started = uses(running.profile), time.monotonic()
        for agency in agencies:
            launch(running, "feed_entries", agency)
        seconds = wait_until_in_stories(running, articles) - started
        running.wait_until_quiet()
        after = uses(running.profile)
        with running.profile.instance as instance:
            stages = stage_seconds(instance)
    cpu_s = sum(use.cpu_s for use in after.values())
    cpu_s -= sum(use.cpu_s for use in before.values())
    an_article = seconds / articles
    print(f"\n{name}: {articles} articles; load {os.getloadavg()[0]:.1f}")
    print(f"  all found and in stories  {seconds:7.1f} s")
    print(f"  an article                {an_article:7.2f} s   goal {GOAL_S:g}")
    print(f"  CPU of an article         {cpu_s / articles:7.2f} s")
    for stage, stage_s in stages.most_common():
        print(f"    {stage:24}{stage_s / articles:7.3f} s")
    sys.stdout.flush()
    return an_article <= GOAL_S


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("profiles", nargs="*", default=["local"])
    parser.add_argument("--articles", type=int, default=200)
    options = parser.parse_args()
    with exported_model() as models:
        results = [measure(name, options.articles, models) for name in options.profiles]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
