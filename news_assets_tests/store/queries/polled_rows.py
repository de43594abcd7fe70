"""Entries and polls of one desk, and how they are stored."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from news_assets.records.articles import FeedEntry, Poll, SourceState
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def entry(agency: str, day: date, number: int = 0, **given: Any) -> FeedEntry:
    published_at = datetime.combine(day, datetime.min.time(), UTC) + timedelta(
        hours=12, minutes=number
    )
    values = {
        "entry_id": f"{agency}-{day}-{number}",
        "source_id": f"govbr/{agency}/feed-1",
        "desk": "govbr",
        "agency": agency,
        "day": day,
        "article_id": f"{agency}-{day}-{number}",
        "published_at": published_at,
        "first_seen_at": published_at + timedelta(minutes=20),
    }
    return sparse(FeedEntry, **values | given)


def poll(
    source_id: str, ago: timedelta, outcome: str, entry_count: int = 0, **given: Any
) -> Poll:
    values = {
        "desk": "govbr",
        "source_id": source_id,
        "polled_at": NOW - ago,
        "outcome": outcome,
    }
    return sparse(Poll, **values | {"entry_count": entry_count} | given)


def store(lake: Lake, *rows: Any) -> None:
    def work(transaction: Any) -> None:
        for record in (FeedEntry, SourceState):
            transaction.upsert([row for row in rows if isinstance(row, record)])
        transaction.append([row for row in rows if isinstance(row, Poll)])

    lake.transact(work)
