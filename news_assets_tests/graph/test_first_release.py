"""The home folder of the first release (0.1.0), as its demo left it, opened by this
version: the lake, the search index and Dagster's history.
"""

import tarfile
import warnings
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from news_assets import search
from news_assets.commands.search_upkeep import rebuild_search
from news_assets.errors import IndexingError
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.store.address import Address
from news_assets.store.backup import back_up, plan_restore, restore
from news_assets.store.connection import pending_changes
from news_assets.store.lake import Lake
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import NOW

ARCHIVE = Path(__file__).parents[1] / "store" / "data" / "home_of_0.1.0.tar.xz"
INSTANCE = """
telemetry: {{enabled: false}}
storage:
  custom:
    module: news_assets.defs.instance.sqlite_storage
    class: BatchSqliteStorage
    config: {{base_dir: {home}/dagster}}
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first_release")
    with tarfile.open(ARCHIVE) as archive:
        # Python before 3.11.4 has no filters, and later ones warn without
        is_filtered = hasattr(tarfile, "data_filter")
        options: dict[str, Any] = {"filter": "data"} if is_filtered else {}
        archive.extractall(folder, **options)
    return folder


@pytest.fixture
def home(unpacked: Path, tmp_path: Path) -> Path:
    copy_lake(unpacked, tmp_path)
    return tmp_path


def place(home: Path) -> Address:
    return Address(str(home / "catalog.sqlite"), str(home / "data"))


def test_its_lake_is_brought_up_to_date_and_keeps_all_rows(home: Path) -> None:
    changes = pending_changes(place(home))
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        articles = lake.read(RawArticle, outcome=["ok"])
        enriched = lake.read(EnrichedArticle, outcome=["ok"])
        revisions = lake.read(ArticleRevision)

    assert changes[0] == "give the lake an id"
    assert pending_changes(place(home)) == ()
    assert {row.article_id for row in articles} == {row.article_id for row in enriched}
    assert len(articles) == 8
    assert all(row.text and row.content_hash == "" for row in articles)
    assert [row.cause for row in revisions] == [""]


def test_a_lake_that_was_brought_up_to_date_is_backed_up_and_restored(
    home: Path,
) -> None:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        before = lake.read(RawArticle)
    backup = back_up(place(home), home / "backups", NOW)
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        some = [row.article_id for row in before[:3]]
        lake.transact(lambda rows: rows.delete(RawArticle, article_id=some))

    restore(place(home), plan_restore(place(home), backup.file), NOW)

    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        assert lake.read(RawArticle) == before


def test_its_index_is_refused_and_made_again_from_the_lake(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_HOME", str(home))
    monkeypatch.setenv("NEWS_EMBEDDING_MODEL", "all-MiniLM-L6-v2")
    with (
        pytest.raises(IndexingError, match="run `news-assets rebuild search`"),
        search.open_index() as index,
    ):
        index.search("vacinacao", mode="keyword")

    rebuild_search(dry_run=False)

    with search.open_index() as index:
        found = index.search("vacinacao nas escolas", mode="keyword").hits
    assert "vacina" in found[0].title.lower()


def test_its_history_is_shown_and_goes_on(home: Path) -> None:
    (home / "dagster.yaml").write_text(INSTANCE.format(home=home))
    key = dg.AssetKey(["sample", "raw_articles"])

    @dg.asset(key=key)
    def again() -> None:
        """Another materialisation of the same asset."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        with dg.DagsterInstance.from_config(str(home)) as instance:
            runs = instance.get_runs()
            before = instance.get_materialized_partitions(key)
            done = dg.materialize([again], instance=instance)
            newest = instance.get_latest_materialization_event(key)
            assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
            assert len(instance.get_runs()) == len(runs) + 1 == 5

    assert len(before) == 6
    assert done.success
    assert newest is not None
    assert newest.run_id == done.run_id
