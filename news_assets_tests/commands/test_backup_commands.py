"""`backup`, `restore` and `migrate`, and what can be read in a home that cannot be
written.
"""

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call, Called
from news_assets_tests.support.unprivileged import make_read_only, run_unprivileged

READ = (
    ("status",),
    ("search", "", "--mode", "keyword"),
    ("gaps",),
    ("failures", "list"),
    ("export", "entries"),
    ("agencies",),
)
WRITTEN = (("failures", "retry"), ("backup",))
CALL_EACH = """
import contextlib, io, json, sys
from news_assets.cli import main

def called(words):
    out, error = io.StringIO(), io.StringIO()
    sys.argv = ["news-assets", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = main() or 0
        except SystemExit as left:
            code = int(left.code or 0)
    return code, out.getvalue(), error.getvalue()

print(json.dumps([called(words) for words in json.loads(sys.argv[1])]))
"""


def titles(home: Path) -> list[str | None]:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return [row.title for row in lake.read(RawArticle)]


def backup_of(home: Path, call: Call, *words: str) -> Path:
    code, said, error = call("backup", *words)
    assert (code, error) == (0, "")
    (file,) = (home / "backups").glob("*.sqlite")
    assert said.startswith(f"{file}: commit ")
    return file


def test_a_lake_that_lost_its_catalog_is_restored_as_the_error_says(
    home: Path, call: Call
) -> None:
    before, file = titles(home), backup_of(home, call)
    (home / "catalog.sqlite").unlink()

    code, _, error = call("status")
    assert code == 1
    assert f"restore the newest backup with `news-assets restore {file}`" in error

    assert call("restore", str(file), "--dry-run")[:2] == (
        0,
        call("restore", str(file), "--dry-run")[1],
    )
    assert not (home / "catalog.sqlite").exists()
    assert call("restore", str(file))[0] == 0
    assert titles(home) == before


def test_a_newer_catalog_is_replaced_only_with_force_and_kept(
    home: Path, call: Call
) -> None:
    file = backup_of(home, call)
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        lake.transact(
            lambda transaction: transaction.cursor.execute("DELETE FROM raw_articles")
        )

    code, said, error = call("restore", str(file))
    assert (code, "the present catalog has 1 later commits" in said) == (1, True)
    assert "use --force to replace it" in error
    assert titles(home) == []

    code, said, _ = call("restore", str(file), "--force")
    assert (code, "the replaced catalog is kept: " in said) == (0, True)
    assert titles(home) != []


def test_missing_data_files_are_named_and_come_back_from_a_backup_with_data(
    home: Path, call: Call, tmp_path: Path
) -> None:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        lake.transact(
            lambda rows: rows.cursor.execute(
                "CALL ducklake_flush_inlined_data('lake')"
            ).fetchall()
        )
    before = titles(home)
    without, whole = tmp_path / "without", tmp_path / "whole"
    assert (
        call("backup", "--to", str(without))[0]
        == call("backup", "--to", str(whole), "--data")[0]
        == 0
    )
    lost = next((home / "data").rglob("raw_articles/**/*.parquet"))
    lost.unlink()

    code, said, error = call("restore", str(*without.glob("*.sqlite")))
    assert (code, f"  {lost.relative_to(home / 'data')}\n" in said) == (1, True)
    assert "1 data files of this backup are missing; put it back from a copy" in error

    assert call("restore", str(*whole.glob("*.sqlite")))[0] == 0
    assert titles(home) == before


def test_migrate_shows_and_makes_the_changes(home: Path, call: Call) -> None:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        lake.transact(
            lambda rows: rows.cursor.execute("ALTER TABLE polls DROP COLUMN reason")
        )
    change = 'ALTER TABLE "polls" ADD COLUMN IF NOT EXISTS "reason" VARCHAR\n'

    assert call("migrate", "--dry-run") == (0, change, "")
    assert call("migrate") == (0, change + "done\n", "")
    assert call("migrate")[1].endswith("catalog.sqlite is up to date\n")


@pytest.mark.parametrize("writer", ["closed", "open"])
@pytest.mark.slow  # a process of another user
def test_a_read_only_home_is_read_and_says_so_when_it_is_written(
    home: Path, call: Call, writer: str
) -> None:
    expected = [call(*words) for words in READ]
    with (
        closing(sqlite3.connect(home / "catalog.sqlite")) as catalog,
        closing(sqlite3.connect(home / "search.sqlite")),
    ):
        # SQLite keeps its log and shared memory beside an open file
        if writer == "open":
            catalog.execute("PRAGMA journal_mode = WAL")
            catalog.execute("SELECT * FROM ducklake_snapshot").fetchall()
        make_read_only(home)
        try:
            called = run_unprivileged(
                sys.executable,
                "-c",
                CALL_EACH,
                json.dumps(READ + WRITTEN),
                NEWS_HOME=str(home),
                COLUMNS="80",
            )
        finally:
            home.chmod(0o700)
            (home / "data").chmod(0o700)

    found = [tuple(result) for result in json.loads(called.stdout)]
    for words, before, result in zip(READ, expected, found, strict=False):
        assert _untimed(result) == _untimed(before), words
    for code, _, error in found[len(READ) :]:
        assert (code, error.startswith(f"news-assets: {home}")) == (1, True), error
        assert "Permission denied" in error or "not writable" in error


def _untimed(called: Called) -> Called:
    return (
        called[0],
        " ".join(re.sub(r"[\d.,]+\s+ms", "", called[1]).split()),
        called[2],
    )
