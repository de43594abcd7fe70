"""The stories near an article, and the names that articles of a story have."""

from datetime import timedelta

from news_assets.records.derived import EnrichedArticle, Story, StoryMember
from news_assets.store.lake import Lake
from news_assets.store.queries.names import NameFilters, listed_names
from news_assets.store.queries.story_contents import near_stories, story_by_article
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.small_desk import TODAY

ANA, COUNCIL = ("person/ana-lima", "Ana Lima"), ("body/city-council", "City Council")


def article(
    lake: Lake, article_id: str, agency: str, story_id: str, *names: tuple[str, str]
) -> None:
    member = full(
        StoryMember,
        article_id=article_id,
        story_id=story_id,
        desk="d",
        agency=agency,
        day=TODAY,
    )
    enriched = full(
        EnrichedArticle,
        article_id=article_id,
        desk="d",
        agency=agency,
        day=TODAY,
        outcome="ok",
        reused_from=None,
        entity_ids=tuple(name_id for name_id, _ in names),
        entities=tuple(name for _, name in names),
    )
    upsert(lake, [member])
    upsert(lake, [enriched])


def story(lake: Lake, story_id: str, central: str, articles: int) -> None:
    row = full(
        Story,
        story_id=story_id,
        article_id=central,
        article_count=articles,
        day=TODAY,
        last_day=TODAY,
    )
    upsert(lake, [row])


def test_near_stories_stand_in_the_order_of_articles_with_names_of_the_central_one(
    lake: Lake,
) -> None:
    article(lake, "one", "a", "fire", ANA)
    article(lake, "two", "b", "fire", COUNCIL)
    article(lake, "three", "a", "flood", ANA, COUNCIL)
    article(lake, "four", "a", "alone", ANA)
    story(lake, "fire", "two", 2)
    story(lake, "flood", "three", 3)
    story(lake, "alone", "four", 1)
    days = {TODAY, TODAY - timedelta(days=1)}

    near = near_stories(lake, ["four", "three", "one", "two", "none"], days, "other")
    assert [one.story.story_id for one in near] == ["flood", "fire"]
    assert [set(one.name_ids) for one in near] == [{ANA[0], COUNCIL[0]}, {COUNCIL[0]}]
    assert [
        one.story.story_id for one in near_stories(lake, ["one", "three"], days, "fire")
    ] == ["flood"]
    assert near_stories(lake, [], days, "fire") == []
    assert set(story_by_article(lake, ["one", "four"], days)) == {"one"}


def test_names_are_listed_of_some_articles_by_their_publishers(lake: Lake) -> None:
    article(lake, "one", "a", "fire", ANA, COUNCIL)
    article(lake, "two", "b", "fire", COUNCIL)
    article(lake, "three", "c", "flood", ANA)
    filters = NameFilters(first_day=TODAY, last_day=TODAY, article_ids=["one", "two"])

    found = {one.name_id: one.publishers for one in listed_names(lake, filters)}
    assert found == {ANA[0]: 1, COUNCIL[0]: 2}
