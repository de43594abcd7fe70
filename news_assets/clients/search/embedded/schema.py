"""The search file: its tables, how it is opened, and how SQLite's errors become ours.

A path enters; an open connection leaves. What is written into the tables and how it is ranked stands in the modules
beside this one:

    documents  one small row each: id, agency, day, hash, and `facts`, a fixed-width record that is read into memory in
               one go
    texts      what a hit shows
    vectors    float16, one row each
    fresh      terms of the newest documents, one row each, until `FOLD_AT` of them are folded into a part
    postings   (part, term) -> the part's documents that have the term, and how often; parts are never changed but
               for being rewritten without their deleted documents
    words      every folded word as written and every stem, for forgiving typing mistakes
    codes      small numbers for agencies, languages and the other values that facets count
    deleted    numbers of documents that are gone; with `documents.n`, all a reader needs for catching up

`n` is the document's number, given in the order of commits and never given twice: a changed document gets a new one.

SQLite's own FTS5 is not used: with 30,000 documents it needs 12 to 14 ms only to hand over the matches of a common
word, before they are counted by facet and ranked; arrays of numbers are counted where they lie.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from news_assets.errors import IndexingError

APPLICATION_ID = 0x4E415348  # written into the file's header; tells our files from others
SCHEMA_VERSION = 2
BUSY_TIMEOUT_S = 30.0
WRITE_TRIES = 4
PAGE_BYTES = 16_384  # with 1,000,000 documents that nobody read yet, a third less waiting than with SQLite's 4,096

T = TypeVar("T")

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
        ("month", "<u2"),
        ("length", "<u2"),
    ]
)

_TABLES = """
CREATE TABLE documents (n INTEGER PRIMARY KEY AUTOINCREMENT, article_id TEXT NOT NULL UNIQUE,
    desk TEXT NOT NULL, agency TEXT NOT NULL, day TEXT NOT NULL, document_hash TEXT NOT NULL, facts BLOB NOT NULL);
CREATE INDEX documents_by_day ON documents (desk, day, agency);
CREATE TABLE texts (n INTEGER PRIMARY KEY, url TEXT NOT NULL, title TEXT NOT NULL, theme_code TEXT,
    language TEXT, summary TEXT, text TEXT NOT NULL);
CREATE TABLE vectors (n INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE fresh (n INTEGER PRIMARY KEY, terms BLOB NOT NULL);
CREATE TABLE parts (part INTEGER PRIMARY KEY AUTOINCREMENT, first_n INTEGER NOT NULL, last_n INTEGER NOT NULL,
    document_count INTEGER NOT NULL, deleted_count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE postings (part INTEGER NOT NULL, term INTEGER NOT NULL, postings BLOB NOT NULL,
    PRIMARY KEY (part, term)) WITHOUT ROWID;
CREATE TABLE words (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE codes (code INTEGER PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, value));
CREATE TABLE deleted (deletion INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL);
CREATE TABLE state (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO state VALUES ('writes', 0);
"""


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to a search file, which is made where there is none.

    Raises:
        IndexingError: The file is another program's, of another version, damaged, or cannot be written.
    """
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _check_owner(connection, path)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file; an older one keeps its own
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing; a power cut the last commits
    connection.execute("PRAGMA cache_size = -32768")
    connection.execute("PRAGMA mmap_size = 1073741824")
    if _is_empty(connection):
        with writing(connection):
            if _is_empty(connection):  # two processes may open a new file at once
                _create(connection)
    _check_owner(connection, path)


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _check_owner(connection: sqlite3.Connection, path: Path) -> None:
    if _is_empty(connection):
        return
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if owner != APPLICATION_ID:
        raise IndexingError(f"{path}: not a search index of news_assets; move the file away or choose another path")
    if version != SCHEMA_VERSION:
        raise IndexingError(
            f"{path}: search index of version {version}, this program reads {SCHEMA_VERSION}; "
            "`news-assets rebuild search` makes it again"
        )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's and the file system's errors into IndexingError with the path and what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _operational(path, error) from error
    except sqlite3.DatabaseError as error:
        raise IndexingError(
            f"{path}: the search index is damaged or no search index ({error}); "
            "delete or move the file, then `news-assets rebuild search`; nothing else is lost"
        ) from error
    except OSError as error:
        raise IndexingError(f"{path}: the search index cannot be opened: {error.strerror or error}") from error


def _operational(path: Path, error: sqlite3.OperationalError) -> IndexingError:
    if _is_locked(error):
        translation = IndexingError(f"{path}: another process kept the search index locked ({error}); try again")
        translation.is_transient = True
        return translation
    return IndexingError(f"{path}: the search index cannot be used: {error}; check the path, its rights and the disk")


def _is_locked(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold one write transaction: committed at the end, rolled back on any error."""
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
    """Hold one read transaction: everything read within it is of one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def retried(write: Callable[[], T]) -> T:
    """Return what the write gives; where another process holds the lock for longer than the timeout, try again."""
    for attempt in range(WRITE_TRIES - 1):
        try:
            return write()
        except sqlite3.OperationalError as error:
            if not _is_locked(error):
                raise
            time.sleep(0.1 * 2**attempt)
    return write()


def read_state(connection: sqlite3.Connection, key: str) -> int | None:
    """Return one number of the `state` table; None where it was never set."""
    row = connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
    return None if row is None else int(row[0])
