"""Dagster's storage on Postgres: connections are kept, and the events of many partitions are written together.

Named in `deploy/scaleout/dagster.yaml`; the tables are Dagster's own. Its own storage connects for each statement, 8 ms
and 70 times in a short run, and stores the events that a run begins with one by one. See `event_log.py`.
"""

from collections.abc import Sequence
from typing import Any, Self

from dagster._core.events.log import EventLogEntry
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import create_pg_engine, pg_url_from_config

from news_assets.defs.instance.sqlite_storage import is_of_partitions, store_in_index

_POOL: dict[str, Any] = {
    "isolation_level": "AUTOCOMMIT",  # as Dagster has it
    "pool_size": 2,
    "max_overflow": 20,  # a daemon has some ten threads
    "pool_pre_ping": True,  # Postgres may have been away
    "pool_recycle": 3600,
}


class BatchPostgresEventLogStorage(PostgresEventLogStorage):
    """Dagster's event log on Postgres; a batch is one statement for each table, all in one transaction."""

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events, all or none of them: of a batch that fails Dagster stores every event once more, by itself."""
        if not is_of_partitions(events):
            super().store_event_batch(events)
            return
        with self.index_transaction() as connection:  # a real one, whatever the pool's isolation level is
            store_in_index(self, connection, events, [self._event_to_row(event) for event in events])


class BatchPostgresStorage(DagsterPostgresStorage):
    """Dagster's storage on Postgres with that event log; configured as Dagster's own is."""

    def __init__(self, postgres_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(postgres_url, inst_data=inst_data)
        self._event_log_storage = BatchPostgresEventLogStorage(postgres_url, should_autocreate_tables=True)
        engine = create_pg_engine(postgres_url, **_POOL)
        for storage in (self._run_storage, self._event_log_storage, self._schedule_storage):
            storage._engine = engine

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Return the storage that dagster.yaml describes."""
        return cls(pg_url_from_config(config_value), inst_data)
