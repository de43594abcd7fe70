"""Dagster's overhead in a backfill: `python -m news_assets_tests.bench.backfill
[--agencies N] [--days N]`.

160 agencies by 30 days with two new articles in each agency-day. The entries are
already stored, and the pages are served on loopback. Measures one run over the range,
by `dagster asset materialize --partition-range` with the root dagster.yaml, and the
same stages called in plain Python over the same batches, with the CPU time of each
stage for an article. The difference is the overhead. Then a few runs of one partition each show what the grid would cost without
ranges. CPU time is printed beside wall time, because other load on the machine affects
it less.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psutil

from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.stages import stage_names
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets_tests.support import synthetic_desk
from news_assets_tests.support.synthetic_desk import (
    SyntheticSite,
    desk_file,
    stored_entries,
)

REPOSITORY = Path(__file__).parents[2]
PER_DAY = 2
BATCH_PARTITIONS = 200  # as in `defs/partitions.py`, which imports Dagster
MAX_OVERHEAD_S = 300


@dataclass(frozen=True)
class Deployment:
    """A folder with its own lake, index and Dagster instance, and the environment of
    the processes that use it.
    """

    home: Path
    env: dict[str, str]

    @classmethod
    def make(
        cls, home: Path, desk_path: Path, models: Path, entries: Sequence[FeedEntry]
    ) -> "Deployment":
        home.mkdir()
        (home / "models").symlink_to(models, target_is_directory=True)
        config = (
            (REPOSITORY / "dagster.yaml").read_text().replace(" .news/", f" {home}/")
        )
        (home / "dagster.yaml").write_text(config)
        names = {
            "DAGSTER_HOME": home,
            "NEWS_HOME": home,
            "NEWS_DESKS": desk_path,
            "DAGSTER_EVENT_BATCH_SIZE": 500,
        }
        with Lake.open(str(home / "catalog.sqlite"), str(home / "data")) as lake:
            lake.transact(lambda rows: rows.upsert(entries))
        return cls(
            home,
            {
                **os.environ,
                **synthetic_desk.ENV,
                **{name: str(value) for name, value in names.items()},
            },
        )

    @property
    def event_log_mb(self) -> float:
        files = [file for file in (self.home / "dagster").rglob("*") if file.is_file()]
        return sum(file.stat().st_size for file in files) / 1e6


@dataclass(frozen=True)
class Usage:
    """Wall time and CPU time of a process, and when it started and ended."""

    seconds: float
    cpu_s: float
    started_at: datetime
    ended_at: datetime


def run(deployment: Deployment, *command: str) -> Usage:
    """Run a command until it ends and return what it used; exit with its output if it
    fails.
    """
    with tempfile.TemporaryFile() as log:
        started_at, started = datetime.now(UTC), time.perf_counter()
        process = subprocess.Popen(
            command, env=deployment.env, cwd=deployment.home, stdout=log, stderr=log
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            sys.exit(log.read().decode()[-3000:])
    return Usage(seconds, used.ru_utime + used.ru_stime, started_at, datetime.now(UTC))


def materialize(deployment: Deployment, option: str, keys: str) -> Usage:
    dagster = str(Path(sys.executable).parent / "dagster")
    selected = ",".join(f"key:{synthetic_desk.DESK}/{stage}" for stage in stage_names())
    return run(
        deployment,
        dagster,
        "asset",
        "materialize",
        "-m",
        "news_assets.definitions",
        "--select",
        selected,
        option,
        keys,
    )


# --- without Dagster ------------------------------------------------------------------


def bare(days: Sequence[date]) -> None:
    """Run each stage over the whole grid without Dagster."""
    from news_assets.clients.factory import open_ports
    from news_assets.pipeline.stages import STAGES

    settings = Settings.read()
    desk = load_desks(settings.desks, KINDS)[0]
    lake = Lake.open(settings.catalog, settings.data)
    batches = list(_batches(desk, days))
    spent: dict[str, float] = {}
    for stage in STAGES:
        with open_ports(settings, stage.ports) as ports:
            before = _cpu_s()
            for keys in batches:
                stage.run_batch(lake, desk, keys, _now, ports)
            spent[stage.name] = _cpu_s() - before
    lake.close()
    _stages_file(settings.home).write_text(json.dumps(spent))


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of its sandbox so far."""
    this = psutil.Process()
    times = [one.cpu_times() for one in (this, *this.children())]
    return sum(one.user + one.system for one in times)


def _stages_file(home: Path) -> Path:
    return home / "cpu_of_stages.json"


def _batches(desk: Desk, days: Sequence[date]) -> Iterator[AgencyDays]:
    """Yield the agency-days in the batches of `defs/partitions.py`."""
    pairs = [(agency.key, day) for day in reversed(days) for agency in desk.agencies]
    for start in range(0, len(pairs), BATCH_PARTITIONS):
        yield AgencyDays(desk.key, frozenset(pairs[start : start + BATCH_PARTITIONS]))


def _now() -> datetime:
    return datetime.now(UTC)


# --- phases of the run ----------------------------------------------------------------


Span = tuple[datetime, datetime, int]


def phases(deployment: Deployment, spent: Usage) -> Iterator[tuple[str, float]]:
    """Yield the phases of the run and their seconds, from its events."""
    spans = _spans(deployment)
    planned = spans["ASSET_MATERIALIZATION_PLANNED", ""]
    yield "start, definitions, plan", _s(planned[0] - spent.started_at)
    yield f"{planned[2]:,} planned events", _s(planned[1] - planned[0])
    for stage in stage_names():
        step = f"{synthetic_desk.DESK}__{stage}"
        begun, ended = spans["STEP_START", step][0], spans["STEP_SUCCESS", step][0]
        made = spans["ASSET_MATERIALIZATION", step]
        yield f"{stage}: work and metadata", _s(made[0] - begun)
        yield f"{stage}: {made[2]:,} materialisations", _s(ended - made[0])
    yield "end", _s(spent.ended_at - spans["RUN_SUCCESS", ""][0])


def _spans(deployment: Deployment) -> dict[tuple[str, str], Span]:
    """Return first time, last time and number of the events of the only run, by type
    and step.
    """
    shard = next(
        file for file in (deployment.home / "dagster/history/runs").glob("*-*.db")
    )
    with closing(sqlite3.connect(shard)) as connection:
        rows = connection.execute(
            "SELECT replace(dagster_event_type, 'PIPELINE', 'RUN'), step_key, min(timestamp), max(timestamp), count(*) "
            "FROM event_logs WHERE dagster_event_type IS NOT NULL GROUP BY 1, 2"
        ).fetchall()
    spans: dict[tuple[str, str], Span] = {}
    for kind, step, first, last, count in rows:
        key = (kind, "" if "PLANNED" in kind else step or "")
        span = (_time(first), _time(last), count)
        old = spans.get(key, span)
        spans[key] = (
            min(old[0], span[0]),
            max(old[1], span[1]),
            span[2] + (old[2] if key in spans else 0),
        )
    return spans


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _s(span: timedelta) -> float:
    return span.total_seconds()


# --- measuring ------------------------------------------------------------------------


def compare(
    folder: Path, agencies: int, days: Sequence[date], options: argparse.Namespace
) -> bool:
    models = folder / "models"
    _export_model(models)
    # Dagster's overhead does not depend on the text
    with SyntheticSite(agencies, paragraphs=1) as site:
        path = desk_file(
            folder, days[0] - timedelta(days=600 - len(days)), site.base, agencies
        )
        desk = load_desks([str(path)], KINDS)[0]
        entries = _every_nth_agency_day(
            stored_entries(desk, days, PER_DAY, _now()), options.every
        )
        deployments = [
            Deployment.make(folder / name, path, models, entries)
            for name in ("bare", "range", "single")
        ]
        print(
            f"{agencies} agencies by {len(days)} days, {len(entries):,} articles; load {os.getloadavg()[0]:.1f}"
        )
        print(f"{'':46}{'wall':>9}{'cpu':>9}  s")
        reference = run(
            deployments[0],
            sys.executable,
            "-m",
            "news_assets_tests.bench.backfill",
            "--bare",
            "--days",
            str(len(days)),
        )
        _line("plain Python, in its own process", reference)
        spent = json.loads(_stages_file(deployments[0].home).read_text())
        for stage, cpu_s in spent.items():
            per_article_ms = 1000 * cpu_s / len(entries)
            print(f"    {stage:51}{cpu_s:9.1f}   {per_article_ms:.0f} ms an article")
        whole = _range_run(deployments[1], agencies, days)
        overhead_s = whole.seconds - reference.seconds
        ratio = whole.seconds / reference.seconds
        overhead_cpu_s = whole.cpu_s - reference.cpu_s
        limit = f"{ratio:.2f} times, at most {MAX_OVERHEAD_S} s"
        print(
            f"{'overhead of Dagster':46}{overhead_s:9.1f}{overhead_cpu_s:9.1f}   {limit}"
        )
        _single_runs(deployments[2], agencies, days, options.singles)
    _assert_same_rows(deployments[0], deployments[1])
    return overhead_s <= MAX_OVERHEAD_S


def _every_nth_agency_day(entries: Sequence[FeedEntry], every: int) -> list[FeedEntry]:
    """Return the entries of every Nth agency-day, beginning with the newest day's first
    agency.
    """
    pairs = sorted(
        {(entry.day, entry.agency) for entry in entries},
        key=lambda pair: (-pair[0].toordinal(), pair[1]),
    )
    kept = set(pairs[::every])
    return [entry for entry in entries if (entry.day, entry.agency) in kept]


def _range_run(deployment: Deployment, agencies: int, days: Sequence[date]) -> Usage:
    last = synthetic_desk.agency_keys(agencies)[-1]
    before = deployment.event_log_mb
    spent = materialize(
        deployment, "--partition-range", f"a000|{days[0]}...{last}|{days[-1]}"
    )
    _line("one run over the range", spent)
    for name, seconds in phases(deployment, spent):
        print(f"    {name:42}{seconds:9.1f}")
    print(f"    {'event log':42}{deployment.event_log_mb - before:9.1f}  MB")
    return spent


def _single_runs(
    deployment: Deployment, agencies: int, days: Sequence[date], singles: int
) -> None:
    if not singles:
        return
    keys = [f"a{n % agencies:03}|{days[n % len(days)]}" for n in range(singles)]
    # the first run of an instance creates its tables
    materialize(deployment, "--partition", f"a000|{days[-1]}")
    before = deployment.event_log_mb
    spent = [materialize(deployment, "--partition", key) for key in keys]
    seconds, cpu_s = (
        sum(values) / singles
        for values in zip(*((one.seconds, one.cpu_s) for one in spent), strict=True)
    )
    megabytes = (deployment.event_log_mb - before) / singles
    whole = agencies * len(days)
    title = f"one run per partition, mean of {singles}"
    print(f"{title:46}{seconds:9.1f}{cpu_s:9.1f}   {megabytes:.2f} MB of event log")
    total = f"{seconds * whole / 3600:.1f} h, {megabytes * whole / 1000:.1f} GB"
    print(
        f"{f'  times {whole:,} (extrapolated)':46}{seconds * whole:9.0f}{cpu_s * whole:9.0f}   {total}"
    )


def _line(name: str, spent: Usage) -> None:
    print(f"{name:46}{spent.seconds:9.1f}{spent.cpu_s:9.1f}", flush=True)


def _export_model(models: Path) -> None:
    from news_assets.clients.embedding.embedder import OnnxEmbedder

    OnnxEmbedder.open(Settings.read().embedding_model, models, 1)


def _assert_same_rows(one: Deployment, other: Deployment) -> None:
    """Assert that both runs stored the same rows."""
    counts = "SELECT count(*), count(*) FILTER (WHERE outcome = 'ok'), min(article_id), max(article_id) FROM {}"
    tables = (
        "raw_articles",
        "enriched_articles",
        "article_embeddings",
        "indexed_documents",
    )
    found = []
    for deployment in (one, other):
        with Lake.open(
            str(deployment.home / "catalog.sqlite"), str(deployment.home / "data")
        ) as lake:
            found.append([lake.query(counts.format(table)).row(0) for table in tables])
    assert found[0] == found[1], found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agencies", type=int, default=160)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        help="store articles in every Nth agency-day only",
    )
    parser.add_argument(
        "--singles", type=int, default=6, help="number of runs of one partition"
    )
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    today = _now().date()
    days = [today - timedelta(days=n) for n in range(options.days, 0, -1)]
    if options.bare:
        bare(days)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return 0 if compare(Path(folder), options.agencies, days, options) else 1


if __name__ == "__main__":
    sys.exit(main())
