"""What a country costs: 40 desks with 50 agencies of five feeds each.

    python -m news_assets_tests.bench.country [--desks 40] [--hours 2]

Part one loads the desk files and definitions. Part two polls for so many hours of
simulated time: the sensor's rules, `poll_agencies` and the lake are the real ones, the
network is made. Sources publish at rates between one article in a week and 60 a day,
mostly by day. Two runs poll at a time; a run takes one second, and .3 s for each 16
sources. A poll's delay is counted from the time that was planned for it. Part three
starts Dagster's web server with these desks, and sends the queries of the UI's lineage
and of its partitions of an asset. Ends with 1 if the median delay exceeds 30 s.
"""

import argparse
import os
import random
import resource
import statistics
import sys
import tempfile
import time
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value

from news_assets.definitions import build_definitions
from news_assets.desks.desk_files import load_desks
from news_assets.errors import FetchError
from news_assets.pipeline.poll.poll import PollOptions, poll_agencies
from news_assets.pipeline.schedule import due_sources, sources_of_runs
from news_assets.ports.services import PageRequest
from news_assets.records.articles import SourceState
from news_assets.records.desks import Desk, Source
from news_assets.records.reading import Page, Validators
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS, adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.bench.full_grid import PARTITION_GRID, graphql, webserver
from news_assets_tests.support.feed_server import rss
from news_assets_tests.support.inline_sandbox import InlineSandbox

AGENCIES, FEEDS = 50, 5
LISTED = 15
STARTS_AT = datetime(2026, 11, 23, 3, tzinfo=UTC)  # a Monday, at midnight in Brasília
RUNS_AT_ONCE = 2
MAX_DELAY_S = 30.0
_AWAKE = range(7, 21)  # the hours in which most is published
_RUN_S, _BATCH_S, _BATCH = 1.0, 0.3, 16
_HEADER = """\
desk: {desk}
timezone: America/Sao_Paulo
language: pt-BR
first_day: 2026-11-01
agencies:
"""


def write_desks(folder: Path, count: int) -> list[str]:
    """Write so many desk files; return their paths."""
    paths: list[str] = []
    for number in range(count):
        desk = f"d{number:02}"
        lines = [_HEADER.format(desk=desk)]
        for agency in range(AGENCIES):
            lines.append(f"  a{agency:02}:\n    name: Agency {agency}\n    sources:\n")
            for feed in range(FEEDS):
                url = f"https://a{agency}.{desk}.example.org/{feed}.xml"
                lines.append(f"      - kind: feed\n        url: {url}\n")
        path = folder / f"{desk}.yaml"
        path.write_text("".join(lines))
        paths.append(str(path))
    return paths


class Laps:
    """Prints the CPU seconds since the last lap, and the peak memory so far."""

    def __init__(self) -> None:
        self._since_s = time.process_time()

    def lap(self, name: str) -> None:
        now_s = time.process_time()
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"  {name:44}{now_s - self._since_s:8.2f} s {peak_mb:7.0f} MB", flush=True
        )
        self._since_s = time.process_time()


def load(paths: Sequence[str], settings: Settings, laps: Laps) -> tuple[Desk, ...]:
    """Load the desks and everything that a code server holds of them."""
    desks = load_desks(paths, ALL_KINDS)
    laps.lap("desk files")
    definitions = build_definitions(settings, desks)
    laps.lap("definitions")
    repository = definitions.get_repository_def()
    snapshot = serialize_value(RepositorySnap.from_def(repository))
    laps.lap(f"snapshot for the UI, {len(snapshot) / 1e6:.1f} MB")
    return desks


# --- the made network -----------------------------------------------------------------


@dataclass(slots=True)
class MadeNetwork:
    """Feeds that publish in simulated time; a `Fetcher`."""

    now: datetime = STARTS_AT
    requests: int = 0
    _times: dict[str, list[datetime]] = field(default_factory=dict)

    def fetch(self, request: PageRequest) -> Page:
        self.requests += 1
        count = bisect_right(self._published(request.url), self.now)
        etag = str(count)
        is_known = request.validators.etag == etag
        body = b"" if is_known else self._feed(request.url, count)
        return Page(
            url=request.url,
            final_url=request.url,
            status=304 if is_known else 200,
            body=body,
            content_type="application/rss+xml",
            validators=Validators(etag=etag),
            fetched_at=self.now,
            elapsed_ms=300,
        )

    def fetch_all(
        self, requests: Iterable[PageRequest], begin_within_s: float | None = None
    ) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        for request in requests:
            yield request, self.fetch(request)

    def _feed(self, url: str, count: int) -> bytes:
        return rss(url, range(max(0, count - LISTED), count))

    def _published(self, url: str) -> list[datetime]:
        if url not in self._times:
            self._times[url] = _times_of(random.Random(url))
        return self._times[url]


def _times_of(chance: random.Random) -> list[datetime]:
    """Return when a source publishes, from two days before the start to two after."""
    a_day = min(60.0, max(1 / 7, chance.lognormvariate(0.5, 1.3)))
    times: list[datetime] = []
    moment = STARTS_AT - timedelta(days=2)
    while moment < STARTS_AT + timedelta(days=2):
        is_awake = (moment.hour - 3) % 24 in _AWAKE
        a_second = a_day * (1.5 if is_awake else 0.3) / 86_400
        moment += timedelta(seconds=chance.expovariate(a_second))
        times.append(moment)
    return times


# --- a simulated day ------------------------------------------------------------------


@dataclass(slots=True)
class Day:
    """What was measured while polling."""

    delays_s: list[float] = field(default_factory=list)
    runs: int = 0
    ticks_s: list[float] = field(default_factory=list)  # CPU, for all desks


def simulate(
    desks: Sequence[Desk], lake: Lake, network: MadeNetwork, hours: float
) -> Day:
    """Poll the due sources of every minute."""
    day = Day()
    free_at = [STARTS_AT] * RUNS_AT_ONCE
    minute, ends_at = STARTS_AT, STARTS_AT + timedelta(hours=hours)
    while minute < ends_at:
        for desk, due in _tick(desks, lake, minute, day):
            slot = free_at.index(min(free_at))
            network.now = max(free_at[slot], minute)
            _count_delays(lake, desk, due, network.now, day)
            _poll(lake, desk, due, network)
            batches = -(-len(due) // _BATCH)
            took_s = _RUN_S + batches * _BATCH_S
            free_at[slot] = network.now + timedelta(seconds=took_s)
        minute += timedelta(minutes=1)
    return day


def _tick(
    desks: Sequence[Desk], lake: Lake, now: datetime, day: Day
) -> list[tuple[Desk, list[Source]]]:
    """Return the polls that the sensor would request, by its rules."""
    started_s = time.process_time()
    polls: list[tuple[Desk, list[Source]]] = []
    states: dict[str, list[SourceState]] = {desk.key: [] for desk in desks}
    for state in lake.read(SourceState, desk=states):
        states[state.desk].append(state)
    for desk in desks:
        due = due_sources(desk.sources, states[desk.key], now)
        runs = sources_of_runs(due, states[desk.key], ())
        polls += [(desk, sources) for sources in runs.values() if sources]
    day.ticks_s.append(time.process_time() - started_s)
    return polls


def _count_delays(
    lake: Lake, desk: Desk, due: Sequence[Source], now: datetime, day: Day
) -> None:
    planned = {
        state.source_id: state.next_poll_at
        for state in lake.read(SourceState, desk=[desk.key])
    }
    day.runs += 1
    for source in due:
        if source.source_id in planned:
            late = now - planned[source.source_id]
            day.delays_s.append(late.total_seconds())


def _poll(lake: Lake, desk: Desk, due: Sequence[Source], network: MadeNetwork) -> None:
    polls = poll_agencies(
        lake,
        desk,
        {source.agency for source in due},
        network,
        InlineSandbox(),
        adapter_of,
        lambda: network.now,
        "bench",
        options=PollOptions(only={source.source_id for source in due}, only_due=True),
    )
    for _ in polls:
        pass


def _folder_mb(folder: Path) -> float:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) / 1e6


def report(day: Day, network: MadeNetwork, folder: Path, hours: float) -> float:
    """Print what a day costs; return the median delay in seconds."""
    delays = sorted(day.delays_s)
    median_s = statistics.median(delays)
    late_s = delays[int(0.99 * len(delays))]
    ticks = sorted(day.ticks_s)
    per_day = 24 / hours
    print(f"  delay of a poll: median {median_s:.0f} s, 99 % {late_s:.0f} s")
    print(f"  requests a day {network.requests * per_day:,.0f}")
    print(f"  poll runs a day {day.runs * per_day:,.0f}")
    print(f"  lake: {_folder_mb(folder) * per_day:,.0f} MB a day without maintenance")
    print(f"  tick over all desks: median {1000 * statistics.median(ticks):.0f} ms CPU")
    return median_s


# --- the UI ---------------------------------------------------------------------------

# What the UI loads of a code location: the nodes of the lineage, and the groups.
_LINEAGE = """{ assetNodes {
  id groupName isMaterializable isPartitioned kinds description jobNames opNames
  assetKey { path } dependencyKeys { path } dependedByKeys { path }
} }"""


def show_ui(folder: Path, paths: Sequence[str]) -> None:
    """Start the web server with these desks, and print what its answers take."""
    values = {"DAGSTER_HOME": str(folder), "NEWS_HOME": str(folder)}
    os.environ.update(values, NEWS_DESKS=",".join(paths))
    started_s = time.monotonic()
    with webserver(folder) as url:
        print(f"  web server starts        {time.monotonic() - started_s:8.2f} s")
        for _ in range(2):
            started_s = time.monotonic()
            nodes = graphql(url, _LINEAGE)["data"]["assetNodes"]
            seconds = time.monotonic() - started_s
            print(f"  lineage of {len(nodes)} assets   {seconds:8.2f} s")
        key = {"path": ["d00", "raw_articles"]}
        for _ in range(2):
            started_s = time.monotonic()
            node = graphql(url, PARTITION_GRID, assetKey=key)["data"][
                "assetNodeOrError"
            ]
            seconds = time.monotonic() - started_s
            dimensions = node["partitionKeysByDimension"]
            sizes = [len(one["partitionKeys"]) for one in dimensions]
            print(
                f"  partitions, {sizes[0]} by {sizes[1]}    {seconds:8.2f} s",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--desks", type=int, default=40)
    parser.add_argument("--hours", type=float, default=2.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", dg.BetaWarning)
    sources = options.desks * AGENCIES * FEEDS
    print(f"{options.desks} desks, {sources:,} sources; load {os.getloadavg()[0]:.1f}")
    laps = Laps()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings.model_validate({"home": folder})
        paths = write_desks(folder, options.desks)
        desks = load(paths, settings, laps)
        network = MadeNetwork()
        with Lake.open(settings.catalog, settings.data) as lake:
            day = simulate(desks, lake, network, options.hours)
            laps.lap(f"{options.hours:g} hours of polls")
        median_s = report(day, network, Path(settings.data), options.hours)
        show_ui(folder, paths)
    sys.exit(median_s > MAX_DELAY_S)


if __name__ == "__main__":
    main()
