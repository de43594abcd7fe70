"""`status --url`: what happened to one address, called as the command line calls it."""

import json
from functools import partial
from pathlib import Path

import pytest

from news_assets_tests.commands.conftest import Call


@pytest.fixture
def run(call: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("COLUMNS", "110")
    return partial(call, "status")


def stages(out: str) -> list[tuple[str, str]]:
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    return [(event["stage"], event["outcome"]) for event in events]


def test_the_url_history_an_address_goes_from_its_first_listing_to_the_index(
    run: Call,
) -> None:
    code, out, _ = run("--url", "https://example.org/1", "--json")
    assert code == 0
    told = stages(out)
    assert told[0] == ("feed_entries", "ok")
    assert {stage for stage, _ in told} == {
        "feed_entries",
        "raw_articles",
        "enriched_articles",
        "article_embeddings",
        "search_index",
    }
    assert {outcome for _, outcome in told} <= {"ok", "200"}


def test_another_spelling_of_the_address_tells_the_same(run: Call) -> None:
    plain, other = (
        run("--url", "https://example.org/1"),
        run("--url", "HTTPS://EXAMPLE.org:443/1?utm_source=x#top"),
    )
    assert plain == other
    assert "first listed by" in plain[1]


def test_a_failure_says_why_how_often_and_when_again(run: Call) -> None:
    code, out, _ = run("--url", "https://example.org/3")
    assert code == 0
    assert "failed (attempt 1)" in out
    assert "next attempt" in out


def test_an_address_that_was_never_listed_is_an_error_that_says_where_to_look(
    run: Call,
) -> None:
    code, _, err = run("--url", "https://example.org/never")
    assert code == 1
    assert (
        "no source has listed https://example.org/never; `news-assets agencies` shows"
        in err
    )
