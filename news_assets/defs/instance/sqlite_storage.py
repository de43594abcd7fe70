"""Dagster's storage on SQLite, with the events of many partitions written together.

Named in dagster.yaml; the files are those of Dagster's own SQLite storage, which can be named again at any time.
Dagster hands over batches where DAGSTER_EVENT_BATCH_SIZE is set. Its own SQLite storage takes them apart, and opens,
commits and closes two files for each event: 9 to 14 ms of processor time, 0.3 in a batch. A run over 4,800 partitions
of four assets writes 38,400 of them. What Postgres needs of this stands in `postgres_storage.py`.
"""

import threading
from collections.abc import Sequence
from typing import Any, Self

import dagster as dg
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage, _event_logs_directory
from dagster._serdes import ConfigurableClassData

_OF_PARTITIONS = {
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    dg.DagsterEventType.ASSET_OBSERVATION,
}
_ROWS_AT_ONCE = 500  # SQLite takes 32,766 values in one statement, and a row has seven


class BatchSqliteEventLogStorage(SqliteEventLogStorage):
    """Dagster's event log on SQLite; a batch is one transaction in the run's file and one in the index."""

    def __init__(self, base_dir: str) -> None:
        super().__init__(base_dir)
        # Dagster's own lets a thread have only one of the two files open.
        self._db_lock = threading.RLock()  # type: ignore[assignment]

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events of one run, all or none of them: neither file is committed before both have taken every one."""
        if not is_of_partitions(events) or len({event.run_id for event in events}) > 1:
            super().store_event_batch(events)
            return
        rows = [self._event_to_row(event) for event in events]
        with self.run_connection(events[0].run_id) as of_run, self.index_transaction() as index:
            of_run.execute(SqlEventLogStorageTable.insert(), rows)
            for start in range(0, len(events), _ROWS_AT_ONCE):
                part = slice(start, start + _ROWS_AT_ONCE)
                store_in_index(self, index, events[part], rows[part])


def is_of_partitions(events: Sequence[EventLogEntry]) -> bool:
    """Tell whether these are all materialisations, plans of them or observations."""
    return {event.dagster_event.event_type if event.dagster_event else None for event in events} <= _OF_PARTITIONS


def store_in_index(
    storage: SqlEventLogStorage, connection: Any, events: Sequence[EventLogEntry], rows: Sequence[dict[str, Any]]
) -> None:
    """Insert the rows of these events, their tags, and for each asset what its newest event says.

    Assets are written in the order of their keys, so that two batches never wait for each other's.
    """
    insert = SqlEventLogStorageTable.insert().returning(SqlEventLogStorageTable.c.id, sort_by_parameter_order=True)
    ids = list(connection.scalars(insert, rows))
    storage._store_asset_event_tags(connection, events, ids)
    newest = {event.get_dagster_event().asset_key: (event, id_) for event, id_ in zip(events, ids, strict=True)}
    for key in sorted(newest, key=str):
        storage._store_asset_event(connection, *newest[key])


class BatchSqliteStorage(DagsterSqliteStorage):
    """Dagster's storage on SQLite with that event log."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = BatchSqliteEventLogStorage(_event_logs_directory(base_dir))

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Any) -> Self:
        """Return the storage that dagster.yaml describes."""
        return cls.from_local(inst_data=inst_data, **config_value)
