"""Deletion of old runs, on both kinds of storage. The runs finish at the present time;
`now` is later.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster._core.storage.event_log import SqlEventLogStorage
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.runs import SqlRunStorage
from dagster._core.storage.runs.schema import RunsTable, RunTagsTable

from news_assets.defs.active_runs import NOTHING_NEW
from news_assets.defs.lake_maintenance import build_lake_maintenance
from news_assets.defs.resources import LakeResource
from news_assets.defs.run_retention import delete_old_runs, retention_rules
from news_assets.demo import PORT, SampleSite
from news_assets.desks.desk_files import load_desks
from news_assets.records.desks import Desk, KeepDays
from news_assets.sources.source_kinds import KINDS
from news_assets_tests.support.graph import Graph

DESK = Desk(
    key="d", timezone="UTC", language="en", first_day=date(2026, 1, 1), agencies=()
)
ENTRIES, ARTICLES = (
    dg.AssetKey(["d", "feed_entries"]),
    dg.AssetKey(["d", "raw_articles"]),
)
LOG = logging.getLogger(__name__)
_NUMBERS = count(1)
_SITE = f"http://127.0.0.1:{PORT}"


@dg.asset(
    key=ENTRIES,
    partitions_def=dg.StaticPartitionsDefinition(["a", "b"]),
    output_required=False,
)
def feed_entries(context: dg.AssetExecutionContext) -> Iterator[dg.Output[None]]:
    """Materialise the agencies named in the run's tag `changed`; fail if it is `fail`."""
    changed = context.run.tags["changed"].split()
    for agency in changed:
        if agency == "fail":
            raise dg.Failure("no source could be read")
        context.log_event(dg.AssetMaterialization(ENTRIES, partition=agency))
    if not changed:
        context.instance.add_run_tags(context.run.run_id, NOTHING_NEW)
    yield from ()


@dg.asset_check(asset=ENTRIES, name="ids_are_unique")
def ids_are_unique() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


@dg.asset(key=ARTICLES, partitions_def=dg.StaticPartitionsDefinition(["a|1", "b|1"]))
def raw_articles() -> None:
    """The only stage of this desk."""


DEFINITIONS = dg.Definitions(
    assets=[feed_entries, raw_articles],
    asset_checks=[ids_are_unique],
    jobs=[
        dg.define_asset_job(
            "d_poll", dg.AssetSelection.assets(ENTRIES).without_checks()
        ),
        dg.define_asset_job("d_articles", dg.AssetSelection.assets(ARTICLES)),
        dg.define_asset_job("d_checks", dg.AssetSelection.checks_for_assets(ENTRIES)),
    ],
)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.slow, pytest.mark.exhaustive]),
    ]
)
def instance(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[dg.DagsterInstance]:
    overrides: dict[str, Any] = {"telemetry": {"enabled": False}}
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").url(f"dagster_{next(_NUMBERS)}")
        overrides["storage"] = {"postgres": {"postgres_url": url}}
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=overrides) as opened:
        yield opened


def poll(instance: dg.DagsterInstance, changed: str) -> str:
    """Run a poll in which these agencies have new entries; return the run's id."""
    tags = {
        "changed": changed,
        "dagster/asset_partition_range_start": "a",
        "dagster/asset_partition_range_end": "b",
    }
    job = DEFINITIONS.resolve_job_def("d_poll")
    return job.execute_in_process(
        instance=instance, tags=tags, raise_on_error=False
    ).run_id


def check(instance: dg.DagsterInstance) -> str:
    return (
        DEFINITIONS.resolve_job_def("d_checks")
        .execute_in_process(instance=instance)
        .run_id
    )


def delete(
    instance: dg.DagsterInstance, days: float, limit: int = 100
) -> dict[str, int]:
    now = datetime.now(UTC) + timedelta(days=days)
    return delete_old_runs(
        instance, retention_rules([DESK]), [ENTRIES, ARTICLES], now, LOG, limit
    )


def left(instance: dg.DagsterInstance) -> set[str]:
    return {run.run_id for run in instance.get_runs()}


def test_old_runs_are_deleted_except_those_of_the_newest_materialisations(
    instance: dg.DagsterInstance,
) -> None:
    both, idle, a, failed = (
        poll(instance, changed) for changed in ("a b", "", "a", "fail")
    )

    assert delete(instance, days=0.9) == {}
    assert delete(instance, days=2) == {"d_poll": 1}
    assert left(instance) == {both, a, failed}
    assert delete(instance, days=8) == {"d_poll": 1}
    assert left(instance) == {both, a}
    assert instance.get_materialized_partitions(ENTRIES) == {"a", "b"}

    b = poll(instance, "b")
    assert delete(instance, days=8) == {"d_poll": 1}
    assert left(instance) == {a, b}
    assert instance.get_materialized_partitions(ENTRIES) == {"a", "b"}
    assert idle not in left(instance)


@pytest.mark.slow  # stores many runs
def test_runs_over_articles_are_deleted_after_two_weeks(
    instance: dg.DagsterInstance,
) -> None:
    job = DEFINITIONS.resolve_job_def("d_articles")
    _, again, other = (
        job.execute_in_process(instance=instance, partition_key=key).run_id
        for key in ("a|1", "a|1", "b|1")
    )
    assert delete(instance, days=13) == {}
    assert delete(instance, days=15) == {"d_articles": 1}
    assert left(instance) == {again, other}


@pytest.mark.slow  # stores many runs
def test_events_tags_and_files_of_a_deleted_run_are_deleted(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    idle, kept = poll(instance, ""), poll(instance, "a b")
    delete(instance, days=2)

    storage, runs = instance.event_log_storage, instance.run_storage
    assert isinstance(storage, SqlEventLogStorage)
    assert isinstance(runs, SqlRunStorage)
    with storage.index_connection() as connection:
        assert set(connection.scalars(sa.select(SqlEventLogStorageTable.c.run_id))) == {
            kept
        }
    with runs.connect() as connection:
        assert set(connection.scalars(sa.select(RunTagsTable.c.run_id))) == {kept}
    names = {path.name for path in tmp_path.rglob("*")}
    assert not {name for name in names if idle in name}
    assert kept in names  # the folder of its logs


def test_unfinished_runs_are_kept(instance: dg.DagsterInstance) -> None:
    status = dg.DagsterRunStatus
    statuses = {status.NOT_STARTED, status.STARTING, status.STARTED, status.CANCELING}
    for unfinished in statuses:
        instance.add_run(
            dg.DagsterRun(job_name="d_poll", status=unfinished, tags=NOTHING_NEW)
        )
    instance.add_run(dg.DagsterRun(job_name="d_poll", status=status.CANCELED))
    other = dg.DagsterRun(job_name="another_projects_poll", status=status.SUCCESS)
    instance.add_run(other)

    assert delete(instance, days=1000) == {"d_poll": 1}
    assert {
        run.status for run in instance.get_runs() if run.run_id != other.run_id
    } == statuses
    assert other.run_id in left(instance)


@pytest.mark.slow  # stores many runs
def test_the_newest_result_of_a_check_is_kept(instance: dg.DagsterInstance) -> None:
    poll(instance, "a b")
    for _ in range(3):
        newest = check(instance)

    assert delete(instance, days=8) == {"d_checks": 3}

    storage = instance.event_log_storage
    assert isinstance(storage, SqlEventLogStorage)
    with storage.index_connection() as connection:
        assert list(
            connection.scalars(sa.select(AssetCheckExecutionsTable.c.run_id))
        ) == [newest]
    key = dg.AssetCheckKey(ENTRIES, "ids_are_unique")
    record = storage.get_latest_asset_check_execution_by_key([key])[key]
    assert (record.run_id, record.status.value) == (newest, "SUCCEEDED")


@pytest.mark.slow  # stores many runs
def test_a_call_deletes_the_oldest_runs_up_to_its_limit(
    instance: dg.DagsterInstance,
) -> None:
    runs = [poll(instance, "") for _ in range(3)]

    assert delete(instance, days=2, limit=2) == {"d_poll": 2}
    assert left(instance) == {runs[2]}
    assert delete(instance, days=2, limit=2) == {"d_poll": 1}
    assert delete(instance, days=2, limit=2) == {}


def make_older(instance: dg.DagsterInstance, run_id: str, days: int) -> None:
    """Move the time of the run's last change back by some days."""
    runs = instance.run_storage
    assert isinstance(runs, SqlRunStorage)
    then = (datetime.now(UTC) - timedelta(days=days)).replace(tzinfo=None)
    with runs.connect() as connection:
        connection.execute(
            sa.update(RunsTable)
            .where(RunsTable.c.run_id == run_id)
            .values(update_timestamp=then)
        )


def test_maintenance_reports_deleted_runs_by_job(tmp_path: Path) -> None:
    lake = LakeResource(
        catalog=str(tmp_path / "catalog.sqlite"), data=str(tmp_path / "data")
    )
    maintenance = build_lake_maintenance([DESK], [feed_entries], 0, KeepDays())
    with dg.DagsterInstance.ephemeral() as instance:
        old, young = poll(instance, ""), poll(instance, "")
        make_older(instance, old, days=2)
        result = dg.materialize(
            [maintenance], instance=instance, resources={"lake": lake}
        )
        assert left(instance) == {young, result.run_id}
    (made,) = result.asset_materializations_for_node("lake__maintenance")
    assert made.metadata["runs_deleted"].value == 1
    assert (
        made.metadata["runs"].value
        == "| job | runs deleted |\n| --- | --- |\n| d_poll | 1 |"
    )


def test_a_poll_without_new_entries_is_tagged(tmp_path: Path) -> None:
    (desk,) = load_desks(["sample"], KINDS)
    with (
        dg.DagsterInstance.ephemeral() as instance,
        SampleSite(datetime.now(UTC), port=0) as site,
    ):
        sources = {
            s.source_id: replace(s, url=s.url.replace(_SITE, site.base))
            for s in desk.sources
        }
        agencies = tuple(
            replace(a, sources=tuple(sources[s.source_id] for s in a.sources))
            for a in desk.agencies
        )
        graph = Graph(replace(desk, agencies=agencies), tmp_path, instance)
        runs = [instance.get_run_by_id(graph.poll().run_id) for _ in range(2)]
    assert [run and run.tags.get("news/polled") for run in runs] == [
        None,
        "nothing new",
    ]
