"""Time until 100 random pending agency-days are current, and the number of runs it
takes.

    python -m news_assets_tests.bench.pending [plain local scaleout] [--agency-days 100]
    [--days 30]

Two articles of 2 kB in each agency-day, no host delay. The sensors detect the stored
entries and request the runs.
"""

import argparse
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from news_assets.records.articles import RawArticle
from news_assets_tests.support.profile_with_desk import (
    ALL,
    exported_model,
    profile_with_desk,
)
from news_assets_tests.support.synthetic_desk import stored_entries

TARGETS_S = {"plain": 180.0, "local": 60.0, "scaleout": 60.0}
PER_DAY = 2


def measure(name: str, agency_days: int, days: int, models_dir: Path) -> bool:
    """Print the result of one profile; return whether it is within its target."""
    today = datetime.now(UTC).date()
    with profile_with_desk(
        name, models_dir, today - timedelta(days=days - 1)
    ) as running:
        running.profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        span = [today - timedelta(days=n) for n in range(days)]
        cells = [(agency.key, day) for agency in running.desk.agencies for day in span]
        chosen = set(random.Random(7).sample(cells, agency_days))
        entries = stored_entries(running.desk, span, PER_DAY, datetime.now(UTC))
        pending = [entry for entry in entries if (entry.agency, entry.day) in chosen]
        with running.profile.instance as instance:
            runs = instance.get_runs_count()
        running.lake.transact(lambda rows: rows.upsert(pending))
        seconds = running.wait_until_current()
        stored = running.lake.frame(
            RawArticle, None, ("article_id",), outcome=["ok"]
        ).height
        running.wait_until_quiet()
        with running.profile.instance as instance:
            runs = instance.get_runs_count() - runs
    print(
        f"{name:9} {agency_days} agency-days, {len(pending)} articles: current after {seconds:.0f} s "
        f"(target {TARGETS_S[name]:.0f}), {runs} runs, {stored} articles stored",
        flush=True,
    )
    return seconds <= TARGETS_S[name] and stored == len(pending)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="*", default=list(ALL))
    parser.add_argument("--agency-days", type=int, default=100)
    parser.add_argument("--days", type=int, default=30)
    options = parser.parse_args()
    with exported_model() as models:
        sys.exit(
            not all(
                [
                    measure(name, options.agency_days, options.days, models)
                    for name in options.profiles
                ]
            )
        )


if __name__ == "__main__":
    main()
