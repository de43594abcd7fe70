"""A withdrawn article leaves every table, whatever columns these have, and every
message; backups lose it in time.
"""

import json
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import polars
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.pipeline.alerts.outbox import withdraw_messages
from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.records.alerts import Message
from news_assets.records.articles import RawArticle
from news_assets.records.content import (
    KEPT,
    content_columns,
    is_deleted_with_article,
    loses_content,
    stays_when_withdrawn,
    without_content,
)
from news_assets.records.derived import CachedEnrichment
from news_assets.records.meetings import StoredDocument, StoredItem
from news_assets.store.backup import back_up, delete_daily_backups
from news_assets.store.lake import Lake
from news_assets.store.maintenance import maintain
from news_assets.store.tables import TABLES
from news_assets_tests.clients.search.contract.examples import document
from news_assets_tests.store.examples import MANY, full
from news_assets_tests.store.examples import article as example

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
SECRET = "Quetzalcoatlus"
CLEARED = [
    table.record
    for table in TABLES
    if is_deleted_with_article(table.record) or loses_content(table.record)
]


def told(value: Any) -> Any:
    """Return a value of the same type that has the secret, where the type can hold it."""
    if isinstance(value, str):
        return SECRET
    if isinstance(value, bytes):
        return SECRET.encode()
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        return (SECRET,)
    return value


def row_with_secret(record: type) -> Any:
    """Return a row of article `a-1` with the secret in each column that holds content."""
    row = full(record)
    columns = (
        content_columns(record)
        if loses_content(record)
        else {field.name for field in fields(record)}
    )
    changes = {
        name: told(getattr(row, name)) for name in columns if not name.endswith("_hash")
    }
    own_id = {"article_id": "a-1"} if hasattr(row, "article_id") else {}
    return replace(row, **{**changes, **own_id})


def secrets(lake: Lake) -> set[tuple[str, str]]:
    """Return the tables and columns that have the secret."""
    return {
        (table.name, field.name)
        for table in TABLES
        for row in lake.read(table.record)
        for field in fields(row)
        if SECRET in str(getattr(row, field.name))
    }


def test_no_table_has_a_string_of_a_withdrawn_article(lake: Lake) -> None:
    article = withdrawn_article(lake)
    assert {name for name, _ in secrets(lake)} >= {
        "raw_articles",
        "entries",
        "pages",
        "model_calls",
        "documents",
    }

    lake.transact(lambda into: withdraw(into, [article], "by order", NOW))

    assert secrets(lake) == set()


def test_results_of_earlier_texts_and_other_enrichers_leave_the_cache_and_those_of_other_articles_stay(
    lake: Lake,
) -> None:
    article = withdrawn_article(lake)
    cached = row_with_secret(CachedEnrichment)
    earlier = replace(cached, input_hash="of the text before an edit")
    unnamed = replace(
        cached, input_hash="of a former version", article_id=None, enricher="local"
    )
    other = full(CachedEnrichment, input_hash="of another article", article_id="b-1")
    lake.transact(lambda into: into.upsert([cached, earlier, unnamed, other]))

    lake.transact(lambda into: withdraw(into, [article], "by order", NOW))

    assert lake.read(CachedEnrichment) == [other]


def withdrawn_article(lake: Lake) -> RawArticle:
    """Store an article with the secret in all its rows, beside so many others that its
    row is in a file.
    """
    rows = [row_with_secret(record) for record in CLEARED]
    document = next(row for row in rows if isinstance(row, StoredDocument))
    rows.append(
        full(StoredItem, article_id="a-1", document_ids=(document.document_id,))
    )
    article = replace(
        next(row for row in rows if isinstance(row, RawArticle)),
        outcome="ok",
        duplicate_of=None,
    )
    others = [example(number, day=article.day) for number in range(MANY)]
    lake.transact(lambda into: into.upsert([*others, article]))
    lake.transact(
        lambda into: [
            into.upsert([row]) for row in rows if not isinstance(row, RawArticle)
        ]
    )
    return article


def files_with_secret(folder: Path) -> list[str]:
    """Return the files that have the secret; Parquet files are decompressed."""
    found = []
    for file in folder.rglob("*"):
        if file.suffix == ".parquet":
            if SECRET in str(polars.read_parquet(file, hive_partitioning=False).rows()):
                found.append(file.name)
        elif file.is_file() and SECRET.encode() in file.read_bytes():
            found.append(file.name)
    return found


@pytest.mark.slow  # two maintenances of all tables: 8 s of CPU
def test_no_file_of_the_lake_and_no_backup_has_a_string_after_their_keep_time(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # files count as large: few deleted rows
    monkeypatch.setattr("news_assets.store.maintenance.STEP_BYTES", 1000)
    monkeypatch.setattr("news_assets.store.maintenance.SMALL_BYTES", 100)
    article, now = withdrawn_article(lake), datetime.now(UTC)
    back_up(lake.address, tmp_path / "backups", now, is_daily=True)
    # of the catalog, of a table, and of the backup
    assert len(files_with_secret(tmp_path)) >= 3

    lake.transact(lambda rows: withdraw(rows, [article], "by order", now))
    # backups are kept for 14 days, and with them the files of their commits
    for days in (
        15,
        30,
    ):
        later = now + timedelta(days=days)
        delete_daily_backups(
            lake.address, tmp_path / "backups", later - timedelta(days=14)
        )
        maintain(lake, now=later, grace=timedelta(days=14))

    assert files_with_secret(tmp_path) == []
    assert lake.frame(RawArticle, None, ("article_id",)).height == MANY + 1


def test_the_index_overwrites_what_it_deletes(tmp_path: Path) -> None:
    withdrawn = document(1, SECRET, text=f"{SECRET} " * 30)
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        index.upsert([document(2, "other"), withdrawn])
        index.delete([withdrawn.article_id])
    assert files_with_secret(tmp_path) == []


def test_what_an_article_says_of_itself_beside_its_title_holds_content() -> None:
    assert {
        "text",
        "subtitle",
        "authors",
        "section",
        "category",
        "tags",
        "image_url",
    } <= set(content_columns(RawArticle))


@pytest.mark.parametrize("record", CLEARED, ids=lambda record: record.__name__)
def test_every_column_with_content_has_an_empty_value(record: type) -> None:
    assert loses_content(record) is False or content_columns(record)


def test_a_new_column_is_cleared_without_a_line_of_code() -> None:
    @stays_when_withdrawn(loses_content=True)
    @dataclass(frozen=True, kw_only=True)
    class Row:
        article_id: Annotated[str, "id", KEPT]
        quote: Annotated[str | None, "a new column"] = None
        names: Annotated[tuple[str, ...], "another"] = ()
        count: Annotated[int, "a number"] = 0

    cleared = without_content(
        Row(article_id="a-1", quote=SECRET, names=(SECRET,), count=7)
    )
    assert cleared == Row(article_id="a-1")


def test_a_column_that_cannot_be_empty_has_to_be_kept() -> None:
    @dataclass(frozen=True)
    class Row:
        at: Annotated[datetime, "a time"]

    with pytest.raises(
        TypeError, match="at has no empty value: mark it as KEPT, or allow None"
    ):
        content_columns(Row)


def message(key: str, *articles: str, sent_at: datetime | None = None) -> Message:
    listed = [
        {
            "article_id": one,
            "title": f"{SECRET} {one}",
            "url": f"https://example.org/{one}",
        }
        for one in articles
    ]
    payload = json.dumps({"type": "articles", "articles": listed})
    text = "\n\n".join(f"{one['title']}\n{one['url']}" for one in listed)
    return full(
        Message,
        message_id=key,
        payload_json=payload,
        text=text,
        sent_at=sent_at,
        next_try_at=NOW,
    )


def test_messages_lose_a_withdrawn_article_and_those_about_it_alone_are_not_sent(
    lake: Lake,
) -> None:
    stored = [
        message("alone", "a-1"),
        message("sent", "a-1", sent_at=NOW - timedelta(days=1)),
        message("two", "a-1", "b-1"),
        message("other", "b-1"),
    ]
    lake.transact(lambda rows: rows.upsert(stored))

    lake.transact(lambda rows: withdraw_messages(rows, ["a-1"]))

    left = {row.message_id: row for row in lake.read(Message)}
    assert set(left) == {"sent", "two", "other"}
    assert left["sent"].text == ""
    assert left["two"].text == f"{SECRET} b-1\nhttps://example.org/b-1"
    assert left["other"] == stored[3]
    assert not any("a-1" in row.payload_json for row in left.values())
