"""What those who follow the archive read: its record of changes, and the coverage by stage with links
to its partitions in Dagster.
"""

from datetime import UTC, datetime

import httpx

from news_assets.records.articles import RawArticle
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.web.operations.conftest import DAGSTER, Site
from news_assets_tests.web.test_pages import links_of

URL = "/api/v1/changes"


def test_changes_are_followed_from_a_cursor_in_order(browser: httpx.Client) -> None:
    whole = browser.get(URL, params={"limit": 1000}).json()
    followed, since = [], ""
    while True:
        part = browser.get(URL, params={"since": since, "limit": 3}).json()
        followed += part["items"]
        since = part["next"]
        if not part["items"]:
            break

    assert followed == whole["items"]
    assert since == whole["next"]
    assert {one["change"] for one in followed} == {
        "stored",
        "enriched",
        "embedded",
        "indexed",
    }
    places = [(one["commit_id"], one["sequence"]) for one in followed]
    assert places == sorted(set(places))


def test_a_wrong_cursor_and_a_lost_one_are_told_apart(browser: httpx.Client) -> None:
    wrong, lost = (
        browser.get(URL, params={"since": since}) for since in ("yesterday", "7-1-0")
    )

    assert (wrong.status_code, wrong.headers["content-type"]) == (
        400,
        "application/problem+json",
    )
    assert wrong.json()["detail"].startswith("'yesterday' is not a cursor")
    assert lost.status_code == 410
    assert (
        lost.json()["detail"]
        == "the lake was restored from a backup since this cursor; begin without one"
    )


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
