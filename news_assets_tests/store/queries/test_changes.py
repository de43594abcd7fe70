from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from news_assets.records.derived import (
    Change,
    EnrichedArticle,
    Failure,
    IndexedDocument,
)
from news_assets.records.desks import KeepDays
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import (
    Cursor,
    CursorError,
    newest_cursor,
    read_changes,
)
from news_assets.store.retention import delete_old_rows
from news_assets.store.transaction import Transaction
from news_assets.store.upgrade import read_identity, write_identity
from news_assets_tests.store.examples import article, full, upsert


def seen(changes: list[Change]) -> list[tuple[str, str, str]]:
    return [
        (one.article_id.rpartition("-")[2], one.change, one.version) for one in changes
    ]


def article_number(number: int, **given: object) -> object:
    return article(number, **{"outcome": "ok", "content_hash": "1"} | given)


@pytest.mark.on_postgres_too
def test_the_rows_of_each_stage_are_changes_in_the_order_of_their_commits(
    lake: Lake,
) -> None:
    upsert(lake, [article_number(2), article_number(1)])
    of_article = {"article_id": "mec-2026-11-20-00001", "outcome": "ok"}
    upsert(lake, [full(EnrichedArticle, **of_article, input_hash="2")])
    upsert(lake, [full(IndexedDocument, **of_article, document_hash="3")])
    upsert(lake, [article_number(1, outcome="withdrawn", content_hash="")])

    changes, _ = read_changes(lake, None, 10)

    assert seen(changes) == [
        ("00001", "stored", "1"),
        ("00002", "stored", "1"),
        ("00001", "enriched", "2"),
        ("00001", "indexed", "3"),
        ("00001", "withdrawn", ""),
    ]
    commits = [one.commit_id for one in changes]
    assert commits == sorted(commits)
    assert commits[-1] == lake.snapshot()


def test_rows_without_a_result_and_those_of_other_tables_are_no_changes(
    lake: Lake,
) -> None:
    upsert(lake, [article_number(1, outcome="failed")])
    upsert(lake, [full(Failure)])

    assert read_changes(lake, None, 10)[0] == []


def test_what_is_rolled_back_is_no_change_and_its_number_is_given_again(
    lake: Lake,
) -> None:
    def fail(rows: Transaction) -> None:
        rows.upsert([article_number(1)])
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - the one above
        lake.transact(fail)
    upsert(lake, [article_number(2)])

    assert seen(read_changes(lake, None, 10)[0]) == [("00002", "stored", "1")]


def test_several_writes_of_one_transaction_share_its_number(lake: Lake) -> None:
    lake.transact(lambda rows: [rows.upsert([article_number(n)]) for n in (3, 1)])

    changes, _ = read_changes(lake, None, 10)

    assert [(one.article_id[-1], one.sequence) for one in changes] == [
        ("3", 0),
        ("1", 1),
    ]
    assert len({one.commit_id for one in changes}) == 1


def test_a_cursor_goes_on_where_it_was_also_within_a_commit(lake: Lake) -> None:
    upsert(lake, [article_number(n) for n in range(30)])
    upsert(lake, [article_number(30)])

    found, cursor = [], None
    while True:
        changes, cursor = read_changes(lake, cursor, 7)
        if not changes:
            break
        found += changes
        cursor = Cursor.of(str(cursor))

    assert [one.article_id[-2:] for one in found] == [f"{n:02}" for n in range(31)]
    assert cursor == newest_cursor(lake)


def test_a_reader_that_began_with_an_empty_record_misses_nothing(lake: Lake) -> None:
    upsert(lake, [full(Failure)])
    _, cursor = read_changes(lake, None, 10)
    assert cursor == newest_cursor(lake)
    upsert(lake, [article_number(1)])

    assert len(read_changes(lake, cursor, 10)[0]) == 1


@pytest.mark.parametrize("text", ["", "7", "a-b-c", "1-2-3-4", "1-2-" + "9" * 30])
def test_another_text_is_no_cursor(text: str) -> None:
    with pytest.raises(CursorError, match="is not a cursor") as caught:
        Cursor.of(text)
    assert not caught.value.is_lost


def older(now: datetime) -> Callable[[Transaction], object]:
    return lambda rows: rows.upsert(
        [replace(one, committed_at=now) for one in rows.read(Change)]
    )


def test_old_changes_are_deleted_and_a_cursor_before_them_is_refused_rather_than_followed(
    lake: Lake,
) -> None:
    now = datetime(2026, 11, 22, tzinfo=UTC)
    upsert(lake, [article_number(1)])
    _, early = read_changes(lake, None, 1)
    upsert(lake, [article_number(2)])
    lake.transact(older(now - timedelta(days=90)))
    last = newest_cursor(lake)

    list(delete_old_rows(lake, KeepDays(changes=30), now))

    assert [one.article_id[-1] for one in lake.read(Change)] == ["2"]
    assert read_changes(lake, last, 10) == ([], last)
    with pytest.raises(CursorError, match="not kept any more") as caught:
        read_changes(lake, early, 10)
    assert caught.value.is_lost


def test_a_cursor_from_before_a_restore_is_refused(lake: Lake) -> None:
    upsert(lake, [article_number(1)])
    cursor = newest_cursor(lake)

    def restore(rows: Transaction) -> None:
        identity = read_identity(rows.cursor)
        assert identity is not None
        write_identity(
            rows.cursor,
            replace(identity, restored_at=datetime(2026, 11, 22, tzinfo=UTC)),
        )

    lake.transact(restore)

    with pytest.raises(CursorError, match="restored from a backup"):
        read_changes(lake, cursor, 10)
    assert len(read_changes(lake, None, 10)[0]) == 1
