"""The asset and its sensor over a real lake: articles of two desks join stories, a
backfill by day gives the same, and nothing is requested where nothing is missing.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.utils import make_new_run_id

from news_assets.defs.active_runs import MODEL_TAGS
from news_assets.defs.jobs import build_shared_jobs
from news_assets.defs.newsroom_assets import build_stories, build_stories_sensor
from news_assets.defs.partitions import utc_now
from news_assets.defs.sensor_cursor import Cursor
from news_assets.store.lake import Lake
from news_assets_tests.pipeline.stories.test_assign import BRIDGE, BRIDGE_AGAIN, BUDGET
from news_assets_tests.pipeline.stories.test_update import put, stories_of
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.small_desk import DESK

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

TODAY = datetime.now(UTC).date()
YESTERDAY = TODAY - timedelta(days=1)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as opened:
        for key, text, axis, minute, day in (
            ("one", BRIDGE, 0, 1, YESTERDAY),
            ("two", BRIDGE_AGAIN, 0, 2, TODAY),
            ("else", BUDGET, 1, 3, TODAY),
        ):
            put(opened, key, text, axis, minute=minute, day=day, desk=DESK.key)
        yield opened


def run(
    lake: Lake, instance: dg.DagsterInstance, request: dg.RunRequest, **config: bool
) -> dg.ExecuteInProcessResult:
    stories = build_stories([DESK])
    job = dg.define_asset_job("stories", [stories])
    return (
        dg.Definitions(
            assets=[stories],
            jobs=[job],
            resources={"lake": lake, "sandbox": InlineSandbox()},
        )
        .resolve_job_def("stories")
        .execute_in_process(
            instance=instance,
            tags=request.tags,
            run_config={"ops": {"newsroom__stories": {"config": config}}},
            raise_on_error=False,
        )
    )


def tick(
    lake: Lake, instance: dg.DagsterInstance, pauses: float = 0
) -> list[dg.RunRequest]:
    return list(evaluated(lake, instance, pauses=pauses).run_requests or ())


def evaluated(
    lake: Lake,
    instance: dg.DagsterInstance,
    cursor: str | None = None,
    pauses: float = 0,
) -> dg.SensorResult:
    jobs = build_shared_jobs([DESK])
    sensor = build_stories_sensor([DESK], jobs, lambda: lake, tick_s=0, pauses=pauses)
    result = sensor(dg.build_sensor_context(instance, cursor=cursor))
    assert isinstance(result, dg.SensorResult)
    return result


def test_a_run_waits_for_the_end_of_those_of_articles(lake: Lake) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        (request,) = tick(lake, instance)
        run(lake, instance, request)
        cursor = evaluated(lake, instance).cursor
        put(lake, "three", BUDGET, 1, desk=DESK.key)
        started = dg.DagsterRunStatus.STARTED
        of_models = dg.DagsterRun(
            f"{DESK.key}_articles", make_new_run_id(), status=started, tags=MODEL_TAGS
        )
        of_articles = dg.DagsterRun(
            f"{DESK.key}_articles", make_new_run_id(), status=started
        )

        instance.add_run(of_models)
        assert evaluated(lake, instance, cursor).run_requests
        instance.add_run(of_articles)
        waits = evaluated(lake, instance, cursor)
        assert not waits.run_requests
        instance.report_run_canceled(of_articles)
        assert evaluated(lake, instance, waits.cursor).run_requests


def test_a_run_waits_for_those_of_articles_for_some_seconds_only(lake: Lake) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_run(
            dg.DagsterRun(
                f"{DESK.key}_articles",
                make_new_run_id(),
                status=dg.DagsterRunStatus.STARTED,
            )
        )

        long_ago = Cursor(evaluated_at=utc_now().timestamp() - 16)
        assert evaluated(lake, instance, long_ago.to_json()).run_requests
        just_now = Cursor(evaluated_at=utc_now().timestamp())
        assert not evaluated(lake, instance, just_now.to_json()).run_requests


def test_articles_get_their_stories_and_a_backfill_gives_the_same(lake: Lake) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        (request,) = tick(lake, instance)
        done = run(lake, instance, request)
        assert done.success
        found = stories_of(lake)
        assert tick(lake, instance) == []
        rebuilt = run(lake, instance, request, rebuild=True)

    assert found["one"] == found["two"] != found["else"]
    assert rebuilt.success
    assert stories_of(lake) == found
    (made, *_) = done.asset_materializations_for_node("newsroom__stories")
    assert made.metadata["articles"].value == 3
    assert made.metadata["stories_begun"].value == 2


def test_an_article_of_an_earlier_day_that_is_edited_is_requested_again(
    lake: Lake,
) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        (request,) = tick(lake, instance)
        run(lake, instance, request)
        put(lake, "one", BUDGET, 1, day=YESTERDAY, desk=DESK.key, state="2")
        (again,) = tick(lake, instance)
        run(lake, instance, again)

        assert set(again.tags.values()) == {str(YESTERDAY)}
        assert tick(lake, instance) == []
    found = stories_of(lake)
    assert found["one"] == found["else"] != found["two"]


def test_the_sensor_waits_after_a_run_in_proportion_to_it(lake: Lake) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        (request,) = tick(lake, instance)
        run(lake, instance, request)
        put(lake, "one", BUDGET, 1, day=YESTERDAY, desk=DESK.key, state="2")

        assert tick(lake, instance, pauses=1e6) == []
        assert len(tick(lake, instance)) == 1
