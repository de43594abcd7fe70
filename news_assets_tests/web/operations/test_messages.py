"""The page of messages: what operators see, and sending one again."""

from datetime import UTC, datetime

import httpx
import pytest

from news_assets.records.alerts import Message, OperatorAction
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.web.operations.conftest import Site, log_in

PATH = "/operations/messages"
NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)


def store(site: Site) -> None:
    usual = {"channel": "desk", "attempts": 8, "text": "text", "created_at": NOW}
    sent = {
        "subject": "buses: 1 new",
        "sent_at": NOW,
        "next_try_at": None,
        "reason": None,
    }
    dead = {"subject": "<trams>", "sent_at": None, "next_try_at": None, "reason": "550"}
    waits = {"subject": "ferries", "sent_at": None, "next_try_at": NOW, "reason": None}
    rows = [
        full(Message, message_id=key, **usual, **given)
        for key, given in {"sent": sent, "dead": dead, "waits": waits}.items()
    ]
    upsert(site.lake, rows)


def test_operators_see_delivered_waiting_and_dead_messages(
    operated: Site, client: httpx.Client
) -> None:
    store(operated)
    log_in(client)
    page = client.get(PATH).text
    for text in ("buses: 1 new", "&lt;trams&gt;", "ferries", "550"):
        assert text in page
    assert page.count('name="message_id"') == 2
    given_up = client.get(f"{PATH}?state=given+up").text
    assert ("&lt;trams&gt;" in given_up, "ferries" in given_up) == (True, False)


@pytest.mark.parametrize("message_id", ["sent", "dead"])
def test_a_message_is_sent_again_and_that_is_on_record(
    operated: Site, client: httpx.Client, message_id: str
) -> None:
    store(operated)
    log_in(client)
    answer = client.post(PATH, data={"message_id": message_id})
    assert answer.headers["location"] == PATH
    [row] = operated.lake.read(Message, message_id=[message_id])
    assert (row.attempts, row.sent_at, row.reason) == (0, None, None)
    assert row.next_try_at is not None
    [action] = operated.lake.read(OperatorAction)
    assert (action.action, action.detail) == ("send again", message_id)
    assert client.post(PATH, data={"message_id": "waits"}).status_code == 404


def test_readers_neither_see_messages_nor_send_them(
    operated: Site, client: httpx.Client
) -> None:
    store(operated)
    page = client.get(PATH)
    assert page.headers["location"] == f"/operations/login?to={PATH}"
    assert client.post(PATH, data={"message_id": "dead"}).status_code == 401
