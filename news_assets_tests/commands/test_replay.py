"""`replay`: stored pages extracted again, called as the command line calls it."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.store.lake import Lake
from news_assets.text.fingerprint import text_hash
from news_assets_tests.commands.conftest import Call

DESK_FILE = """
desk: d
timezone: UTC
language: en
first_day: 2026-01-01
agencies:
  a: {name: A, sources: [{kind: feed, url: "https://example.org/a.xml"}]}
  b: {name: B, sources: [{kind: feed, url: "https://example.org/b.xml"}]}
"""
OLD_TEXT = "Menu \x1b[2J Home | News. " * 3


@pytest.fixture
def run(call: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call `replay` on a lake where another extractor read `a-1`, `a-2` is as it was
    and `b-3` has no page.
    """
    (home / "d.yaml").write_text(DESK_FILE)
    monkeypatch.setenv("NEWS_DESKS", str(home / "d.yaml"))
    monkeypatch.setenv("COLUMNS", "110")
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        articles = {
            row.article_id: replace(row, address_owner="shared")
            for row in lake.read(RawArticle)
        }
        article = articles["a-1"]
        aged = replace(
            article,
            text=OLD_TEXT,
            text_chars=len(OLD_TEXT),
            text_hash=text_hash(OLD_TEXT),
            title="Menu",
        )
        lake.transact(lambda rows: rows.upsert([*articles.values(), aged]))
    return partial(call, "replay")


def stored(home: Path) -> tuple[int, str | None, list[str]]:
    """Return the last commit, the text of `a-1` and the causes of revisions."""
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        (article,) = lake.read(RawArticle, article_id=["a-1"])
        return (
            lake.snapshot(),
            article.text,
            [one.cause for one in lake.read(ArticleRevision)],
        )


def test_the_differences_are_shown_and_nothing_is_written(
    run: Call, home: Path
) -> None:
    before = stored(home)
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "desk d: 3 articles, nothing written" in out
    for count in (
        "1  unchanged",
        "1  another text",
        "1  no stored page",
        "columns: title 1",
    ):
        assert count in out
    assert "--write stores the 1 new rows" in out
    assert "+The city council voted on Tuesday to keep bus line1 running" in out
    assert "-Menu ␛[2J Home | News." in out
    assert "\x1b[2J" not in out
    assert stored(home) == before


def test_write_stores_changes_of_method_once_and_a_second_run_is_clean(
    run: Call, home: Path, call: Call
) -> None:
    code, out, _ = run("--write", "--json")
    first = json.loads(out)
    commit, text, causes = stored(home)
    assert (code, first["is_written"], first["changes"]["text"], first["columns"]) == (
        0,
        True,
        1,
        {"title": 1},
    )
    assert (first["worst"][0]["article_id"], first["worst"][0]["stored_chars"]) == (
        "a-1",
        len(OLD_TEXT),
    )
    assert str(text).startswith("The city council")
    assert causes == ["method"]

    second = json.loads(run("--write", "--json")[1])
    assert {change: count for change, count in second["changes"].items() if count} == {
        "unchanged": 2,
        "no_page": 1,
    }
    assert stored(home) == (commit, text, causes)
    assert (
        "the publisher changed nothing"
        in call("status", "--url", "https://example.org/1", "--json")[1]
    )


def test_only_the_chosen_agencies_and_days_are_replayed(run: Call) -> None:
    def changes(*options: str) -> int:
        return int(json.loads(run("--json", *options)[1])["articles"])

    assert changes("--agency", "b") == 1
    assert changes("--desk", "d", "--from", "2026-11-20") == 2
    assert changes("--to", "2026-11-19") == 1


def test_a_desk_without_a_desk_file_is_an_error(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_DESKS", "sample")
    code, _, err = run("--desk", "d")
    assert code == 1
    assert "name its desk file in NEWS_DESKS" in err
