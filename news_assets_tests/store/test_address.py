"""Damaged and missing files are named with the way back."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import RawArticle
from news_assets.store.address import Address, newest_backup
from news_assets.store.backup import back_up
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import MANY, article, upsert


def _flip(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:200] + bytes(2000) + content[2200:])


@pytest.mark.parametrize(
    ("damage", "state"),
    [
        (Path.unlink, "is missing"),
        (lambda file: file.write_bytes(b""), "is damaged; move it away"),
        (
            lambda file: file.write_bytes(file.read_bytes()[:5000]),
            "is damaged; move it away",
        ),
        (_flip, "is damaged; move it away"),
    ],
    ids=["missing", "empty", "cut", "flipped"],
)
def test_a_data_file_is_named(
    lake: Lake, damage: Callable[[Path], object], state: str
) -> None:
    upsert(lake, [article(n) for n in range(MANY)])
    upsert(lake, [article(n) for n in range(MANY, 2 * MANY)])
    address = lake.address
    file = sorted(Path(address.data).rglob("*.parquet"))[1]
    damage(file)

    with (
        Lake.open(address.catalog, address.data) as again,
        pytest.raises(LakeError) as raised,
    ):
        again.read(RawArticle)

    assert str(raised.value).startswith(
        f"{file}: this file of the lake {state}; put it back from a copy of the data"
    )
    assert "`news-assets restore FILE`" in str(raised.value)


def test_a_damaged_catalog_names_the_newest_backup(tmp_path: Path) -> None:
    address = Address(
        str(tmp_path / "catalog.sqlite"),
        str(tmp_path / "data"),
        str(tmp_path / "backups"),
    )
    Lake.open(address.catalog, address.data).close()
    back_up(address, tmp_path / "backups", datetime(2026, 11, 20, tzinfo=UTC))
    newest = back_up(
        address, tmp_path / "backups", datetime(2026, 11, 21, tzinfo=UTC), is_daily=True
    )
    Path(address.catalog).write_bytes(b"rubbish" * 1000)

    with pytest.raises(LakeError) as raised:
        Lake.open(address.catalog, address.data, backups=address.backups)

    assert f"restore the newest backup with `news-assets restore {newest.file}`" in str(
        raised.value
    )
    assert "move" not in str(raised.value)
    assert newest_backup(address, with_data=True) is None
