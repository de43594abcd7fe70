from typing import Any

import pytest

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets.store.queries.copies import Copy, copies_of, copies_of_article
from news_assets_tests.store.examples import sparse, upsert
from news_assets_tests.support.small_desk import NOW


def article(
    key: str, original: str | None = None, days: int = 0, **given: Any
) -> RawArticle:
    """Return an article of the desk and agency that its key begins with, some days
    before today.
    """
    at = NOW.replace(day=NOW.day - days)
    place = {
        "article_id": key,
        "desk": key[0],
        "agency": key[0],
        "url": f"https://{key}.example/",
        "day": at.date(),
    }
    return sparse(
        RawArticle,
        **{
            **place,
            "outcome": "ok",
            "duplicate_of": original,
            "first_seen_at": at,
            **given,
        },
    )


@pytest.mark.parametrize(
    ("hit", "expected"),
    [("a1", ["c1", "b1"]), ("b1", ["a1", "c1"]), ("c1", ["a1", "b1"]), ("e1", [])],
)
def test_copies_are_those_of_one_original_in_order_of_publication(
    lake: Lake, hit: str, expected: list[str]
) -> None:
    rows = [
        article("a1", days=19),
        article("b1", "a1"),
        article("c1", "a1", days=3),
        article("e1"),
        article("f1"),
    ]
    upsert(lake, [*rows, article("d1", "a1", outcome="withdrawn")])
    original = None if hit in ("a1", "e1") else "a1"
    alone = copies_of_article(lake, hit, original)
    assert [one.article_id for one in alone] == expected
    found = copies_of(lake, [hit, "f1"])
    assert [one.article_id for one in found.pop(hit, ())] == expected
    assert found == {}


def test_a_copy_names_publisher_day_and_address(lake: Lake) -> None:
    upsert(
        lake, [article("a1"), article("b1", "a1", days=1, duplicate_reason="same text")]
    )
    at = NOW.replace(day=19)
    place = {
        "article_id": "b1",
        "desk": "b",
        "agency": "b",
        "url": "https://b1.example/",
    }
    copy = Copy(**place, day=at.date(), published_at=at, reason="same text")
    assert copies_of(lake, ["a1"]) == {"a1": (copy,)}
    assert copies_of_article(lake, "a1", None) == (copy,)
    assert copies_of(lake, []) == {}
