"""Articles in parts, over months with and without articles."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.store.lake import Lake
from news_assets.store.queries.listed_articles import (
    ListedArticle,
    named_articles,
    newest_articles,
)
from news_assets_tests.store.examples import MANY, sparse, upsert
from news_assets_tests.support.small_desk import NOW

DAYS = [
    date(2026, 11, 20),
    date(2026, 11, 19),
    date(2026, 9, 30),
    date(2025, 1, 1),
    date(2012, 2, 29),
]


def article(day: date, number: int, **given: Any) -> RawArticle:
    place = {
        "article_id": f"{day}-{number:02}",
        "desk": "d",
        "agency": "ab"[number % 2],
        "outcome": "ok",
        "day": day,
    }
    return sparse(
        RawArticle,
        **{
            **place,
            "url": f"https://example.org/{day}/{number}",
            "first_seen_at": NOW,
            **given,
        },
    )


def enriched(row: RawArticle, **given: Any) -> EnrichedArticle:
    place = {
        name: getattr(row, name) for name in ("article_id", "desk", "agency", "day")
    }
    return sparse(
        EnrichedArticle,
        **{**place, "outcome": "ok", "summary": f"On {row.day}", **given},
    )


@pytest.fixture
def stored(lake: Lake) -> list[RawArticle]:
    """Articles of each day, newest first: so many of the newest and the last but one
    that they are in files.
    """
    numbers = {day: reversed(range(MANY if day in DAYS[::3] else 3)) for day in DAYS}
    rows = [
        article(day, n, outcome="failed" if n % 3 else "ok")
        for day in DAYS
        for n in numbers[day]
    ]
    upsert(lake, rows)
    return rows


def parts(lake: Lake, limit: int, **given: Any) -> Iterator[list[ListedArticle]]:
    after = None
    while part := newest_articles(lake, **given, after=after, limit=limit):
        yield part
        after = part[-1].day, part[-1].article_id


@pytest.mark.parametrize("limit", [2, 7, MANY, 1000])
def test_parts_have_every_article_once_from_the_newest_to_years_before(
    lake: Lake, stored: list[RawArticle], limit: int
) -> None:
    found = list(parts(lake, limit))
    assert [row.article_id for part in found for row in part] == [
        row.article_id for row in stored
    ]
    assert {len(part) for part in found[:-1]} <= {limit}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"agency": "b"}, lambda row: row.agency == "b"),
        ({"desk": "other"}, lambda row: False),
        ({"outcome": "failed"}, lambda row: row.outcome == "failed"),
        ({"from_day": DAYS[2]}, lambda row: row.day >= DAYS[2]),
        ({"to_day": DAYS[2]}, lambda row: row.day <= DAYS[2]),
        (
            {"from_day": DAYS[3], "to_day": DAYS[1]},
            lambda row: DAYS[3] <= row.day <= DAYS[1],
        ),
        (
            {"to_day": DAYS[3], "outcome": "ok"},
            lambda row: row.day <= DAYS[3] and row.outcome == "ok",
        ),
    ],
)
def test_filters_hold_in_every_part(
    lake: Lake,
    stored: list[RawArticle],
    given: dict[str, Any],
    expected: Callable[[RawArticle], bool],
) -> None:
    wanted = [row.article_id for row in stored if expected(row)]
    assert [
        row.article_id for part in parts(lake, 4, **given) for row in part
    ] == wanted


def test_an_article_is_listed_with_its_enrichment_and_its_own_language_first(
    lake: Lake,
) -> None:
    own, detected, failed, moved = (
        article(DAYS[0] - timedelta(days=n), n) for n in range(4)
    )
    own = replace(own, language="pt")
    old = replace(moved, day=moved.day - timedelta(days=40))
    upsert(lake, [own, detected, failed, moved])
    upsert(
        lake,
        [
            enriched(own, language="en"),
            enriched(detected, language="en"),
            enriched(old),
        ],
    )
    upsert(lake, [enriched(failed, outcome="failed")])
    rows = newest_articles(lake, limit=10)
    found = [(row.language, row.summary) for row in rows]
    assert found == [
        ("pt", f"On {own.day}"),
        ("en", f"On {detected.day}"),
        (None, None),
        (None, None),
    ]
    assert named_articles(
        lake, [own.article_id, failed.article_id], [own.day, failed.day]
    ) == [rows[0], rows[2]]


def test_there_is_nothing_without_articles(lake: Lake) -> None:
    assert newest_articles(lake, limit=10) == []
    assert named_articles(lake, ["unknown"], DAYS) == named_articles(lake, [], []) == []
