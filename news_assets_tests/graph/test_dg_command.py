"""`dg`, the newer command line of Dagster, in this project: it checks, lists and
materialises the definitions.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.defs.partitions import last_day
from news_assets.desks.desk_files import load_desks
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.derived import IndexedDocument
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets_tests.support.profiles import REPOSITORY, Site
from news_assets_tests.test_definitions import SCHEDULES, SENSORS, SNAPSHOT

pytestmark = pytest.mark.slow  # each command loads Dagster in one process or two


@pytest.fixture
def environment(tmp_path: Path, models_dir: Path) -> Iterator[dict[str, str]]:
    """The environment variables of a prompt in the repository, with a home in the
    test's folder.
    """
    (tmp_path / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    (tmp_path / ".news").mkdir()
    (tmp_path / ".news" / "models").symlink_to(models_dir)
    with Site(tmp_path) as site:
        yield {
            **os.environ,
            **site.env,
            "DAGSTER_HOME": str(tmp_path),
            "NEWS_HOME": str(tmp_path / ".news"),
            "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
            "NEWS_HOST_DELAY_S": "0",
        }


def dg(environment: Mapping[str, str], *arguments: str) -> str:
    """Return the output of a command that succeeds."""
    command = [str(Path(sys.executable).with_name("dg")), *arguments]
    done = subprocess.run(
        command,
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SupersessionWarning" not in done.stderr
    return done.stdout


def test_definitions_are_checked_and_listed(environment: dict[str, str]) -> None:
    assert "All definitions loaded successfully." in dg(environment, "check", "defs")
    listed = json.loads(dg(environment, "list", "defs", "--json"))
    assert {asset["asset_key"] for asset in listed["assets"]} == set(SNAPSHOT)
    assert {sensor["name"] for sensor in listed["sensors"]} == set(SENSORS)
    assert {schedule["name"] for schedule in listed["schedules"]} == set(SCHEDULES)


@pytest.mark.exhaustive  # test_materialize_command.py does so by Dagster's other command
def test_assets_are_materialised_over_a_partition_and_a_range(
    environment: dict[str, str],
) -> None:
    dg(
        environment,
        "launch",
        "--assets",
        "key:sample/feed_entries",
        "--partition",
        "prefeitura",
    )
    (desk,) = load_desks([environment["NEWS_DESKS"]], KINDS)
    home = Path(environment["NEWS_HOME"])
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        first = min(entry.day for entry in lake.read(FeedEntry))
    days = f"prefeitura|{first}...prefeitura|{last_day(desk, datetime.now(UTC))}"
    dg(
        environment,
        "launch",
        "--assets",
        "key:sample/raw_articles+",
        "--partition-range",
        days,
    )
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        articles = {row.article_id for row in lake.read(RawArticle, outcome=["ok"])}
        assert {
            row.article_id for row in lake.read(IndexedDocument, outcome=["ok"])
        } == articles
    assert len(articles) > 1
