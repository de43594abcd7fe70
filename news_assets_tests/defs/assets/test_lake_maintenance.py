from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.defs.assets.lake_maintenance import build_lake_maintenance
from news_assets.store.backups.backup import back_up
from news_assets.store.lake import Lake
from news_assets.store.maintenance import MAX_ORPHANS


@pytest.fixture
def lake(lake: Lake, tmp_path: Path) -> Lake:
    lake.close()
    return Lake.open(lake.address.catalog, lake.address.data, backups=tmp_path / "backups")


def run(lake: Lake, backup_days: int) -> dg.ExecuteInProcessResult:
    asset = build_lake_maintenance((), (), backup_days)
    with lake:
        return dg.materialize([asset], resources={"lake": lake})


def metadata(result: dg.ExecuteInProcessResult) -> dict[str, object]:
    (made,) = result.asset_materializations_for_node("lake__maintenance")
    return {name: value.value for name, value in made.metadata.items()}


def test_the_catalog_is_backed_up_and_old_daily_backups_are_deleted(lake: Lake, tmp_path: Path) -> None:
    folder, now = tmp_path / "backups", datetime.now(UTC)
    old, kept = (back_up(lake.address, folder, now - timedelta(days=n), is_daily=True).file for n in (15, 13))

    found = metadata(run(lake, 14))

    assert found["backups_deleted"] == 1
    assert {Path(str(found["backup"])), kept} == set(folder.iterdir())
    assert not old.exists()


def test_without_backup_days_there_is_no_backup(lake: Lake, tmp_path: Path) -> None:
    assert "backup" not in metadata(run(lake, 0))

    assert not (tmp_path / "backups").exists()


@pytest.mark.parametrize(("count", "passes"), [(1, True), (MAX_ORPHANS + 1, False)])
def test_the_check_fails_if_there_are_more_unknown_files_than_dead_writers_leave(
    lake: Lake, count: int, passes: bool
) -> None:
    old = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    import os

    files = [Path(lake.address.data) / f"{n:02}.parquet" for n in range(count)]
    for file in files:
        file.touch()
        os.utime(file, (old, old))

    result = run(lake, 0)

    (check,) = result.get_asset_check_evaluations()
    assert (check.passed, check.severity) == (passes, dg.AssetCheckSeverity.WARN)
    assert [file.exists() for file in files] == [not passes] * count
    assert metadata(result)["orphans_deleted"] == (count if passes else 0)
    assert check.metadata["unknown_files"].value == (0 if passes else count)
