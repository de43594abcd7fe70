"""Which sources the unfinished runs poll, and what a poll of the due sources may take."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.utils import make_new_run_id

from news_assets.defs.active_runs import (
    RANGE_END,
    RANGE_START,
    awaits_start,
    instance_of,
    poll_config,
    poll_tags,
    polled_sources,
)
from news_assets.pipeline.schedule import SLOW_MS, sources_of_runs
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk, Source
from news_assets_tests.store.examples import sparse

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)


def source(agency: str) -> Source:
    where = {"source_id": f"d/{agency}", "url": f"https://{agency}.example.org/"}
    return Source(
        **where, desk="d", agency=agency, kind="feed", timezone="UTC", language="en"
    )


DESK = Desk(
    key="d",
    timezone="UTC",
    language="en",
    first_day=date(2026, 1, 1),
    agencies=tuple(
        Agency(key=key, name=key, timezone="UTC", language="en", sources=(source(key),))
        for key in "abcd"
    ),
)
OTHER = replace(DESK, key="e")


def run(
    status: str = "STARTED",
    job: str = "d_poll",
    config: dict[str, object] | None = None,
    **tags: str,
) -> dg.DagsterRun:
    return dg.DagsterRun(
        job_name=job,
        status=dg.DagsterRunStatus[status],
        run_config=config or {},
        tags=tags,
    )


@pytest.mark.parametrize(
    ("polls", "sources"),
    [
        (
            run(config=poll_config(DESK, only_due=True, sources=["d/a", "d/c"])),
            {"d/a", "d/c"},
        ),
        (run(**{RANGE_START: "b", RANGE_END: "c"}), {"d/b", "d/c"}),
        (
            run(config=poll_config(DESK, ask_again=True), **{"dagster/partition": "d"}),
            {"d/d"},
        ),
        (run(), {"d/a", "d/b", "d/c", "d/d"}),
        (
            run(**{RANGE_START: "b", RANGE_END: "an agency that was removed"}),
            {"d/a", "d/b", "d/c", "d/d"},
        ),
        (run(job="d_articles"), set()),
        (run(job="e_poll"), set()),
    ],
)
def test_a_run_polls_the_sources_in_its_configuration_else_those_of_its_agencies(
    polls: dg.DagsterRun, sources: set[str]
) -> None:
    assert polled_sources(DESK, [polls]) == sources


@pytest.mark.parametrize(
    ("status", "awaits"),
    [("NOT_STARTED", True), ("STARTING", True), ("STARTED", False)],
)
def test_a_poll_awaits_its_start_until_it_has_started(
    status: str, awaits: bool
) -> None:
    requested = run(status, **poll_tags("d", "slow"))
    assert awaits_start(DESK, "slow", [requested]) == awaits
    assert not awaits_start(DESK, "quick", [requested])
    assert not awaits_start(OTHER, "slow", [requested])


def test_busy_sources_are_in_no_run_and_slow_ones_in_their_own() -> None:
    took = {"a": 900, "b": SLOW_MS, "c": None, "d": 60_000}
    states = [
        sparse(SourceState, source_id=f"d/{key}", elapsed_ms=elapsed_ms)
        for key, elapsed_ms in took.items()
    ]
    a, b, c, d = due = [source(key) for key in "abcd"]
    assert sources_of_runs(due, states, ()) == {"quick": [a, c], "slow": [b, d]}
    assert sources_of_runs(due, states, {"d/a", "d/d"}) == {"quick": [c], "slow": [b]}
    assert sources_of_runs(due, (), ()) == {"quick": due, "slow": []}


def test_all_sensors_of_a_process_share_one_instance(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as stored:
        stored.add_run(dg.DagsterRun("poll", make_new_run_id()))
        instances: list[dg.DagsterInstance] = []
        for name in ("one", "other"):
            context = dg.build_sensor_context(
                instance_ref=stored.get_ref(), sensor_name=name
            )
            instances.append(instance_of(context))

        assert instances[0] is instances[1]
        assert [run.job_name for run in instances[0].get_runs()] == ["poll"]
