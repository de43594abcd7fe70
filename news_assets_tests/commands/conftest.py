"""The command line, called in this process as a shell calls it."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from news_assets.cli import main
from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.store.lake import Lake
from news_assets_tests.support.small_desk import TODAY, Newsroom, entry

Called = tuple[int, str, str]
Call = Callable[..., Called]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Call `news-assets` with these words, at home in the test's folder; return exit code, stdout and stderr."""
    monkeypatch.setenv("NEWS_HOME", str(tmp_path))

    def called(*words: str) -> Called:
        monkeypatch.setattr(sys, "argv", ["news-assets", *words])
        with pytest.raises(SystemExit) as left:
            main()
        sys.stdout.flush()
        said = capfd.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return called


@pytest.fixture
def home(tmp_path: Path) -> Path:
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
    return tmp_path
