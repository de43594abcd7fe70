"""Three machines, each with a network and folders of its own: one with the servers, and
two with a worker.

    python -m news_assets_tests.soak.machines [--articles 200] [--outage 20] [--cut 90]

The first one has Postgres, RabbitMQ, S3, the search server, the site, the code server,
the daemon and the web server. During a backfill and live polling, a worker, the broker
and the database are killed in turn, and the link of a worker's machine is cut. Prints
how long it takes each time until an article that was published before it is indexed.
Exits with 1 if an article is lost or stored twice, or if the site got two requests at
once or a too short pause. The machines are network namespaces of this one, which takes
root.
"""

import argparse
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from dagster import DagsterRun, DagsterRunStatus, RunsFilter

from news_assets.clients.factory import OpenIndex, open_index
from news_assets.defs.instance.run_guards import WORKER_TAG
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.desks import Desk
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets_tests.support import profiles
from news_assets_tests.support.networks import (
    SERVERS,
    Network,
    has_networks,
    machines_of_their_own,
)
from news_assets_tests.support.profile_with_desk import exported_model
from news_assets_tests.support.profiles import Machine, ScaleoutProfile
from news_assets_tests.support.s3 import BUCKET, s3_bucket
from news_assets_tests.support.synthetic_desk import (
    SyntheticSite,
    desk_file,
    stored_entries,
)
from news_assets_tests.support.waiting import wait_for
from news_assets_tests.typesense_server import running

AGENCIES, DAYS = 10, 10
DELAY_S = 0.2  # all agencies are on one host
PUBLISH_S, POLL_S, STEP_S = 5.0, 20.0, 2.0
HEAL_S = 600.0  # on a busy machine
SECOND, THIRD = "second", "third"  # machines, and their workers
API_KEY = "the-key-of-three-machines"
# Postgres ends the session of a machine that vanished, see deploy/README.md
SESSIONS = {
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
T = TypeVar("T")


@dataclass
class Machines:
    """The profile on the first machine, the second one, and what was published."""

    profile: ScaleoutProfile
    second: Machine
    network: Network  # of the second one
    site: SyntheticSite
    desk: Desk
    open_lake: Callable[[], Lake]
    open_index: Callable[[], OpenIndex]
    urls: list[str] = field(default_factory=list)
    _due: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def today(self) -> date:
        return datetime.now(UTC).date()

    def store(self, per_day: int) -> None:
        """Store the entries of the backfill, as polls of earlier days did."""
        days = [self.today - timedelta(days=n) for n in range(1, DAYS + 1)]
        entries = stored_entries(self.desk, days, per_day, datetime.now(UTC))
        with self.open_lake() as lake:
            lake.transact(lambda rows: rows.upsert(entries))
        self.urls += [entry.url for entry in entries]

    def publish(self) -> str:
        """Publish an article and return its address."""
        agency = self.desk.agencies[len(self.urls) % AGENCIES].key
        url = self.site.publish(agency, self.today).url
        self.urls.append(url)
        return url

    def live(self) -> None:
        """Publish and poll, each at its pace."""
        now = time.monotonic()
        if now >= self._due["publish"]:
            self._due["publish"] = now + PUBLISH_S
            self.publish()
        if now >= self._due["poll"]:
            self._due["poll"] = now + POLL_S
            self.poll()

    def poll(self) -> None:
        """Request a poll of every agency, also of those that are not due."""
        keys = [agency.key for agency in self.desk.agencies]
        tags = {
            "dagster__asset_partition_range_start": keys[0],
            "dagster__asset_partition_range_end": keys[-1],
        }
        # the web server may still wait for a server that was restarted
        with suppress(OSError, TypeError, AssertionError):
            self.profile.launch(f"{self.desk.key}_poll", **tags)

    def pending(self) -> int:
        """Return how many articles are not indexed yet."""
        with self.open_lake() as lake, self.open_index() as index:
            return len(set(self.urls) - set(_indexed(lake, index, self.urls)))

    def wait_until_indexed(self, url: str) -> None:
        """Publish and poll until this article is indexed."""

        def is_indexed() -> bool:
            with (
                suppress(NewsAssetsError),
                self.open_lake() as lake,
                self.open_index() as index,
            ):
                return _indexed(lake, index, [url]) == [url]
            return False

        self.wait_until(is_indexed)

    def wait_until(self, found: Callable[[], T], pause_s: float = STEP_S) -> T:
        """Publish and poll until `found` gives something, and return it."""

        def found_meanwhile() -> T:
            self.live()
            return found()

        log = self.profile.log
        return wait_for(found_meanwhile, pause_s=pause_s, limit_s=HEAL_S, log=log)

    def wait_until_current(self) -> None:
        """Wait until everything that was published is stored and indexed."""
        self.poll()

        def is_current() -> bool:
            now = datetime.now(UTC)
            with suppress(NewsAssetsError), self.open_lake() as lake:
                return (
                    pending_entries(lake, self.desk, now).is_empty()
                    and stale_rows(lake, self.desk, now).is_empty()
                    and not self.pending()
                )
            return False

        limit_s = HEAL_S + len(self.urls)
        # each look takes a second of the processors that the workers need
        wait_for(is_current, pause_s=20.0, limit_s=limit_s, log=self.profile.log)

    def run_of_second(self) -> DagsterRun:
        """Wait until the second worker executes a run of the backfill, and return it."""

        def started() -> DagsterRun | None:
            with self.profile.instance as instance:
                runs = instance.get_runs(
                    RunsFilter(statuses=[DagsterRunStatus.STARTED])
                )
            for run in runs:
                is_there = run.tags.get(WORKER_TAG, "").startswith(f"{SECOND}@")
                if is_there and not run.job_name.endswith("_poll"):
                    return run
            return None

        run = self.wait_until(started, pause_s=0.5)
        assert run is not None
        return run

    def runs_by_worker(self) -> Counter[str]:
        """Return how many runs each worker has begun."""
        with self.profile.instance as instance:
            names = [run.tags.get(WORKER_TAG, "") for run in instance.get_runs()]
        return Counter(name.partition("@")[0] for name in names if name)


def _indexed(lake: Lake, index: OpenIndex, urls: Sequence[str]) -> list[str]:
    """Return the addresses of stored articles that are indexed, each as often as it
    is stored.
    """
    documents = set(index.stored("synthetic")["article_id"])
    rows = lake.frame(RawArticle, None, ("url", "article_id"), url=list(urls))
    return [url for url, article_id in rows.iter_rows() if article_id in documents]


# --- failures -------------------------------------------------------------------------


def kill_worker(machines: Machines) -> None:
    """Kill the second worker during a run, and start it again, as Docker does."""
    run = machines.run_of_second()
    machines.profile.kill_worker(machines.profile.pid_of_worker(run))
    machines.profile.start_worker(SECOND, machines.second)


def cut_link(outage_s: float, machines: Machines) -> None:
    """Cut the second machine off during a run, for so long at least, and until another
    machine has done what it left undone. Return when it has begun a run again.
    """
    run = machines.run_of_second()
    url = machines.publish()
    with machines.network.cut():
        started = time.monotonic()

        def is_over() -> bool:
            return machines.profile.run(run.run_id).is_finished

        machines.wait_until(is_over, pause_s=0.5)
        assert machines.profile.run(run.run_id).is_failure, "it ended before the cut"
        dead_s = time.monotonic() - started
        machines.wait_until_indexed(url)
        elsewhere_s = time.monotonic() - started
        machines.wait_until(lambda: time.monotonic() > started + outage_s)
    cut_s = time.monotonic() - started
    again = machines.run_of_second()
    assert again.run_id != run.run_id
    print(
        f"link cut for {cut_s:.0f} s: its run was called dead after {dead_s:.0f} s, an"
        f" article was indexed elsewhere after {elsewhere_s:.0f} s, a run began there"
        f" {time.monotonic() - started - cut_s:.0f} s after the cut",
        flush=True,
    )


def restart(server: Any, outage_s: float, machines: Machines) -> None:
    """Make a server unavailable for so long, while articles are published."""
    server.stop()
    until = time.monotonic() + outage_s
    while time.monotonic() < until:
        time.sleep(PUBLISH_S)
        machines.publish()
    server.start()


def measure(machines: Machines, what: str, fail: Callable[[Machines], None]) -> None:
    """Print how long it took from the failure's end until an article was indexed that
    was published before it.
    """
    url, pending = machines.publish(), machines.pending()
    fail(machines)
    started = time.monotonic()
    machines.wait_until_indexed(url)
    healed_s = time.monotonic() - started
    print(
        f"{what:28} {pending:4} articles pending, healed {healed_s:4.0f} s after it,"
        f" {machines.pending():4} pending then",
        flush=True,
    )


def broken(machines: Machines) -> list[str]:
    """Return the promises that are broken."""
    with machines.open_lake() as lake, machines.open_index() as index:
        found = Counter(_indexed(lake, index, machines.urls))
        documents = index.stored("synthetic")["article_id"]
        entries = lake.frame(FeedEntry, None, ("source_id", "entry_id"))
    requests, most_at_once, shortest_pause_s = machines.site.pace()
    print(
        f"{len(machines.urls)} articles; the site got {requests} requests, at most"
        f" {most_at_once} at once, at least {shortest_pause_s:.3f} s apart (delay"
        f" {DELAY_S} s); runs {dict(machines.runs_by_worker())}",
        flush=True,
    )
    counts = {
        "lost": len(set(machines.urls) - found.keys()),
        "twice": found.total() - len(found),
        "documents twice": len(documents) - documents.n_unique(),
        "entries twice": entries.height - entries.unique().height,
        "requests at once": most_at_once - 1,
        # a killed request counts from before it was sent
        "too short pauses": int(shortest_pause_s < 0.9 * DELAY_S),
    }
    return [f"{count} {what}" for what, count in counts.items() if count]


# --- the machines ---------------------------------------------------------------------


@contextmanager
def three_machines(models: Path) -> Iterator[Machines]:
    """Start everything and yield it."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="news-three-"))
        first = Path(folder) / "first"
        for name in ("first", SECOND, THIRD):
            shutil.copytree(models, Path(folder) / name / ".news" / "models")
        networks = stack.enter_context(
            machines_of_their_own(SECOND, THIRD, buckets=[BUCKET])
        )
        bucket, _ = stack.enter_context(s3_bucket("0.0.0.0"))
        os.environ |= bucket  # the lake is opened here too
        search = stack.enter_context(running(API_KEY, address=SERVERS))
        site = stack.enter_context(
            SyntheticSite(AGENCIES, paragraphs=1, address=SERVERS)
        )
        first_day = datetime.now(UTC).date() - timedelta(days=DAYS)
        desk = desk_file(Path(folder), first_day, site.base, AGENCIES, 5)
        env = {
            "NEWS_ALLOW_PRIVATE_HOSTS": SERVERS,
            "NEWS_HOST_DELAY_S": str(DELAY_S),
            "NEWS_DESKS": str(desk),
            "NEWS_DATA": f"s3://{BUCKET}/lake",
            "NEWS_SEARCH": search.url.replace("http://", "typesense://"),
            "NEWS_TYPESENSE_API_KEY": API_KEY,
            "DAGSTER_MAX_RUNS": "2",
        }
        profile = stack.enter_context(
            profiles.scaleout(first, env, workers=0, address=SERVERS)
        )
        profile.postgres.configure(**SESSIONS)
        _, port = bucket["DUCKDB_S3_ENDPOINT"].split(":")
        of_others = {"DUCKDB_S3_ENDPOINT": f"servers:{port}"}
        second, third = (
            Machine(Path(folder) / name, of_others, networks[name].enter)
            for name in (SECOND, THIRD)
        )
        profile.add_worker(SECOND, second)
        profile.add_worker(THIRD, third)
        yield Machines(
            profile,
            second,
            networks[SECOND],
            site,
            load_desks([str(desk)], KINDS)[0],
            partial(Lake.open, profile.env["NEWS_CATALOG"], env["NEWS_DATA"]),
            partial(open_index, env["NEWS_SEARCH"], first, API_KEY),
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=200)
    parser.add_argument("--outage", type=float, default=20.0, help="in seconds")
    parser.add_argument("--cut", type=float, default=90.0, help="in seconds")
    options = parser.parse_args()
    if not has_networks():
        sys.exit("networks of their own take root and `apt-get install iproute2`")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # each request to S3
    # stops everything that was started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with exported_model() as models, three_machines(models) as machines:
        profile = machines.profile
        print(f"two workers are running, {profile.log}", flush=True)
        machines.store(max(1, options.articles // (AGENCIES * DAYS)))
        measure(machines, "the second worker killed", kill_worker)
        for name, server in (
            ("broker", profile.rabbitmq),
            ("database", profile.postgres),
        ):
            what = f"the {name} gone for {options.outage:.0f} s"
            measure(machines, what, partial(restart, server, options.outage))
        measure(machines, "the link cut", partial(cut_link, options.cut))
        started = time.monotonic()
        machines.wait_until_current()
        print(f"current {time.monotonic() - started:.0f} s later", flush=True)
        found = broken(machines)
        print(f"broken: {'; '.join(found) or 'nothing'}", flush=True)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
