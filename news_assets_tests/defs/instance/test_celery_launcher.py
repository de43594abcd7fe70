"""Which queue a run goes to."""

import pytest
from dagster import AssetCheckKey, AssetKey, DagsterRun

from news_assets.defs.instance.celery_launcher import queue_of

QUEUES = ("dagster", "govbr", "g1")


def run(tags: dict[str, str], *assets: str) -> DagsterRun:
    return DagsterRun(
        "any",
        tags=tags,
        asset_selection=frozenset(AssetKey(asset.split("/")) for asset in assets),
    )


@pytest.mark.parametrize(
    ("tags", "assets", "queue"),
    [
        ({"dagster-celery/queue": "g1", "news/desk": "govbr"}, (), "g1"),
        ({"news/desk": "govbr"}, (), "govbr"),
        ({}, ("g1/raw_articles", "g1/search_index"), "g1"),
        ({"news/desk": "no_such_desk"}, (), "dagster"),
        ({}, ("lake/maintenance",), "dagster"),
        ({}, (), "dagster"),
    ],
)
def test_a_run_goes_to_the_queue_of_its_tag_or_its_desk_or_the_default(
    tags: dict[str, str], assets: tuple[str, ...], queue: str
) -> None:
    assert queue_of(run(tags, *assets), QUEUES) == queue


def test_a_run_of_checks_alone_goes_to_their_desks_queue() -> None:
    checks = frozenset(
        {AssetCheckKey(AssetKey(["govbr", "raw_articles"]), "ids_are_unique")}
    )
    assert queue_of(DagsterRun("any", asset_check_selection=checks), QUEUES) == "govbr"
