"""A server away for 60 s while articles come in: how long until everything is current after it has returned.

    python -m news_assets_tests.bench.outages [broker postgres] [--away 60]

The scale-out profile; its Postgres holds Dagster's storage and the lake's catalog. Entries come in before the outage,
and as soon as it is over.
"""

import argparse
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from news_assets.records import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.support.profile_with_desk import RunningDesk, exported_model, profile_with_desk
from news_assets_tests.support.profiles import ScaleoutProfile
from news_assets_tests.support.synthetic_desk import stored_entries

TARGET_S, AGENCIES, PER_DAY = 120.0, 40, 3


def current_again(running: RunningDesk) -> float:
    """Return after how many seconds everything is current; connections from before the outage are not used."""
    started = time.monotonic()
    with Lake.open(running.profile.env["NEWS_CATALOG"], running.home / ".news" / "data") as lake:
        fresh = RunningDesk(running.profile, running.site, running.desk, running.home, lake, running.index)
        store(fresh, 1)
        fresh.wait_until_current()
        seconds = time.monotonic() - started
        stored = lake.frame(RawArticle, None, ("article_id",), outcome=["ok"])["article_id"]
        documents = running.index.stored(running.desk.key)["article_id"]
        assert len(stored) == stored.n_unique() == len(documents) == 2 * AGENCIES * PER_DAY, (
            len(stored),
            len(documents),
        )
    return seconds


def store(running: RunningDesk, days_ago: int) -> None:
    """Store entries as a poll would."""
    day = running.today - timedelta(days=days_ago)
    running.lake.transact(lambda rows: rows.upsert(stored_entries(running.desk, [day], PER_DAY, datetime.now(UTC))))


def measure(what: str, away_s: float, models_dir: Path) -> bool:
    """Print one outage; return whether it was over in time."""
    with profile_with_desk("scaleout", models_dir, datetime.now(UTC).date() - timedelta(days=9), AGENCIES) as running:
        profile = running.profile
        assert isinstance(profile, ScaleoutProfile)
        server = profile.rabbitmq if what == "broker" else profile.postgres
        profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        store(running, 0)
        time.sleep(3)  # until runs are going
        server.stop()
        time.sleep(away_s)
        server.start()
        seconds = current_again(running)
        with profile.instance as instance:
            runs = Counter(run.status.value for run in instance.get_runs())
    print(
        f"{what:9} away for {away_s:.0f} s: current {seconds:.0f} s after its return (target {TARGET_S:.0f}), "
        f"nothing lost or twice; runs: {dict(runs)}",
        flush=True,
    )
    return seconds <= TARGET_S


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*", default=["broker", "postgres"])
    parser.add_argument("--away", type=float, default=60.0)
    given = parser.parse_args()
    with exported_model() as models:
        sys.exit(not all([measure(what, given.away, models) for what in given.servers]))


if __name__ == "__main__":
    main()
