"""Connect to DuckLake: start DuckDB with its extensions, attach the catalog as `lake`,
bring its tables up to date, and give its write lock. DuckDB's errors are translated to
LakeError here, without passwords.

The write lock is held across processes, roughly first come, first served. With it,
writers wait instead of failing. It does not protect the rows: a commit fails if another
one came in between (see `lake.py`). The kernel or Postgres releases the lock when the
process that holds it dies.
"""

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import duckdb
from filelock import FileLock, Timeout

from news_assets.errors import LakeError
from news_assets.folders import private_folder
from news_assets.store.address import (
    LAKE,
    METADATA,
    Address,
    DataFolder,
    lake_error,
    quoted,
    way_back,
    without_password,
)
from news_assets.store.catalog_copies import copy_unwritable
from news_assets.store.upgrade import (
    add_statistics,
    check_version,
    is_current,
    read_identity,
    transaction,
    upgraded,
)

# --- the write lock --------------------------------------------------------------------

_LOCK_ID = 0x6E657773  # "news"; advisory locks are per database
# The server ends the session of a machine that vanished, and so frees its lock, after
# 25 to 30 s instead of two hours.
_END_OF_LOST_SESSIONS = """
    SET LOCAL tcp_keepalives_idle = 10;
    SET LOCAL tcp_keepalives_interval = 5;
    SET LOCAL tcp_keepalives_count = 3;
    SET LOCAL tcp_user_timeout = 30000;
"""


class WriteLock(Protocol):
    """A lock that one writer of a lake holds at a time."""

    def held(self, wait_s: float) -> AbstractContextManager[None]:
        """Hold the lock. Raises LakeError after `wait_s` seconds without it, or if this
        thread already holds it.
        """
        ...


class _ThreadLock:
    """A lock between the threads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        if self._owner == threading.get_ident():
            raise LakeError(
                "a transaction cannot begin inside another one of the same thread; use the"
                " outer one"
            )
        if not self._lock.acquire(timeout=wait_s):
            raise _too_long("the lake", wait_s)
        self._owner = threading.get_ident()
        try:
            yield
        finally:
            self._owner = None
            self._lock.release()


class _FileWriteLock:
    """The write lock of a catalog in a file: two lock files beside it.

    The next writer holds the queue lock while it waits for the writer lock, so a writer
    that has just committed cannot overtake it. Among four writers that commit without a
    pause and one with three two-second transactions, the longest wait was 7.9 s; with a
    single lock file 7.9 to 11.5 s, because any waiting process could get the lock.
    """

    def __init__(self, catalog: Path) -> None:
        self._threads = _ThreadLock()
        self._queue = FileLock(f"{catalog}.queue.lock", poll_interval=0.01)
        self._writer = FileLock(f"{catalog}.writer.lock", poll_interval=0.002)

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Hold the lock; see `WriteLock`."""
        with ExitStack() as stack:
            stack.enter_context(self._threads.held(wait_s))
            try:
                with self._queue.acquire(timeout=wait_s):
                    stack.enter_context(self._writer.acquire(timeout=wait_s))
            except Timeout as error:
                raise _too_long(error.lock_file, wait_s) from error
            except OSError as error:
                raise LakeError(
                    f"{error.filename}: cannot be locked: {error.strerror}; check permissions"
                ) from error
            yield


class _NoWriteLock:
    """The write lock of a catalog in a folder that cannot be written: it is never free."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Raise LakeError."""
        raise LakeError(
            f"{self._folder}: this folder is not writable, so the lake in it can only be read"
        )
        yield


class _PostgresWriteLock:
    """The write lock of a catalog in Postgres: an advisory lock, which Postgres grants
    in the order of requests.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: str) -> None:
        self._threads = _ThreadLock()
        self._connection = connection
        self._database = database

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Hold the lock; see `WriteLock`."""
        with self._threads.held(wait_s), self._connection.cursor() as cursor:
            cursor.begin()
            try:
                self._take(cursor, wait_s)
                yield
            finally:
                # this releases the lock; `in_transaction` says why closing does not
                with suppress(duckdb.Error):
                    cursor.rollback()

    def _take(self, cursor: duckdb.DuckDBPyConnection, wait_s: float) -> None:
        """Wait for the lock, which the cursor's transaction holds from then on."""
        lock = (
            f"{_END_OF_LOST_SESSIONS} SET LOCAL lock_timeout ="
            f" {round(wait_s * 1000)}; SELECT pg_advisory_xact_lock({_LOCK_ID})"
        )
        try:
            cursor.execute(f"CALL postgres_execute('{self._database}', '{lock}')")
        except duckdb.Error as error:
            if "lock timeout" in str(error):
                raise _too_long("the Postgres catalog", wait_s) from error
            raise


def _too_long(what: str, wait_s: float) -> LakeError:
    error = LakeError(
        f"{what}: other writers held the write lock for more than {wait_s:g} s; try again"
    )
    error.is_transient = True
    return error


# --- connections ----------------------------------------------------------------------

# a second attachment of the Postgres database, for the write lock and backups
_LOCKS = "locks"


def connect(
    address: Address, threads: int, memory_mb: int
) -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB with the extensions loaded and nothing attached.

    DuckLake itself must not retry a conflicting commit (`ducklake_max_retry_count`): it
    would add our rows to those of the other commit without reading them. httpfs takes
    the S3 credentials from the AWS_* variables.
    """
    spill = Path(tempfile.gettempdir()) / f"news_assets_spill_{os.getpid()}"
    connection = duckdb.connect(
        config={
            "threads": threads,
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(spill),
            # To verify DuckDB's signature in the files of the packages takes .3 s at each
            # start. The tests do so for the pinned versions.
            "allow_unsigned_extensions": True,
            "autoinstall_known_extensions": False,
        }
    )
    try:
        # DuckDB takes `python -c` for an interactive prompt
        connection.execute("SET enable_progress_bar = false")
        # What queries free goes back to the system, from a thread of the allocator: 15
        # MB in a server of pages
        connection.execute("SET GLOBAL allocator_background_threads = true")
        connection.execute("SET GLOBAL allocator_flush_threshold = '1MB'")
        for name in address.extensions:
            load_extension(connection, name)
        connection.execute("SET GLOBAL allow_unsigned_extensions = false")
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET GLOBAL ducklake_max_retry_count = 0")
        if address.is_local:
            # The system keeps what is read of these files. DuckDB would keep it again, up
            # to its memory limit, also of files that maintenance has deleted.
            connection.execute("SET GLOBAL enable_external_file_cache = false")
        else:
            # DuckLake's files never change.
            connection.execute(
                "SET GLOBAL validate_external_file_cache = 'NO_VALIDATION'"
            )
        if not address.is_postgres:
            # By default each scan of the catalog opens its own connection, outside the
            # transaction: a reader that began before maintenance saw half of the new
            # file list and silently missed 40 of 88 rows.
            connection.execute("SET GLOBAL sqlite_disable_multithreaded_scans = true")
    except duckdb.Error as error:
        connection.close()
        raise lake_error(
            address, "DuckDB's extensions could not be loaded", error
        ) from error
    return connection


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from its Python package; nothing is downloaded.

    Raises:
        LakeError: There is no such package for this DuckDB.
    """
    package = find_spec(f"duckdb_extension_{name}")
    version = f"v{duckdb.__version__}"
    for folder in (package.submodule_search_locations or []) if package else []:
        file = Path(folder) / "extensions" / version / f"{name}.duckdb_extension"
        if file.is_file():
            connection.execute(f"LOAD {quoted(str(file))}")
            return
    raise LakeError(
        f"DuckDB {duckdb.__version__} needs its extension {name}: pip install"
        f" duckdb-extension-{name.replace('_', '-')}=={duckdb.__version__}"
    )


def attach(
    connection: duckdb.DuckDBPyConnection, address: Address, wait_s: float
) -> WriteLock:
    """Attach the lake and return its write lock; create the lake if there is neither a
    catalog nor data.

    Only creating and upgrading a lake waits for the write lock. Several processes may
    do so at once.

    Raises:
        LakeError: The catalog is not a DuckLake catalog, cannot be reached, belongs to
            another data folder or to a newer program, or is lost while its data is
            there.
    """
    try:
        if _is_read_only(address):
            return _attach_copy(connection, address)
        write_lock = write_lock_of(connection, address)
        if not _attach_existing(connection, address):
            _create_folders(address)
            with write_lock.held(wait_s):
                _create(connection, address)
        identity = read_identity(connection)
        check_version(address, identity)
        if not is_current(connection, identity):
            with write_lock.held(wait_s):
                identity = upgraded(connection, address).identity
                with transaction(connection) as cursor:
                    add_statistics(cursor)
        assert identity is not None
        folder = DataFolder(address, connection)
        if not folder.check_id(identity.lake_id):
            folder.write_id(identity.lake_id)
    except duckdb.Error as error:
        raise _attach_error(address, error) from _without_password(error)
    return write_lock


def _attach_error(address: Address, error: duckdb.Error) -> LakeError:
    """Return the error of an attempt to open the catalog."""
    if "does not match existing data path" in str(error):
        advice = (
            "the catalog belongs to another data folder; set NEWS_DATA to that folder, or use"
            " another catalog"
        )
    elif address.is_postgres:
        advice = (
            "the catalog cannot be opened; check that Postgres is running, and the user, password"
            " and database"
        )
    else:
        advice = (
            f"the catalog cannot be opened; check permissions, or {way_back(address)}"
        )
    return lake_error(address, advice, error)


def _without_password(error: duckdb.Error) -> duckdb.Error | None:
    """Return the error as a cause; None if it has the password, which a traceback would
    print.
    """
    if without_password(str(error)) == str(error):
        return error
    return None


def write_lock_of(connection: duckdb.DuckDBPyConnection, address: Address) -> WriteLock:
    """Return the write lock of a lake; a Postgres catalog is attached as `locks` for
    it.
    """
    if not address.is_postgres:
        return _FileWriteLock(Path(address.catalog))
    connection.execute(f"ATTACH {quoted(address.database)} AS {_LOCKS} (TYPE postgres)")
    return _PostgresWriteLock(connection, _LOCKS)


def _create(connection: duckdb.DuckDBPyConnection, address: Address) -> None:
    """Create the lake, under the write lock, unless another process has just done so."""
    if _attach_existing(connection, address):
        return
    DataFolder(address, connection).check_unused()
    if not address.is_postgres:
        # SQLite gives its other files the same mode
        Path(address.catalog).touch(mode=0o600)
    _attach(connection, address, may_create=True)


def pending_changes(address: Address, wait_s: float = 30.0) -> tuple[str, ...]:
    """Return what opening this lake would change: names of migrations and SQL
    statements, run and rolled back.

    Raises:
        LakeError: There is no lake, or it cannot be opened.
    """
    with connect(address, threads=1, memory_mb=256) as connection:
        try:
            write_lock = write_lock_of(connection, address)
            if not _attach_existing(connection, address):
                raise LakeError(f"{address}: there is no lake in this catalog yet")
            if is_current(connection, read_identity(connection)):
                return ()
            with write_lock.held(wait_s):
                return upgraded(connection, address, dry_run=True).changes
        except duckdb.Error as error:
            raise _attach_error(address, error) from _without_password(error)


def _create_folders(address: Address) -> None:
    folders = []
    if address.is_local:
        folders.append(Path(address.data))
    if not address.is_postgres:
        folders.append(Path(address.catalog).parent)
    for folder in folders:
        try:
            private_folder(folder)
        except OSError as error:
            raise LakeError(
                f"{folder}: cannot be created: {error.strerror}; use another folder"
            ) from error


def _attach_existing(connection: duckdb.DuckDBPyConnection, address: Address) -> bool:
    """Attach the lake and return whether it exists."""
    if not address.is_postgres and not Path(address.catalog).exists():
        return False
    try:
        _attach(connection, address, may_create=False)
    except duckdb.InvalidInputException as error:
        if "does not exist" not in str(error):
            raise
        return False
    return True


def _attach(
    connection: duckdb.DuckDBPyConnection,
    address: Address,
    *,
    may_create: bool,
    catalog: str = "",
) -> None:
    options = [
        f"DATA_PATH {quoted(address.data_path)}",
        f"CREATE_IF_NOT_EXISTS {str(may_create).lower()}",
    ]
    if not address.is_postgres:
        options.append("META_BUSY_TIMEOUT 10000")
        # readers and the writer do not block each other
        options.append("META_JOURNAL_MODE 'WAL'")
    place = quoted(f"ducklake:{catalog or address.metadata}")
    connection.execute(f"ATTACH {place} AS {LAKE} ({', '.join(options)})")


def kept_open(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a cursor that keeps the attached SQLite catalog open until it is closed.

    DuckDB opens the file for each transaction, and the last connection that closes it
    deletes the write-ahead log. A connection that opens it at that moment finds it
    locked, and the SQLite of DuckDB cannot wait for less than a second: with three
    processes that only read, one transaction of 130 did.

    The transaction of this cursor reads nothing, so the log can be written back.
    """
    cursor = connection.cursor()
    cursor.begin()
    cursor.execute(f"USE {METADATA}")
    return cursor


# --- a catalog that cannot be written -------------------------------------------------


def _is_read_only(address: Address) -> bool:
    catalog = Path(address.catalog)
    if address.is_postgres or not catalog.exists():
        return False
    return not (os.access(catalog, os.W_OK) and os.access(catalog.parent, os.W_OK))


def _attach_copy(connection: duckdb.DuckDBPyConnection, address: Address) -> WriteLock:
    """Attach a temporary copy of the catalog: SQLite opens a file in WAL mode only
    where it can write beside it.
    """
    folder = Path(tempfile.mkdtemp(prefix="news_assets_"))
    lock = _NoWriteLock(Path(address.catalog).parent)
    weakref.finalize(lock, shutil.rmtree, folder, ignore_errors=True)
    copy_unwritable(Path(address.catalog), folder / "catalog.sqlite")
    _attach(
        connection,
        address,
        may_create=False,
        catalog=f"sqlite:{folder / 'catalog.sqlite'}",
    )
    identity = upgraded(connection, address).identity
    DataFolder(address, connection).check_id(identity.lake_id)
    return lock
