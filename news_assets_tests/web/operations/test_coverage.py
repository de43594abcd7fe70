"""The coverage by stage: what waits for it, and links to its partitions in Dagster."""

from datetime import UTC, datetime

import httpx

from news_assets.records.articles import RawArticle
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.web.operations.conftest import DAGSTER, Site
from news_assets_tests.web.test_pages import links_of


def test_the_coverage_of_a_stage_counts_what_waits_for_it_and_links_to_its_partitions(
    operated: Site, client: httpx.Client
) -> None:
    today = datetime.now(UTC).date()
    upsert(
        operated.lake,
        [
            full(
                RawArticle,
                article_id="a-9",
                desk="d",
                agency="a",
                day=today,
                outcome="ok",
            )
        ],
    )

    def waiting(stage: str) -> list[int]:
        items = client.get("/api/v1/coverage", params={"stage": stage}).json()["items"]
        return [one["behind"] for one in items if one["day"] == today.isoformat()]

    assert [waiting(stage) for stage in ("", "raw_articles", "enriched_articles")] == [
        [1],
        [0],
        [1],
    ]
    of_stage = links_of(client.get("/operations?stage=enriched_articles").text)
    assert (
        f"{DAGSTER}/assets/d/enriched_articles?view=partitions&partition=a%7C{today}"
        in of_stage
    )
    of_all = links_of(client.get("/operations").text)
    assert f"/search?desk=d&agency=a&from={today}&to={today}" in of_all
    assert "/operations?desk=d&stage=enriched_articles" in of_all
