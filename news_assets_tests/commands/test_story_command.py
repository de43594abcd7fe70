"""`status --url`: what happened to one address, called as the command line calls it."""

import json
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from news_assets.cli import main
from news_assets.clients.sqlite_search import SqliteSearchIndex
from news_assets.store.lake import Lake
from news_assets_tests.small_desk import TODAY, Newsroom, entry

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    for name, value in {"NEWS_HOME": tmp_path, "COLUMNS": 110}.items():
        monkeypatch.setenv(name, str(value))

    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["news-assets", "status", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return called


@pytest.fixture
def _filled(tmp_path: Path) -> None:
    """A lake where `a-1` went all the way, `a-2` is not enriched, `b-3` cannot be fetched."""
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)
        room.enricher.refused.add("line2")
        room.pages.missing.add("https://example.org/3")
        room.list(entry(1), entry(2), entry(3, "b", TODAY - timedelta(days=1)))
        room.run()


def stages(out: str) -> list[tuple[str, str]]:
    moments = [json.loads(line) for line in out.splitlines()]
    assert [moment["at"] for moment in moments] == sorted(moment["at"] for moment in moments)
    return [(moment["stage"], moment["outcome"]) for moment in moments]


@pytest.mark.usefixtures("_filled")
def test_the_story_of_an_address_goes_from_its_first_listing_to_the_index(run: Run) -> None:
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


@pytest.mark.usefixtures("_filled")
def test_another_spelling_of_the_address_tells_the_same(run: Run) -> None:
    plain, other = run("--url", "https://example.org/1"), run("--url", "HTTPS://EXAMPLE.org:443/1?utm_source=x#top")
    assert plain == other
    assert "first listed by" in plain[1]


@pytest.mark.usefixtures("_filled")
def test_a_failure_says_why_how_often_and_when_again(run: Run) -> None:
    code, out, _ = run("--url", "https://example.org/3")
    assert code == 0
    assert "failed (try 1)" in out
    assert "next try" in out


@pytest.mark.usefixtures("_filled")
def test_an_address_that_was_never_listed_is_an_error_that_says_where_to_look(run: Run) -> None:
    code, _, err = run("--url", "https://example.org/never")
    assert code == 1
    assert "no source has listed https://example.org/never; `news-assets agencies` shows" in err
