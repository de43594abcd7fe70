"""`alerts` over a small lake, called as the command line calls it."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.records.alerts import Message
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.receiver import receiver
from news_assets_tests.support.servers import free_port

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "queries.yaml"
    path.write_text(
        f"channels: {{hook: {{kind: webhook, url: 'http://127.0.0.1:{free_port()}/', secret_env: HOOK}}}}\n"
    )
    monkeypatch.setenv("NEWS_QUERIES", str(path))
    monkeypatch.setenv("NEWS_ALLOW_PRIVATE_HOSTS", "127.0.0.1")
    monkeypatch.setenv("HOOK", "secret")
    return path


def store(home: Path) -> None:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        usual = {"attempts": 1, "created_at": NOW, "reason": "answered 503"}
        rows = [
            full(Message, message_id="dead", next_try_at=None, sent_at=None, **usual),
            full(Message, message_id="sent", next_try_at=None, sent_at=NOW, **usual),
            full(Message, message_id="late", next_try_at=NOW, sent_at=None, **usual),
        ]
        upsert(lake, rows)


def test_messages_that_are_not_sent_are_listed_and_sent_again(
    home: Path, call: Call, queries: Path
) -> None:
    store(home)

    listed = [
        json.loads(line) for line in call("alerts", "list", "--json")[1].splitlines()
    ]
    assert [(one["message_id"], one["state"]) for one in listed] == [
        ("late", "waiting"),
        ("dead", "given up"),
    ]
    assert len(call("alerts", "list", "--all", "--json")[1].splitlines()) == 3
    code, said, _ = call("alerts", "list", "--limit", "1")
    assert (code, said.splitlines()[0]) == (
        0,
        "0 queries, 1 channels; 0 hits wait for their digest",
    )
    assert "answered 503" in said
    assert "1 more" in said

    assert call("alerts", "retry", "late")[2] == (
        "news-assets: `late`: no given up message; see `news-assets alerts list`\n"
    )
    assert call("alerts", "retry")[:2] == (
        0,
        "1 due now; the next run of `newsroom/alerts` sends them\n",
    )
    assert call("alerts", "retry", "dead")[0] == 1


def test_a_channel_is_tried(home: Path, call: Call, queries: Path) -> None:
    assert (
        call("alerts", "test", "hook")[2]
        == "news-assets: connection failed: connection refused\n"
    )
    with receiver() as there:
        text = queries.read_text()
        queries.write_text(re.sub("http://[0-9.:]+", there.address, text))
        assert call("alerts", "test", "hook")[:2] == (0, "hook: accepted\n")
    assert json.loads(there.received[0].body)["type"] == "test"
    assert call("alerts", "test", "pager")[2] == (
        "news-assets: no channel `pager` in the file of NEWS_QUERIES; there are: hook\n"
    )


def test_without_a_file_the_setting_is_named(home: Path, call: Call) -> None:
    assert call("alerts", "list")[::2] == (
        1,
        "news-assets: NEWS_QUERIES names no file of saved queries and channels; set it\n",
    )
