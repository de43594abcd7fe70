"""The page of failures, the retry of all that is filtered, and what becomes of it."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from news_assets.folders import last_look, mark_look
from news_assets.pipeline.failures import drop_failures
from news_assets.pipeline.stages import stage_named
from news_assets.records.alerts import Message, OperatorAction
from news_assets.records.derived import Failure
from news_assets.store.queries.listed_failures import failure_counts
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.web.operations.conftest import Site, log_in

FAILURES, RETRY_ALL = "/operations/failures", "/operations/failures/retry"
RETRIES = "/operations/retries"


def test_a_row_has_the_title_and_the_publisher_of_the_article(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    page = client.get(FAILURES).text
    assert '<a href="/operations/articles/a-2">Bus</a>' in page
    assert '<a href="/publishers/d/a">Câmara a</a>' in page
    [item] = client.get(f"{FAILURES}.json?stage=raw_articles").json()["items"]
    assert (item["title"], item["host"]) == ("Bus 3 stays", "example.org")


def test_failures_are_counted_by_host_and_by_reason_without_its_addresses(
    operated: Site, client: httpx.Client
) -> None:
    [failure] = operated.lake.read(Failure, article_id=["a-3"])
    others = []
    for number in range(3):
        reason = f"redirect loop at https://example.org/{number}"
        others.append(replace(failure, article_id=f"x-{number}", reason=reason))
    upsert(operated.lake, others)

    largest = failure_counts(operated.lake)[0]
    assert (largest.cause, largest.failures) == ("redirect loop at …", 3)

    log_in(client)
    filtered = client.get(FAILURES, params={"cause": "redirect loop at …"}).text
    assert "3 failures, 0 of them given up" in filtered
    assert "/operations/articles/a-2" not in filtered
    none = client.get(FAILURES, params={"host": "nowhere.example"}).text
    assert "No failure passes these filters." in none


def test_a_retry_of_all_that_is_filtered_waits_for_a_confirmation(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    asked = client.post(RETRY_ALL, data={"stage": "enriched_articles"})
    assert "Retry this failure?" in asked.text
    assert operated.lake.read(OperatorAction) == []

    given = {"stage": "enriched_articles", "confirmed": "yes"}
    answer = client.post(RETRY_ALL, data=given)

    assert (answer.status_code, answer.headers["location"]) == (303, RETRIES)
    found = {one.article_id: one.attempts for one in operated.lake.read(Failure)}
    assert found == {"a-2": 0, "a-3": 1}
    [action] = operated.lake.read(OperatorAction)
    done = (action.operator, action.action, action.article_id, action.detail)
    assert done == ("Ana", "retry", "a-2", "enriched_articles")
    missing = client.post(RETRY_ALL, data={"stage": "nothing", "confirmed": "yes"})
    assert missing.status_code == 404


def test_the_result_of_a_retry_is_shown_once_it_is_there(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    assert "Nothing has been retried." in client.get(RETRIES).text
    client.post(RETRY_ALL, data={"confirmed": "yes"})
    page = client.get(RETRIES).text
    assert page.count(": waiting") == 2

    stage = stage_named("enriched_articles")
    operated.lake.transact(lambda rows: drop_failures(rows, stage, ["a-2"]))
    [failure] = operated.lake.read(Failure)
    later = datetime.now(UTC) + timedelta(seconds=5)
    again = replace(failure, attempts=1, last_failed_at=later, reason="no answer")
    upsert(operated.lake, [again])

    page = client.get(RETRIES).text
    assert "enriched_articles: succeeded" in page
    assert f"failed again {later:%Y-%m-%d %H:%M} (UTC): no answer" in page
    assert "enriched_articles: succeeded" in client.get("/operations/articles/a-2").text
    assert "failed again" in client.get("/operations/articles/a-3").text


def test_without_a_running_daemon_a_retry_says_that_it_waits(
    operated: Site, client: httpx.Client, tmp_path: Path
) -> None:
    log_in(client)
    client.post("/operations/articles/a-2/retry")
    page = client.get("/operations/articles/a-2").text
    assert "No running Dagster daemon has been seen" in page

    mark_look(operated.home)
    page = client.get("/operations/articles/a-2").text
    assert "The sensors look for due work every few seconds." in page

    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
    os.utime(next(operated.home.glob("sensors*")), (an_hour_ago, an_hour_ago))
    assert "No sensor has looked for due work since" in client.get(RETRIES).text


def test_a_look_of_sensors_is_known_by_the_home_folder(tmp_path: Path) -> None:
    assert last_look(tmp_path) is None
    mark_look(tmp_path)
    assert last_look(tmp_path) is not None
    mark_look(tmp_path / "missing")
    assert last_look(tmp_path / "missing") is None


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
