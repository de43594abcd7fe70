"""Damaged and missing files are named with the way back.

A lake is not begun over the files of another one, and a lost data folder is not
mistaken for an empty one.
"""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import Poll, RawArticle
from news_assets.store.address import Address, newest_backup
from news_assets.store.backup import back_up, plan_restore, restore
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import MANY, article, full, upsert
from news_assets_tests.support.lakes import Catalogs, Place
from news_assets_tests.support.s3 import s3_bucket


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


pytestmark = pytest.mark.on_postgres_too


def fill(place: Place) -> None:
    with Lake.open(*place) as lake:
        lake.transact(lambda transaction: transaction.append([full(Poll)] * MANY))


def id_file(place: Place) -> Path:
    return Path(place[1]) / "lake_id"


def test_a_lost_catalog_does_not_begin_a_new_lake_over_the_data(
    catalogs: Catalogs, tmp_path: Path
) -> None:
    data = str(tmp_path / "data")
    fill((catalogs.new(tmp_path)[0], data))
    files = {
        path: path.read_bytes() for path in Path(data).rglob("*") if path.is_file()
    }
    lost = catalogs.new(tmp_path / "other")[0]

    for _ in range(2):
        with pytest.raises(
            LakeError,
            match=r"there is no lake in this catalog, but .*data holds the files of one",
        ) as e:
            Lake.open(lost, data, backups=tmp_path / "backups")

    assert "news-assets restore FILE" in str(e.value)
    assert {
        path: path.read_bytes() for path in Path(data).rglob("*") if path.is_file()
    } == files


def test_parquet_files_without_an_id_are_not_taken_over_either(
    address: Place, tmp_path: Path
) -> None:
    (tmp_path / "data" / "main").mkdir(parents=True)
    (tmp_path / "data" / "main" / "rows.parquet").touch()

    with pytest.raises(LakeError, match="holds the files of one; restore it"):
        Lake.open(*address)


def test_an_empty_sqlite_file_is_a_lost_catalog(tmp_path: Path) -> None:
    place = (str(tmp_path / "catalog.sqlite"), str(tmp_path / "data"))
    fill(place)
    Path(place[0]).write_bytes(b"")

    with pytest.raises(LakeError, match="there is no lake in this catalog"):
        Lake.open(*place)


def test_a_catalog_of_another_lake_is_refused(catalogs: Catalogs, begun: Place) -> None:
    fill(begun)
    id_file(begun).write_text("other\n")

    with pytest.raises(
        LakeError,
        match=r"this catalog has the id [0-9a-f-]{36}, but the files in .* lake other",
    ):
        Lake.open(*begun)


def test_a_lost_data_folder_is_named_and_not_begun_again(begun: Place) -> None:
    fill(begun)
    shutil.rmtree(begun[1])

    for _ in range(2):
        with pytest.raises(
            LakeError,
            match="data: the data folder holds no file of the lake; check that",
        ):
            Lake.open(*begun)


def test_a_lost_id_file_is_written_again(begun: Place) -> None:
    fill(begun)
    lake_id = id_file(begun).read_text()
    id_file(begun).unlink()

    fill(begun)

    assert id_file(begun).read_text() == lake_id


def test_a_process_that_died_while_it_began_a_lake_is_no_obstacle(
    begun: Place,
) -> None:
    id_file(begun).unlink()

    fill(begun)

    assert id_file(begun).is_file()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The bucket of an S3 server that the environment's settings of S3 lead to."""
    with s3_bucket() as (variables, bucket):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield bucket


@pytest.mark.slow  # starts an S3 server
def test_a_lake_on_s3_guards_itself_in_the_same_way(
    bucket: Any, tmp_path: Path
) -> None:
    place, now = (
        (str(tmp_path / "catalog.sqlite"), "s3://bucket/news"),
        datetime.now(UTC),
    )
    fill(place)
    backup = back_up(Address(*place), tmp_path / "backups", now)
    Path(place[0]).unlink()

    with pytest.raises(LakeError, match="s3://bucket/news holds the files of one"):
        Lake.open(*place)
    plan = plan_restore(Address(*place), backup.file)
    assert (plan.missing, plan.copied) == ((), ())
    assert restore(Address(*place), plan, now).orphans == ()
    with Lake.open(*place) as lake:
        assert lake.read(Poll) == [full(Poll)] * MANY

    bucket.put_object(Key="news/lake_id", Body=b"other")
    with pytest.raises(LakeError, match="belong to the lake other"):
        Lake.open(*place)
    bucket.objects.delete()
    with pytest.raises(LakeError, match="holds no file of the lake"):
        Lake.open(*place)
    assert plan_restore(Address(*place), backup.file).missing == tuple(backup.files)
