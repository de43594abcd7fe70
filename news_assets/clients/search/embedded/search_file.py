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
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

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
