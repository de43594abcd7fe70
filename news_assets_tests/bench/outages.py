"""Recovery after a server was unavailable for 60 s: seconds after its restart until
everything is current.

    python -m news_assets_tests.bench.outages [broker postgres] [--seconds 60]

Runs the scale-out profile, whose Postgres holds Dagster's storage and the lake's
catalog. Entries are stored before the outage and right after it.
"""

import argparse
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.support.profile_with_desk import (
    RunningDesk,
    exported_model,
    profile_with_desk,
)
from news_assets_tests.support.profiles import ScaleoutProfile
from news_assets_tests.support.synthetic_desk import stored_entries

TARGET_S, AGENCIES, PER_DAY = 120.0, 40, 3


def recovery_s(running: RunningDesk) -> float:
    """Return the seconds until everything is current, over connections opened after the
    outage.
    """
    started = time.monotonic()
    with Lake.open(
        running.profile.env["NEWS_CATALOG"], running.home / ".news" / "data"
    ) as lake:
        reconnected = RunningDesk(
            running.profile,
            running.site,
            running.desk,
            running.home,
            lake,
            running.index,
        )
        store(reconnected, 1)
        reconnected.wait_until_current()
        seconds = time.monotonic() - started
        stored = lake.frame(RawArticle, None, ("article_id",), outcome=["ok"])[
            "article_id"
        ]
        documents = running.index.stored(running.desk.key)["article_id"]
        assert (
            len(stored) == stored.n_unique() == len(documents) == 2 * AGENCIES * PER_DAY
        ), (
            len(stored),
            len(documents),
        )
    return seconds


def store(running: RunningDesk, days_ago: int) -> None:
    """Store the entries of one day as a poll does."""
    day = running.today - timedelta(days=days_ago)
    running.lake.transact(
        lambda rows: rows.upsert(
            stored_entries(running.desk, [day], PER_DAY, datetime.now(UTC))
        )
    )


def measure(what: str, outage_s: float, models_dir: Path) -> bool:
    """Print the result of one outage; return whether recovery was within the target."""
    with profile_with_desk(
        "scaleout", models_dir, datetime.now(UTC).date() - timedelta(days=9), AGENCIES
    ) as running:
        profile = running.profile
        assert isinstance(profile, ScaleoutProfile)
        server = profile.rabbitmq if what == "broker" else profile.postgres
        profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        store(running, 0)
        time.sleep(3)  # until runs are active
        server.stop()
        time.sleep(outage_s)
        server.start()
        seconds = recovery_s(running)
        with profile.instance as instance:
            runs = Counter(run.status.value for run in instance.get_runs())
    print(
        f"{what:9} unavailable for {outage_s:.0f} s: current {seconds:.0f} s after its restart "
        f"(target {TARGET_S:.0f}), every article stored and indexed once; runs: {dict(runs)}",
        flush=True,
    )
    return seconds <= TARGET_S


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*", default=["broker", "postgres"])
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with exported_model() as models:
        sys.exit(
            not all(
                [measure(what, options.seconds, models) for what in options.servers]
            )
        )


if __name__ == "__main__":
    main()
