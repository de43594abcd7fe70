"""Arrays that a process maps into memory instead of reading the rows that they are made
of: facts of all documents, and their vectors as 8 bits a value.

They are in a folder beside the search file, `<file>.arrays/<key>`. The writer makes them
again when many documents are new; readers add the rows written since. The key is a
random number, stored in the search file after the arrays: a file with the key has the
rows of its arrays, also a restored one. Arrays that are missing, incomplete or of
another key are made of rows.
"""

import os
import secrets
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.search_file import read_state

# a list has arrays of one shape and is one file
Arrays = Mapping[str, Sequence[npt.NDArray[Any]]]

KEY = "arrays"
_LAST_N = "arrays_last_n"
# reading as many rows takes a first search .05 s by words, .2 s by vector
_FEW_NEW = 8_192
_FEW_NEW_SHARE = 0.02
# a file that a writer or a hand removed, or that is incomplete
_UNREADABLE = (FileNotFoundError, EOFError, ValueError)


def is_due(connection: sqlite3.Connection) -> bool:
    """Return whether many documents are in no arrays yet."""
    found = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'"
    )
    last_n = int(found.fetchone()[0])
    saved_n = 0
    path = _path(connection)
    if path is not None and path.is_dir():
        saved_n = read_state(connection, _LAST_N) or 0
    return last_n - saved_n > max(_FEW_NEW, _FEW_NEW_SHARE * last_n)


def save(connection: sqlite3.Connection, arrays: Arrays, last_n: int) -> None:
    """Store arrays with the documents up to a number, in place of earlier ones, within
    an open write transaction.
    """
    key = secrets.randbits(62)
    path = _folder(connection) / f"{key:x}"
    path.mkdir(parents=True)
    try:
        for name, parts in arrays.items():
            _write(path / f"{name}.npy", parts)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise
    for state in ((KEY, key), (_LAST_N, last_n)):
        connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", state)
    remove_unused(connection)


def _write(path: Path, parts: Sequence[npt.NDArray[Any]]) -> None:
    header = np.lib.format.header_data_from_array_1_0(parts[0])
    header["shape"] = (len(parts), *parts[0].shape)
    # not through a mapping, in which a full disk ends the process
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(np.ascontiguousarray(part).data)
        file.flush()
        os.fsync(file.fileno())


def saved(connection: sqlite3.Connection, names: Sequence[str]) -> Arrays | None:
    """Return these arrays, whose changes are not stored; None without saved ones."""
    path = _path(connection)
    if path is None:
        return None
    try:
        return {name: list(_mapped(path / f"{name}.npy", "c")) for name in names}
    except _UNREADABLE:
        return None


def _mapped(path: Path, mode: Any) -> npt.NDArray[Any]:
    # a plain array: each slice of a memmap costs 10 us more
    return np.asarray(np.load(path, mmap_mode=mode))


def changeable(connection: sqlite3.Connection, name: str) -> npt.NDArray[Any] | None:
    """Return an array whose changes are stored at once; None if it is not saved."""
    path = _path(connection)
    if path is None:
        return None
    try:
        return _mapped(path / f"{name}.npy", "r+")
    except _UNREADABLE:
        return None


def remove_unused(connection: sqlite3.Connection) -> None:
    """Delete the arrays that the search file does not name."""
    folder = _folder(connection)
    if not folder.is_dir():
        return
    kept = _path(connection)
    for path in folder.iterdir():
        if path != kept:
            shutil.rmtree(path, ignore_errors=True)


def _path(connection: sqlite3.Connection) -> Path | None:
    key = read_state(connection, KEY)
    if key is None:
        return None
    return _folder(connection) / f"{key:x}"


def _folder(connection: sqlite3.Connection) -> Path:
    _, _, file = connection.execute("PRAGMA database_list").fetchone()
    return Path(f"{file}.arrays")
