"""A batch is stored without what cannot be stored. Rows made from articles are stored only
if the article has not changed since it was read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.errors import LakeError
from news_assets.pipeline.stages import stage_named
from news_assets.pipeline.storing import states_of, store_apart, store_derived
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


# --- batches --------------------------------------------------------------------------


def store_numbers(batch: Sequence[int]) -> list[str]:
    """Refuse a batch with a 2 in it."""
    if 2 in batch:
        raise ValueError("two\n" * 500)
    return [str(one) for one in batch]


def failed(item: int, reason: str) -> int:
    assert reason.startswith("could not be stored: ValueError: two two")
    assert len(reason) < 350
    return -item


def test_a_batch_that_can_be_stored_is_stored_at_once() -> None:
    assert store_apart([1, 3], store_numbers, failed) == ["1", "3"]


def test_of_a_batch_that_cannot_be_stored_each_item_is_stored_alone() -> None:
    assert store_apart([1, 2, 3], store_numbers, failed) == ["1", "-2", "3"]


def test_an_unavailable_store_is_not_tried_again_for_each_item() -> None:
    attempts = []

    def unavailable(batch: Sequence[int]) -> list[str]:
        attempts.append(batch)
        error = LakeError("no connection")
        error.is_transient = True
        raise error

    with pytest.raises(LakeError):
        store_apart([1, 2, 3], unavailable, failed)
    assert attempts == [[1, 2, 3]]
