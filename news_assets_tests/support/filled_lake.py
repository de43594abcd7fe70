"""The synthetic desk fully processed: lake, search index and Dagster's event log of
every agency-day, filled by SQL.

Each agency-day has two articles that passed all stages, and the search index has their
documents. There are hourly polls for two weeks, and the events of one run a day over
all agencies. Of the index, only the table that is compared with the lake is filled: no
texts, words or vectors. Events are copies of one event of each asset with the keys of
the other partitions, written to the index file only, which is what Dagster reads across
runs.
"""

import contextlib
import random
import sqlite3
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.events import (
    AssetMaterializationPlannedData,
    DagsterEvent,
    StepMaterializationData,
)
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log.schema import (
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)

from news_assets.clients.search.embedded.search_file import FACTS
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.pipeline.stage_declaration import DOCUMENT_STATE
from news_assets.pipeline.stages import stage_names
from news_assets.records.derived import IndexedDocument
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction

_ARTICLES = """
    INSERT INTO raw_articles BY NAME
    SELECT agency || '-' || day || '-um-titulo-qualquer-' || h[:10] AS article_id, $desk AS desk, agency, day,
        source_id, url AS entry_id, sha256('e' || h) AS entry_hash, url, url AS canonical_url,
        sha256('u' || h) AS url_hash, sha256('t' || h) AS text_hash,
        sha256('c' || h) AS content_hash,
        'Um título qualquer ' || h[:6] AS title, ['A B'] AS authors, ['x', 'y'] AS tags, 'pt-BR' AS "language",
        came AS published_at, came AS first_seen_at, came AS fetched_at, repeat(h, 4) AS "text", 'page' AS text_origin,
        256 AS text_chars, 40 AS word_count, []::VARCHAR[] AS out_links, 'ok' AS outcome, 1 AS rev_n, 0 AS attempts,
        h[:16] AS trace_id
    FROM (
        SELECT agency, source_id, day, sha256(agency || day || n) AS h, day + INTERVAL (8 + n) HOUR AS came,
            'http://127.0.0.1/' || agency || '/' || day || '/' || n || '.html' AS url
        FROM desk_sources, (SELECT unnest(generate_series($first, $last, INTERVAL 1 DAY))::DATE AS day),
            range(2) numbers(n)
    )
"""
_DERIVED = (
    """
    INSERT INTO entries BY NAME
    SELECT entry_id, source_id, desk, agency, day, article_id, url, url_hash, title, 'Resumo ' || url AS summary,
        authors, tags AS categories, published_at, false AS is_future_dated, false AS is_moved, entry_hash,
        first_seen_at, first_seen_at AS last_seen_at, trace_id
    FROM raw_articles WHERE day BETWEEN $first AND $last
    """,
    """
    INSERT INTO enriched_articles BY NAME
    SELECT article_id, desk, agency, day, sha256('i' || article_id) AS input_hash, content_hash, '03.01' AS theme_code,
        ['03', '03.01'] AS theme_path, ['Saúde', 'Vacinas'] AS theme_labels, 0.9 AS theme_score, "text" AS summary,
        ['a', 'b'] AS keywords, 'pt-BR' AS "language", 40 AS word_count, 1 AS reading_minutes, 'local' AS enricher,
        'lexical-1' AS model, '1' AS prompt_version, '1' AS taxonomy_version, fetched_at AS enriched_at,
        'ok' AS outcome, trace_id
    FROM raw_articles WHERE day BETWEEN $first AND $last
    """,
    """
    INSERT INTO article_embeddings BY NAME
    SELECT article_id, desk, agency, day, sha256('v' || article_id) AS input_hash, content_hash, 'minilm' AS model,
        8 AS dim, [random(), .1, .2, .3, .4, .5, .6, .7]::FLOAT[] AS vector, 60 AS token_count, false AS is_cut,
        fetched_at AS embedded_at, 'ok' AS outcome, trace_id
    FROM raw_articles WHERE day BETWEEN $first AND $last
    """,
    f"""
    INSERT INTO indexed_documents BY NAME
    SELECT article_id, desk, agency, day,
        sha256(concat_ws(chr(10), '{DOCUMENT_STATE.code_version}', content_hash, sha256('i' || article_id), '', 'minilm',
            sha256('v' || article_id), 'Órgão ' || agency)) AS document_hash,
        true AS has_vector, fetched_at AS indexed_at, 'ok' AS outcome, trace_id
    FROM raw_articles WHERE day BETWEEN $first AND $last
    """,
)
_STATES = """
    INSERT INTO sources BY NAME
    SELECT source_id, $desk AS desk, agency, url, $now AS last_polled_at, $now AS last_new_at,
        $now + INTERVAL 1 DAY AS next_poll_at, 900.0 AS interval_s, 0.0 AS failure_points, 'ok' AS last_outcome
    FROM desk_sources
"""
_POLLS = """
    INSERT INTO polls BY NAME
    SELECT source_id, $desk AS desk, agency, polled_at, 'unchanged' AS outcome, 304 AS status, 0 AS entry_count,
        0 AS new_count, 0 AS updated_count, 0 AS body_bytes, 3 AS elapsed_ms
    FROM desk_sources, (SELECT unnest(range($now - INTERVAL 14 DAY, $now, INTERVAL 1 HOUR)) AS polled_at)
"""


def fill_lake(lake: Lake, desk: Desk, days: Sequence[date], now: datetime) -> None:
    sources = [(source.source_id, source.agency, source.url) for source in desk.sources]
    columns = "unnest($1) AS source_id, unnest($2) AS agency, unnest($3) AS url"
    table = f"CREATE OR REPLACE TEMP TABLE desk_sources AS SELECT {columns}"

    def add(sql: str, **params: object) -> None:
        def work(transaction: Transaction) -> None:
            transaction.cursor.execute(
                table, [list(column) for column in zip(*sources, strict=True)]
            )
            transaction.cursor.execute(sql, params)

        lake.transact(work)

    months = [days[start : start + 30] for start in range(0, len(days), 30)]
    for month in months:
        add(_ARTICLES, desk=desk.key, first=month[0], last=month[-1])
    for sql in _DERIVED:
        for month in months:
            add(sql, first=month[0], last=month[-1])
    add(_STATES, desk=desk.key, now=now)
    add(_POLLS, desk=desk.key, now=now)


def fill_index(lake: Lake, path: Path) -> None:
    SqliteSearchIndex.open(path).close()
    rows = lake.frame(
        IndexedDocument, None, ("article_id", "desk", "agency", "day", "document_hash")
    ).rows()
    insert = "INSERT INTO documents (article_id, desk, agency, day, document_hash, facts) VALUES (?, ?, ?, ?, ?, ?)"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            insert,
            ((*row[:3], str(row[3]), row[4], bytes(FACTS.itemsize)) for row in rows),
        )


def fill_event_log(
    instance: dg.DagsterInstance, desk: Desk, days: Sequence[date]
) -> None:
    """Write the events of one run a day over all agencies, newest day last."""
    storage: Any = instance.event_log_storage
    runs = {
        day: instance.create_run_for_job(
            _nothing, status=dg.DagsterRunStatus.SUCCESS
        ).run_id
        for day in days
    }
    keys = [agency.key for agency in desk.agencies]
    for stage in stage_names():
        for day in days:
            planned, made = _events(desk.key, stage, runs[day], day)
            with storage.index_connection() as connection:
                _store(storage, connection, planned, keys)
                newest = _store(storage, connection, made, keys)
            storage.store_asset_event(made, newest)


def _store(
    storage: Any, connection: Any, event: EventLogEntry, agencies: Sequence[str]
) -> int:
    """Store the event once for each agency and return the id of the last one."""
    row, tags = storage._event_to_row(event), storage._tags_for_asset_event(event)
    insert = SqlEventLogStorageTable.insert().returning(SqlEventLogStorageTable.c.id)
    ids = list(connection.scalars(insert, [_moved(row, agency) for agency in agencies]))
    of_asset = {"asset_key": row["asset_key"], "event_timestamp": row["timestamp"]}
    tag_rows = [
        {"event_id": id_, "key": name, "value": value.replace("@", agency), **of_asset}
        for id_, agency in zip(ids, agencies, strict=True)
        for name, value in tags.items()
    ]
    if tag_rows:
        connection.execute(AssetEventTagsTable.insert(), tag_rows)
    return ids[-1]


def _moved(row: dict[str, Any], agency: str) -> dict[str, Any]:
    return {
        **row,
        "partition": row["partition"].replace("@", agency),
        "event": row["event"].replace("@", agency),
    }


def _events(
    desk: str, stage: str, run_id: str, day: date
) -> tuple[EventLogEntry, EventLogEntry]:
    """Return the two events of one partition with a run's metadata and `@` for the
    agency.
    """
    key, partition, at = (
        dg.AssetKey([desk, stage]),
        f"@|{day}",
        datetime.combine(day, datetime.min.time(), UTC),
    )
    preview = (
        "| day | agency | title |\n| --- | --- | --- |\n"
        + "| a | b | "
        + "Um título qualquer " * 12
    )
    tags = {
        "dagster/code_version": "1",
        "dagster/data_version": "5f" * 32,
        "dagster/partition/agency": "@",
        "dagster/partition/day": str(day),
    }
    metadata = {
        "dagster/partition_row_count": 2,
        "preview": dg.MetadataValue.md(preview),
        "outcomes": "2 ok",
    }
    made = dg.AssetMaterialization(
        key, partition=partition, metadata=metadata, tags=tags
    )
    planned = DagsterEvent.build_asset_materialization_planned_event(
        f"{desk}_articles",
        stage,
        AssetMaterializationPlannedData(
            key, partition=partition, partitions_subset=None
        ),
    )
    stored = DagsterEvent(
        event_type_value=dg.DagsterEventType.ASSET_MATERIALIZATION.value,
        job_name=f"{desk}_articles",
        event_specific_data=StepMaterializationData(made, []),
    )
    first, second = (
        EventLogEntry(
            None, 20, "", run_id, at.timestamp(), stage, f"{desk}_articles", event
        )
        for event in (planned, stored)
    )
    return first, second


@dg.job
def _nothing() -> None:
    """The job of the runs that the events belong to."""


def fall_behind(
    lake: Lake, index: SqliteSearchIndex, desk: Desk, days: Sequence[date], count: int
) -> None:
    """Make `count` random agency-days pending, as many outdated, as many lost in the
    index, and as many sources due.
    """
    cells = [(agency.key, day) for agency in desk.agencies for day in days]
    chosen = random.Random(7).sample(cells, 3 * count)
    pending, behind, lost = (
        chosen[:count],
        chosen[count : 2 * count],
        chosen[2 * count :],
    )
    due = [source.source_id for source in desk.sources[:count]]
    pick = "(agency, day) IN (SELECT unnest($1), unnest($2::DATE[]))"
    statements = {
        f"UPDATE entries SET entry_hash = 'other' WHERE {pick}": pending,
        f"UPDATE raw_articles SET content_hash = 'other' WHERE {pick}": behind,
    }

    def work(transaction: Transaction) -> None:
        for sql, some in statements.items():
            transaction.cursor.execute(
                sql, [list(column) for column in zip(*some, strict=True)]
            )
        transaction.cursor.execute(
            "UPDATE sources SET next_poll_at = '2020-01-01' WHERE source_id IN $1",
            [due],
        )

    lake.transact(work)
    index.delete(
        index.stored(desk.key, AgencyDays(desk.key, frozenset(lost)))[
            "article_id"
        ].to_list()
    )
