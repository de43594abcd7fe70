"""`retention`, with and without `--dry-run`."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from news_assets.records.articles import Poll, StoredPage
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.store.examples import full

OLD = datetime(2020, 1, 31, tzinfo=UTC)


@pytest.fixture
def old(home: Path) -> Path:
    polls = [
        full(Poll, source_id="a", polled_at=OLD.replace(day=day))
        for day in range(1, 31)
    ]
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        lake.transact(
            lambda rows: (
                rows.append(polls),
                rows.append([full(StoredPage, day=date(2020, 1, 1), fetched_at=OLD)]),
            )
        )
    return home


def counts(home: Path) -> tuple[int, int]:
    """Return the old polls and pages."""
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return tuple(
            lake.query(
                f"SELECT count(*) FROM {table} WHERE {time} < DATE '2021-01-01'"
            ).item()
            for table, time in (("polls", "polled_at"), ("pages", "fetched_at"))
        )


def test_retention_prints_rows_by_table_and_month_and_deletes_them(
    old: Path, call: Call
) -> None:
    code, said, _ = call("retention", "--dry-run")
    assert (code, counts(old)) == (0, (30, 1))
    lines = [line.split() for line in said.splitlines()]
    assert ["pages", "2020-01", "0", "0.0", "1"] in lines
    assert ["polls", "2020-01", "29", "0.0", "1"] in lines
    assert "29 rows would be deleted" in said

    assert "29 rows were deleted" in call("retention")[1]
    assert counts(old) == (1, 1)
    assert "1 rows were deleted" in call("retention", "--irreplaceable")[1]
    assert counts(old) == (1, 0)
