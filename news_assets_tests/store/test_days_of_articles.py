"""Rows of an article are looked for in the months that its id and its moves name, also
in a lake of many months.
"""

from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from news_assets.records.articles import MovedArticle, RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.store.lake import Lake
from news_assets.store.statements import days_in
from news_assets_tests.store.examples import article, full, upsert
from news_assets_tests.support.opened_files import opened_months, write_files

MONTHS = [date(2026, 1 + n, 10) for n in range(6)]
JANUARY, FEBRUARY, MARCH = MONTHS[:3]


def of_day(day: date, number: int = 0, now_on: date | None = None) -> RawArticle:
    """Return an article with this day in its id, whose day is `now_on`."""
    return article(
        number, article_id=f"mec-{day}-title-{number:010}", day=now_on or day
    )


def of_each_month() -> list[RawArticle]:
    return [of_day(day, n) for day in MONTHS for n in range(3)]


@pytest.fixture
def filled(lake: Lake) -> Lake:
    """A lake with files of six months."""
    upsert(lake, of_each_month())
    write_files(lake)
    return lake


def days_of(lake: Lake, article_id: str) -> list[date]:
    found = lake.query(
        "SELECT day FROM raw_articles WHERE article_id = $1", [article_id]
    )
    return found["day"].to_list()


@pytest.mark.parametrize(
    ("article_id", "days"),
    [
        ("mec-2026-01-10-title-0a", {JANUARY}),
        ("x-2026-01-10-2026-02-10-0a", {JANUARY, FEBRUARY}),
        ("mec-00001", set()),
        ("mec-2026-99-99-title-0a", set()),
        ("12026-01-10-title", set()),
    ],
)
def test_the_days_in_an_id(article_id: str, days: set[date]) -> None:
    assert days_in(article_id) == days


def test_an_upsert_opens_the_files_of_its_month_only(filled: Lake) -> None:
    opened = opened_months(filled, lambda: upsert(filled, [of_day(FEBRUARY)]))

    assert opened["raw_articles"] == {"2026-02"}
    assert len(filled.read(RawArticle)) == len(of_each_month())


def test_a_new_article_opens_the_files_of_its_month_only(filled: Lake) -> None:
    opened = opened_months(filled, lambda: upsert(filled, [of_day(FEBRUARY, 9)]))

    assert opened["raw_articles"] <= {"2026-02"}


@pytest.mark.parametrize(
    "days",
    [
        [JANUARY, MARCH],
        [JANUARY, MARCH, JANUARY],
        [JANUARY, MARCH, FEBRUARY, MARCH, JANUARY],
    ],
)
def test_an_article_that_moves_has_one_row(filled: Lake, days: Sequence[date]) -> None:
    key = of_day(JANUARY).article_id
    for day in days:
        upsert(filled, [of_day(JANUARY, now_on=day)])
        write_files(filled)

        assert days_of(filled, key) == [day]
        assert [row.day for row in filled.read(RawArticle, article_id=[key])] == [day]


def test_a_row_of_a_later_stage_follows_its_article(filled: Lake) -> None:
    key = of_day(JANUARY).article_id
    for day in (MARCH, JANUARY, FEBRUARY):
        upsert(filled, [full(EnrichedArticle, article_id=key, day=day)])

    assert [row.day for row in filled.read(EnrichedArticle)] == [FEBRUARY]


def test_a_day_is_noted_once(lake: Lake) -> None:
    for title in "ab":
        moved = of_day(JANUARY, now_on=MARCH)
        upsert(lake, [article(1, article_id=moved.article_id, day=MARCH, title=title)])

    assert lake.read(MovedArticle) == [
        MovedArticle(article_id=of_day(JANUARY).article_id, day=MARCH)
    ]


def test_a_read_by_id_opens_the_files_of_its_month_only(filled: Lake) -> None:
    keys = [of_day(FEBRUARY, n).article_id for n in range(2)]
    found: list[RawArticle] = []

    opened = opened_months(
        filled, lambda: found.extend(filled.read(RawArticle, article_id=keys))
    )

    assert opened["raw_articles"] == {"2026-02"}
    assert [row.article_id for row in found] == keys


def test_a_deletion_by_id_opens_the_files_of_its_month_and_finds_what_moved(
    filled: Lake,
) -> None:
    upsert(filled, [of_day(JANUARY, now_on=MARCH)])
    write_files(filled)
    key = of_day(JANUARY).article_id

    opened = opened_months(
        filled,
        lambda: filled.transact(lambda rows: rows.delete(RawArticle, article_id=[key])),
    )

    assert opened["raw_articles"] <= {"2026-01", "2026-02", "2026-03"}
    assert days_of(filled, key) == []


def test_ids_without_a_day_are_found_in_any_month(lake: Lake) -> None:
    upsert(
        lake, [article(n, article_id=f"a{n}", day=day) for n, day in enumerate(MONTHS)]
    )

    upsert(lake, [article(0, article_id="a0", day=MARCH)])

    assert days_of(lake, "a0") == [MARCH]
    assert [row.day for row in lake.read(RawArticle, article_id=["a0", "a5"])] == [
        MARCH,
        MONTHS[5],
    ]


def test_the_moves_of_an_earlier_lake_are_noted_when_it_is_opened(
    filled: Lake,
) -> None:
    key = of_day(JANUARY).article_id
    upsert(filled, [of_day(JANUARY, now_on=MARCH)])
    filled.transact(lambda rows: rows.cursor.execute("DROP TABLE moved_articles"))
    filled.close()

    with Lake.open(filled.address.catalog, filled.address.data) as lake:
        assert lake.read(MovedArticle) == [MovedArticle(article_id=key, day=MARCH)]
        upsert(lake, [of_day(JANUARY, now_on=FEBRUARY)])

        assert days_of(lake, key) == [FEBRUARY]


def test_an_earlier_commit_is_read_by_id(filled: Lake) -> None:
    key = of_day(JANUARY).article_id
    before = filled.snapshot()
    upsert(filled, [of_day(JANUARY, now_on=JANUARY + timedelta(days=80))])

    with filled.at(before) as reader:
        [row] = reader.read(RawArticle, article_id=[key])

    assert row.day == JANUARY
