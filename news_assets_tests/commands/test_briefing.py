"""`briefing` over a small lake with stories, as output and to a channel."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.pipeline.stories.update import update_stories
from news_assets.records.alerts import Message
from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.small_desk import NOW, TODAY

DAY = TODAY.isoformat()


@pytest.fixture(autouse=True)
def _stories(home: Path) -> None:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        update_stories(lake, [TODAY], lambda: NOW, InlineSandbox())


def messages(home: Path) -> list[Message]:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return lake.read(Message)


def test_a_briefing_is_written_as_markdown_or_json(call: Call, tmp_path: Path) -> None:
    code, text, _ = call("briefing", "--day", DAY)
    (line,) = call("briefing", "bus", "--day", DAY, "--json")[1].splitlines()
    file = tmp_path / "briefing.md"
    assert call("briefing", "--day", DAY, "--output", str(file)) == (0, "", "")

    (quote, *_) = json.loads(line)["stories"][0]["quotes"]
    assert code == 0
    assert f"{quote['sentence']} [" in text
    assert f"](<{quote['url']}>)" in text
    assert file.read_text() == text


def test_a_briefing_of_a_query_that_nothing_has_is_empty(call: Call) -> None:
    (line,) = call("briefing", "volcano", "--day", DAY, "--json")[1].splitlines()

    assert json.loads(line)["stories"] == []


@pytest.fixture
def _channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "queries.yaml"
    path.write_text("channels: {desk: {kind: mail, to: [desk@example.org]}}\n")
    monkeypatch.setenv("NEWS_QUERIES", str(path))


@pytest.mark.usefixtures("_channel")
def test_a_channel_gets_it_without_what_is_withdrawn_until_then(
    home: Path, call: Call
) -> None:
    code, said, _ = call("briefing", "--day", DAY, "--to", "desk")
    assert (code, "stories for desk" in said) == (0, True)
    (message,) = messages(home)
    assert (message.channel, message.topic) == ("desk", "briefing")
    assert message.subject.startswith("Briefing ")
    assert "https://example.org/1" in message.text

    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        articles = lake.read(RawArticle, outcome=["ok"])
        now = datetime.now(UTC)
        lake.transact(lambda rows: withdraw(rows, articles, "by a court", now))

    assert messages(home) == []


@pytest.mark.usefixtures("_channel")
def test_nothing_is_sent_of_days_without_stories(home: Path, call: Call) -> None:
    assert (
        "nothing is sent" in call("briefing", "--day", "2020-01-01", "--to", "desk")[1]
    )
    assert "no channel `nowhere`" in call("briefing", "--to", "nowhere")[2]
    assert messages(home) == []
