"""The order and the filters of stories of some days."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from news_assets.records.derived import EnrichedArticle, Story, StoryMember
from news_assets.store.lake import Lake
from news_assets.store.queries.names import places_of_stories
from news_assets.store.queries.story_lists import StoryFilters, ranked_stories
from news_assets_tests.store.examples import full, upsert

DAY = date(2026, 11, 20)
ONE_DAY = StoryFilters(first_day=DAY, last_day=DAY)


def store_story(
    lake: Lake,
    story_id: str,
    agencies: str,
    *,
    hour: int = 12,
    day: date = DAY,
    copies: str = "",
    theme: str = "economy",
    language: str = "pt",
    names: tuple[str, ...] = (),
) -> None:
    """Store a story that these agencies, a letter each, told at an hour."""
    at = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
    members: list[StoryMember] = []
    enriched: list[EnrichedArticle] = []
    for agency in agencies:
        mine: dict[str, Any] = {
            "article_id": f"{story_id}-{agency}",
            "desk": "d",
            "agency": agency,
            "day": day,
        }
        members.append(
            full(
                StoryMember,
                **mine,
                story_id=story_id,
                first_seen_at=at,
                is_copy=agency in copies,
                language=language,
            )
        )
        row = full(
            EnrichedArticle,
            **mine,
            theme_code=theme,
            theme_path=("top", theme),
            entity_ids=names,
            entities=tuple(name.upper() for name in names),
            outcome="ok",
        )
        enriched.append(row)
    publishers = tuple(f"d/{agency}" for agency in agencies)
    story = full(
        Story,
        story_id=story_id,
        article_id=f"{story_id}-{agencies[0]}",
        day=day,
        last_day=day,
        publishers=publishers,
        languages=(language,),
        article_count=len(agencies),
        publisher_count=len(agencies) - len(copies),
    )
    for rows in (members, enriched, [story]):
        upsert(lake, rows)


def _ids(lake: Lake, filters: StoryFilters) -> list[str]:
    return [one.story_id for one in ranked_stories(lake, filters, limit=10)]


def test_a_story_of_more_publishers_comes_before_a_somewhat_newer_one(
    lake: Lake,
) -> None:
    store_story(lake, "many", "abcd", hour=8)
    store_story(lake, "new", "a", hour=15)
    store_story(lake, "copied", "abcd", hour=8, copies="bcd")

    found = ranked_stories(lake, ONE_DAY, limit=10)

    assert [one.story_id for one in found] == ["many", "new", "copied"]
    assert [one.listed_publisher_count for one in found] == [4, 1, 1]
    assert found[0].theme_code == "economy"
    assert found[0].language == "pt"
    assert found[0].publishers == ("d/a", "d/b", "d/c", "d/d")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"publishers": 2}, ["two"]),
        ({"agency": "c"}, ["one"]),
        ({"theme": "sport"}, ["one"]),
        ({"theme": "top"}, ["two", "one"]),
        ({"language": "en"}, ["one"]),
        ({"article_ids": ["two-b"]}, ["two"]),
        ({"article_ids": []}, []),
        ({"desk": "other"}, []),
    ],
)
def test_a_filter_keeps_stories_with_an_article_that_passes_it(
    lake: Lake, changes: dict[str, Any], expected: list[str]
) -> None:
    store_story(lake, "two", "ab")
    store_story(lake, "one", "c", theme="sport", language="en")
    store_story(lake, "before", "ab", day=DAY - timedelta(days=1))

    filters = StoryFilters(first_day=DAY, last_day=DAY, **changes)

    assert _ids(lake, filters) == expected


def test_parts_of_the_list_follow_each_other_also_at_equal_ranks(lake: Lake) -> None:
    for story_id in ("s1", "s2", "s3"):
        store_story(lake, story_id, "ab")
    [first, second] = ranked_stories(lake, ONE_DAY, limit=2)

    rest = ranked_stories(lake, ONE_DAY, after=(second.rank, second.story_id), limit=2)

    assert [first.story_id, second.story_id, rest[0].story_id] == ["s1", "s2", "s3"]
    assert len(rest) == 1


def test_stories_are_those_of_a_name_and_the_places_of_most_stories_come_first(
    lake: Lake,
) -> None:
    store_story(lake, "one", "ab", names=("place/porto", "person/ana"))
    store_story(lake, "two", "c", names=("place/porto", "place/braga"))
    store_story(lake, "three", "d")

    of_porto = replace(ONE_DAY, names=["place/porto"])
    found = ranked_stories(lake, of_porto, limit=9)
    assert {one.story_id for one in found} == {"one", "two"}

    places = places_of_stories(lake, ["one", "two", "three"], (DAY, DAY))
    assert [(one.name_id, one.name, list(one.story_ids)) for one in places] == [
        ("place/porto", "PLACE/PORTO", ["one", "two"]),
        ("place/braga", "PLACE/BRAGA", ["two"]),
    ]


def test_a_place_that_few_articles_of_a_story_name_is_not_its_place(lake: Lake) -> None:
    store_story(lake, "one", "abc")
    upsert(
        lake,
        [
            replace(row, entity_ids=("place/porto",), entities=("Porto",))
            for row in lake.read(EnrichedArticle, agency=["a"])
        ],
    )
    assert places_of_stories(lake, ["one"], (DAY, DAY)) == []
