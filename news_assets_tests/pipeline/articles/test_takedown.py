"""A withdrawn article leaves every table, whatever columns these have, and every message; backups lose it in time."""

import json
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest

from news_assets.pipeline.alerts.digests import withdraw_messages
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
from news_assets.records.documents import StoredDocument
from news_assets.records.meetings import StoredItem
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES
from news_assets_tests.store.examples import full

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
SECRET = "Quetzalcoatlus"
CLEARED = [table.record for table in TABLES if is_deleted_with_article(table.record) or loses_content(table.record)]


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
    columns = content_columns(record) if loses_content(record) else {field.name for field in fields(record)}
    changes = {name: told(getattr(row, name)) for name in columns if not name.endswith("_hash")}
    return replace(row, **{**changes, "article_id": "a-1"})


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
    rows = [row_with_secret(record) for record in CLEARED]
    document = next(row for row in rows if isinstance(row, StoredDocument))
    rows.append(full(StoredItem, article_id="a-1", document_ids=(document.document_id,)))
    article = replace(next(row for row in rows if isinstance(row, RawArticle)), outcome="ok", duplicate_of=None)
    lake.transact(lambda into: [into.upsert([row]) for row in rows if not isinstance(row, RawArticle)])
    lake.transact(lambda into: into.upsert([article]))
    assert {name for name, _ in secrets(lake)} >= {"raw_articles", "entries", "pages", "model_calls", "documents"}

    lake.transact(lambda into: withdraw(into, [article], "by order", NOW))

    assert secrets(lake) == set()


def test_what_an_article_says_of_itself_beside_its_title_holds_content() -> None:
    assert {"text", "subtitle", "authors", "section", "category", "tags", "image_url"} <= set(
        content_columns(RawArticle)
    )


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

    cleared = without_content(Row(article_id="a-1", quote=SECRET, names=(SECRET,), count=7))
    assert cleared == Row(article_id="a-1")


def test_a_column_that_cannot_be_empty_has_to_be_kept() -> None:
    @dataclass(frozen=True)
    class Row:
        at: Annotated[datetime, "a time"]

    with pytest.raises(TypeError, match="at has no empty value: mark it as KEPT, or allow None"):
        content_columns(Row)


def message(key: str, *articles: str, sent_at: datetime | None = None) -> Message:
    listed = [{"article_id": one, "title": f"{SECRET} {one}", "url": f"https://example.org/{one}"} for one in articles]
    payload = json.dumps({"type": "articles", "articles": listed})
    text = "\n\n".join(f"{one['title']}\n{one['url']}" for one in listed)
    return full(Message, message_id=key, payload_json=payload, text=text, sent_at=sent_at, next_try_at=NOW)


def test_messages_lose_a_withdrawn_article_and_those_about_it_alone_are_not_sent(lake: Lake) -> None:
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
