"""Killed and concurrent processes leave the rows and the index of one; `make soak`
kills 200 with each catalog.
"""

import random
from pathlib import Path

import pytest

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.soak.kills import kill_writers, undisturbed, write_side_by_side
from news_assets_tests.soak.promises import broken_promises
from news_assets_tests.soak.writers import Newsroom, write
from news_assets_tests.support.lakes import Catalogs, copy_lake
from news_assets_tests.support.synthetic_desk import agency_keys

LAST_ROUND, KILLS = 2, 3


@pytest.mark.slow  # some six processes, each of which imports everything
@pytest.mark.timeout(600)
def test_processes_killed_inside_writes_lose_nothing_and_leave_nothing(
    catalogs: Catalogs, tmp_path: Path
) -> None:
    room = Newsroom(catalogs.new(tmp_path / "killed"), tmp_path / "killed")
    counts = kill_writers(room, KILLS, random.Random(7))
    assert counts.inside == KILLS
    assert (
        broken_promises(
            room, undisturbed(catalogs, tmp_path / "undisturbed", counts.processes)
        )
        == []
    )


# no harder than the same agencies: test_write_lock.py commits other rows side by side
AN_AGENCY_EACH = pytest.param(False, id="an agency each", marks=pytest.mark.exhaustive)


@pytest.mark.slow  # several processes at once
@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    "is_shared", [pytest.param(True, id="the same agencies"), AN_AGENCY_EACH]
)
def test_several_processes_store_what_one_does(
    catalogs: Catalogs, tmp_path: Path, is_shared: bool, count: int
) -> None:
    room = Newsroom(
        catalogs.new(tmp_path / "several"), tmp_path / "several", agencies=count
    )
    write_side_by_side(
        room,
        LAST_ROUND,
        [None] * count if is_shared else [[key] for key in agency_keys(count)],
    )
    assert (
        broken_promises(
            room, undisturbed(catalogs, tmp_path / "one", LAST_ROUND, count)
        )
        == []
    )


@pytest.mark.slow  # fills a desk
def test_lost_and_damaged_rows_are_found(tmp_path: Path) -> None:
    rooms = [
        Newsroom(
            (str(tmp_path / n / "catalog.sqlite"), str(tmp_path / n / "data")),
            tmp_path / n,
            1,
        )
        for n in "ab"
    ]
    write(rooms[1], [0])
    copy_lake(rooms[1].folder, rooms[0].folder)
    with Lake.open(*rooms[0].place) as lake:
        article = lake.read(RawArticle)[0]
        lake.transact(
            lambda rows: rows.delete(RawArticle, article_id=[article.article_id])
        )
    found = broken_promises(*rooms)
    assert found[0] == "raw_articles: 1 rows, 2 expected; 1 lost, 0 other"
    assert any(one.startswith("backlog: ") for one in found)
