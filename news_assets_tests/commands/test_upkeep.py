"""The commands `backup`, `restore`, `migrate`, `retention` and `withdraw`."""

import json
import re
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from news_assets.records.articles import Poll, RawArticle, StoredPage
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call, Called
from news_assets_tests.store.examples import full
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


OLD = datetime(2020, 1, 31, tzinfo=UTC)


@pytest.fixture
def old(home: Path) -> Path:
    polls = [
        full(Poll, source_id="a", polled_at=OLD.replace(day=day))
        for day in range(1, 31)
    ]
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        lake.transact(
            lambda rows: (
                rows.append(polls),
                rows.append([full(StoredPage, day=date(2020, 1, 1), fetched_at=OLD)]),
            )
        )
    return home


def counts(home: Path) -> tuple[int, int]:
    """Return the old polls and pages."""
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return tuple(
            lake.query(
                f"SELECT count(*) FROM {table} WHERE {time} < DATE '2021-01-01'"
            ).item()
            for table, time in (("polls", "polled_at"), ("pages", "fetched_at"))
        )


def test_retention_prints_rows_by_table_and_month_and_deletes_them(
    old: Path, call: Call
) -> None:
    code, said, _ = call("retention", "--dry-run")
    assert (code, counts(old)) == (0, (30, 1))
    lines = [line.split() for line in said.splitlines()]
    assert ["pages", "2020-01", "0", "0.0", "1"] in lines
    assert ["polls", "2020-01", "29", "0.0", "1"] in lines
    assert "29 rows would be deleted" in said

    assert "29 rows were deleted" in call("retention")[1]
    assert counts(old) == (1, 1)
    assert "1 rows were deleted" in call("retention", "--irreplaceable")[1]
    assert counts(old) == (1, 0)


def outcomes(home: Path) -> dict[str, tuple[str, str | None]]:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return {
            row.article_id: (row.outcome, row.reason) for row in lake.read(RawArticle)
        }


def test_an_article_is_withdrawn_by_any_spelling_of_its_address_and_brought_back(
    home: Path, call: Call
) -> None:
    before = outcomes(home)
    assert "a-1" in call("search", "line1", "--mode", "keyword", "--json")[1]

    code, said, _ = call(
        "withdraw",
        "HTTPS://Example.org:443/1?utm_source=x",
        "--reason",
        "ordered by a court",
    )

    assert (code, said.splitlines()[0]) == (0, "withdrawn: a-1: Bus")
    assert outcomes(home) == before | {"a-1": ("withdrawn", "ordered by a court")}
    assert "a-1" not in call("search", "line1", "--mode", "keyword", "--json")[1]
    assert call("withdraw", "a-1")[1] == "withdrawn already\n"

    code, said, _ = call("withdraw", "a-1", "--undo")
    assert (code, said.splitlines()[0]) == (0, "brought back: a-1: Bus")
    assert outcomes(home) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a-1", "a-9"), "no article `a-9`; nothing was changed"),
        (
            ("https://example.org/none",),
            "no article `https://example.org/none`; nothing was changed",
        ),
        (("a-1", "--undo"), "none of these articles is withdrawn"),
        ((), "Missing argument"),
    ],
)
def test_a_wrong_name_changes_nothing(
    home: Path, call: Call, words: tuple[str, ...], message: str
) -> None:
    before = outcomes(home)
    code, _, error = call("withdraw", *words)
    assert code != 0
    assert message in error
    assert outcomes(home) == before
