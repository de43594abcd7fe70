"""Subscriptions as rows: limits, and what is deleted when."""

from datetime import UTC, datetime, timedelta
from typing import Any

from news_assets.errors import NotifyError
from news_assets.pipeline.alerts.hits import due_at
from news_assets.pipeline.alerts.mail_text import articles_text
from news_assets.pipeline.alerts.outbox import messages_to, send_due
from news_assets.pipeline.alerts.query_file import Alerts, SavedQuery
from news_assets.pipeline.alerts.subscriptions import (
    confirm,
    delete_expired,
    query_json_of,
    request_subscription,
    with_subscriptions,
)
from news_assets.records.alerts import Message, Subscription
from news_assets.store.lake import Lake

NOW = datetime(2026, 11, 20, 15, 20, tzinfo=UTC)  # a Friday
HOUR = timedelta(hours=1)


def wanted(own_id: str, words: str = "bus", **given: Any) -> Subscription:
    query = SavedQuery(name="n", query=words, title=words, to=("n",))
    usual = {"email": "ana@example.org", "language": "en", "requested_at": NOW}
    return Subscription(
        subscription_id=own_id, query_json=query_json_of(query), **(usual | given)
    )


def request(lake: Lake, row: Subscription) -> bool:
    return lake.transact(lambda rows: request_subscription(rows, row, row.requested_at))


def test_only_confirmed_subscriptions_are_followed(lake: Lake) -> None:
    assert request(lake, wanted("1"))
    assert request(lake, wanted("2", "tram"))
    lake.transact(lambda rows: confirm(rows, "1", NOW))
    assert lake.transact(lambda rows: confirm(rows, "none", NOW)) is None
    [query] = with_subscriptions(Alerts(), lake).queries
    assert (query.query, query.name, query.to) == (
        "bus",
        "subscription-1",
        ("subscription-1",),
    )


def test_a_request_that_is_not_confirmed_within_48_hours_is_deleted(lake: Lake) -> None:
    request(lake, wanted("1"))
    request(lake, wanted("2", "tram"))
    lake.transact(lambda rows: confirm(rows, "2", NOW))
    assert lake.transact(lambda rows: delete_expired(rows, NOW + 47 * HOUR)) == 0
    assert lake.transact(lambda rows: delete_expired(rows, NOW + 48 * HOUR)) == 1
    [row] = lake.read(Subscription)
    assert row.subscription_id == "2"
    assert [one.channel for one in lake.read(Message)] == ["subscription-2"]


def test_a_mailbox_is_asked_three_times_a_day_and_not_for_what_it_has(
    lake: Lake,
) -> None:
    assert request(lake, wanted("1"))
    lake.transact(lambda rows: confirm(rows, "1", NOW))
    assert not request(lake, wanted("2"))
    assert [request(lake, wanted(str(n), f"bus {n}")) for n in (3, 4, 5)] == [
        True,
        True,
        False,
    ]
    assert request(lake, wanted("6", email="eva@example.org"))
    assert request(lake, wanted("7", "tram", requested_at=NOW + 24 * HOUR))


def test_a_weekly_mail_is_due_at_the_midnight_before_monday() -> None:
    query = SavedQuery(name="n", when="weekly", to=("n",))
    assert due_at(query, NOW) == datetime(2026, 11, 23, tzinfo=UTC)


def test_a_mail_says_publisher_local_time_and_place_of_the_meeting() -> None:
    article = {
        "agency": "springfieldIL",
        "publisher": "Springfield",
        "timezone": "America/Chicago",
        "title": "Night\nbuses",
        "published_at": "2026-11-20T15:20:00+00:00",
        "summary": "They go on.",
        "url": "https://example.org/1",
        "meeting": {"when": "2026-12-01 18:30 CST", "place": "Council Chamber"},
    }
    assert articles_text([article]) == (
        "Night buses\nSpringfield · 2026-11-20 09:20 CST\n"
        "Meeting: 2026-12-01 18:30 CST, Council Chamber\nThey go on.\nhttps://example.org/1"
    )


def test_where_the_mail_server_is_away_one_subscriber_is_tried_and_other_channels_go_on(
    lake: Lake,
) -> None:
    tried: list[str] = []

    def send(message: Message) -> None:
        tried.append(message.channel)
        if message.channel.startswith("subscription-"):
            raise NotifyError("away", is_transient=True, is_unreachable=True)

    channels = ("subscription-1", "subscription-2", "hook")
    messages = messages_to(channels, "t", "s", "", {}, NOW)
    lake.transact(lambda rows: rows.upsert(messages))
    sent = send_due(lake, send, lambda: NOW)
    assert (sent.sent, sent.delayed) == (1, 1)
    assert sorted(tried)[0] == "hook"
    assert len(tried) == 2
