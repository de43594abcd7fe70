from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import LakeError
from news_assets.records.articles import RawArticle
from news_assets.store.rows import frame_of, records_of
from news_assets.store.tables import table_of
from news_assets_tests.store.examples import full, sparse

ARTICLES = table_of(RawArticle)


def stored_and_read(row: Any) -> Any:
    (found,) = records_of(
        table_of(type(row)), type(row), frame_of(table_of(type(row)), [row])
    )
    return found


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_text_can_be_stored(text: str) -> None:
    stored = stored_and_read(full(RawArticle, title=text, tags=(text,)))

    stored.title.encode()
    assert "\0" not in stored.title
    assert stored.tags == (stored.title,)


def test_lone_surrogates_and_nul_are_replaced_and_surrogate_pairs_joined() -> None:
    stored = stored_and_read(full(RawArticle, title="a\ud83d b\0c \ud83c\udf89"))

    assert stored.title == "a\ufffd b\ufffdc 🎉"


def test_times_of_other_zones_are_read_in_utc() -> None:
    brasilia = datetime(2026, 11, 20, 21, 30, tzinfo=timezone(timedelta(hours=-3)))

    stored = stored_and_read(full(RawArticle, published_at=brasilia))

    assert stored.published_at == brasilia
    assert stored.published_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"url": None}, r"raw_articles\.url: a row has no value"),
        ({"word_count": "many"}, "raw_articles: a row has a value of a wrong type"),
        ({"title": 3}, "raw_articles: a row has a value of a wrong type"),
        (
            {"fetched_at": "yesterday"},
            "raw_articles: a row has a value of a wrong type",
        ),
        ({"word_count": 2**70}, "raw_articles: a row has a value of a wrong type"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_with_its_column(
    wrong: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(LakeError, match=complaint):
        frame_of(ARTICLES, [full(RawArticle, **wrong)])


def test_a_required_column_that_old_rows_lack_is_read_as_empty() -> None:
    frame = frame_of(ARTICLES, [sparse(RawArticle)])
    old = frame.with_columns(word_count=None, tags=None, title=None)

    (found,) = records_of(ARTICLES, RawArticle, old)

    assert (found.word_count, found.tags, found.title) == (0, (), None)
