from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.records.articles import (
    ArticleRevision,
    Poll,
    RawArticle,
    SourceState,
    StoredPage,
)
from news_assets.records.desks import KeepDays
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets.store.maintenance import maintain
from news_assets.store.retention import OldRows, delete_old_rows
from news_assets_tests.store.examples import MANY, full

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
# until 23 September: what is from before September is too old
KEEP = KeepDays(pages=60, polls=60, revisions=60)
OLD, KEPT = datetime(2026, 8, 31, 23, tzinfo=UTC), datetime(2026, 9, 1, tzinfo=UTC)


def page(article_id: str, fetched_at: datetime = OLD, **given: object) -> StoredPage:
    return full(
        StoredPage,
        article_id=article_id,
        day=date(2026, 8, 20),
        fetched_at=fetched_at,
        **given,
    )


def article(article_id: str, source_id: str = "answers", **given: object) -> RawArticle:
    usual = {
        "outcome": "ok",
        "text_origin": "page",
        "attempts": 0,
        "removed_at": None,
        "day": date(2026, 8, 20),
    }
    return full(RawArticle, article_id=article_id, source_id=source_id, **usual | given)


def source(
    source_id: str, outcome: str = "unchanged", polled_at: datetime = NOW
) -> SourceState:
    return full(
        SourceState, source_id=source_id, last_outcome=outcome, last_polled_at=polled_at
    )


def store(lake: Lake, *tables: Sequence[object]) -> None:
    lake.transact(lambda transaction: [transaction.upsert(rows) for rows in tables])


def ids(lake: Lake) -> list[str]:
    return [one.article_id for one in lake.read(StoredPage)]


def test_pages_of_whole_months_are_deleted_by_the_time_of_their_fetch(
    lake: Lake,
) -> None:
    store(lake, [source("answers")], [article("a"), article("b"), article("c")])
    late = page("c", OLD, page_hash="of an article that is dated later")
    store(lake, [page("a"), page("b", KEPT), replace(late, day=date(2026, 11, 1))])

    deleted = list(delete_old_rows(lake, KEEP, NOW))

    assert [(one.table, one.month, one.rows, one.kept) for one in deleted] == [
        ("pages", date(2026, 8, 1), 1, 0),
        ("pages", date(2026, 11, 1), 1, 0),
    ]
    assert ids(lake) == ["b"]


def test_pages_and_revisions_of_an_article_that_perhaps_cannot_be_had_again_stay_unless_told(
    lake: Lake,
) -> None:
    store(
        lake,
        [
            source("answers"),
            source("fails", "failed"),
            source("refuses", "blocked"),
            source("left", "ok", NOW - timedelta(days=31)),
        ],
        [
            article("ok"),
            article("unread", outcome="failed"),
            article("withdrawn", "left", outcome="withdrawn"),
            article("removed", removed_at=OLD),
            article("gone since", attempts=1),
            article("from feed", text_origin="feed"),
            *(
                article(f"source {name}", name)
                for name in ("fails", "refuses", "left", "unknown")
            ),
        ],
    )
    others = [
        "from feed",
        "gone since",
        "removed",
        "source fails",
        "source left",
        "source refuses",
        "source unknown",
    ]
    others += ["unread", "without article"]
    every = ["ok", "withdrawn", *others]
    store(
        lake,
        [page(one) for one in every],
        [full(ArticleRevision, article_id=one, replaced_at=OLD) for one in every],
    )

    found = list(delete_old_rows(lake, KEEP, NOW))

    assert [(one.table, one.rows, one.kept) for one in found] == [
        ("pages", 2, len(others)),
        ("article_revisions", 2, len(others)),
    ]
    assert (
        ids(lake)
        == [one.article_id for one in lake.read(ArticleRevision)]
        == sorted(others)
    )
    found = list(delete_old_rows(lake, KEEP, NOW, irreplaceable=True))
    assert [(one.rows, one.kept) for one in found] == [(len(others), 0)] * 2
    assert ids(lake) == []


def test_the_last_poll_of_each_source_stays(lake: Lake) -> None:
    polls = [
        full(Poll, source_id=name, polled_at=at)
        for name, times in {
            "a": (OLD - timedelta(days=40), OLD),
            "b": (OLD, KEPT),
            "c": (KEPT, NOW),
        }.items()
        for at in times
    ]
    lake.transact(lambda transaction: transaction.append(polls))

    deleted = list(delete_old_rows(lake, KEEP, NOW))

    assert [(one.month, one.rows, one.kept) for one in deleted] == [
        (date(2026, 7, 1), 1, 0),
        (date(2026, 8, 1), 1, 1),
    ]
    kept = {("a", OLD), ("b", KEPT), ("c", KEPT), ("c", NOW)}
    assert {(poll.source_id, poll.polled_at) for poll in lake.read(Poll)} == kept


def test_revisions_are_deleted_by_the_time_of_their_replacement(lake: Lake) -> None:
    revisions = [
        full(ArticleRevision, article_id=str(at), day=date(2020, 1, 1), replaced_at=at)
        for at in (OLD, KEPT)
    ]
    store(
        lake,
        [source("answers")],
        [article(one.article_id) for one in revisions],
        revisions,
    )

    list(delete_old_rows(lake, KEEP, NOW))

    assert lake.read(ArticleRevision) == revisions[1:]


def test_zero_days_keep_everything(lake: Lake) -> None:
    store(
        lake,
        [source("answers")],
        [article("a")],
        [page("a")],
        [full(ArticleRevision, replaced_at=OLD)],
    )

    assert list(delete_old_rows(lake, KeepDays(), NOW)) == []
    assert ids(lake) == ["a"]


def test_a_dry_run_counts_the_same_and_deletes_nothing(lake: Lake) -> None:
    store(lake, [source("answers")], [article(f"{n:02}") for n in range(MANY)])
    store(lake, [page(f"{n:02}", OLD if n < 20 else KEPT) for n in range(MANY)])
    snapshot = lake.snapshot()
    (file,) = Path(lake.address.data).rglob("pages/**/*.parquet")

    counted = list(delete_old_rows(lake, KEEP, NOW, dry_run=True))

    assert lake.snapshot() == snapshot
    assert counted == [
        OldRows(
            "pages", date(2026, 8, 1), 20, round(file.stat().st_size * 20 / MANY), 0
        )
    ]
    assert list(delete_old_rows(lake, KEEP, NOW)) == counted
    assert list(delete_old_rows(lake, KEEP, NOW)) == []


@pytest.mark.parametrize("kept", [0, 5])
def test_maintenance_frees_the_files_of_deleted_rows(lake: Lake, kept: int) -> None:
    store(lake, [source("answers")], [article(f"{n:02}") for n in range(MANY)])
    store(lake, [page(f"{n:02}", KEPT if n < kept else OLD) for n in range(MANY)])
    before = set(Path(lake.address.data).rglob("pages/**/*.parquet"))

    list(delete_old_rows(lake, KEEP, NOW))
    maintain(lake, now=datetime.now(UTC) + timedelta(days=30))

    files = set(Path(lake.address.data).rglob("pages/**/*.parquet"))
    assert (files & before, len(files)) == (set(), int(kept > 0))
    assert ids(lake) == [f"{n:02}" for n in range(kept)]


def test_old_answers_of_models_are_dropped_and_what_they_cost_stays(lake: Lake) -> None:
    keep = KeepDays(answers=60)
    old = full(
        ModelCall,
        call_id="old",
        day=date(2026, 8, 20),
        called_at=OLD,
        answer_json="{}",
        usd=0.5,
    )
    kept = replace(old, call_id="kept", called_at=KEPT)
    store(lake, [old, kept, replace(old, call_id="without", answer_json=None)])

    counted = list(delete_old_rows(lake, keep, NOW, dry_run=True))
    assert [one.answer_json for one in lake.read(ModelCall)] == ["{}", "{}", None]
    deleted = list(delete_old_rows(lake, keep, NOW))

    assert counted == deleted
    assert [(one.table, one.month, one.rows, one.kept) for one in deleted] == [
        ("model_calls", date(2026, 8, 1), 1, 0)
    ]
    assert lake.read(ModelCall) == [
        kept,
        replace(old, answer_json=None),
        replace(old, call_id="without", answer_json=None),
    ]
    assert list(delete_old_rows(lake, keep, NOW)) == []


def test_answers_are_kept_for_ever_with_0_days(lake: Lake) -> None:
    store(lake, [full(ModelCall, called_at=OLD)])
    assert list(delete_old_rows(lake, KeepDays(), NOW)) == []
