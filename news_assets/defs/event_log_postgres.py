"""Dagster's storage on Postgres, with the events of many partitions written together, also those a run begins with.

Named in `deploy/scaleout/dagster.yaml`; the tables are Dagster's own. See `event_log.py`.
"""

from collections.abc import Sequence
from typing import Any, Self

from dagster._core.events.log import EventLogEntry
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import pg_url_from_config

from news_assets.defs.event_log import is_of_partitions, store_in_index


class BatchPostgresEventLogStorage(PostgresEventLogStorage):
    """Dagster's event log on Postgres; a batch is one transaction."""

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events, all or none of them."""
        if not is_of_partitions(events):
            super().store_event_batch(events)
            return
        with self.index_transaction() as connection:
            store_in_index(self, connection, events, [self._event_to_row(event) for event in events])


class BatchPostgresStorage(DagsterPostgresStorage):
    """Dagster's storage on Postgres with that event log; configured as Dagster's own is."""

    def __init__(self, postgres_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(postgres_url, inst_data=inst_data)
        self._event_log_storage = BatchPostgresEventLogStorage(postgres_url, should_autocreate_tables=True)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Return the storage that dagster.yaml describes."""
        return cls(pg_url_from_config(config_value), inst_data)
