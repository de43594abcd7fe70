"""The search file: its tables, how it is opened, its transactions, and SQLite's errors
as `IndexingError`.

    documents  one small row each: id, agency, day, hash, and what readers load at once:
               `facts`, a fixed-width record, and `entities`, the codes of names
    texts      what a hit shows and explains
    vectors    float16, one row each
    fresh      terms of the newest documents, one row each, until `FOLD_AT` of them are folded
               into a part
    postings   (part, term) -> the part's documents with the term, and its weight in each;
               a part changes only when it is rewritten without its deleted documents
    words      every folded word and every stem, to correct typos and to find beginnings
    codes      small numbers for agencies, languages and other facet values, which readers load
    names      numbers for entities and matters; there may be as many as documents, so
               readers look them up one by one
    deleted    numbers of deleted documents, which readers apply after `documents.n`

`n` is the document's number, assigned in the order of commits and never reused: a
changed document gets a new one.

SQLite's FTS5 is not used: with 30,000 documents it takes 12 to 14 ms to return the
matches of a common word, before they are counted by facet and ranked.

Arrays are what a process maps into memory instead of reading the rows that they are made
of: facts of all documents, and their vectors as 8 bits a value. They are in a folder
beside the search file, `<file>.arrays/<key>`. The writer makes them again when many
documents are new; readers add the rows written since. The key is a random number, stored
in the search file after the arrays: a file with the key has the rows of its arrays, also
a restored one. Arrays that are missing, incomplete or of another key are made of rows.
"""

import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from news_assets.errors import IndexingError
from news_assets.folders import private_folder
from news_assets.ports.search_index import COPIED_FACETS
from news_assets.retry_table import INDEX_WRITE

_APPLICATION_ID = 0x4E415348  # in the file's header
_SCHEMA_VERSION = 4
BUSY_TIMEOUT_S = 30.0
# cold reads of 1,000,000 documents take a third less time than with 4,096
_PAGE_BYTES = 16_384

_T = TypeVar("_T")

# of facets with one value a document; those with few values are in the table `codes`
CODED_FACETS = tuple(
    one.name
    for one in COPIED_FACETS
    if not one.is_list and not one.column.has_many_values
)
NAMED_FACETS = tuple(
    one.name for one in COPIED_FACETS if not one.is_list and one.column.has_many_values
)
FACTS = np.dtype(
    [
        ("n", "<u4"),
        ("day", "<i4"),
        ("published", "<i8"),
        ("id_key", "<i8"),
        ("original_key", "<i8"),
        ("text_key", "<i8"),
        ("desk", "<u2"),
        ("agency", "<u2"),
        ("language", "<u2"),
        ("theme", "<u2"),
        *((name, "<u2") for name in CODED_FACETS),
        ("length", "<u2"),
        *((name, "<u4") for name in NAMED_FACETS),
    ]
)

_TABLES = """
CREATE TABLE documents (n INTEGER PRIMARY KEY AUTOINCREMENT, article_id TEXT NOT NULL UNIQUE,
    desk TEXT NOT NULL, agency TEXT NOT NULL, day TEXT NOT NULL, document_hash TEXT NOT NULL,
    facts BLOB NOT NULL, entities BLOB NOT NULL);
CREATE INDEX documents_by_day ON documents (desk, day, agency);
CREATE TABLE texts (n INTEGER PRIMARY KEY, url TEXT NOT NULL, title TEXT NOT NULL, theme_code TEXT,
    language TEXT, summary TEXT, labels TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE vectors (n INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE fresh (n INTEGER PRIMARY KEY, terms BLOB NOT NULL);
CREATE TABLE parts (part INTEGER PRIMARY KEY AUTOINCREMENT,
    first_n INTEGER NOT NULL, last_n INTEGER NOT NULL,
    document_count INTEGER NOT NULL, deleted_count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE postings (part INTEGER NOT NULL, term INTEGER NOT NULL, postings BLOB NOT NULL,
    PRIMARY KEY (part, term)) WITHOUT ROWID;
CREATE TABLE words (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE codes (code INTEGER PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL,
    UNIQUE (kind, value));
CREATE TABLE names (code INTEGER PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL,
    UNIQUE (kind, value));
CREATE TABLE deleted (deletion INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL);
CREATE TABLE state (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO state VALUES ('writes', 0);
"""


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to a search file, which is created if missing; one that
    cannot be written is only read.

    Raises:
        IndexingError: The file belongs to another program or version, is damaged, or
            cannot be written.
    """
    with as_indexing_errors(path):
        if _is_read_only(path):
            return _connect_reading(path)
        private_folder(path.parent)
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _is_read_only(path: Path) -> bool:
    if not path.exists():
        return False
    if not os.access(path, os.W_OK):
        return True
    return not os.access(path.parent, os.W_OK)


def _connect_reading(path: Path) -> sqlite3.Connection:
    """Open a file in WAL mode for reading only, without creating the files `-wal` and
    `-shm`.

    They exist while a writer has the file open, and `mode=ro` reads them too. Without
    them there is no writer, and `immutable=1` reads the file without looking for them.
    """
    has_log = Path(f"{path}-wal").exists()
    address = f"{path.absolute().as_uri()}?{'mode=ro' if has_log else 'immutable=1'}"
    connection = sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        _tune(connection)
        _check_version(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _tune(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA cache_size = -32768")
    connection.execute("PRAGMA mmap_size = 1073741824")
    # what is deleted is overwritten, as withdrawn texts have to be
    connection.execute("PRAGMA secure_delete = ON")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _check_version(connection, path)
    # has no effect on an existing file
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = WAL")
    # a power failure may lose the last commits
    connection.execute("PRAGMA synchronous = NORMAL")
    _tune(connection)
    if is_empty(connection):
        with writing(connection):
            if is_empty(connection):  # two processes may open a new file at once
                _create(connection)
    _check_version(connection, path)


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")


def is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether a database has no tables."""
    found = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    return found.fetchone() is None


def check_owner(connection: sqlite3.Connection, path: Path) -> None:
    """Raise IndexingError if the file has tables of another program."""
    if is_empty(connection):
        return
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner != _APPLICATION_ID:
        raise IndexingError(
            f"{path}: not a search index of news_assets; move the file away or choose another path"
        )


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    # first, because another process may create the tables at any time
    if is_empty(connection):
        return
    check_owner(connection, path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != _SCHEMA_VERSION:
        raise IndexingError(
            f"{path}: the search index has version {version}, this program reads"
            f" {_SCHEMA_VERSION}; run `news-assets rebuild search`"
        )
    row = connection.execute("SELECT length(facts) FROM documents LIMIT 1").fetchone()
    if row is not None and row[0] != FACTS.itemsize:
        raise IndexingError(
            f"{path}: the search index has other facets than this program; "
            "run `news-assets rebuild search`"
        )


@contextmanager
def as_indexing_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's and the file system's errors as IndexingError with the path and
    what to do.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _operational(path, error) from error
    except sqlite3.DatabaseError as error:
        raise IndexingError(
            f"{path}: the search index is damaged or not a search index ({error}); delete or move"
            " the file, then run `news-assets rebuild search`; no other data is affected"
        ) from error
    except OSError as error:
        raise IndexingError(
            f"{path}: the search index cannot be opened: {error.strerror or error}"
        ) from error


def _operational(path: Path, error: sqlite3.OperationalError) -> IndexingError:
    if _is_locked(error):
        translation = IndexingError(
            f"{path}: another process kept the search index locked ({error}); try again"
        )
        translation.is_transient = True
        return translation
    return IndexingError(
        f"{path}: the search index cannot be used: {error}; check the path, its permissions and the"
        " disk"
    )


def _is_locked(error: sqlite3.OperationalError) -> bool:
    code = error.sqlite_errorcode & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold a write transaction, committed at the end and rolled back on any error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold a read transaction, which reads one snapshot."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def retried(write: Callable[[], _T]) -> _T:
    """Return the result of `write`, repeated if another process holds the lock for
    longer than the timeout.
    """
    failed = 1
    while (pause_s := INDEX_WRITE.pause_s(failed)) is not None:
        try:
            return write()
        except sqlite3.OperationalError as error:
            if not _is_locked(error):
                raise
            time.sleep(pause_s)
            failed += 1
    return write()


def read_state(connection: sqlite3.Connection, key: str) -> int | None:
    """Return one number of the `state` table; None if it was never set."""
    found = connection.execute("SELECT value FROM state WHERE key = ?", (key,))
    row = found.fetchone()
    if row is None:
        return None
    return int(row[0])


def without_surrogates(text: str) -> str:
    """Return the text with `?` for lone surrogates, which SQLite refuses."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


# --- arrays beside the file -----------------------------------------------------------

# a list has arrays of one shape and is one file
Arrays = Mapping[str, Sequence[npt.NDArray[Any]]]

ARRAYS_KEY = "arrays"
_LAST_N = "arrays_last_n"
# reading as many rows takes a first search .05 s by words, .2 s by vector
_FEW_NEW = 8_192
_FEW_NEW_SHARE = 0.02
# a file that a writer or a hand removed, or that is incomplete
_UNREADABLE = (FileNotFoundError, EOFError, ValueError)


def arrays_are_due(connection: sqlite3.Connection) -> bool:
    """Return whether many documents are in no arrays yet."""
    found = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'"
    )
    last_n = int(found.fetchone()[0])
    saved_n = 0
    path = _arrays_path(connection)
    if path is not None and path.is_dir():
        saved_n = read_state(connection, _LAST_N) or 0
    return last_n - saved_n > max(_FEW_NEW, _FEW_NEW_SHARE * last_n)


def store_arrays(connection: sqlite3.Connection, arrays: Arrays, last_n: int) -> None:
    """Store arrays with the documents up to a number, in place of earlier ones, within
    an open write transaction.
    """
    key = secrets.randbits(62)
    path = _arrays_folder(connection) / f"{key:x}"
    path.mkdir(parents=True)
    try:
        for name, parts in arrays.items():
            _write_array(path / f"{name}.npy", parts)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise
    for state in ((ARRAYS_KEY, key), (_LAST_N, last_n)):
        connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", state)
    remove_unused_arrays(connection)


def _write_array(path: Path, parts: Sequence[npt.NDArray[Any]]) -> None:
    header = np.lib.format.header_data_from_array_1_0(parts[0])
    header["shape"] = (len(parts), *parts[0].shape)
    # not through a mapping, in which a full disk ends the process
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(np.ascontiguousarray(part).data)
        file.flush()
        os.fsync(file.fileno())


def saved_arrays(connection: sqlite3.Connection, names: Sequence[str]) -> Arrays | None:
    """Return these arrays, whose changes are not stored; None without saved ones."""
    path = _arrays_path(connection)
    if path is None:
        return None
    try:
        return {name: list(_mapped_array(path / f"{name}.npy", "c")) for name in names}
    except _UNREADABLE:
        return None


def _mapped_array(path: Path, mode: Any) -> npt.NDArray[Any]:
    # a plain array: each slice of a memmap costs 10 us more
    return np.asarray(np.load(path, mmap_mode=mode))


def changeable_array(
    connection: sqlite3.Connection, name: str
) -> npt.NDArray[Any] | None:
    """Return an array whose changes are stored at once; None if it is not saved."""
    path = _arrays_path(connection)
    if path is None:
        return None
    try:
        return _mapped_array(path / f"{name}.npy", "r+")
    except _UNREADABLE:
        return None


def remove_unused_arrays(connection: sqlite3.Connection) -> None:
    """Delete the arrays that the search file does not name."""
    folder = _arrays_folder(connection)
    if not folder.is_dir():
        return
    kept = _arrays_path(connection)
    for path in folder.iterdir():
        if path != kept:
            shutil.rmtree(path, ignore_errors=True)


def _arrays_path(connection: sqlite3.Connection) -> Path | None:
    key = read_state(connection, ARRAYS_KEY)
    if key is None:
        return None
    return _arrays_folder(connection) / f"{key:x}"


def _arrays_folder(connection: sqlite3.Connection) -> Path:
    _, _, file = connection.execute("PRAGMA database_list").fetchone()
    return Path(f"{file}.arrays")
