"""A lake and an index of many articles of the last 600 days, for the benchmark of pages
and API.

160 agencies of one desk are polled every hour of the last 30 days; a fiftieth of the
articles have an earlier text, a twentieth are copies, and one in 200 failed in a stage.
A council has a meeting for every 20 articles, each with four items. Files are merged as
maintenance does; the newest 100 articles are still in the catalog.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.ports.search_index import SearchDocument
from news_assets.records.desks import Agency, Desk, Source
from news_assets.store.lake import Lake
from news_assets.store.maintenance import maintain
from news_assets.store.transaction import Transaction
from news_assets_tests.bench.backlog import fill_stages
from news_assets_tests.bench.lake import AGENCIES
from news_assets_tests.bench.lake import fill as fill_articles
from news_assets_tests.bench.search import DIM, documents

DAYS = 600
MODEL = "minilm"  # that of the rows that `fill_stages` stores
_BATCH = 5_000


def _agency(key: str) -> Agency:
    source = Source(
        source_id=f"{key}-feed",
        desk="govbr",
        agency=key,
        kind="feed",
        url=f"https://{key}.example.org/feed",
        timezone="UTC",
        language="pt-BR",
    )
    return Agency(
        key=key,
        name=f"Ministério {key}",
        timezone="UTC",
        language="pt-BR",
        sources=(source,),
    )


def desk_of(today: date) -> Desk:
    return Desk(
        key="govbr",
        timezone="UTC",
        language="pt-BR",
        first_day=today - timedelta(days=DAYS - 1),
        agencies=tuple(map(_agency, AGENCIES)),
    )


# Tables that were never written are the slowest to read: DuckLake asks for their
# statistics for each column again.
_OTHER_TABLES = (
    """
    INSERT INTO polls BY NAME
    SELECT source_id, 'govbr' AS desk, source_id[:9] AS agency, polled_at,
        if(hash(n, source_id) % 50 = 0, 'failed', 'ok') AS outcome,
        40 AS entry_count, (hash(n, source_id) % 3 = 0)::BIGINT AS new_count, 300 AS elapsed_ms
    FROM (SELECT DISTINCT source_id FROM entries),
        (SELECT n, $now::TIMESTAMPTZ - to_hours(n::INTEGER) AS polled_at FROM range(720) hours(n))
    """,
    """
    INSERT INTO sources BY NAME
    SELECT source_id, desk, agency, max(polled_at) AS last_polled_at, max(polled_at) AS last_new_at,
        max(polled_at) + INTERVAL 1 HOUR AS next_poll_at, 3600.0 AS interval_s, 'ok' AS last_outcome
    FROM polls GROUP BY ALL
    """,
    """
    INSERT INTO pages BY NAME
    SELECT article_id, desk, agency, day, url, url AS final_url, 200 AS status, 'text/html' AS content_type,
        fetched_at, article_id AS page_hash, encode("text") AS body_gzip, 2000 AS body_bytes FROM raw_articles
    """,
    """
    INSERT INTO article_revisions BY NAME
    SELECT article_id, desk, agency, day, 1 AS rev_n, title, fetched_at, fetched_at AS replaced_at, 'edit' AS cause,
        "text" FROM raw_articles WHERE hash(article_id) % 50 = 0
    """,
    """
    INSERT INTO failures BY NAME
    SELECT 'enriched_articles' AS stage, article_id, desk, agency, day, content_hash AS version, 'timeout' AS reason,
        3 AS attempts, first_seen_at AS first_failed_at, first_seen_at AS last_failed_at
    FROM raw_articles WHERE hash(article_id) % 200 = 0
    """,
    """
    INSERT INTO changes BY NAME
    SELECT 1 + (row_number() OVER (ORDER BY day, article_id)) // 20 AS commit_id,
        (row_number() OVER (ORDER BY day, article_id)) % 20 AS sequence, article_id, desk, agency, day,
        'stored' AS change, content_hash AS version, fetched_at AS committed_at
    FROM raw_articles WHERE day >= $now::DATE - 30
    """,
    """
    INSERT INTO meetings BY NAME
    SELECT 'council/vendor/' || n AS meeting_id, 'cities' AS desk, 'city' || n % 50 AS agency,
        $now::DATE + 21 - (n % 600)::INTEGER AS day, 'City Council' AS body, 'Regular meeting ' || n AS title,
        day::TIMESTAMPTZ + INTERVAL 18 HOUR AS starts_at, 'confirmed' AS status, '' AS location_name,
        '1 Main Street' AS location_address, '[]' AS links_json, '' AS comment, '[]' AS participation_json,
        $now AS first_seen_at, $now AS last_seen_at
    FROM range($articles // 20) meetings(n)
    """,
    """
    INSERT INTO agenda_items BY NAME
    SELECT meeting_id || '/' || n AS item_id, meeting_id, desk, agency, day, n AS sequence, n::VARCHAR AS number,
        'Ordinance on bus line ' || n AS title, '' AS section, '' AS matter, '[]' AS votes_json,
        $now AS first_seen_at, $now AS last_seen_at
    FROM meetings, range(1, 5) items(n)
    """,
)
_NEW_VECTORS = f"""
    UPDATE article_embeddings SET dim = {DIM}, vector = list_transform(range({DIM}), lambda n: (random() - .5) / 5)
    WHERE day BETWEEN $from_day AND $to_day
"""
# Few rows a commit stay in the catalog until maintenance flushes them.
_NEWEST = """
    INSERT INTO {table} BY NAME SELECT * REPLACE (article_id || '-{n}' AS article_id) FROM {table}
    WHERE day = $day ORDER BY article_id LIMIT 5
"""
_NEWEST_TABLES = (
    "raw_articles",
    "enriched_articles",
    "article_embeddings",
    "indexed_documents",
)


def fill(
    folder: Path,
    count: int,
    words: dict[str, list[str]],
    *,
    with_index: bool,
    model: str = MODEL,
) -> None:
    """Fill the lake; and the index with documents of the same ids, their texts drawn
    from these words.

    The vectors of the index, which are made, are named as those of `model`.
    """
    now = datetime.now(UTC)
    first_day = desk_of(now.date()).first_day
    days = [first_day + timedelta(days=n) for n in range(DAYS)]
    with Lake.open(folder / "catalog.sqlite", folder / "data", memory_mb=2_000) as lake:
        fill_articles(lake, count, days)
        fill_stages(lake, days)
        for statement in _OTHER_TABLES:
            given = {"now": now, "articles": count}
            used = {
                name: value for name, value in given.items() if f"${name}" in statement
            }
            lake.transact(partial(_run, sql=statement, given=used))
        for start in range(0, DAYS, 30) if with_index else ():
            span = {"from_day": days[start], "to_day": days[start + 29]}
            lake.transact(partial(_run, sql=_NEW_VECTORS, given=span))
        maintain(lake, now=now + timedelta(days=2), keep_days=0)
        for n, table in itertools.product(range(20), _NEWEST_TABLES):
            lake.transact(
                partial(
                    _run, sql=_NEWEST.format(table=table, n=n), given={"day": days[-1]}
                )
            )
        if with_index:
            _fill_index(lake, folder, count, words, model)


def _run(transaction: Transaction, sql: str, given: Mapping[str, object]) -> None:
    transaction.cursor.execute(sql, given)


def _fill_index(
    lake: Lake, folder: Path, count: int, words: dict[str, list[str]], model: str
) -> None:
    rows = lake.query(
        "SELECT article_id, desk, agency, day, url, duplicate_of FROM raw_articles ORDER BY day"
    )
    found = (
        _named(*pair)
        for pair in zip(
            documents(count, words), rows.iter_rows(named=True), strict=False
        )
    )
    with SqliteSearchIndex.open(folder / "search.sqlite") as index:
        index.name_model(model)
        while batch := list(itertools.islice(found, _BATCH)):
            index.upsert(batch)


def _named(document: SearchDocument, row: dict[str, object]) -> SearchDocument:
    published = datetime.combine(row["day"], time(), UTC)  # type: ignore[arg-type]
    return replace(document, published_ts=int(published.timestamp()), **row)  # type: ignore[arg-type]


def ids_of(lake: Lake, count: int) -> list[str]:
    """Return ids of articles of all days."""
    found = lake.query(
        "SELECT article_id FROM raw_articles ORDER BY hash(article_id) LIMIT $count",
        {"count": count},
    )
    return found["article_id"].to_list()


def newest_day(lake: Lake) -> date:
    """Return the day that the lake was filled on."""
    day: date = lake.query("SELECT max(day) FROM raw_articles").item()
    return day
