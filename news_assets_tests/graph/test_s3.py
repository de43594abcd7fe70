"""The sample desk's graph over a lake whose data is on S3: stages, maintenance, and a
rebuild of the index.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from news_assets.commands.search_upkeep import rebuild_search
from news_assets.defs.jobs import MAINTENANCE
from news_assets.records.articles import RawArticle, StoredPage
from news_assets.records.derived import IndexedDocument
from news_assets.records.desks import Desk
from news_assets.store.maintenance import delete_orphans, maintain
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.graph import Graph
from news_assets_tests.support.s3 import BUCKET, s3_bucket


@pytest.mark.slow  # hundreds of requests to a server in Python
def test_the_graph_maintenance_and_a_rebuild_work_on_s3(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    today, data = datetime.now(UTC).date(), f"s3://{BUCKET}/news"
    with s3_bucket() as (variables, bucket), dg.DagsterInstance.ephemeral() as instance:
        for name, value in {
            **variables,
            "NEWS_HOME": str(tmp_path),
            "NEWS_DATA": data,
        }.items():
            monkeypatch.setenv(name, value)
        graph = Graph(desk, tmp_path, instance, EMBEDDER, data=data)
        assert graph.poll().success
        assert graph.run(today - timedelta(days=4), today).success
        assert (
            graph.definitions.resolve_job_def(MAINTENANCE)
            .execute_in_process(instance=instance)
            .success
        )
        with graph.lake() as lake:
            rows = (lake.read(RawArticle), lake.read(StoredPage))
            later = datetime.now(UTC) + timedelta(days=30)
            maintain(lake, now=later)
            orphans = delete_orphans(lake, now=later)
            kept = {record: lake.read(record) for record in (RawArticle, StoredPage)}
            assert (tuple(kept.values()), orphans.files) == (rows, ())
            assert {key.split("/")[2] for key in files(bucket)} >= {
                "raw_articles",
                "pages",
                "entries",
            }
            assert (
                len(files(bucket))
                == lake.query(
                    "SELECT sum(file_count) FROM ducklake_table_info('lake')"
                ).item()
            )

        (tmp_path / "search.sqlite").unlink()
        rebuild_search(dry_run=False)
        with graph.lake() as lake:
            indexed = {
                receipt.article_id
                for receipt in lake.read(IndexedDocument)
                if receipt.outcome == "ok"
            }
            assert indexed == {
                article.article_id for article in rows[0] if article.outcome == "ok"
            }
        assert graph.check().success


def files(bucket: Any) -> set[str]:
    return {one.key for one in bucket.objects.all() if one.key.endswith(".parquet")}
