from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import EmbedError
from news_assets.pipeline.embed import check_model, embed_articles, embedding_text, input_hash
from news_assets.records import ArticleEmbedding, Embedded, EnrichedArticle, RawArticle

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)


class LengthEmbedder:
    """Points every text in the direction of its length; a text with `unreadable` in it fails, and its batch with it."""

    def __init__(self, model: str = "length") -> None:
        self.model = model
        self.dim = 2
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        self.asked += texts
        if any("unreadable" in text for text in texts):
            raise EmbedError("unreadable")
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> Embedded:
        length = float(len(query))
        return Embedded((length / (length**2 + 1) ** 0.5, 1 / (length**2 + 1) ** 0.5), len(query.split()), False)


def article(number: int, **given: Any) -> RawArticle:
    values: dict[str, Any] = {
        "article_id": f"mec-{number}",
        "desk": "sample",
        "agency": "mec",
        "day": date(2026, 11, 20),
        "source_id": "mec-feed",
        "entry_id": f"e{number}",
        "entry_hash": "00",
        "url": f"https://example.org/{number}",
        "canonical_url": f"https://example.org/{number}",
        "url_hash": f"{number:02d}",
        "text_hash": None,
        "title": f"Title {number}",
        "subtitle": None,
        "authors": (),
        "section": None,
        "category": None,
        "tags": (),
        "article_type": None,
        "language": "en",
        "published_at": NOW,
        "updated_at": None,
        "first_seen_at": NOW,
        "fetched_at": NOW,
        "image_url": None,
        "video_url": None,
        "text": "One. " * (number + 1),
        "text_origin": "page",
        "text_chars": 5,
        "word_count": 1,
        "out_links": (),
        "outcome": "ok",
        "reason": None,
        "duplicate_of": None,
        "rev_n": 1,
        "attempts": 0,
        "next_try_at": None,
        "trace_id": f"t{number}",
    }
    return RawArticle(**(values | given))


def embedded(
    articles: Sequence[RawArticle],
    embedder: LengthEmbedder,
    stored: Sequence[ArticleEmbedding] = (),
    now: datetime = NOW,
    **given: Any,
) -> list[ArticleEmbedding]:
    enriched: dict[str, EnrichedArticle] = {}
    return embed_articles(articles, enriched, {row.article_id: row for row in stored}, embedder, now, **given)


def test_a_row_says_what_was_embedded_by_whom_and_when() -> None:
    [row] = embedded([article(1, content_hash="c1")], LengthEmbedder())
    text = "Title 1\nOne. One."
    found = LengthEmbedder().embed_query(text)
    assert row == ArticleEmbedding(
        article_id="mec-1",
        desk="sample",
        agency="mec",
        day=date(2026, 11, 20),
        input_hash=input_hash(text, "length"),
        content_hash="c1",
        model="length",
        dim=2,
        vector=found.vector,
        token_count=4,
        is_cut=False,
        embedded_at=NOW,
        outcome="ok",
        reason=None,
        trace_id="t1",
    )


def test_embedding_twice_changes_nothing_and_asks_nobody() -> None:
    articles = [article(1), article(2)]
    rows = embedded(articles, LengthEmbedder())
    again = LengthEmbedder()
    assert embedded(articles, again, rows, NOW + timedelta(days=1)) == []
    assert again.asked == []


def test_an_edited_text_or_another_model_is_embedded_again() -> None:
    rows = embedded([article(1), article(2)], LengthEmbedder())
    edited = embedded([article(1, text="Other."), article(2)], LengthEmbedder(), rows)
    assert [row.article_id for row in edited] == ["mec-1"]
    other = embedded([article(1), article(2)], LengthEmbedder("other"), rows)
    assert [(row.article_id, row.model) for row in other] == [("mec-1", "other"), ("mec-2", "other")]


def test_an_article_that_was_not_had_gets_no_row() -> None:
    missing = [article(1, outcome="failed", text=None), article(2, outcome="blocked"), article(3, text=" \n")]
    assert embedded(missing, LengthEmbedder()) == []


def test_equal_inputs_are_embedded_once() -> None:
    embedder = LengthEmbedder()
    first, second = embedded([article(1, title="A", text="B"), article(2, title="A", text="B")], embedder)
    assert embedder.asked == ["A\nB"]
    assert second == replace(first, article_id="mec-2", trace_id="t2")


def test_a_copy_elsewhere_lends_its_vector() -> None:
    [copy] = embedded([article(1, title="A", text="B")], LengthEmbedder())
    embedder = LengthEmbedder()
    [row] = embedded([article(2, title="A", text="B")], embedder, copies={copy.input_hash: copy})
    assert (row.vector, embedder.asked) == (copy.vector, [])


def test_one_unreadable_text_is_one_failed_row_and_its_neighbours_go_on() -> None:
    articles = [article(1), article(2, text="unreadable"), article(3)]
    rows = embedded(articles, LengthEmbedder())
    assert [(row.outcome, row.reason, len(row.vector)) for row in rows] == [
        ("ok", None, 2),
        ("failed", "unreadable", 0),
        ("ok", None, 2),
    ]


def test_a_failed_row_is_tried_and_returned_each_time() -> None:
    articles = [article(1, text="unreadable")]
    rows = embedded(articles, LengthEmbedder())
    again = LengthEmbedder()
    later = NOW + timedelta(days=1)
    assert embedded(articles, again, rows, later) == [replace(rows[0], embedded_at=later)]
    assert again.asked == ["Title 1\nunreadable"]


def test_a_row_of_another_state_of_its_article_is_made_again_with_the_vector_it_has() -> None:
    [row] = embedded([article(1, content_hash="old")], LengthEmbedder())
    embedder = LengthEmbedder()
    again = embedded([article(1, content_hash="new")], embedder, [row])
    assert again == [replace(row, content_hash="new")]
    assert embedder.asked == []


@pytest.mark.parametrize(
    ("title", "text", "summary", "expected"),
    [
        ("Title", "# Head\n\nSome **bold** [words](https://example.org/).", None, "Title\nHead Some bold words."),
        ("Rain falls", "Rain falls\n\nIt is wet.", None, "Rain falls It is wet."),
        (None, "Only text.", "A summary.", "Only text."),
        ("Photo", "![a](https://example.org/a.jpg)", "A bridge.", "Photo\nA bridge."),
        (None, "", None, ""),
    ],
)
def test_title_and_text_are_embedded_without_marks(
    title: str | None, text: str, summary: str | None, expected: str
) -> None:
    assert embedding_text(title, text, summary) == expected


@given(st.none() | st.text(), st.text(), st.none() | st.text())
def test_any_text_gives_one_line_of_title_and_one_of_text(title: str | None, text: str, summary: str | None) -> None:
    found = embedding_text(title, text, summary)
    assert found == found.strip()
    assert found.count("\n") <= 1


@given(st.text(), st.text())
def test_another_model_is_another_hash(text: str, model: str) -> None:
    assert input_hash(text, model) != input_hash(text, model + "x")
    assert len(input_hash(text, model)) == 64


@pytest.mark.parametrize(("models", "dim"), [({}, None), ({"length": 2}, None), ({"length": 2}, 2), ({}, 2)])
def test_a_model_that_agrees_with_what_is_stored_may_be_used(models: dict[str, int], dim: int | None) -> None:
    check_model(LengthEmbedder(), models, dim)


@pytest.mark.parametrize(
    ("models", "dim", "said"),
    [
        ({"other": 384}, None, "article_embeddings holds vectors of other (384 numbers): set"),
        (
            {"length": 2, "other": 2},
            None,
            "article_embeddings holds vectors of length (2 numbers), other (2 numbers): ",
        ),
        ({}, 384, "but the search index holds vectors of 384 numbers: set"),
        ({"other": 384}, 384, "other (384 numbers) and the search index holds vectors of 384 numbers: set"),
    ],
)
def test_a_model_that_disagrees_is_refused_with_what_to_do(models: dict[str, int], dim: int | None, said: str) -> None:
    with pytest.raises(
        EmbedError, match=r"^the model is length \(2 numbers\), but .* back, or .*run `news-assets rebuild search`$"
    ) as e:
        check_model(LengthEmbedder(), models, dim)
    assert said in str(e.value)
