"""Runs a profile over a faulty site for hours, kills its workers and restarts its
servers, and checks what it promised.

    python -m news_assets_tests.soak.run [--minutes 120] [--scaleout] [--seed 1]

One request in ten is answered with a fault, hostile bodies are listed too, articles are
published all the time, and each minute a worker is killed. The last worker is spared,
so that its memory can be measured. The lake is maintained every few minutes instead of
daily: what a process needs grows with the files written since. With --scaleout the
broker, Postgres and the search server are restarted in turn. Prints a line each minute
and a table at the end; exits with 1 if an article is lost or stored twice, or if
memory, open files, connections or locks grow.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil

from news_assets.clients.factory import OpenIndex, open_index
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.failures import make_due
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.derived import Failure
from news_assets.records.desks import Desk
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets.store.maintenance import maintain
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.freshness import lost_documents
from news_assets_tests.soak.processes import Watched, broken, lock_files
from news_assets_tests.soak.site import HOSTILE, FaultySite
from news_assets_tests.support import profiles
from news_assets_tests.support.profile_with_desk import exported_model
from news_assets_tests.support.profiles import Profile, ScaleoutProfile
from news_assets_tests.support.synthetic_desk import ENV
from news_assets_tests.typesense_server import running

AGENCIES, WORKERS, FAULTY_SHARE = 12, 3, 0.1
PUBLISH_S, POLL_S, MEASURE_S, KILL_S, RESTART_S, MAINTAIN_S = (
    2.0,
    20.0,
    10.0,
    60.0,
    240.0,
    300.0,
)
OUTAGE_S = 20.0
SETTLE_S = 1800.0  # at the end, until everything is stored
KEPT_LOG = Path(".news") / "soak.log"  # of the last run that broke a promise
API_KEY = "the-key-of-this-soak"


@dataclass
class Soak:
    """A running profile, its site, and what has been done to them."""

    profile: Profile
    site: FaultySite
    desk: Desk
    rng: random.Random
    open_lake: Callable[[], Lake]
    open_index: Callable[[], OpenIndex]
    outages: Iterator[Callable[[], None]]
    watched: Watched = field(default_factory=Watched)
    published: list[str] = field(default_factory=list)
    locks: list[int] = field(default_factory=list)  # lock files, at each measurement
    kills: int = 0
    restarts: int = 0
    twice: int = 0

    @property
    def today(self) -> date:
        return datetime.now(UTC).date()

    def publish(self) -> None:
        self.published.append(
            self.site.publish(self.rng.choice(self.site.keys), self.today)
        )

    def poll(self) -> None:
        """Request a poll of every source, also of those that are not due."""
        keys = [agency.key for agency in self.desk.agencies]
        tags = {
            "dagster__asset_partition_range_start": keys[0],
            "dagster__asset_partition_range_end": keys[-1],
        }
        # the web server may wait for a Postgres that is restarted
        with suppress(OSError):
            self.profile.launch(f"{self.desk.key}_poll", **tags)

    def measure(self) -> None:
        with suppress(psutil.Error):
            self.watched.measure(self.profile.tree())
        self.locks.append(lock_files(self.profile.home))

    def kill(self) -> None:
        """Kill a worker other than the last."""
        with suppress(psutil.Error, ProcessLookupError, IndexError):
            spared = f"worker{WORKERS - 1}@%h"
            victims = [
                pid
                for pid in self.profile.worker_pids()
                if spared not in psutil.Process(pid).cmdline()
            ]
            self.profile.kill_worker(self.rng.choice(victims))
            self.kills += 1

    def restart(self) -> None:
        """Restart the next server, if the profile has any."""
        if outage := next(self.outages, None):
            outage()
            self.restarts += 1

    def maintain(self) -> None:
        """Maintain the lake as each night, and expire all earlier commits."""
        with suppress(NewsAssetsError), self.open_lake() as lake:
            maintain(lake, now=datetime.now(UTC), keep_days=0)

    def print_line(self, started: float) -> None:
        """Print how far everything is, and note what is stored twice."""
        try:
            with self.open_lake() as lake, self.open_index() as index:
                missing, unindexed, self.twice = self._differences(lake, index)
                failures = len(lake.frame(Failure, None, ("stage",)))
        except NewsAssetsError as error:  # a server is being restarted
            print(f"{(time.monotonic() - started) / 60:5.1f} min  {error}", flush=True)
            return
        memory_mb, locks = self.watched.total_mb(), self.locks[-1]
        print(
            f"{(time.monotonic() - started) / 60:5.1f} min  {len(self.published)} published, {missing} not stored yet, "
            f"{unindexed} not indexed yet, {self.twice} twice, {failures} failures; {self.kills} kills, "
            f"{self.restarts} restarts; {memory_mb:.0f} MB in all processes, {locks} lock files",
            flush=True,
        )

    def _differences(self, lake: Lake, index: OpenIndex) -> tuple[int, int, int]:
        """Return the numbers of good articles not stored, not indexed, and of rows and
        documents that exist twice.
        """
        stored = lake.frame(RawArticle, None, ("url", "article_id", "outcome"))
        good = stored.filter(
            stored["url"].is_in(self.published), stored["outcome"] == "ok"
        )
        documents = index.stored(self.desk.key)["article_id"]
        entries = lake.frame(FeedEntry, None, ("source_id", "entry_id"))
        twice = sum(
            frame.height - frame.unique().height
            for frame in (good.select("url"), stored.select("article_id"), entries)
        )
        indexed = good.filter(good["article_id"].is_in(documents.implode()))
        missing = len(self.published) - good["url"].n_unique()
        return (
            missing,
            good.height - indexed.height,
            twice + len(documents) - documents.n_unique(),
        )

    def run(self, seconds: float) -> None:
        """Do everything at its pace for so long."""
        started = time.monotonic()
        due = {self.publish: 0.0, self.poll: 0.0, self.measure: 0.0}
        due |= {self.kill: KILL_S, self.restart: RESTART_S, self.maintain: MAINTAIN_S}
        pace = dict(
            zip(
                due,
                (PUBLISH_S, POLL_S, MEASURE_S, KILL_S, RESTART_S, MAINTAIN_S),
                strict=True,
            )
        )
        next_line = 60.0
        while (now := time.monotonic() - started) < seconds:
            for action in [one for one, at in due.items() if at <= now]:
                action()
                due[action] = max(
                    due[action] + pace[action], time.monotonic() - started
                )
            if now >= next_line:
                self.print_line(started)
                next_line += 60.0
            time.sleep(0.2)

    def settle(self) -> list[str]:
        """Stop all faults, retry what failed, and return what is broken when nothing is
        left to do.
        """
        self.site.set_faults(0.0)
        deadline = time.monotonic() + SETTLE_S
        found = ["not settled"]
        while found and time.monotonic() < deadline:
            self.poll()
            time.sleep(POLL_S)
            with self.open_lake() as lake:  # as `news-assets failures retry` does
                now = datetime.now(UTC)
                lake.transact(
                    lambda rows, now=now: make_due(rows, now, agency=self.site.keys)
                )
                self._wait_until_current(lake, deadline)
            found = self.broken()
        return found

    def _wait_until_current(self, lake: Lake, deadline: float) -> None:
        """Wait until nothing is left to do for the good agencies."""
        while time.monotonic() < deadline:
            now = datetime.now(UTC)
            backlog = (
                pending_entries(lake, self.desk, now),
                stale_rows(lake, self.desk, now),
            )
            if all(
                rows.filter(rows["agency"] != HOSTILE).is_empty() for rows in backlog
            ):
                return
            time.sleep(2)

    def broken(self) -> list[str]:
        """Return the promises about rows and documents that are broken."""
        with self.open_lake() as lake, self.open_index() as index:
            missing, unindexed, twice = self._differences(lake, index)
            drift = lost_documents(lake, index, self.desk, datetime.now(UTC)).height
            reasons = _reasons(lake, self.published) if missing else []
        counts = {
            "lost": missing,
            "not indexed": unindexed,
            "twice": twice,
            "differ between index and lake": drift,
        }
        return [
            *(f"{count} {what}" for what, count in counts.items() if count),
            *reasons,
        ]


def _reasons(lake: Lake, urls: list[str]) -> list[str]:
    """Return outcome and reason of some articles that are not stored."""
    rows = lake.frame(RawArticle, None, ("url", "outcome", "reason"), url=urls)
    listed = set(lake.frame(FeedEntry, None, ("url",), url=urls)["url"])
    failed = [
        f"{url}: {outcome}, {reason}"
        for url, outcome, reason in rows.iter_rows()
        if outcome != "ok"
    ]
    return [
        *failed[:5],
        *[f"{url}: not listed" for url in urls if url not in listed][:5],
    ]


def print_table(soak: Soak, broken_rows: list[str]) -> bool:
    """Print the result; return whether every promise was kept."""
    served = soak.site.served()
    print(
        f"\nserved: {', '.join(f'{count} {name}' for name, count in sorted(served.items()))}"
    )
    print(
        f"{'process':28} {'memory, MB':>16} {'growth':>7} {'files':>9} {'connections':>11} {'threads':>9}  "
        "memory by tenth of the time, MB"
    )
    grown = []
    for name, pid, before, after in sorted(soak.watched.rows()):
        growth = after.memory_mb / before.memory_mb - 1
        print(
            f"{f'{name} ({pid})':28} {before.memory_mb:7.1f}, {after.memory_mb:7.1f} {growth:7.1%} "
            f"{before.files:4}, {after.files:3} {before.connections:6}, {after.connections:3} "
            f"{before.threads:4}, {after.threads:3}  {' '.join(map(str, soak.watched.course_mb(pid)))}"
        )
        grown += [f"{name}: {what} grew" for what in broken(before, after)]
    if max(soak.locks, default=0) > max(soak.locks[: len(soak.locks) // 2], default=0):
        grown.append(f"lock files grew to {max(soak.locks)}")
    found = [*broken_rows, *grown]
    print(
        f"{len(soak.published)} published, {soak.kills} workers killed, {soak.restarts} servers restarted"
    )
    print(f"broken: {'; '.join(found) or 'nothing'}", flush=True)
    return not found


@contextmanager
def running_soak(is_scaleout: bool, models: Path, seed: int) -> Iterator[Soak]:
    """Start everything and yield it."""
    with ExitStack() as stack:
        home = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="news-soak-"))
        )
        (home / ".news").mkdir()
        (home / ".news" / "models").symlink_to(models)
        site = stack.enter_context(FaultySite(home, AGENCIES, seed))
        env = {
            **ENV,
            "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.0/8",
            "NEWS_DESKS": str(site.file),
        }
        env |= profiles.importing(home, "news_assets_tests.support.loopback_only")
        search = stack.enter_context(running(API_KEY)) if is_scaleout else None
        if search:
            env |= {
                "NEWS_SEARCH": search.url.replace("http://", "typesense://"),
                "NEWS_TYPESENSE_API_KEY": API_KEY,
            }
        start: Any = profiles.scaleout if is_scaleout else profiles.local
        profile = stack.enter_context(start(home, env, workers=WORKERS))
        catalog = profile.env.get("NEWS_CATALOG") or str(
            home / ".news" / "catalog.sqlite"
        )
        yield Soak(
            profile,
            site,
            load_desks([str(site.file)], KINDS)[0],
            random.Random(seed),
            lambda: Lake.open(catalog, home / ".news" / "data"),
            lambda: open_index(
                env.get("NEWS_SEARCH", "embedded"),
                home / ".news" / "search.sqlite",
                API_KEY,
            ),
            _outages(profile, search),
        )


def _outages(profile: Profile, search: Any) -> Iterator[Callable[[], None]]:
    """Yield what makes each server unavailable for a while, in turn; nothing for a
    profile without servers.
    """
    if not isinstance(profile, ScaleoutProfile):
        return

    def restart(server: Any) -> None:
        server.stop()
        time.sleep(OUTAGE_S)
        server.start()

    def restart_search() -> None:
        with search.down():
            time.sleep(OUTAGE_S)

    yield from cycle(
        [
            lambda: restart(profile.rabbitmq),
            lambda: restart(profile.postgres),
            restart_search,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--scaleout", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    options = parser.parse_args()
    # stops everything that was started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with (
        exported_model() as models,
        running_soak(options.scaleout, models, options.seed) as soak,
    ):
        print(
            f"{'scale-out' if options.scaleout else 'local'} profile, seed {options.seed}, {soak.profile.log}",
            flush=True,
        )
        soak.site.set_faults(FAULTY_SHARE)
        soak.run(options.minutes * 60)
        is_kept = print_table(soak, soak.settle())
        if not is_kept:
            KEPT_LOG.parent.mkdir(exist_ok=True)
            KEPT_LOG.write_bytes(soak.profile.log.read_bytes())
    sys.exit(not is_kept)


if __name__ == "__main__":
    main()
