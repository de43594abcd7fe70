"""The command line called in this process, and a small lake."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from news_assets.cli import main
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.store.lake import Lake
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import TODAY, Newsroom, entry

Called = tuple[int, str, str]
Call = Callable[..., Called]


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    built_in_model: Path,
) -> Call:
    """Call `news-assets` with NEWS_HOME in the test's folder; return exit code, stdout
    and stderr.

    The home has the run's export of the built-in model, and a folder of its own for
    models of themes.
    """
    monkeypatch.setenv("NEWS_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / built_in_model.name).symlink_to(built_in_model)

    def called(*words: str) -> Called:
        monkeypatch.setattr(sys, "argv", ["news-assets", *words])
        with pytest.raises(SystemExit) as left:
            main()
        sys.stdout.flush()
        said = capfd.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return called


@pytest.fixture(scope="session")
def home_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)
        room.enricher.refused.add("line2")
        room.pages.missing.add("https://example.org/3")
        room.list(entry(1), entry(2), entry(3, "b", TODAY - timedelta(days=1)))
        room.run()
    return folder


@pytest.fixture
def home(home_template: Path, tmp_path: Path) -> Path:
    """A lake and an index where `a-1` is processed, `a-2` cannot be enriched and `b-3`
    cannot be fetched.
    """
    copy_lake(home_template, tmp_path)
    return tmp_path
