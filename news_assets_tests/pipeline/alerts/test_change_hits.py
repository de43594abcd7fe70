"""Changes of meetings and articles that are told: to whom, once, and with what words."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from news_assets.pipeline.alerts.hits import change_hits
from news_assets.pipeline.alerts.outbox import tell_hits
from news_assets.pipeline.alerts.query_file import Alerts, SavedQuery
from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.records.alerts import ChangeHit, Message, QueryHit
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.records.meetings import MeetingChange
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import recent_changes
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.stored_meeting import ITEM, MEETING

NOW = datetime(2026, 11, 20, 15, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
ALL = ("cancelled", "moved", "agenda", "document", "voted", "edited", "withdrawn")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as opened:
        upsert(opened, [MEETING])
        items = [
            replace(ITEM, item_id=f"i-{n}", sequence=n, article_id=f"a-{n}")
            for n in (1, 2)
        ]
        upsert(opened, items)
        upsert(opened, [article(1, "Night buses"), article(2, "Rezoning")])
        yield opened


def article(number: int, title: str, **given: Any) -> RawArticle:
    usual = {
        "article_id": f"a-{number}",
        "desk": MEETING.desk,
        "agency": MEETING.agency,
        "meeting_id": MEETING.meeting_id,
        "language": "en",
        "outcome": "ok",
        "text": title,
        "published_at": NOW - 300 * HOUR,
        "canonical_url": f"https://e.org/{number}",
    }
    return full(RawArticle, title=title, **(usual | given))


def change(lake: Lake, kind: str, item_id: str = "", **given: Any) -> None:
    usual = {"meeting_id": MEETING.meeting_id, "changed_at": NOW - HOUR}
    row = full(MeetingChange, kind=kind, item_id=item_id, **(usual | given))
    lake.transact(lambda rows: rows.append([row]))


def query(name: str, words: str, **given: Any) -> SavedQuery:
    return SavedQuery(name=name, query=words, to=("c",), **({"changes": ALL} | given))


def tell(lake: Lake, *queries: SavedQuery) -> list[Message]:
    hits = change_hits(lake, queries, recent_changes(lake, NOW - 24 * HOUR), {}, NOW)
    lake.transact(lambda rows: rows.upsert(hits))
    alerts = Alerts().model_copy(update={"queries": queries})
    return lake.transact(lambda rows: tell_hits(rows, alerts, NOW))


def told(messages: list[Message]) -> list[tuple[str, str, str]]:
    found = []
    for message in messages:
        articles = json.loads(message.payload_json)["articles"]
        found += [(message.topic, one["change"], one["article_id"]) for one in articles]
    return found


def test_a_change_of_a_meeting_is_told_once_to_each_query_with_an_item(
    lake: Lake,
) -> None:
    change(lake, "cancelled")
    queries = query("buses", "buses"), query("all", ""), query("ferries", "ferry")
    messages = tell(lake, *queries)
    assert told(messages) == [
        ("all", "cancelled", "a-1"),
        ("buses", "cancelled", "a-1"),
    ]
    assert messages[1].subject == "buses: 1 change"
    assert messages[1].text == "cancelled: Night buses\nhttps://e.org/1"
    assert tell(lake, *queries) == []


def test_a_change_of_an_item_is_told_to_those_whose_words_it_has(lake: Lake) -> None:
    change(lake, "voted", "i-2")
    change(lake, "document", "i-1", changed_at=NOW - 2 * HOUR)
    change(lake, "renamed")
    found = told(tell(lake, query("all", ""), query("zones", "rezoning")))
    assert found == [
        ("all", "document", "a-1"),
        ("all", "voted", "a-2"),
        ("zones", "voted", "a-2"),
    ]


def test_only_chosen_kinds_after_the_subscription_and_of_the_last_day_are_told(
    lake: Lake,
) -> None:
    change(lake, "moved")
    change(lake, "cancelled", changed_at=NOW - 25 * HOUR)
    late = query("late", "", since=NOW)
    assert tell(lake, query("votes", "", changes=("voted",)), late) == []
    early = query("early", "", since=NOW - 2 * HOUR)
    assert told(tell(lake, early)) == [("early", "moved", "a-1")]


def test_a_new_item_that_waits_to_be_told_as_an_article_is_not_told_twice(
    lake: Lake,
) -> None:
    change(lake, "agenda", "i-1")
    waiting = full(QueryHit, query="buses", article_id="a-1", told_at=None)
    upsert(lake, [replace(waiting, due_at=NOW + HOUR)])
    assert tell(lake, query("buses", "buses")) == []


def test_a_silent_edit_is_told_and_one_that_the_page_states_is_not(lake: Lake) -> None:
    fetched = NOW - 48 * HOUR
    for number, updated_at in ((3, None), (4, NOW - 2 * HOUR)):
        row = article(number, "Bus fares", meeting_id="", updated_at=updated_at)
        revision = full(
            ArticleRevision,
            article_id=row.article_id,
            cause="edit",
            fetched_at=fetched,
            replaced_at=NOW - HOUR,
        )
        upsert(lake, [row])
        upsert(lake, [revision])
    assert told(tell(lake, query("fares", "fares"))) == [("fares", "edited", "a-3")]


def test_a_withdrawal_is_told_by_title_to_those_who_were_told_of_the_article(
    lake: Lake,
) -> None:
    upsert(lake, [full(QueryHit, query="buses", article_id="a-1", told_at=NOW)])
    [row] = lake.read(RawArticle, article_id=["a-1"])
    now = datetime.now(UTC)
    lake.transact(lambda rows: withdraw(rows, [row], "private", now))
    [message] = tell(lake, query("buses", "buses"), query("all", ""))
    assert told([message]) == [("buses", "withdrawn", "a-1")]
    assert message.text == "withdrawn: Night buses\nhttps://e.org/1"
    assert len(lake.read(ChangeHit)) == 1
