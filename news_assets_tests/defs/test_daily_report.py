import base64
import re
import warnings
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from news_assets.defs.newsroom_assets import REPORT_KEY, build_daily_report
from news_assets.defs.resources import LakeResource, ReportsResource, SearchResource
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Agency, Desk
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse

TODAY = datetime.now(UTC).date()
DAYS = [TODAY - timedelta(days=2), TODAY - timedelta(days=1)]
AGENCY = Agency(key="rio", name="Rio", timezone="UTC", language="pt", sources=())
DESKS = [
    Desk(
        key="g1",
        timezone="UTC",
        language="pt",
        first_day=TODAY - timedelta(days=9),
        agencies=(AGENCY,),
    ),
    Desk(
        key="world",
        timezone="UTC",
        language="en",
        first_day=TODAY - timedelta(days=30),
        agencies=(AGENCY,),
    ),
]


@pytest.fixture
def report() -> dg.AssetsDefinition:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return build_daily_report(DESKS)


def store(home: Path, *days: date) -> None:
    rows = [
        sparse(
            FeedEntry, desk="g1", agency="rio", source_id="rio-feed", entry_id=str(day), article_id=str(day), day=day,
            first_seen_at=datetime(day.year, day.month, day.day, 12, tzinfo=UTC),
        )
        for day in days
    ]  # fmt: skip
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        lake.transact(lambda transaction: transaction.append(rows))


def run(
    report: dg.AssetsDefinition, home: Path, tags: dict[str, str]
) -> dg.ExecuteInProcessResult:
    lake = LakeResource(catalog=str(home / "catalog.sqlite"), data=str(home / "data"))
    resources: dict[str, Any] = {
        "lake": lake,
        "reports": ReportsResource(folder=str(home / "reports")),
        "search": SearchResource(search="embedded", path=str(home / "search.sqlite")),
    }
    definitions = dg.Definitions(assets=[report], resources=resources)
    job = definitions.resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.ephemeral() as instance:
        return job.execute_in_process(instance=instance, tags=tags)


def test_a_range_is_one_run_with_a_page_and_its_own_counts_for_each_day(
    report: dg.AssetsDefinition, tmp_path: Path
) -> None:
    store(tmp_path, DAYS[0])
    tags = {
        "dagster/asset_partition_range_start": str(DAYS[0]),
        "dagster/asset_partition_range_end": str(DAYS[1]),
    }
    result = run(report, tmp_path, tags)

    made = {
        m.partition: m.metadata
        for m in result.asset_materializations_for_node("newsroom__daily_report")
    }
    assert {day: metadata["entries"].value for day, metadata in made.items()} == {
        str(DAYS[0]): 1,
        str(DAYS[1]): 0,
    }
    pages = {day: Path(str(metadata["file"].value)) for day, metadata in made.items()}
    assert pages == {str(day): tmp_path / "reports" / f"{day}.html" for day in DAYS}
    assert "No new entries" in pages[str(DAYS[1])].read_text()
    assert "g1: every entry is fetched" in pages[str(DAYS[0])].read_text()
    assert (
        "world: every entry is fetched (0 checked)" in pages[str(DAYS[0])].read_text()
    )


def test_the_metadata_has_a_plot_and_tables(
    report: dg.AssetsDefinition, tmp_path: Path
) -> None:
    store(tmp_path, DAYS[1])
    result = run(report, tmp_path, {"dagster/partition": str(DAYS[1])})

    (made,) = result.asset_materializations_for_node("newsroom__daily_report")
    picture = re.fullmatch(
        r"!\[[^]]+\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)",
        str(made.metadata["plot"].value),
    )
    assert picture
    assert base64.b64decode(picture[1]).startswith(b"<svg")
    assert made.metadata["findings"].value == (
        "| what | how many |\n| --- | --- |\n| g1: every entry is fetched | 1 found among 1 checked |"
    )
    assert (
        str(made.metadata["stages by desk"].value).splitlines()[2]
        == "| g1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |"
    )


def test_partitions_start_with_the_earliest_desk_and_end_today(
    report: dg.AssetsDefinition,
) -> None:
    keys = report.partitions_def.get_partition_keys() if report.partitions_def else []
    today = datetime.now(UTC).date()  # tests may run across midnight
    assert (report.key, keys[0], keys[-1]) == (
        REPORT_KEY,
        str(TODAY - timedelta(days=30)),
        str(today),
    )
