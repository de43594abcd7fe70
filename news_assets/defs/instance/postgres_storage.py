"""Dagster's Postgres storage with pooled connections and batched writes of partition
events, in Dagster's own tables.

Dagster's own storage connects for each statement (8 ms, 70 times in a short run) and
stores the events that begin a run one by one.
"""

from collections.abc import Sequence
from typing import Any, Self

import dagster as dg
import sqlalchemy as sa
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import pg_url_from_config

from news_assets.defs.instance.sqlite_storage import (
    are_partition_events,
    at_distinct_times,
    store_in_index,
)
from news_assets.setting_values import with_timeouts

_POOL: dict[str, Any] = {
    "isolation_level": "AUTOCOMMIT",  # Dagster's own
    "pool_size": 2,
    "max_overflow": 20,  # a daemon has some ten threads
    "pool_pre_ping": True,  # Postgres may have been restarted
    "pool_recycle": 3600,
}


class BatchPostgresEventLogStorage(PostgresEventLogStorage):
    """Dagster's event log on Postgres; a batch is one transaction with one statement
    for each table.
    """

    def store_event_batch(self, events: Sequence[dg.EventLogEntry]) -> None:
        """Store all or none of the events; Dagster stores the events of a failed batch
        again, one by one.
        """
        if not are_partition_events(events):
            super().store_event_batch(events)
            return
        events = at_distinct_times(events)
        # a transaction in spite of the pool's isolation level
        with self.index_transaction() as connection:
            store_in_index(
                self,
                connection,
                events,
                [self._event_to_row(event) for event in events],
            )


class BatchPostgresStorage(DagsterPostgresStorage):
    """Dagster's Postgres storage with `BatchPostgresEventLogStorage` and one connection
    pool; same configuration.
    """

    def __init__(self, postgres_url: str, inst_data: Any = None) -> None:
        postgres_url = with_timeouts(postgres_url)
        super().__init__(postgres_url, inst_data=inst_data)
        self._event_log_storage = BatchPostgresEventLogStorage(
            postgres_url, should_autocreate_tables=True
        )
        engine = sa.create_engine(postgres_url, **_POOL)
        storages: tuple[Any, ...] = (
            self.run_storage,
            self.event_log_storage,
            self.schedule_storage,
        )
        for storage in storages:
            storage._engine = engine

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> Self:
        """Return the storage that dagster.yaml configures."""
        return cls(pg_url_from_config(config_value), inst_data)
