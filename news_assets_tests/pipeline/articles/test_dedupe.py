from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.articles.dedupe import KnownArticle, mark_duplicates
from news_assets.records.articles import RawArticle

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def article(
    key: str,
    *,
    url: str = "",
    text: str | None = "t1",
    minutes: int = 0,
    chars: int = 500,
) -> RawArticle:
    return RawArticle(
        article_id=key, desk="d", agency=key[0], day=date(2026, 3, 2), source_id="s", entry_id=key, entry_hash="h",
        url="u", canonical_url="u", url_hash=url or key, text_hash=text, title=None, subtitle=None,
        authors=(), section=None, category=None, tags=(), article_type=None, language=None,
        published_at=NOW + timedelta(minutes=minutes), updated_at=None, first_seen_at=NOW, fetched_at=NOW,
        image_url=None, video_url=None, text=text and "x" * chars, text_origin="page", text_chars=chars, word_count=9,
        out_links=(), outcome="ok" if text else "failed", reason=None, duplicate_of=None, rev_n=1, attempts=0,
        next_try_at=None, trace_id="t",
    )  # fmt: skip


def originals(
    rows: list[RawArticle], known: list[KnownArticle] | None = None
) -> dict[str, str | None]:
    return {
        row.article_id: row.duplicate_of for row in mark_duplicates(rows, known or [])
    }


def test_the_later_of_two_new_articles_with_the_same_text_is_the_duplicate() -> None:
    assert originals([article("b", minutes=5), article("a", minutes=9)]) == {
        "b": None,
        "a": "b",
    }


def test_articles_at_the_same_url_are_duplicates_whatever_their_text() -> None:
    rows = [
        article("a", url="same", text="t1"),
        article("b", url="same", text="t2", minutes=1),
    ]
    assert originals(rows) == {"a": None, "b": "a"}


def test_a_stored_article_is_the_original_of_a_new_one_published_earlier() -> None:
    assert originals([article("a", minutes=-90)], [KnownArticle("z", "zz", "t1")]) == {
        "a": "z"
    }


def test_a_duplicate_of_a_duplicate_points_to_the_original() -> None:
    known = [KnownArticle("y", "yy", "t1", "x"), KnownArticle("x", "xx", "t0", None)]
    assert originals([article("a")], known) == {"a": "x"}


def test_an_article_is_not_a_duplicate_of_itself() -> None:
    assert originals([article("a")], [KnownArticle("a", "a", "t1")]) == {"a": None}


def test_a_refetched_original_is_not_a_duplicate_of_its_copy() -> None:
    assert originals(
        [article("a")],
        [KnownArticle("a", "a", "t1"), KnownArticle("b", "b", "t1", "a")],
    ) == {"a": None}


def test_two_refetched_articles_do_not_point_to_each_other() -> None:
    known = [KnownArticle("a", "a", "t1"), KnownArticle("b", "b", "t1")]
    assert originals([article("a"), article("b", minutes=1)], known) == {
        "a": None,
        "b": "a",
    }


def test_a_duplicate_whose_text_changes_is_one_no_longer() -> None:
    row = replace(article("a", text="t2"), duplicate_of="b")
    assert originals([row], [KnownArticle("b", "b", "t1")]) == {"a": None}


def test_short_texts_are_not_compared() -> None:
    assert originals([article("a", chars=99), article("b", chars=99, minutes=1)]) == {
        "a": None,
        "b": None,
    }


def test_an_article_without_text_is_neither_duplicate_nor_original() -> None:
    rows = [article("a", url="same", text=None), article("b", url="same", minutes=1)]
    assert originals(rows) == {"a": None, "b": None}


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 9)),
        max_size=9,
    )
)
def test_duplicates_point_to_originals_in_any_order_of_rows(
    drawn: list[tuple[str, str, int]],
) -> None:
    rows = [
        article(f"r{n}", url=url, text=text, minutes=at)
        for n, (url, text, at) in enumerate(drawn)
    ]
    found = originals(rows)
    assert all(found[original] is None for original in found.values() if original)
    assert originals(rows[::-1]) == found
