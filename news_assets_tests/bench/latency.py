"""Latency from the order of a poll, and from a new article's raw materialisation, until
a search finds it.

    python -m news_assets_tests.bench.latency [plain local scaleout] [--articles 10]

Runs the shipped profiles over a synthetic site. An article counts as found when a
search for its own words and a vector search both return it. `poll`: `feed_entries` of
the agency is launched, as in the UI; `entry` counts from the stored entry. `raw alone`:
`raw_articles` of the agency-day is launched alone. `healing`: rows of a stage are
deleted by hand, until they are there again.

Machines and their load differ, so beside each article `empty run` is measured: one
asset over an agency-day without entries, through the same profile, from its launch to
its end. `make test-all` fails where the median of an entry takes twice as many empty
runs as RATIO.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from dagster import DagsterEventType

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.defs.sensor_cursor import TICK_S
from news_assets.ports.search_index import SearchQuery
from news_assets.records.derived import EnrichedArticle
from news_assets.settings import Settings
from news_assets_tests.support.profile_with_desk import (
    ALL,
    RunningDesk,
    exported_model,
    profile_with_desk,
)

TARGETS_S = {
    "plain": {"raw alone": 4.0, "poll": 5.0, "healing": 10.0},
    "local": {"raw alone": 1.5, "poll": 2.5, "healing": 5.0},
    "scaleout": {"raw alone": 1.5, "poll": 2.5, "healing": 5.0},
}
HEALED_ROWS, HEALED_TIMES = 15, 3
RATIO = 6.5  # entry to empty run (2.07 s and 0.32 s), local profile, on two quiet cores
WAIT_S = 60.0
AGENCIES = 8
_LAUNCH = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""


def when(is_there: Callable[[], bool], what: str) -> float:
    """Poll until `is_there` holds and return the time, epoch seconds."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if is_there():
            return time.time()
        # polling without a pause takes half a core from the measurement
        time.sleep(0.05)
    raise SystemExit(f"{what} was not there within {WAIT_S:.0f} s")


class Waiter:
    """Waits until an article is stored, and until it is found."""

    def __init__(self, running: RunningDesk, embedder: OnnxEmbedder) -> None:
        self._running, self._embedder = running, embedder

    def stored(self, url: str) -> float:
        """Return when the entry of this URL is stored."""
        sql = "SELECT count(*) FROM entries WHERE url = ?"
        return when(
            lambda: bool(self._running.lake.query(sql, [url]).item()),
            f"the entry of {url}",
        )

    def in_story(self, url: str) -> float:
        """Return when the article of this URL is in a story."""
        sql = """SELECT count(*) FROM raw_articles JOIN story_members USING (article_id)
            WHERE url = ?"""
        return when(
            lambda: bool(self._running.lake.query(sql, [url]).item()),
            f"the story of {url}",
        )

    def found(self, title: str, words: tuple[str, str]) -> float:
        """Return when the article is found both by its own words and by its vector."""
        vector, text = self._embedder.embed_query(title).vector, " ".join(words)

        def is_found() -> bool:
            by_words = self._running.index.search(
                SearchQuery(text=text, mode="keyword")
            ).hits
            by_vector = self._running.index.search(
                SearchQuery(text=text, mode="vector", vector=vector)
            ).hits
            return bool(by_words) and by_words[0].article_id in {
                hit.article_id for hit in by_vector
            }

        return when(is_found, f"the article {title!r}")


def launch(running: RunningDesk, asset: str, partition: str) -> str:
    """Launch one asset over one partition as the UI does, and return the run's id."""
    selector = {
        "repositoryLocationName": "news_assets",
        "repositoryName": "__repository__",
        "jobName": "__ASSET_JOB",
        "assetSelection": [{"path": ["synthetic", asset]}],
        "assetCheckSelection": [],
    }
    tags = [{"key": "dagster/partition", "value": partition}]
    params = {
        "selector": selector,
        "runConfigData": {},
        "executionMetadata": {"tags": tags},
    }
    answer = running.profile.graphql(_LAUNCH, params=params)["launchRun"]
    if answer["__typename"] != "LaunchRunSuccess":
        raise SystemExit(f"not launched: {answer}")
    return str(answer["run"]["runId"])


def by_poll(running: RunningDesk, waiter: Waiter, agency: str) -> dict[str, float]:
    """Return the seconds from the order of a poll and from the stored entry until it is
    found, and of each part.
    """
    published = running.site.publish(agency, running.today)
    ordered_at = time.time()
    launch(running, "feed_entries", agency)
    stored_at = waiter.stored(published.url)
    found_at = waiter.found(published.title, published.words)
    in_story_at = waiter.in_story(published.url)
    running.wait_until_quiet()
    return {
        "poll": found_at - ordered_at,
        "entry": found_at - stored_at,
        "in a story after found": in_story_at - found_at,
        **parts(running, stored_at),
    }


def publish_more(running: RunningDesk) -> None:
    """Publish and process as many articles as are healed, so that each time has others."""
    agencies = [f"a{number:03}" for number in range(AGENCIES)]
    for number in range(HEALED_ROWS * HEALED_TIMES):
        running.site.publish(agencies[number % AGENCIES], running.today)
    for agency in agencies:
        launch(running, "feed_entries", agency)
        running.wait_until_quiet()


def healing(running: RunningDesk) -> dict[str, float]:
    """Delete rows of enriched articles, and return the seconds until the sensors have
    had them made again.

    They are the oldest rows: the same ones, lost again, would wait for the pause of a
    run that left its work unchanged.
    """
    oldest = "SELECT article_id FROM enriched_articles ORDER BY enriched_at LIMIT ?"
    ids = running.lake.query(oldest, [HEALED_ROWS])["article_id"].to_list()
    running.lake.transact(lambda rows: rows.delete(EnrichedArticle, article_id=ids))
    deleted_at = time.time()

    def is_healed() -> bool:
        found = running.lake.frame(
            EnrichedArticle, None, ("article_id",), article_id=ids
        )
        return found.height == len(ids)

    healed_at = when(is_healed, f"{len(ids)} deleted rows")
    running.wait_until_quiet()
    return {"healing": healed_at - deleted_at}


def raw_alone(running: RunningDesk, waiter: Waiter, agency: str) -> dict[str, float]:
    """Return the seconds from a raw materialisation launched alone until it is found,
    and of each part.
    """
    published = running.site.publish(agency, running.today)
    with paused(running, "pending_entries"):
        launch(running, "feed_entries", agency)
        waiter.stored(published.url)
        running.wait_until_quiet()
        run_id = launch(running, "raw_articles", f"{agency}|{running.today}")
        found_at = waiter.found(published.title, published.words)
        running.wait_until_quiet()
    with running.profile.instance as instance:
        (event,) = instance.all_logs(
            run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION
        )
    return {"raw alone": found_at - event.timestamp, **parts(running, event.timestamp)}


def empty_run(running: RunningDesk, agency: str) -> float:
    """Return the seconds from the launch of an asset that finds nothing to do until its
    run has ended.
    """
    run_id = launch(running, "raw_articles", f"{agency}|{running.desk.first_day}")
    running.profile.wait(run_id)
    with running.profile.instance as instance:
        record = instance.get_run_record_by_id(run_id)
    assert record is not None
    assert record.end_time is not None
    return record.end_time - record.create_timestamp.timestamp()


def entry_and_empty_run(
    running: RunningDesk, waiter: Waiter, agency: str
) -> dict[str, float]:
    """Return the seconds of an entry, of its parts, and of an empty run after it."""
    return {**by_poll(running, waiter, agency), "empty run": empty_run(running, agency)}


def ratio_of(rows: Sequence[Mapping[str, float]]) -> float:
    """Return the median of entries as a multiple of the median of empty runs."""
    entry, empty = (
        statistics.median(row[key] for row in rows) for key in ("entry", "empty run")
    )
    return entry / empty


@contextmanager
def paused(running: RunningDesk, sensor: str) -> Iterator[None]:
    """Stop one sensor and wait for its active tick; start it again afterwards."""
    running.profile.switch(sensor, on=False)
    time.sleep(TICK_S + 1)
    try:
        yield
    finally:
        running.profile.switch(sensor, on=True)


def parts(running: RunningDesk, since: float) -> dict[str, float]:
    """Return the seconds of each part, from the events of the last run that a sensor
    requested.
    """
    with running.profile.instance as instance:
        record = next(
            one
            for one in instance.get_run_records(limit=5)
            if one.dagster_run.job_name == "synthetic_articles"
        )
        logs = [
            entry
            for entry in instance.all_logs(record.dagster_run.run_id)
            if entry.dagster_event
        ]
    times: dict[tuple[str, str], float] = {}
    for entry in logs:
        assert entry.dagster_event
        step = (entry.dagster_event.step_key or "").removeprefix("synthetic__")
        times.setdefault((entry.dagster_event.event_type_value, step), entry.timestamp)
    created_at = record.create_timestamp.timestamp()
    launched_at, begun_at = (
        times[("PIPELINE_STARTING", "")],
        times[("PIPELINE_START", "")],
    )
    steps = [step for kind, step in times if kind == "STEP_START"]
    return {
        "run requested": created_at - since,
        "queued": launched_at - created_at,
        "run starts": begun_at - launched_at,
        "resources": times[("STEP_START", steps[0])] - begun_at,
        **{
            step: times[("STEP_SUCCESS", step)] - times[("STEP_START", step)]
            for step in steps
        },
    }


def measure(name: str, articles: int, models_dir: Path) -> bool:
    """Print the medians of one profile; return whether all are within their targets."""
    embedder = OnnxEmbedder.open(Settings.read().embedding_model, models_dir, 1)
    with profile_with_desk(
        name, models_dir, date(datetime.now(UTC).year, 1, 1), AGENCIES
    ) as running:
        running.profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        waiter = Waiter(running, embedder)
        by_poll(running, waiter, "a000")  # warm-up
        rows: dict[str, list[dict[str, float]]] = {
            "raw alone": [
                raw_alone(running, waiter, f"a{1 + n % (AGENCIES - 1):03}")
                for n in range(articles)
            ],
            "poll": [
                entry_and_empty_run(running, waiter, f"a{1 + n % (AGENCIES - 1):03}")
                for n in range(articles)
            ],
        }
        publish_more(running)
        rows["healing"] = [healing(running) for _ in range(HEALED_TIMES)]
    print(
        f"\n{name}, median of {articles} [min, max], seconds; load {os.getloadavg()[0]:.1f}"
    )
    print(f"an entry takes {ratio_of(rows['poll']):.2f} empty runs")
    reached = []
    for lead, target in TARGETS_S[name].items():
        for key in rows[lead][0]:
            values = sorted(row[key] for row in rows[lead] if key in row)
            note = f"  target {target:g}" if key == lead else ""
            shown = key if key == lead else f"    {key}"
            print(
                f"{shown:24} {statistics.median(values):6.2f}  [{values[0]:.2f}, {values[-1]:.2f}]{note}",
                flush=True,
            )
        reached.append(statistics.median(row[lead] for row in rows[lead]) <= target)
    return all(reached)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="*", default=list(ALL))
    parser.add_argument("--articles", type=int, default=10)
    options = parser.parse_args()
    with exported_model() as models:
        sys.exit(
            not all(
                [measure(name, options.articles, models) for name in options.profiles]
            )
        )


if __name__ == "__main__":
    main()
