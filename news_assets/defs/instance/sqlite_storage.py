"""Dagster's SQLite storage with open files and batched events. The files are those of
Dagster's own storage.

Dagster passes events on in batches if DAGSTER_EVENT_BATCH_SIZE is set. Its own SQLite
storage splits them, and opens, commits and closes two files for each event: 9 to 14 ms
of processor time, against 0.3 ms in a batch. A run over 4,800 partitions of four assets
writes 38,400 of them. Closing the last connection of a file also copies its log into
it, and creating the tables of a run's file takes 0.3 s. Its storages of runs and of
ticks make an engine for each statement, and each engine renders it once more.

No commit waits for the disk (`synchronous=NORMAL`): a power failure may take the events
of the last moments, and leaves the files whole. The lake is not among them, and the
sensors compare its rows, not events.
"""

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import dagster as dg
import sqlalchemy
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

_PARTITION_EVENTS = {
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    dg.DagsterEventType.ASSET_OBSERVATION,
}
_INDEX = "index"  # Dagster's name of the file over all runs
_BUSY_TIMEOUT_S = 30
_ROWS_AT_ONCE = 500  # SQLite takes 32,766 values in one statement, and a row has seven


def _open_engine(url: str | sqlalchemy.URL) -> sqlalchemy.Engine:
    """Return an engine that keeps its connections open; as many as there are threads."""
    engine = sqlalchemy.create_engine(
        url, max_overflow=-1, connect_args={"timeout": _BUSY_TIMEOUT_S}
    )
    sqlalchemy.event.listen(engine, "connect", _wait_for_no_disk)
    return engine


def _keep_open(storage: Any) -> sqlalchemy.Engine:
    """Let a storage of runs or of ticks use one engine, and return it."""
    with storage.connect() as connection:
        engine = _open_engine(connection.engine.url)
    storage.connect = engine.begin
    return engine


def _wait_for_no_disk(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous=NORMAL")


class BatchSqliteEventLogStorage(SqliteEventLogStorage):
    """Dagster's event log on SQLite; a batch is one transaction in the run's file and
    one in the index.

    The index and the file of the last run stay open, and the file of a new run is a
    copy of an empty one.
    """

    def __init__(self, base_dir: str) -> None:
        # by shard: the index, or the id of a run
        self._engines: dict[str, sqlalchemy.Engine] = {}
        self._open_lock = threading.RLock()  # a batch opens both files
        super().__init__(base_dir)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[sqlalchemy.Connection]:
        with self._open_lock, self._engine(shard).begin() as connection:
            yield connection

    def _engine(self, shard: str) -> sqlalchemy.Engine:
        path = Path(self.path_for_shard(shard))
        if shard not in self._engines or not path.exists():
            if shard != _INDEX:
                self._close(self._engines.keys() - {_INDEX})
                self._create(path)
            self._engines[shard] = _open_engine(f"sqlite:///{path}")
            if shard == _INDEX:
                self._initdb(self._engines[shard])  # another process may be creating it
        return self._engines[shard]

    def _create(self, path: Path) -> None:
        """Create the file of a run, as a whole, unless it exists."""
        if path.exists():
            return
        with (
            tempfile.TemporaryDirectory(dir=path.parent) as folder,
            suppress(FileExistsError),
        ):
            copy = Path(folder) / path.name
            copy.write_bytes(self._empty_file)
            os.link(copy, path)

    @cached_property
    def _empty_file(self) -> bytes:
        """A file with Dagster's tables."""
        with tempfile.TemporaryDirectory() as folder:
            engine = sqlalchemy.create_engine(f"sqlite:///{folder}/empty.db")
            self._initdb(engine)
            engine.dispose()
            return Path(folder, "empty.db").read_bytes()

    def _close(self, shards: Iterable[str]) -> None:
        for shard in shards:
            self._engines.pop(shard).dispose()

    def dispose(self) -> None:
        """Close all files."""
        self._close(tuple(self._engines))
        super().dispose()

    def store_event_batch(self, events: Sequence[dg.EventLogEntry]) -> None:
        """Store all or none of the events of one run: both files take every event
        before either is committed.
        """
        if not _are_of_one_run(events) or not are_partition_events(events):
            super().store_event_batch(events)
            return
        events = at_distinct_times(events)
        rows = [self._event_to_row(event) for event in events]
        with (
            self._connect(events[0].run_id) as of_run,
            self.index_transaction() as index,
        ):
            of_run.execute(SqlEventLogStorageTable.insert(), rows)
            for start in range(0, len(events), _ROWS_AT_ONCE):
                part = slice(start, start + _ROWS_AT_ONCE)
                store_in_index(self, index, events[part], rows[part])


def _are_of_one_run(events: Sequence[dg.EventLogEntry]) -> bool:
    return len({event.run_id for event in events}) == 1


def are_partition_events(events: Sequence[dg.EventLogEntry]) -> bool:
    """Return whether all events are materialisations, planned materialisations or
    observations.
    """
    for event in events:
        dagster_event = event.dagster_event
        if dagster_event is None or dagster_event.event_type not in _PARTITION_EVENTS:
            return False
    return True


def at_distinct_times(events: Sequence[dg.EventLogEntry]) -> list[dg.EventLogEntry]:
    """Return the events with a millisecond of its own for each, in the same order.

    Dagster's UI lists the events of an asset by their millisecond, and shows one for
    each.
    """
    distinct: list[dg.EventLogEntry] = []
    last_ms = 0
    for event in events:
        last_ms = max(last_ms + 1, int(event.timestamp * 1000))
        if last_ms > event.timestamp * 1000:
            event = event._replace(timestamp=last_ms / 1000)
        distinct.append(event)
    return distinct


def store_in_index(
    storage: SqlEventLogStorage,
    connection: Any,
    events: Sequence[dg.EventLogEntry],
    rows: Sequence[dict[str, Any]],
) -> None:
    """Insert the rows of these events and their tags, and update each asset from its
    latest event.

    Assets are updated in the order of their keys, so that concurrent batches cannot
    deadlock.
    """
    insert = SqlEventLogStorageTable.insert().returning(
        SqlEventLogStorageTable.c.id, sort_by_parameter_order=True
    )
    ids = list(connection.scalars(insert, rows))
    storage._store_asset_event_tags(connection, events, ids)
    latest = {
        event.get_dagster_event().asset_key: (event, id_)
        for event, id_ in zip(events, ids, strict=True)
    }
    for key in sorted(latest, key=str):
        storage._store_asset_event(connection, *latest[key])


class BatchSqliteStorage(DagsterSqliteStorage):
    """Dagster's SQLite storage with open files and `BatchSqliteEventLogStorage`."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        super().__init__(base_dir, inst_data)
        self._open_engines = [
            _keep_open(self.run_storage),
            _keep_open(self.schedule_storage),
        ]
        folder = Path(self._event_log_storage.path_for_shard(_INDEX)).parent
        self._event_log_storage = BatchSqliteEventLogStorage(str(folder))

    def dispose(self) -> None:
        """Close all files."""
        super().dispose()
        for engine in self._open_engines:
            engine.dispose()

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> Self:
        """Return the storage that dagster.yaml configures."""
        return cls.from_local(inst_data=inst_data, **config_value)
