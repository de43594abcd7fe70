"""The asset and its schedule, with a real lake and folder."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from news_assets.defs.jobs import build_schedules, build_shared_jobs
from news_assets.defs.newsroom_assets import build_dataset
from news_assets.records.derived import DatasetOptions
from news_assets.store.dataset import CARD
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import article, upsert
from news_assets_tests.support.small_desk import DESK


def run(home: Path, place: str) -> dg.ExecuteInProcessResult:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        upsert(lake, [article(1, outcome="ok")])
        resources = {"lake": lake, "dataset_options": DatasetOptions(place)}
        with dg.DagsterInstance.ephemeral() as instance:
            return dg.materialize(
                [build_dataset([DESK])],
                instance=instance,
                resources=resources,
                raise_on_error=False,
            )


def test_a_run_publishes_an_issue_and_shows_its_counts(tmp_path: Path) -> None:
    done = run(tmp_path, str(tmp_path / "published"))

    (made,) = done.asset_materializations_for_node("newsroom__dataset")
    assert made.metadata["articles"].value == 1
    assert made.metadata["files"].value == 1
    assert (tmp_path / "published" / CARD).is_file()
    assert str(made.metadata["version"].value) < f"{datetime.now(UTC):%Y%m%dT999999}"


def test_a_run_without_a_place_fails_and_names_the_setting(tmp_path: Path) -> None:
    done = run(tmp_path, "")

    (failure,) = [event for event in done.all_events if event.is_step_failure]
    assert "NEWS_DATASET" in str(failure.step_failure_data.error)


def test_it_is_scheduled_only_where_the_setting_names_a_place() -> None:
    jobs = build_shared_jobs([DESK])

    def names(*, has_dataset: bool) -> set[str]:
        return {one.name for one in build_schedules(jobs, has_dataset=has_dataset)}

    assert names(has_dataset=True) - names(has_dataset=False) == {"dataset_daily"}
