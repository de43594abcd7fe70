"""Copy a catalog in a SQLite file, and put a copy back, each in one transaction beside readers and writers."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from news_assets.errors import LakeError

_BUSY_TIMEOUT_S = 60.0


def copy(catalog: Path, target: Path) -> None:
    """Copy the last commit of a catalog to a new file.

    Raises:
        LakeError: The catalog is damaged, or the copy cannot be written.
    """
    target.touch(mode=0o600)
    with _translated(catalog), closing(_connect(catalog)) as connection:
        connection.execute("VACUUM INTO ?", [str(target)])


def last_commit(catalog: Path) -> int | None:
    """Return the number of the last commit of a catalog; None if there is none that can be read."""
    if not catalog.exists():
        return None
    try:
        with closing(_connect(catalog)) as connection:
            if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
                return None
            (commit,) = connection.execute("SELECT max(snapshot_id) FROM ducklake_snapshot").fetchone()
            return None if commit is None else int(commit)
    except sqlite3.Error:
        return None


def put_back(backup: Path, catalog: Path, data_path: str, kept_as: Path) -> None:
    """Replace a catalog by a backup with this data path, and keep the replaced one in another file.

    A damaged catalog is moved; one that can be read is copied and overwritten in a transaction, because other processes
    may have it open.
    """
    with _translated(backup), closing(_connect(backup)) as source, closing(sqlite3.connect(":memory:")) as changed:
        source.backup(changed)
        with changed:
            changed.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'", [data_path])
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
