"""The asset and its sensor over a real lake, with a real receiver: articles are told
once.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from news_assets.defs.jobs import build_shared_jobs
from news_assets.defs.newsroom_alerts import build_alerts, build_alerts_sensor
from news_assets.pipeline.alerts.hits import restart
from news_assets.pipeline.alerts.query_file import SavedQuery, stored_row
from news_assets.records.alerts import Condition, Message
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure, IndexedDocument
from news_assets.records.meetings import MeetingChange
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import newest_cursor
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.receiver import Receiver, receiver
from news_assets_tests.support.small_desk import DESK

QUERIES = """
channels:
  hook: {{kind: webhook, url: "{address}/", secret_env: HOOK_SECRET}}
queries:
  - {{name: buses, query: bus, to: [hook]}}
operators: {{to: [hook], disk_free_ratio: 0, every_minutes: 1440}}
"""


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def lake(
    tmp_path: Path, there: Receiver, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lake]:
    path = tmp_path / "queries.yaml"
    path.write_text(QUERIES.format(address=there.address))
    for name, value in {
        "NEWS_HOME": str(tmp_path),
        "NEWS_QUERIES": str(path),
        "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
        "HOOK_SECRET": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as opened:
        yield opened


def index(lake: Lake, number: int) -> None:
    now = datetime.now(UTC)
    mine = {
        "article_id": f"a-{number}",
        "agency": "a",
        "desk": "d",
        "outcome": "ok",
        "day": now.date(),
    }
    upsert(
        lake,
        [
            full(
                RawArticle,
                **mine,
                title="A bus",
                published_at=now,
                language="en",
                duplicate_of=None,
            )
        ],
    )
    upsert(lake, [full(IndexedDocument, **mine)])


def run(lake: Lake, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [build_alerts([DESK], [])], instance=instance, resources={"lake": lake}
    )


def payloads(there: Receiver, kind: str) -> list[object]:
    found = [json.loads(one.body) for one in there.received]
    return [one for one in found if one["type"] == kind]


def test_articles_and_states_are_told_once_and_sent_again_where_the_receiver_failed(
    lake: Lake, there: Receiver
) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        index(lake, 1)
        assert run(lake, instance).success
        index(lake, 2)
        upsert(lake, [full(Failure, desk="d", stage="search_index", next_try_at=None)])
        there.answers = [503]
        assert run(lake, instance).success

        # the failure; the other message waits for the next run
        assert len(there.received) == 1
        waiting = lake.read(Message)
        assert [one.sent_at for one in waiting] == [None, None]
        lake.transact(
            lambda rows: rows.upsert([one for one in map(due, waiting) if one])
        )
        assert run(lake, instance).success
        assert run(lake, instance).success

    ids = [one.headers["webhook-id"] for one in there.received]
    assert len(ids) == 3
    assert len(set(ids)) == 2
    articles = [
        one["article_id"]
        for message in payloads(there, "articles")
        for one in message["articles"]
    ]  # type: ignore[index]
    assert set(articles) == {"a-2"}
    assert [one.name for one in lake.read(Condition)] == ["given up d/search_index"]


def test_queries_of_the_page_are_told_and_operators_of_one_whose_channel_is_gone(
    lake: Lake, there: Receiver
) -> None:
    good, bad = (
        SavedQuery(name="all", to=("hook",)),
        SavedQuery(name="lost", to=("fax",)),
    )
    upsert(lake, [stored_row(one, "Ana", datetime.now(UTC)) for one in (good, bad)])
    with dg.DagsterInstance.ephemeral() as instance:
        assert run(lake, instance).success
        index(lake, 1)
        assert run(lake, instance).success

    assert {message["query"] for message in payloads(there, "articles")} == {
        "buses",
        "all",
    }  # type: ignore[index]
    [told] = payloads(there, "conditions")
    assert list(told["begun"]) == ["query lost"]  # type: ignore[index]


def due(message: Message) -> Message:
    from dataclasses import replace

    return replace(message, next_try_at=message.created_at)


@pytest.mark.slow  # executes runs
def test_the_sensor_requests_a_run_while_there_is_something_to_tell(lake: Lake) -> None:
    sensor = build_alerts_sensor(build_shared_jobs([DESK]))
    with dg.DagsterInstance.ephemeral() as instance:

        def tick(cursor: str | None) -> dg.SensorResult:
            context = dg.build_sensor_context(
                instance=instance, cursor=cursor, resources={"lake": lake}
            )
            result = sensor(context)
            assert isinstance(result, dg.SensorResult)
            return result

        first = tick(None)
        assert first.run_requests
        run(lake, instance)
        again = tick(first.cursor)
        assert (again.run_requests, again.skip_reason.skip_message) == (
            [],
            "nothing to tell",
        )  # type: ignore[union-attr]
        index(lake, 1)
        assert tick(first.cursor).run_requests
        run(lake, instance)
        assert not tick(first.cursor).run_requests


def test_without_a_file_and_with_a_wrong_one_the_sensor_says_so(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sensor = build_alerts_sensor(build_shared_jobs([DESK]))
    with dg.DagsterInstance.ephemeral() as instance:
        (tmp_path / "queries.yaml").write_text("queries: 7")
        context = dg.build_sensor_context(instance=instance, resources={"lake": lake})
        assert "queries.yaml:1: queries: " in str(sensor(context).skip_reason)  # type: ignore[union-attr]
        assert not run_fails_silently(lake, instance)
        monkeypatch.setenv("NEWS_QUERIES", "")
        context = dg.build_sensor_context(instance=instance, resources={"lake": lake})
        assert "NEWS_QUERIES names no file" in str(sensor(context).skip_reason)  # type: ignore[union-attr]


def test_without_a_file_the_sensor_follows_changes_of_meetings_for_subscribers(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "NEWS_QUERIES": "",
        "NEWS_SMTP": "smtp://127.0.0.1:9",
        "NEWS_MAIL_FROM": "news@example.org",
        "NEWS_PAGES_URL": "https://news.example.org",
        "NEWS_SUBSCRIPTION_SECRET": "a secret of enough characters",
    }.items():
        monkeypatch.setenv(name, value)
    restart(lake, str(newest_cursor(lake)))
    sensor = build_alerts_sensor(build_shared_jobs([DESK]))
    with dg.DagsterInstance.ephemeral() as instance:

        def tick() -> dg.SensorResult:
            context = dg.build_sensor_context(
                instance=instance, resources={"lake": lake}
            )
            result = sensor(context)
            assert isinstance(result, dg.SensorResult)
            return result

        assert "nothing to tell" in str(tick().skip_reason)
        change = full(MeetingChange, kind="voted", changed_at=datetime.now(UTC))
        lake.transact(lambda rows: rows.append([change]))
        assert tick().run_requests


def run_fails_silently(lake: Lake, instance: dg.DagsterInstance) -> bool:
    asset = build_alerts([DESK], [])
    return dg.materialize(
        [asset], instance=instance, resources={"lake": lake}, raise_on_error=False
    ).success
