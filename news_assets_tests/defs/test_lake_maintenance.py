import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from news_assets.defs.lake_maintenance import (
    BACKED_UP,
    KNOWN_FILES,
    build_lake_maintenance,
)
from news_assets.records.desks import KeepDays
from news_assets.store.backup import back_up
from news_assets.store.lake import Lake
from news_assets.store.maintenance import MAX_ORPHANS


@pytest.fixture
def lake(lake: Lake, tmp_path: Path) -> Lake:
    lake.close()
    return Lake.open(
        lake.address.catalog, lake.address.data, backups=tmp_path / "backups"
    )


def run(
    lake: Lake, backup_days: int
) -> tuple[dict[str, dg.AssetCheckEvaluation], dict[str, Any]]:
    """Materialise the asset and return its checks by name and its metadata."""
    asset = build_lake_maintenance((), (), backup_days, KeepDays())
    with lake:
        result = dg.materialize([asset], resources={"lake": lake})
    (made,) = result.asset_materializations_for_node("lake__maintenance")
    checks = {check.check_name: check for check in result.get_asset_check_evaluations()}
    return checks, {name: value.value for name, value in made.metadata.items()}


def test_the_catalog_is_backed_up_and_old_daily_backups_are_deleted(
    lake: Lake, tmp_path: Path
) -> None:
    folder, now = tmp_path / "backups", datetime.now(UTC)
    old, kept = (
        back_up(lake.address, folder, now - timedelta(days=n), is_daily=True).file
        for n in (15, 13)
    )

    check = run(lake, 14)[0][BACKED_UP]

    assert (check.passed, check.metadata["backups_deleted"].value) == (True, 1)
    assert {Path(str(check.metadata["backup"].value)), kept} == set(folder.iterdir())
    assert not old.exists()


def test_without_backup_days_there_is_no_backup(lake: Lake, tmp_path: Path) -> None:
    assert run(lake, 0)[0][BACKED_UP].passed

    assert not (tmp_path / "backups").exists()


def test_a_backup_that_cannot_be_made_fails_its_check_and_the_rest_goes_on(
    lake: Lake, tmp_path: Path
) -> None:
    (tmp_path / "backups").write_text("a file in place of the folder")

    checks, metadata = run(lake, 14)

    assert not checks[BACKED_UP].passed
    assert f"{tmp_path / 'backups'}: the backup could not be made" in (
        checks[BACKED_UP].description or ""
    )
    assert (checks[KNOWN_FILES].passed, "snapshots" in metadata) == (True, True)


@pytest.mark.parametrize(("count", "passes"), [(1, True), (MAX_ORPHANS + 1, False)])
def test_the_check_fails_if_there_are_more_orphans_than_dead_writers_leave(
    lake: Lake, count: int, passes: bool
) -> None:
    old = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    files = [Path(lake.address.data) / f"{n:02}.parquet" for n in range(count)]
    for file in files:
        file.touch()
        os.utime(file, (old, old))

    checks, metadata = run(lake, 0)

    check = checks[KNOWN_FILES]
    assert (check.passed, check.severity) == (passes, dg.AssetCheckSeverity.WARN)
    assert [file.exists() for file in files] == [not passes] * count
    assert metadata["orphans_deleted"] == (count if passes else 0)
    assert check.metadata["unknown_files"].value == (0 if passes else count)
