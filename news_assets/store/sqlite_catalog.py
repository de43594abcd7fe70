"""Copy and shrink a catalog in a SQLite file, and put a copy back, each in one
transaction beside readers and writers.

DuckDB has a SQLite of its own, and file locks belong to a process: when Python's SQLite
closes a catalog that DuckDB has open in the same process, DuckDB's locks are gone, and
the write-ahead log is deleted under it. Every later read fails with "disk I/O error".
So what may run beside an open lake is run in a process of its own.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from news_assets.errors import LakeError
from news_assets.store.address import quoted

_BUSY_TIMEOUT_S = 60.0
_EXECUTE = f"""
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout={_BUSY_TIMEOUT_S}, isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
connection.close()
"""


def copy(catalog: Path, target: Path) -> None:
    """Copy the last commit of a catalog to a new file.

    Raises:
        LakeError: The catalog is damaged, or the copy cannot be written.
    """
    target.touch(mode=0o600)
    _execute_apart(catalog, f"VACUUM INTO {quoted(str(target))}")


def drop_free_pages(catalog: Path) -> None:
    """Write a catalog's file without its free pages, which still hold deleted rows that
    were inlined.

    Raises:
        LakeError: The catalog is damaged, its disk is full, or others read and wrote it
            for a minute.
    """
    _execute_apart(catalog, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")


def _execute_apart(catalog: Path, *statements: str) -> None:
    """Execute SQL in a process of its own."""
    command = [sys.executable, "-I", "-c", _EXECUTE, str(catalog), *statements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        cause = done.stderr.strip().rpartition("\n")[2]
        raise LakeError(f"{catalog}: SQLite cannot read or copy it: {cause}")


def last_commit(catalog: Path) -> int | None:
    """Return the number of the last commit of a catalog; None if there is none that can
    be read.
    """
    if not catalog.exists():
        return None
    try:
        with closing(_connect(catalog)) as connection:
            if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
                return None
            (commit,) = connection.execute(
                "SELECT max(snapshot_id) FROM ducklake_snapshot"
            ).fetchone()
            return None if commit is None else int(commit)
    except sqlite3.Error:
        return None


def put_back(backup: Path, catalog: Path, data_path: str, kept_as: Path) -> None:
    """Replace a catalog by a backup with this data path, and keep the replaced one in
    another file.

    A damaged catalog is moved; one that can be read is copied and overwritten in a
    transaction, because other processes may have it open.
    """
    with (
        _translated(backup),
        closing(_connect(backup)) as source,
        closing(sqlite3.connect(":memory:")) as changed,
    ):
        source.backup(changed)
        with changed:
            changed.execute(
                "UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'",
                [data_path],
            )
        if catalog.exists():
            _keep(catalog, kept_as)
        if not catalog.exists():
            catalog.touch(mode=0o600)
        with closing(_connect(catalog)) as target:
            changed.backup(target)


def _keep(catalog: Path, kept_as: Path) -> None:
    if last_commit(catalog) is not None:
        copy(catalog, kept_as)
        return
    for suffix in ("", "-wal", "-shm"):
        file = Path(f"{catalog}{suffix}")
        if file.exists():
            file.replace(f"{kept_as}{suffix}")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise LakeError(f"{path}: SQLite cannot read or copy it: {error}") from error
