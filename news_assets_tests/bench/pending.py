"""How long until 100 agency-days that are pending at random are current, and by how many runs.

    python -m news_assets_tests.bench.pending [plain local scaleout] [--agency-days 100] [--days 30]

Two articles of 2 kB each, no pause between requests; nobody asks for anything: the sensors see the stored entries.
"""

import argparse
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from news_assets.records import RawArticle
from news_assets_tests.support.profile_with_desk import ALL, exported_model, profile_with_desk
from news_assets_tests.support.synthetic_desk import stored_entries

TARGETS_S = {"plain": 180.0, "local": 60.0, "scaleout": 60.0}
PER_DAY = 2


def measure(name: str, agency_days: int, days: int, models_dir: Path) -> bool:
    """Print how long one profile takes; return whether it is within its target."""
    today = datetime.now(UTC).date()
    with profile_with_desk(name, models_dir, today - timedelta(days=days - 1)) as running:
        running.profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        span = [today - timedelta(days=n) for n in range(days)]
        cells = [(agency.key, day) for agency in running.desk.agencies for day in span]
        chosen = set(random.Random(7).sample(cells, agency_days))
        entries = stored_entries(running.desk, span, PER_DAY, datetime.now(UTC))
        wanted = [entry for entry in entries if (entry.agency, entry.day) in chosen]
        with running.profile.instance as instance:
            runs = instance.get_runs_count()
        running.lake.transact(lambda rows: rows.upsert(wanted))
        seconds = running.wait_until_current()
        stored = running.lake.frame(RawArticle, None, ("article_id",), outcome=["ok"]).height
        running.wait_until_quiet()
        with running.profile.instance as instance:
            runs = instance.get_runs_count() - runs
    print(
        f"{name:9} {agency_days} agency-days, {len(wanted)} articles: current after {seconds:.0f} s "
        f"(target {TARGETS_S[name]:.0f}), {runs} runs, {stored} articles stored",
        flush=True,
    )
    return seconds <= TARGETS_S[name] and stored == len(wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="*", default=list(ALL))
    parser.add_argument("--agency-days", type=int, default=100)
    parser.add_argument("--days", type=int, default=30)
    given = parser.parse_args()
    with exported_model() as models:
        sys.exit(not all([measure(name, given.agency_days, given.days, models) for name in given.profiles]))


if __name__ == "__main__":
    main()
