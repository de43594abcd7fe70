"""Hits, digests and messages over a real lake: what is told, to whom, how often."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from news_assets.errors import NotifyError
from news_assets.pipeline.alerts.hits import Matcher, follow
from news_assets.pipeline.alerts.outbox import (
    RESERVED,
    Sent,
    send_again,
    send_due,
    tell_conditions,
    tell_hits,
)
from news_assets.pipeline.alerts.query_file import (
    Alerts,
    Mail,
    Operators,
    SavedQuery,
    stored_row,
    with_stored,
)
from news_assets.records.alerts import Condition, Message, QueryHit
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Change, IndexedDocument
from news_assets.retry_table import MESSAGE
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import Cursor, newest_cursor, read_changes
from news_assets_tests.store.examples import full, upsert

NOW = datetime(2026, 11, 20, 15, 20, tzinfo=UTC)
CHANNELS = {
    "desk": Mail(kind="mail", to=("desk@example.org",)),
    "chat": Mail(kind="mail", to=("chat@example.org",)),
}


def rules(*queries: SavedQuery) -> Alerts:
    return Alerts(channels=CHANNELS, queries=queries)


def query(
    name: str = "buses", text: str = "bus", to: Sequence[str] = ("desk",), **given: Any
) -> SavedQuery:
    return SavedQuery(name=name, query=text, to=tuple(to), **given)


def index(lake: Lake, *numbers: int, **given: Any) -> None:
    """Store articles and their receipts as the stages do."""
    usual = {"agency": "a", "desk": "d", "outcome": "ok", "day": NOW.date()}
    articles, receipts = [], []
    for number in numbers:
        mine = {"article_id": f"a-{number}", **usual}
        article = {
            "title": f"Bus {number}",
            "text": "stays",
            "language": "en",
            "duplicate_of": None,
        } | given
        url = f"https://e.org/{number}"
        articles.append(
            full(RawArticle, **mine, published_at=NOW, canonical_url=url, **article)
        )
        receipts.append(full(IndexedDocument, **mine))
    lake.transact(lambda rows: [rows.upsert(some) for some in (articles, receipts)])


def tell(lake: Lake, alerts: Alerts, now: datetime = NOW) -> list[Message]:
    """Do what a run does before it sends."""

    def read(cursor: str) -> tuple[list[Change], str]:
        changes, after = read_changes(lake, Cursor.of(cursor), 100)
        return changes, str(after)

    follow(lake, Matcher(alerts.queries), read, str(newest_cursor(lake)), now)
    return lake.transact(lambda rows: tell_hits(rows, alerts, now))


def told(messages: Sequence[Message]) -> list[tuple[str, str, list[str]]]:
    ids = [
        [one["article_id"] for one in json.loads(message.payload_json)["articles"]]
        for message in messages
    ]
    return [
        (one.topic, one.channel, some) for one, some in zip(messages, ids, strict=True)
    ]


def test_an_article_is_told_once_per_query_also_when_it_is_indexed_again(
    lake: Lake,
) -> None:
    alerts = rules(query(to=("desk", "chat")), query("everything", ""))
    index(lake, 1)
    assert tell(lake, alerts) == []  # what was there before
    index(lake, 2, 3)

    assert told(tell(lake, alerts)) == [
        ("buses", "desk", ["a-2", "a-3"]),
        ("buses", "chat", ["a-2", "a-3"]),
        ("everything", "desk", ["a-2", "a-3"]),
    ]

    index(lake, 1, 2, 3)
    assert told(tell(lake, alerts)) == [
        ("buses", "desk", ["a-1"]),
        ("buses", "chat", ["a-1"]),
        ("everything", "desk", ["a-1"]),
    ]
    assert tell(lake, alerts) == []


def test_a_query_that_is_added_later_tells_nothing_of_before(lake: Lake) -> None:
    tell(lake, rules())
    index(lake, 1)
    tell(lake, rules())

    assert tell(lake, rules(query())) == []


def test_a_copy_of_what_a_query_has_told_is_not_told(lake: Lake) -> None:
    alerts = rules(query(), query("of b", agency="a"))
    tell(lake, alerts)
    index(lake, 1)
    index(lake, 2, duplicate_of="a-1")
    index(lake, 3, duplicate_of="a-0")

    assert told(tell(lake, alerts)) == [
        ("buses", "desk", ["a-1", "a-3"]),
        ("of b", "desk", ["a-1", "a-3"]),
    ]


def test_digests_wait_for_their_time_and_leave_out_what_was_withdrawn_meanwhile(
    lake: Lake,
) -> None:
    alerts = rules(query(when="hourly"), query("day", when="daily"))
    tell(lake, alerts)
    index(lake, 1, 2)
    assert tell(lake, alerts) == []
    article = lake.read(RawArticle, article_id=["a-2"])[0]
    upsert(lake, [replace(article, outcome="withdrawn", text=None)])

    assert told(tell(lake, alerts, NOW.replace(hour=16, minute=0))) == [
        ("buses", "desk", ["a-1"])
    ]
    assert told(tell(lake, alerts, NOW + timedelta(days=1))) == [
        ("day", "desk", ["a-1"])
    ]


def test_a_message_has_ten_articles_at_most_and_says_which(lake: Lake) -> None:
    alerts = rules(query())
    tell(lake, alerts)
    index(lake, *range(11), title="Bus " + "long " * 200)

    first, second = tell(lake, alerts)

    assert (first.subject, second.subject) == (
        "buses: 10 new articles",
        "buses: 1 new article",
    )
    assert len(first.text) < 4_000
    assert second.text.splitlines()[1] == "https://e.org/9"
    assert first.message_id != second.message_id


# --- sending --------------------------------------------------------------------------


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Channels:
    """A notifier that fails with the next of `errors`."""

    errors: list[NotifyError | None] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)

    def send(self, message: Message) -> None:
        if self.errors and (error := self.errors.pop(0)):
            raise error
        self.sent.append(message)


def messages(lake: Lake, *channels: str) -> None:
    made = [
        full(
            Message,
            message_id=f"m{n}",
            channel=name,
            created_at=NOW,
            next_try_at=NOW,
            sent_at=None,
            attempts=0,
        )
        for n, name in enumerate(channels)
    ]
    upsert(lake, made)


def test_messages_are_sent_once_in_their_order(lake: Lake) -> None:
    messages(lake, "desk", "chat", "desk")
    channels = Channels()

    assert send_due(lake, channels.send, Clock()) == Sent(sent=3)
    assert send_due(lake, channels.send, Clock()) == Sent()
    assert [one.message_id for one in channels.sent] == ["m0", "m1", "m2"]
    assert {one.sent_at for one in lake.read(Message)} == {NOW}


def test_a_failure_is_tried_again_later_and_given_up_in_the_end(lake: Lake) -> None:
    messages(lake, "desk")
    clock, channels = (
        Clock(),
        Channels(
            [NotifyError("answered 503", is_transient=True)]
            * (len(MESSAGE.pauses_s) + 1)
        ),
    )

    for pause in MESSAGE.pauses_s:
        assert send_due(lake, channels.send, clock) == Sent(delayed=1)
        assert send_due(lake, channels.send, clock) == Sent()
        clock.now += timedelta(seconds=pause)
    assert send_due(lake, channels.send, clock) == Sent(given_up=1)

    dead = lake.read(Message)[0]
    assert (dead.next_try_at, dead.sent_at, dead.reason, dead.attempts) == (
        None,
        None,
        "answered 503",
        8,
    )
    assert [
        one.message_id
        for one in lake.transact(lambda rows: send_again(rows, ["m0"], clock.now))
    ] == ["m0"]
    assert send_due(lake, channels.send, clock) == Sent(sent=1)


def test_a_pause_that_the_receiver_asks_for_is_kept(lake: Lake) -> None:
    messages(lake, "desk")
    send_due(
        lake,
        Channels(
            [NotifyError("answered 429", is_transient=True, retry_after_s=7200)]
        ).send,
        Clock(),
    )

    assert lake.read(Message)[0].next_try_at == NOW + timedelta(hours=2)


def test_a_channel_that_is_down_holds_up_no_other_and_is_asked_once(lake: Lake) -> None:
    messages(lake, "desk", "desk", "chat")
    channels = Channels([NotifyError("no answer", is_transient=True)])

    assert send_due(lake, channels.send, Clock()) == Sent(sent=1, delayed=1)
    assert [one.channel for one in channels.sent] == ["chat"]


def test_a_message_of_a_process_that_died_is_sent_after_its_reservation_with_the_same_id(
    lake: Lake,
) -> None:
    messages(lake, "desk")
    clock, channels = Clock(), Channels()

    class Died(BaseException):
        pass

    class Dying(Channels):
        def send(self, message: Message) -> None:
            super().send(message)
            raise Died

    with pytest.raises(Died):
        send_due(lake, Dying().send, clock)
    assert send_due(lake, channels.send, clock) == Sent()
    clock.now += RESERVED
    assert send_due(lake, channels.send, clock) == Sent(sent=1)
    assert channels.sent[0].message_id == "m0"


# --- operators' messages --------------------------------------------------------------

OPERATORS = Operators(to=("desk",), quiet="22:00-07:00", timezone="America/Sao_Paulo")


def test_a_state_is_told_when_it_begins_and_when_it_is_over_and_not_in_between(
    lake: Lake,
) -> None:
    def look(bad: dict[str, str], unknown: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
        made = lake.transact(
            lambda rows: tell_conditions(rows, OPERATORS, bad, unknown, NOW)
        )
        return [f"{one.subject}\n{one.text}" for one in made]

    assert look({}) == []
    assert look({"disk": "1 GB left"}) == ["news: disk\ndisk: 1 GB left"]
    assert look({"disk": "0.9 GB left"}) == []
    assert look({}, {"disk"}) == []
    assert look({"silent d/a": "no new entry", "silent d/b": "none"}) == [
        "news: 2 new problems, 1 over\nsilent d/a: no new entry\nsilent d/b: none\n"
        "over: disk (since 2026-11-20 15:20 UTC)"
    ]
    assert look({"silent d/b": "none"}) == [
        "news: over: silent d/a\nover: silent d/a (since 2026-11-20 15:20 UTC)"
    ]
    assert [one.name for one in lake.read(Condition)] == ["silent d/b"]


# 3 hours behind UTC
@pytest.mark.parametrize(
    ("hour", "is_quiet"), [(0, False), (1, True), (9, True), (10, False)]
)
def test_quiet_hours_are_those_of_the_zone_and_go_over_midnight(
    hour: int, is_quiet: bool
) -> None:
    assert OPERATORS.is_quiet(NOW.replace(hour=hour, minute=0)) == is_quiet
    assert not OPERATORS.model_copy(update={"quiet": ""}).is_quiet(NOW)


def test_hits_of_a_query_that_was_removed_are_told_to_nobody(lake: Lake) -> None:
    alerts = rules(query(when="hourly"))
    tell(lake, alerts)
    index(lake, 1)
    tell(lake, alerts)

    assert tell(lake, rules(), NOW + timedelta(hours=1)) == []
    assert [hit.told_at for hit in lake.read(QueryHit)] == [NOW + timedelta(hours=1)]


def test_a_query_of_the_page_is_followed_as_one_of_the_file_and_told_once(
    lake: Lake,
) -> None:
    of_page = query("trams", "", to=("chat",))
    upsert(lake, [stored_row(of_page, "Ana", NOW)])
    alerts, problems = with_stored(rules(query()), lake)
    assert (alerts, problems) == (rules(query(), of_page), {})
    tell(lake, alerts)
    index(lake, 1)
    assert told(tell(lake, alerts)) == [
        ("buses", "desk", ["a-1"]),
        ("trams", "chat", ["a-1"]),
    ]
    index(lake, 1)
    assert tell(lake, alerts) == []


def test_a_query_of_the_page_loses_channels_that_the_file_has_no_more_and_the_others_are_told(
    lake: Lake,
) -> None:
    saved = [
        query("a", "", to=("desk", "fax")),
        query("b", "", to=("fax",)),
        query("c", "", to=("desk",)),
        query(),
    ]
    upsert(lake, [stored_row(one, "Ana", NOW) for one in saved])
    alerts, problems = with_stored(rules(query()), lake)
    assert {one.name: one.to for one in alerts.queries} == {
        "buses": ("desk",),
        "a": ("desk",),
        "c": ("desk",),
    }
    assert {name: text.partition(";")[0] for name, text in problems.items()} == {
        "a": "the query `a` goes to `fax`, which the file of NEWS_QUERIES does not have",
        "b": "the query `b` goes to `fax`, which the file of NEWS_QUERIES does not have",
        "buses": "the file of NEWS_QUERIES has a query `buses` too",
    }
