"""The lake that a process caches between its runs."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeGuard

import dagster as dg
import pytest

from news_assets.defs.resources import EnricherResource, LakeResource, build_resources
from news_assets.pipeline.enrich.model.ledger import Budget
from news_assets.records.derived import Failure
from news_assets.records.model_calls import ModelCall
from news_assets.settings import Settings
from news_assets.store.address import Address, without_password
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def held_back(home: Path) -> list[str]:
    """Return the failures that are not due, read from the cached lake."""
    resource = LakeResource(
        catalog=str(home / "catalog.sqlite"), data=str(home / "data")
    )
    with dg.build_resources({"lake": resource}) as resources:
        found = resources.lake.query(
            "SELECT article_id FROM failures WHERE next_try_at IS NULL OR next_try_at > $now",
            {"now": NOW},
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


@pytest.mark.parametrize(("tags", "calls"), [({}, 5), ({"dagster/backfill": "abc"}, 4)])
def test_a_run_has_a_budget_of_its_own_and_a_backfill_a_smaller_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tags: dict[str, str], calls: int
) -> None:
    monkeypatch.setenv("NEWS_HOME", str(tmp_path))
    monkeypatch.setenv("NEWS_MAX_USD_PER_DAY", "10")
    settings = Settings.read()
    with Lake.open(settings.catalog, settings.data) as lake:
        call = sparse(
            ModelCall, called_at=datetime.now(UTC), usd=0.5, reserved_usd=None
        )
        lake.transact(lambda rows: rows.upsert([call]))
    resource = build_resources(settings)["enricher"]
    assert isinstance(resource, EnricherResource)

    opened: list[Budget] = []

    @dg.op(required_resource_keys={"enricher"})
    def ask(context: dg.OpExecutionContext) -> None:
        opened.append(context.resources.enricher.open().budget)

    @dg.job(resource_defs={"enricher": resource})
    def asking() -> None:
        ask()

    for _ in range(2):
        asking.execute_in_process(tags=tags)
    budget, other = opened
    assert budget is not other
    with Lake.open(settings.catalog, settings.data) as lake:
        already = budget.spent(lake, datetime.now(UTC))
    model = "openai:gpt-5-mini"
    refusals = [
        budget.refusal(model, 1.75, n * 1.75, already) for n in range(calls + 1)
    ]
    assert refusals[:-1] == [""] * calls
    assert refusals[-1].startswith("NEWS_MAX_USD_PER_DAY is reached")


def test_no_field_of_a_resource_has_the_password_of_the_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEWS_CATALOG", "postgresql://me:geheim@127.0.0.1:1/news")
    resources = build_resources(Settings.read())
    shown = [one.model_dump_json() for one in resources.values() if _is_shown(one)]
    assert any("postgresql://me:***@127.0.0.1:1/news" in one for one in shown)
    assert not any("geheim" in one for one in shown)


def _is_shown(resource: object) -> TypeGuard[dg.ConfigurableResource[object]]:
    return isinstance(resource, dg.ConfigurableResource)


def test_the_lake_is_opened_with_the_password_of_the_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    catalog = "postgresql://me:geheim@127.0.0.1:1/news"
    monkeypatch.setenv("NEWS_CATALOG", catalog)
    opened: list[Address] = []

    def cached_lake(address: Address) -> None:
        opened.append(address)

    monkeypatch.setattr("news_assets.defs.resources._cached_lake", cached_lake)
    LakeResource(catalog=without_password(catalog), data=str(tmp_path)).open()
    assert opened == [Address(catalog, str(tmp_path))]
