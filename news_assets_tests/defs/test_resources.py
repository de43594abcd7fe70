"""The lake that a process caches between its runs."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg

from news_assets.defs.resources import LakeResource
from news_assets.records import Failure
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def held_back(home: Path) -> list[str]:
    """Return the failures that are not due, read from the cached lake."""
    resource = LakeResource(catalog=str(home / "catalog.sqlite"), data=str(home / "data"))
    with dg.build_resources({"lake": resource}) as resources:
        found = resources.lake.query(
            "SELECT article_id FROM failures WHERE next_try_at IS NULL OR next_try_at > $now", {"now": NOW}
        )
        return [str(article_id) for (article_id,) in found.rows()]


def fail(home: Path, article_id: str, next_try_at: datetime) -> None:
    """Store a failure as another process does."""
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        failure = sparse(Failure, article_id=article_id, next_try_at=next_try_at)
        lake.transact(lambda rows: rows.upsert([failure]))


def test_a_restored_copy_of_the_lake_is_opened_again(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy"
    home.mkdir()
    fail(home, "a", NOW + timedelta(days=1))
    shutil.copytree(home, copy)
    for article_id in ("b", "c"):
        fail(home, article_id, NOW + timedelta(days=1))
        assert "a" in held_back(home)
    shutil.rmtree(home)
    shutil.copytree(copy, home)
    fail(home, "a", NOW - timedelta(hours=1))
    assert held_back(home) == []
