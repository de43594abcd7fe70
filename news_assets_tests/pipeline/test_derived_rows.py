"""Rows made from articles are stored only if the article has not changed since it was
read.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.pipeline.failures import states_of, store_derived
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import full
from news_assets_tests.support.small_desk import NOW, TODAY

STAGE = stage_named("enriched_articles")
KEYS = AgencyDays("d", frozenset({("a", TODAY)}))
ARTICLE = full(
    RawArticle,
    article_id="a-1",
    desk="d",
    agency="a",
    day=TODAY,
    content_hash="c1",
    outcome="ok",
)
ROW = full(
    EnrichedArticle,
    article_id="a-1",
    desk="d",
    agency="a",
    day=TODAY,
    content_hash="c1",
    outcome="ok",
)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as opened:
        opened.transact(lambda rows: rows.upsert([ARTICLE]))
        yield opened


def store(lake: Lake, *made: EnrichedArticle) -> list[EnrichedArticle]:
    read = states_of([ARTICLE])
    return lake.transact(lambda rows: store_derived(rows, STAGE, KEYS, made, read, NOW))


def test_a_row_of_an_unchanged_article_is_stored(lake: Lake) -> None:
    assert store(lake, ROW) == lake.read(EnrichedArticle) == [ROW]


@pytest.mark.parametrize(
    "changes",
    [
        {"content_hash": "c2"},
        {"outcome": "gone"},
        {"text_chars": 0},
        {"day": TODAY.replace(day=1)},
    ],
    ids=["edited", "gone", "emptied", "moved"],
)
def test_a_row_of_a_changed_article_is_not_stored(
    lake: Lake, changes: dict[str, object]
) -> None:
    lake.transact(lambda rows: rows.upsert([replace(ARTICLE, **changes)]))  # type: ignore[arg-type]
    assert store(lake, ROW) == lake.read(EnrichedArticle) == []


def test_rows_of_deleted_articles_are_deleted_except_those_of_other_days(
    lake: Lake,
) -> None:
    lost = replace(ROW, article_id="a-2")
    elsewhere = replace(ROW, article_id="a-3", day=TODAY.replace(day=1))
    lake.transact(lambda rows: rows.upsert([ROW, lost, elsewhere]))
    assert store(lake) == []
    assert lake.read(EnrichedArticle) == [ROW, elsewhere]


def test_an_article_from_before_states_were_stored_has_the_empty_state(
    lake: Lake,
) -> None:
    lake.transact(
        lambda rows: rows.cursor.execute("UPDATE raw_articles SET content_hash = NULL")
    )
    (article,) = lake.read(RawArticle)
    row = replace(ROW, content_hash=article.content_hash)
    read = states_of([article])
    assert lake.transact(
        lambda rows: store_derived(rows, STAGE, KEYS, [row], read, NOW)
    ) == [row]
