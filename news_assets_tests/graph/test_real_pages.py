"""The whole graph over real pages: two news sites on loopback with some 45 articles, or
twelve with all.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.records.articles import FeedEntry, RawArticle, StoredPage
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.graph import Graph
from news_assets_tests.support.newsroom import Sites, newsroom

PORT, SITES, FEW = 8088, 12, 2
STAGES = (
    FeedEntry,
    RawArticle,
    StoredPage,
    EnrichedArticle,
    ArticleEmbedding,
    IndexedDocument,
)


@pytest.fixture(scope="module")
def sites(shared: Path) -> Iterator[Sites]:
    with newsroom(shared, PORT, "--agencies", str(SITES)) as running:
        yield running


@pytest.mark.slow  # extracts real pages; with all of the sites, the model embeds them
@pytest.mark.parametrize(
    "count", [FEW, pytest.param(SITES, marks=pytest.mark.exhaustive)]
)
def test_every_published_page_becomes_one_article_and_repeating_changes_nothing(
    sites: Sites, count: int, tmp_path: Path, models_dir: Path
) -> None:
    today = datetime.now(UTC).date()
    (tmp_path / "models").symlink_to(models_dir)
    desk, resources = sites.desk(tmp_path, count), {}
    if count == FEW:
        desk = replace(desk, enrich=replace(desk.enrich, themes="words"))
        resources = EMBEDDER
    with dg.DagsterInstance.ephemeral() as instance:
        graph = Graph(desk, tmp_path, instance, resources)
        agencies = {agency.key for agency in graph.desk.agencies}
        assert graph.poll().success
        assert graph.run(today - timedelta(days=4), today).success

        published = {
            page["url"]
            for page in sites.call("/_articles")
            if page["published"] and page["agency"] in agencies
        }
        with graph.lake() as lake:
            articles = lake.read(RawArticle)
            before = {record: lake.read(record) for record in STAGES}
        assert sorted(article.url for article in articles) == sorted(published)
        assert [
            article.url
            for article in articles
            if article.outcome != "ok" and not article.reason
        ] == []
        assert sum(article.outcome == "ok" for article in articles) >= 0.95 * len(
            articles
        )
        processed = {
            article.article_id for article in articles if article.outcome == "ok"
        }
        for record in (EnrichedArticle, ArticleEmbedding, IndexedDocument):
            assert {
                row.article_id for row in before[record] if row.outcome == "ok"
            } == processed

        requests = sites.article_requests()
        assert graph.poll().success
        assert graph.run(today - timedelta(days=4), today).success
        with graph.lake() as lake:
            assert {record: lake.read(record) for record in STAGES} == before
        assert sites.article_requests() == requests

        new = sites.call("/_publish", agency="site02")
        assert graph.poll().success
        assert graph.run(today - timedelta(days=1), today).success
        with graph.lake() as lake:
            (article,) = [
                row
                for row in lake.read(RawArticle)
                if row.article_id not in {a.article_id for a in articles}
            ]
        assert article.url == new["url"]
        assert sites.article_requests() == requests + 1
