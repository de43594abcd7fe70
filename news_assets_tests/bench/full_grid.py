"""Time of sensor ticks, freshness checks and the UI's partition grid on a full grid of
160 agencies by 600 days.

    python -m news_assets_tests.bench.full_grid [--agencies N] [--days N] [--keep DIR]

Two articles in each agency-day, all stages complete (`support/filled_lake.py`): 192,000
rows in each table of the lake, 96,000 partitions of four assets in Dagster's SQLite
event log. Each figure is measured in its own process, without a backlog and with 100
random agency-days of backlog. Columns: the first tick, which opens the lake and sweeps
the whole grid; the median of further sweeps; the median of evaluations of the last
weeks. For the freshness checks the last column is a run of their job.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.definitions import build_definitions
from news_assets.defs.desk_sensors import build_desk_sensors
from news_assets.defs.jobs import FRESHNESS, build_desk_jobs
from news_assets.defs.resources import build_resources, opener_of
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.stages import stage_names
from news_assets.settings import Settings
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import desk_gaps
from news_assets_tests.support.filled_lake import (
    fall_behind,
    fill_event_log,
    fill_index,
    fill_lake,
)
from news_assets_tests.support.servers import free_port
from news_assets_tests.support.synthetic_desk import DESK, desk_file

REPOSITORY = Path(__file__).parents[2]
SENSORS = ("pending_entries", "stale_stages", "lost_documents", "due_sources")
BACKLOG = 100  # agency-days
MAX_S = 2.0
REPEATS = 5

Times = tuple[float, float]  # wall and CPU seconds


def prepare(home: Path, agencies: int, days: Sequence[date]) -> None:
    home.mkdir(parents=True, exist_ok=True)
    desk_file(home, days[0], "http://127.0.0.1:9", agencies)
    (home / "dagster.yaml").write_text(
        (REPOSITORY / "dagster.yaml").read_text().replace(" .news/", f" {home}/")
    )
    _use(home)
    (desk,) = load_desks(Settings.read().desks, KINDS)
    with Lake.open(Settings.read().catalog, Settings.read().data) as lake:
        _timed("lake", lambda: fill_lake(lake, desk, days, datetime.now(UTC)))
        _timed("search index", lambda: fill_index(lake, Settings.read().search_path))
    with dg.DagsterInstance.get() as instance:
        _timed("event log", lambda: fill_event_log(instance, desk, days))
    sizes = [
        f"{name} {_megabytes(home / name):.0f} MB"
        for name in ("data", "catalog.sqlite", "search.sqlite", "dagster")
    ]
    print("  " + ", ".join(sizes))


def _timed(name: str, work: Callable[[], None]) -> None:
    started = time.perf_counter()
    work()
    print(f"  {name} filled in {time.perf_counter() - started:.0f} s", flush=True)


def _megabytes(path: Path) -> float:
    files = (
        [path]
        if path.is_file()
        else [file for file in path.rglob("*") if file.is_file()]
    )
    return sum(file.stat().st_size for file in files) / 1e6


def _use(home: Path) -> None:
    values = {
        "DAGSTER_HOME": home,
        "NEWS_HOME": home,
        "NEWS_DESKS": home / f"{DESK}.yaml",
    }
    os.environ.update({name: str(value) for name, value in values.items()})


# --- measurements, each in its own process --------------------------------------------


def ticks(name: str) -> dict[str, Any]:
    """Return the times of the first tick, of further sweeps, and of evaluations of the
    last weeks.
    """
    settings = Settings.read()
    desks = load_desks(settings.desks, KINDS)
    jobs = [job for desk in desks for job in build_desk_jobs(desk)]
    open_lake = opener_of(build_resources(settings)["lake"])
    sensor = next(
        one
        for one in build_desk_sensors(desks, jobs, open_lake, tick_s=0)
        if one.name == name
    )
    resources = {
        key: one
        for key, one in build_resources(settings).items()
        if key in sensor.required_resource_keys
    }
    counts: list[int] = []

    def tick(cursor: dict[str, float]) -> Times:
        context = dg.build_sensor_context(
            instance, cursor=json.dumps(cursor), resources=resources
        )
        started, worked = time.perf_counter(), time.process_time()
        with context:
            result = sensor(context)
        assert isinstance(result, dg.SensorResult)
        counts.append(len(result.run_requests or ()))
        return time.perf_counter() - started, time.process_time() - worked

    with dg.DagsterInstance.get() as instance:
        first, *further = (tick({}) for _ in range(1 + REPEATS))
        evaluations = [tick({"swept_at": time.time()}) for _ in range(REPEATS)]
    return {
        "first": first,
        "again": further,
        "recent": evaluations,
        "found": f"{counts[0]} runs",
    }


def freshness() -> dict[str, Any]:
    """Return the times of the desk's seven checks: the first evaluation, further ones,
    and a run of their job.
    """
    settings = Settings.read()
    (desk,) = load_desks(settings.desks, KINDS)
    found = 0
    with (
        Lake.open(settings.catalog, settings.data) as lake,
        SqliteSearchIndex.open(settings.search_path) as index,
        dg.DagsterInstance.get() as instance,
    ):

        def evaluate() -> Times:
            nonlocal found
            started, worked = time.perf_counter(), time.process_time()
            found = sum(
                len(one.rows)
                for one in desk_gaps(lake, index, desk, datetime.now(UTC)).values()
            )
            return time.perf_counter() - started, time.process_time() - worked

        first, *further = (evaluate() for _ in range(1 + REPEATS))
        job = build_definitions(settings).resolve_job_def(FRESHNESS)
        started, worked = time.perf_counter(), time.process_time()
        job.execute_in_process(instance=instance)
        run = time.perf_counter() - started, time.process_time() - worked
    return {"first": first, "again": further, "recent": [run], "found": f"{found} rows"}


CHILDREN: dict[str, Callable[[], dict[str, Any]]] = {
    **{name: lambda name=name: ticks(name) for name in SENSORS},  # type: ignore[misc]
    "freshness": freshness,
}


def child(name: str) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "news_assets_tests.bench.full_grid",
        "--child",
        name,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def report(title: str) -> bool:
    print(
        f"{title:28}{'first':>14}{'again':>14}{'recent':>14}  s, wall and cpu; load {os.getloadavg()[0]:.1f}"
    )
    slowest = 0.0
    for name in CHILDREN:
        took = child(name)
        figures = [took["first"], _median(took["again"]), _median(took["recent"])]
        slowest = max(slowest, figures[1][0])
        columns = "".join(f"{seconds:8.2f}{cpu_s:6.2f}" for seconds, cpu_s in figures)
        print(f"  {name:26}{columns}  {took['found']}")
    print(f"  {'slowest':40}{slowest:8.2f}  at most {MAX_S}", flush=True)
    return slowest <= MAX_S


def _median(spent: Sequence[Times]) -> Times:
    seconds, cpu_s = zip(*spent, strict=True)
    return statistics.median(seconds), statistics.median(cpu_s)


# --- the UI's grid --------------------------------------------------------------------

# The query that an asset's page sends for its partition grid (`PartitionHealthQuery` in
# the web server's scripts).
PARTITION_GRID = """query PartitionHealthQuery($assetKey: AssetKeyInput!) {
  assetNodeOrError(assetKey: $assetKey) {
    ... on AssetNode {
      id
      partitionKeysByDimension { name type partitionKeys }
      assetPartitionStatuses {
        ... on TimePartitionStatuses { ranges { status startTime endTime startKey endKey } }
        ... on DefaultPartitionStatuses { materializedPartitions materializingPartitions failedPartitions }
        ... on MultiPartitionStatuses {
          primaryDimensionName
          ranges {
            primaryDimStartKey primaryDimEndKey primaryDimStartTime primaryDimEndTime
            secondaryDim {
              ... on TimePartitionStatuses { ranges { status startTime endTime startKey endKey } }
              ... on DefaultPartitionStatuses { materializedPartitions materializingPartitions failedPartitions }
            }
          }
        }
      }
    }
  }
}"""


@contextlib.contextmanager
def webserver(home: Path) -> Iterator[str]:
    port = free_port()
    program = str(Path(sys.executable).parent / "dagster-webserver")
    command = [
        program,
        "-m",
        "news_assets.definitions",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "--log-level",
        "warning",
    ]
    with (home / "webserver.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=home)
    try:
        url = f"http://127.0.0.1:{port}/graphql"
        while "errors" in graphql(url, "{ version }"):
            assert process.poll() is None, (home / "webserver.log").read_text()[-2000:]
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait()


def graphql(url: str, query: str, **variables: Any) -> dict[str, Any]:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
    except urllib.error.URLError as error:
        return {"errors": str(error)}


def grid(home: Path, partitions: int) -> None:
    with webserver(home) as url:
        print(
            f"{'partition grid in the UI':28}{'first':>8}{'again':>8}  s     load {os.getloadavg()[0]:.1f}"
        )
        for stage in stage_names():
            spent = []
            for _ in range(1 + REPEATS):
                started = time.perf_counter()
                node = graphql(url, PARTITION_GRID, assetKey={"path": [DESK, stage]})[
                    "data"
                ]["assetNodeOrError"]
                spent.append(time.perf_counter() - started)
            ranges = node["assetPartitionStatuses"]["ranges"]
            print(
                f"  {stage:26}{spent[0]:8.2f}{statistics.median(spent[1:]):8.2f}     {len(ranges)} ranges",
                flush=True,
            )
    print(f"  {partitions:,} partitions each")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agencies", type=int, default=160)
    parser.add_argument("--days", type=int, default=600)
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder of the filled lake and event log; kept without the backlog",
    )
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", dg.BetaWarning)
    if options.child:
        print(json.dumps(CHILDREN[options.child]()))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return measure(
            options.keep or Path(folder) / "home", options.agencies, options.days
        )


def measure(home: Path, agencies: int, count: int) -> int:
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=n) for n in range(count - 1, -1, -1)]
    print(f"{agencies} agencies by {count} days")
    if not (home / "dagster.yaml").exists():
        prepare(home, agencies, days)
    _use(home)
    is_quick = report("no backlog")
    grid(home, agencies * count)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("catalog.sqlite", "search.sqlite"):
            shutil.copy(home / name, folder)
        os.environ.update({"NEWS_HOME": folder, "NEWS_DATA": str(home / "data")})
        settings = Settings.read()
        (desk,) = load_desks(settings.desks, KINDS)
        with (
            Lake.open(settings.catalog, settings.data) as lake,
            SqliteSearchIndex.open(settings.search_path) as index,
        ):
            fall_behind(lake, index, desk, days, BACKLOG)
        return 0 if report(f"backlog of {BACKLOG} agency-days") and is_quick else 1


if __name__ == "__main__":
    sys.exit(main())
