"""`agencies` over a small lake, called as the command line calls it."""

import json
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from news_assets.records.articles import FeedEntry, Poll, SourceState
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.store.examples import sparse

DESK = """\
desk: mine
timezone: UTC
language: pt
first_day: 2026-01-01
outside: {gov: Governo}
agencies:
  bee:
    name: The Bee
    type: Daily
    parent: gov
    sources:
      - kind: feed
        url: https://bee.example.org/rss
      - kind: feed
        url: https://bee.example.org/more
        every_minutes: 15
  owl:
    name: The Owl
    active: false
    reason: the site was closed
    sources:
      - kind: feed
        url: https://owl.example.org/rss
"""
NOW = datetime.now(UTC).replace(microsecond=0)  # the command reads the clock


@pytest.fixture
def run(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    (tmp_path / "mine.yaml").write_text(DESK)
    monkeypatch.setenv("NEWS_DESKS", str(tmp_path / "mine.yaml"))
    return partial(call, "agencies")


def rows_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def fill(home: Path, source_id: str) -> None:
    """Three polls, and daily entries until forty days ago."""
    base = {"source_id": source_id, "desk": "mine", "agency": "bee"}
    polls = [
        sparse(
            Poll,
            **base,
            polled_at=NOW - timedelta(hours=3),
            outcome="ok",
            entry_count=10,
            new_count=1,
        ),
        sparse(
            Poll,
            **base,
            polled_at=NOW - timedelta(hours=2),
            outcome="unchanged",
            entry_count=0,
            new_count=0,
        ),
        sparse(
            Poll,
            **base,
            polled_at=NOW - timedelta(hours=1),
            outcome="failed",
            entry_count=0,
            new_count=0,
        ),
    ]
    state = sparse(
        SourceState,
        **base,
        url="https://bee.example.org/rss",
        last_polled_at=NOW - timedelta(hours=1),
        last_new_at=NOW - timedelta(hours=3),
        next_poll_at=datetime.now(UTC)
        + timedelta(hours=2, minutes=30),  # of this moment: a test run takes minutes
        interval_s=1800.0,
        failure_points=0.5,
        last_outcome="failed",
        last_reason="timed out",
    )
    entries = [
        sparse(
            FeedEntry,
            **base,
            entry_id=f"{ago}-{number}",
            article_id=f"bee-{ago}-{number}",
            day=(NOW - timedelta(days=ago)).date(),
            first_seen_at=NOW - timedelta(days=ago),
            published_at=NOW - timedelta(days=ago),
        )
        for ago in range(40, 120)
        for number in range(2)
    ]
    with Lake.open(str(home / "catalog.sqlite"), str(home / "data")) as lake:
        lake.transact(
            lambda rows: (
                rows.upsert([state]),
                rows.upsert(entries),
                rows.append(polls),
            )
        )


def test_sources_are_listed_before_the_first_poll(run: Call) -> None:
    code, out, err = run("--json")
    assert (code, err) == (0, "")
    bee, more, owl = rows_of(out)
    assert bee == {
        "desk": "mine",
        "agency": "bee",
        "name": "The Bee",
        "type": "Daily",
        "parent": "gov",
        "is_active": True,
        "reason": None,
        "source_id": bee["source_id"],
        "kind": "feed",
        "url": "https://bee.example.org/rss",
        "polls": [],
        "interval_s": None,
        "next_poll_at": None,
        "new_ratio": None,
        "last_new_at": None,
        "last_reason": None,
        "silent_for": None,
        "habit": None,
        "entries_a_day": 1.0,
        "requests_a_day": bee["requests_a_day"],
        "delay_minutes": bee["delay_minutes"],
    }
    assert 24 < bee["requests_a_day"] < 60
    assert 5 < bee["delay_minutes"] < 30
    assert (more["requests_a_day"], more["delay_minutes"]) == (96.0, 7.5), (
        "every 15 minutes"
    )
    assert [
        owl[name] for name in ("entries_a_day", "requests_a_day", "delay_minutes")
    ] == [None] * 3
    assert (owl["is_active"], owl["reason"]) == (False, "the site was closed")


def test_a_source_is_shown_with_polls_interval_and_silence(
    run: Call, tmp_path: Path
) -> None:
    bee, more, _ = rows_of(run("--json")[1])
    fill(tmp_path, bee["source_id"])
    found, _, _ = rows_of(run("--desk", "mine", "--json")[1])
    assert [(one["outcome"], one["new_count"]) for one in found["polls"]] == [
        ("ok", 1),
        ("unchanged", 0),
        ("failed", 0),
    ]
    assert (found["interval_s"], found["new_ratio"], found["last_reason"]) == (
        1800.0,
        0.1,
        "timed out",
    )
    assert datetime.fromisoformat(found["last_new_at"]) == NOW - timedelta(hours=3)
    assert found["silent_for"].startswith("40 days")
    assert more["interval_s"] == 900.0, "as the desk file says"


def test_the_terminal_output_has_a_line_for_each_source(
    run: Call, tmp_path: Path
) -> None:
    fill(tmp_path, rows_of(run("--json")[1])[0]["source_id"])
    code, out, err = run()
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0] == "desk mine: 2 agencies, 1 active"
    assert lines[2].startswith("bee  The Bee (Daily of gov): silent for 40 days")
    assert lines[3] == "  feed https://bee.example.org/rss"
    assert lines[4].startswith("    +=F, every 30 min, next in 2 h ")
    assert lines[4].endswith(
        f"10% new, last new {NOW - timedelta(hours=3):%Y-%m-%d %H:%M} UTC, timed out"
    )
    assert re.search(
        r", expects 0\.\d entries and \d\d requests a day, delay \d+ min, 10% new, ",
        lines[4],
    )
    assert (
        lines[6]
        == "    no recent polls, every 15 min, expects 1.0 entries and 96 requests a day, delay 8 min"
    )
    assert lines[7:] == [
        "owl  The Owl: not active: the site was closed",
        "  feed https://owl.example.org/rss",
        "    no recent polls",
    ]


def test_an_unknown_desk_is_an_error(run: Call) -> None:
    assert run("--desk", "other") == (
        1,
        "",
        "news-assets: no desk `other`; there are: mine\n",
    )
