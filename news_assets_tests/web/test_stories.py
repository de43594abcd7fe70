"""The page of a story, and the way to it."""

import httpx

from news_assets.pipeline.stories.loaded import story_id_of
from news_assets_tests.support.small_desk import TODAY

STORY = story_id_of(TODAY, "a-1")


def test_a_story_names_its_publishers_in_order_and_who_only_copied(
    browser: httpx.Client,
) -> None:
    page = browser.get(f"/stories/{STORY}").text

    assert page.index("/articles/a-1") < page.index("/articles/b-1c")
    assert page.count("<strong>copied</strong>") == 1
    assert "/publishers/d/a" in page
    assert "/publishers/d/b" in page


def test_an_article_links_to_its_story(browser: httpx.Client) -> None:
    assert f'href="/stories/{STORY}"' in browser.get("/articles/b-1c").text


def test_a_story_is_json_too_and_an_unknown_one_is_not_found(
    browser: httpx.Client,
) -> None:
    found = browser.get(f"/stories/{STORY}.json").json()

    assert found["story"]["story_id"] == STORY
    assert {"a-1", "b-1c"} <= {row["article_id"] for row in found["articles"]}
    assert browser.get("/stories/2026-01-01-none").status_code == 404
    assert browser.get("/api/v1/stories/2026-01-01-none").status_code == 404
