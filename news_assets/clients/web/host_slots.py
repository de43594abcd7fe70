"""The slots of hosts that processes share: files of one machine, or a table in the
Postgres of the catalog for all machines.

A slot belongs to one process at a time, which holds a lock that the kernel or Postgres
releases when the process dies. The times of a host outlive their process. They are
seconds since 1970, and only pace requests.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import filelock
from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    wait_fixed,
)

from news_assets.errors import without_credentials
from news_assets.folders import private_folder
from news_assets.retry_table import HOST_WAIT, SLOTS_WAIT_IN_RUN
from news_assets.setting_values import is_postgres, with_timeouts

_T = TypeVar("_T")
_Clock = Callable[[], float]

_MAX_PAUSE_S = 3_600.0  # the longest NEWS_HOST_DELAY_S


@dataclass(frozen=True, slots=True)
class HostTimes:
    """When the host last responded, the pause kept after that, the end of its
    Retry-After, and the host served.
    """

    responded_at: float = 0.0
    pause_s: float = 0.0
    retry_at: float = 0.0
    served: str = ""

    def remaining_pause_s(self, pause_s: float, now: float) -> float:
        """Return the seconds until the pause ends; none if the clock was set back
        before the last response.
        """
        if self.responded_at > now:
            return 0.0
        ends_at = self.responded_at + max(self.pause_s, pause_s)
        return ends_at - now

    def remaining_retry_s(self, now: float) -> float:
        """Return the seconds until the host's Retry-After ends; none if the clock was
        set back.
        """
        if self.responded_at > now:
            return 0.0
        return self.retry_at - now


class RequestNow(NamedTuple):
    """A request in progress: its address, and when it began, in seconds since 1970."""

    url: str
    began_at: float


class HostSlots(Protocol):
    """The slots of hosts. `clock` is that of all times, and `poll_s` the pause before
    a slot that another process holds is tried again.

    Each method raises OSError where the slots cannot be used.
    """

    clock: _Clock
    poll_s: float

    def take(self, host: str, url: str) -> HostTimes | None:
        """Take the host's slot to request `url`, and return its times; None if another
        process holds it.
        """
        ...

    def release(self, host: str, times: HostTimes | None = None) -> None:
        """Release the slot, with the times after a request; None if none was sent."""
        ...

    def requests_now(self) -> list[RequestNow]:
        """Return the requests that were sent and have not ended, the oldest first;
        without those of killed processes.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...


def open_slots(folder: Path, catalog: str, clock: _Clock = time.time) -> HostSlots:
    """Return the slots that all machines with a catalog in Postgres share, else those
    in the folder. Raises OSError where the folder cannot be used.
    """
    if is_postgres(catalog):
        return PostgresSlots(catalog, clock)
    return FileSlots(folder, clock)


# --- files ----------------------------------------------------------------------------


class FileSlots:
    """Slots of one machine: a lock file, a file of times, and one of the request in
    progress for each host. Implements `HostSlots`.
    """

    poll_s = 0.02

    def __init__(self, folder: Path, clock: _Clock = time.time) -> None:
        self.clock = clock
        self._folder = private_folder(folder)
        self._locks: dict[str, filelock.BaseFileLock] = {}

    def take(self, host: str, url: str) -> HostTimes | None:
        """Take a slot; see `HostSlots`."""
        path = self._path(host)
        if host not in self._locks:
            lock = filelock.FileLock(path.with_suffix(".lock"), thread_local=False)
            self._locks.setdefault(host, lock)
        try:
            self._locks[host].acquire(timeout=0)
        except filelock.Timeout:
            return None
        try:
            if url:
                path.with_suffix(".request").write_text(f"{self.clock()} {url}")
            return _times_in(path.with_suffix(".times"))
        except OSError:
            self._locks[host].release()
            raise

    def release(self, host: str, times: HostTimes | None = None) -> None:
        """Release a slot; see `HostSlots`."""
        path = self._path(host)
        try:
            path.with_suffix(".request").unlink(missing_ok=True)
            if times is not None:
                path.with_suffix(".times").write_text(
                    f"{times.responded_at} {times.pause_s} {times.retry_at} {times.served}"
                )
        finally:
            self._locks[host].release()

    def requests_now(self) -> list[RequestNow]:
        """Return the requests of this machine; see `HostSlots`."""
        found = []
        for file in self._folder.glob("*.request"):
            lock = filelock.FileLock(file.with_suffix(".lock"), thread_local=False)
            try:
                with lock.acquire(timeout=0):
                    file.unlink(missing_ok=True)
            except filelock.Timeout:
                began_at, _, url = _text_of(file).partition(" ")
                if url:
                    found.append(RequestNow(url, float(began_at)))
        return sorted(found, key=lambda one: one.began_at)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _path(self, host: str) -> Path:
        digest = hashlib.sha256(host.encode())
        return self._folder / digest.hexdigest()[:24]


def _text_of(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:  # it ended meanwhile
        return ""


def _times_in(file: Path) -> HostTimes:
    """Return the times in a file; a missing, torn or impossible one counts as no
    earlier request.
    """
    try:
        numbers = file.read_text().split()
        responded_at, pause_s, retry_at = map(float, numbers[:3])
    except (FileNotFoundError, ValueError):
        return HostTimes()
    is_possible = (
        pause_s <= _MAX_PAUSE_S  # which NaN is not
        and retry_at - responded_at <= 2 * HOST_WAIT.longest_s
    )
    if not is_possible:
        return HostTimes()
    return HostTimes(responded_at, pause_s, retry_at, "".join(numbers[3:]))


# --- Postgres -------------------------------------------------------------------------


_CONNECT_S = 5
_RECONNECT_S = 0.5
# The server ends the session of a machine that vanished after 60 s. A lost commit would
# cost one pause, so no commit waits for the disk.
_SESSION = """
    SET tcp_keepalives_idle = 30;
    SET tcp_keepalives_interval = 10;
    SET tcp_keepalives_count = 3;
    SET synchronous_commit = off
"""
# Two sessions that create a table at once fail without the lock.
_CREATE = """
    SELECT pg_advisory_xact_lock(hashtextextended('news_hosts', 0));
    CREATE TABLE IF NOT EXISTS news_hosts (
        host text PRIMARY KEY,
        url text NOT NULL,
        began_at timestamptz,
        responded_at timestamptz,
        pause_s double precision NOT NULL DEFAULT 0,
        retry_at timestamptz NOT NULL DEFAULT now(),
        served text NOT NULL DEFAULT ''
    )
"""
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%(host)s, 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%(host)s, 0))"
# A request that has not ended is that of a killed process, and counts as responded. But
# a restart of Postgres releases locks of requests in progress too: those of before are
# waited for, as long as one may take.
_BEGIN = """
    INSERT INTO news_hosts AS known (host, url, began_at)
    VALUES (%(host)s, %(url)s, clock_timestamp())
    ON CONFLICT (host) DO UPDATE SET
        url = excluded.url,
        began_at = excluded.began_at,
        responded_at = greatest(known.responded_at, known.began_at)
    WHERE (
        known.began_at < pg_postmaster_start_time()
        AND known.began_at > clock_timestamp() - interval '1 minute'
    ) IS NOT TRUE
    RETURNING
        extract(epoch FROM clock_timestamp() - responded_at)::float,
        pause_s,
        extract(epoch FROM retry_at - clock_timestamp())::float,
        served
"""
_CANCEL = "UPDATE news_hosts SET began_at = NULL WHERE host = %(host)s"
_END = """
    UPDATE news_hosts SET
        began_at = NULL,
        responded_at = clock_timestamp() - make_interval(secs => %(age_s)s),
        pause_s = %(pause_s)s,
        retry_at = clock_timestamp() + make_interval(secs => %(retry_s)s),
        served = %(served)s
    WHERE host = %(host)s
"""
_REQUESTS = """
    SELECT url, extract(epoch FROM clock_timestamp() - began_at)::float
    FROM news_hosts
    JOIN pg_locks
        ON locktype = 'advisory' AND objsubid = 1
        AND (classid::bigint << 32 | objid::bigint) = hashtextextended(host, 0)
    JOIN pg_database ON pg_database.oid = database AND datname = current_database()
    WHERE url <> '' AND began_at IS NOT NULL
    ORDER BY began_at
"""


class PostgresSlots:
    """Slots of all machines that share a database: an advisory lock and a row of
    `news_hosts` for each host. Implements `HostSlots`.

    Clocks of machines differ, so Postgres's decides: times are sent and received as
    seconds before or after the statement. The locks belong to one session, which all
    threads use. While Postgres is unavailable, each statement waits for it, up to
    SLOTS_WAIT_IN_RUN.
    """

    poll_s = 0.1

    def __init__(self, catalog: str, clock: _Clock = time.time) -> None:
        self.clock = clock
        self._catalog = catalog
        self._connection: Any = None
        self._connecting = threading.Lock()
        self._is_closed = False

    def take(self, host: str, url: str) -> HostTimes | None:
        """Take a slot; see `HostSlots`."""
        found = self._run(lambda cursor: _taken(cursor, host, url))
        if found is None:
            return None
        age_s, pause_s, retry_s, served = found
        if age_s is None:
            return HostTimes()
        now = self.clock()
        return HostTimes(now - age_s, pause_s, now + retry_s, served)

    def release(self, host: str, times: HostTimes | None = None) -> None:
        """Release a slot; see `HostSlots`."""
        values: dict[str, object] = {"host": host}
        statement = _CANCEL
        if times is not None:
            now, statement = self.clock(), _END
            values["age_s"] = now - times.responded_at
            values["pause_s"] = times.pause_s
            values["retry_s"] = max(0.0, times.retry_at - now)
            values["served"] = times.served

        def end(cursor: Any) -> None:
            try:
                cursor.execute(statement, values)
            finally:
                cursor.execute(_UNLOCK, values)

        self._run(end)

    def requests_now(self) -> list[RequestNow]:
        """Return the requests of all machines; see `HostSlots`."""

        def read(cursor: Any) -> list[tuple[str, float]]:
            cursor.execute(_REQUESTS)
            return list(cursor.fetchall())

        rows, now = self._run(read, wait_s=0.0), self.clock()
        return [RequestNow(url, now - age_s) for url, age_s in rows]

    def close(self) -> None:
        """Close the connection, which releases all slots of this process."""
        self._is_closed = True
        with self._connecting:
            if self._connection is not None:
                self._connection.close()

    def _run(
        self, work: Callable[[Any], _T], wait_s: float = SLOTS_WAIT_IN_RUN.longest_s
    ) -> _T:
        """Return what `work` returns for a cursor; it runs again in a new session if
        the connection is lost.
        """
        import psycopg2

        retrying = Retrying(
            retry=retry_if_exception_type(
                (psycopg2.OperationalError, psycopg2.InterfaceError)
            ),
            stop=stop_after_delay(wait_s),
            wait=wait_fixed(_RECONNECT_S),
            reraise=True,
        )
        try:
            result: _T = retrying(self._run_once, work)
        except psycopg2.Error as error:
            reason = " ".join(without_credentials(str(error)).split())
            raise ConnectionError(reason) from error
        return result

    def _run_once(self, work: Callable[[Any], _T]) -> _T:
        connection = self._session()
        with connection.cursor() as cursor:
            result = work(cursor)
        if self._is_closed:  # by another thread, during the last requests
            connection.close()
        return result

    def _session(self) -> Any:
        """Return the open connection, or connect again."""
        import psycopg2

        with self._connecting:
            if self._connection is None or self._connection.closed:
                connection = psycopg2.connect(
                    with_timeouts(self._catalog),
                    connect_timeout=_CONNECT_S,
                )
                connection.autocommit = True
                with connection.cursor() as cursor:
                    cursor.execute(_SESSION)
                    cursor.execute(_CREATE)
                self._connection = connection
            return self._connection


def _taken(cursor: Any, host: str, url: str) -> tuple[Any, ...] | None:
    """Return the row of a slot that this session has taken; None if it is not free."""
    import psycopg2

    values = {"host": host, "url": url}
    cursor.execute(_LOCK, values)
    (is_free,) = cursor.fetchone()
    if not is_free:
        return None
    # After the lock, in a statement of its own: it sees what the last holder wrote.
    row: tuple[Any, ...] | None = None
    try:
        cursor.execute(_BEGIN, values)
        row = cursor.fetchone()
    finally:
        if row is None:
            with suppress(psycopg2.Error):  # a lost connection has no locks
                cursor.execute(_UNLOCK, values)
    return row
