"""Deletion of runs with everything Dagster stores about them, on SQLite and Postgres."""

from collections.abc import Collection, Sequence
from pathlib import Path

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    SqlEventLogStorageTable,
)

_SHARD_FILES = ("", "-wal", "-shm")


def sql_event_log(instance: dg.DagsterInstance) -> SqlEventLogStorage | None:
    """Return the instance's event log, or None if it is not stored in an SQL database."""
    storage = instance.event_log_storage
    return storage if isinstance(storage, SqlEventLogStorage) else None


def runs_of_latest_materializations(
    storage: SqlEventLogStorage, assets: Collection[dg.AssetKey]
) -> set[str]:
    """Return the ids of the runs with the latest materialisation of any partition of
    these assets.
    """
    events = SqlEventLogStorageTable.c
    latest = (
        sa.select(sa.func.max(events.id))
        .where(
            events.asset_key.in_([key.to_string() for key in assets]),
            events.dagster_event_type
            == dg.DagsterEventType.ASSET_MATERIALIZATION.value,
        )
        .group_by(events.asset_key, events.partition)
    )
    with storage.index_connection() as connection:
        return set(
            connection.scalars(
                sa.select(events.run_id).where(events.id.in_(latest)).distinct()
            )
        )


def delete_runs(
    instance: dg.DagsterInstance, storage: SqlEventLogStorage, run_ids: Sequence[str]
) -> None:
    """Delete runs with their events, logs, files and check results; the latest result
    of each check stays.
    """
    for run_id in run_ids:
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        instance.delete_run(run_id)
        # Dagster empties the run's own file and leaves it: 131 kB
        if isinstance(storage, SqliteEventLogStorage):
            for ending in _SHARD_FILES:
                Path(storage.path_for_shard(run_id) + ending).unlink(missing_ok=True)
    _delete_check_results(storage, run_ids)


def _delete_check_results(storage: SqlEventLogStorage, run_ids: Sequence[str]) -> None:
    """Delete the check results of these runs, which `DagsterInstance.delete_run`
    leaves.
    """
    results = AssetCheckExecutionsTable.c
    latest = sa.select(sa.func.max(results.id)).group_by(
        results.asset_key, results.check_name
    )
    with storage.index_connection() as connection:
        connection.execute(
            sa.delete(AssetCheckExecutionsTable).where(
                results.run_id.in_(run_ids), results.id.not_in(latest.scalar_subquery())
            )
        )
