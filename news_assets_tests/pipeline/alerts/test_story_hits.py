"""Saved queries that tell a story once, or when it has reached some publishers."""

import json
from datetime import timedelta
from typing import Any

from news_assets.pipeline.alerts.mail_text import articles_text
from news_assets.records.alerts import Message, QueryHit
from news_assets.records.derived import Story, StoryMember
from news_assets.store.lake import Lake
from news_assets_tests.pipeline.alerts.test_telling import (
    NOW,
    index,
    query,
    rules,
    tell,
)
from news_assets_tests.store.examples import full, upsert

SOON, LATER = timedelta(minutes=6), timedelta(minutes=20)


def _store_story(lake: Lake, *numbers: int, publishers: int | None = None) -> None:
    """Store the story of these articles."""
    members = [
        full(StoryMember, article_id=f"a-{number}", day=NOW.date(), story_id="s")
        for number in numbers
    ]
    count = publishers or len(numbers)
    story = full(
        Story,
        story_id="s",
        publisher_count=count,
        article_count=len(numbers),
        publishers=tuple(f"d/{number}" for number in range(count)),
    )
    upsert(lake, members)
    upsert(lake, [story])


def _articles(messages: list[Message]) -> list[dict[str, Any]]:
    return [
        article
        for message in messages
        for article in json.loads(message.payload_json)["articles"]
    ]


def test_a_story_is_told_once_with_its_publishers(lake: Lake) -> None:
    alerts = rules(query(stories=True))
    tell(lake, alerts)
    index(lake, 1, 2, 3)
    _store_story(lake, 1, 2, 3)

    [article] = _articles(tell(lake, alerts))

    assert article["article_id"] == "a-1"
    assert article["story"]["publisher_count"] == 3
    assert article["story"]["publishers"] == ["0", "1", "2"]
    assert "3 publishers: 0, 1, 2" in articles_text([article])
    assert "3 órgãos: 0, 1, 2" in articles_text([article], "pt")


def test_a_later_article_of_a_told_story_is_not_told(lake: Lake) -> None:
    alerts = rules(query(stories=True), query("each"))
    tell(lake, alerts)
    index(lake, 1)
    _store_story(lake, 1)
    first = tell(lake, alerts)
    index(lake, 2)
    _store_story(lake, 1, 2)

    second = tell(lake, alerts, NOW + SOON)

    assert [message.topic for message in first] == ["buses", "each"]
    assert [message.topic for message in second] == ["each"]
    assert "story" not in _articles(second)[0]


def test_an_article_waits_for_its_story_and_is_told_alone_without_one(
    lake: Lake,
) -> None:
    alerts = rules(query(stories=True))
    tell(lake, alerts)
    index(lake, 1)

    assert tell(lake, alerts) == []
    assert lake.read(QueryHit)[0].due_at > NOW
    assert tell(lake, alerts, NOW + SOON) == []
    [article] = _articles(tell(lake, alerts, NOW + LATER))
    assert "story" not in article


def test_a_story_is_told_when_it_has_reached_the_publishers(lake: Lake) -> None:
    alerts = rules(query(publishers=3))
    tell(lake, alerts)
    index(lake, 1)
    _store_story(lake, 1)
    early = tell(lake, alerts)
    _store_story(lake, 1, 2, 3)

    [article] = _articles(tell(lake, alerts, NOW + SOON))

    assert early == []
    assert article["story"]["publisher_count"] == 3
    assert tell(lake, alerts, NOW + LATER) == []


def test_a_story_that_stays_with_few_publishers_is_not_told(lake: Lake) -> None:
    alerts = rules(query(publishers=3, max_age_hours=1))
    tell(lake, alerts)
    index(lake, 1)
    _store_story(lake, 1)
    tell(lake, alerts)
    much_later = NOW + timedelta(hours=2)

    assert tell(lake, alerts, much_later) == []
    assert lake.read(QueryHit)[0].told_at == much_later
