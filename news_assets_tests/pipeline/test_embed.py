from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import EmbedError
from news_assets.pipeline.embed import (
    check_model,
    embed_articles,
    embedding_text,
    input_hash,
)
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle
from news_assets.records.reading import Embedded
from news_assets_tests.support.inline_sandbox import InlineSandbox

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)


class LengthEmbedder:
    """Maps a text to a vector by its length; a text with `unreadable` in it fails, and
    its batch with it.
    """

    def __init__(self, model: str = "length") -> None:
        self.model = model
        self.dim = 2
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        self.texts += texts
        if any("unreadable" in text for text in texts):
            raise EmbedError("unreadable")
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> Embedded:
        length = float(len(query))
        return Embedded(
            (length / (length**2 + 1) ** 0.5, 1 / (length**2 + 1) ** 0.5),
            len(query.split()),
            False,
        )


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
) -> list[ArticleEmbedding]:
    enriched: dict[str, EnrichedArticle] = {}
    return embed_articles(
        articles,
        enriched,
        {row.article_id: row for row in stored},
        embedder,
        InlineSandbox(),
        now,
    )


def test_a_row_has_its_input_model_and_time() -> None:
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


def test_embedding_twice_changes_nothing_and_embeds_nothing() -> None:
    articles = [article(1), article(2)]
    rows = embedded(articles, LengthEmbedder())
    again = LengthEmbedder()
    assert embedded(articles, again, rows, NOW + timedelta(days=1)) == []
    assert again.texts == []


def test_an_edited_text_or_another_model_is_embedded_again() -> None:
    rows = embedded([article(1), article(2)], LengthEmbedder())
    edited = embedded([article(1, text="Other."), article(2)], LengthEmbedder(), rows)
    assert [row.article_id for row in edited] == ["mec-1"]
    other = embedded([article(1), article(2)], LengthEmbedder("other"), rows)
    assert [(row.article_id, row.model) for row in other] == [
        ("mec-1", "other"),
        ("mec-2", "other"),
    ]


def test_an_article_without_text_gets_no_row() -> None:
    missing = [
        article(1, outcome="failed", text=None),
        article(2, outcome="blocked"),
        article(3, text=" \n"),
    ]
    assert embedded(missing, LengthEmbedder()) == []


def test_equal_inputs_are_embedded_once() -> None:
    embedder = LengthEmbedder()
    first, second = embedded(
        [article(1, title="A", text="B"), article(2, title="A", text="B")], embedder
    )
    assert embedder.texts == ["A\nB"]
    assert second == replace(first, article_id="mec-2", trace_id="t2")


def test_one_failing_text_is_one_failed_row_and_the_others_succeed() -> None:
    articles = [article(1), article(2, text="unreadable"), article(3)]
    rows = embedded(articles, LengthEmbedder())
    assert [(row.outcome, row.reason, len(row.vector)) for row in rows] == [
        ("ok", None, 2),
        ("failed", "unreadable", 0),
        ("ok", None, 2),
    ]


def test_a_failed_row_is_retried_and_returned_each_time() -> None:
    articles = [article(1, text="unreadable")]
    rows = embedded(articles, LengthEmbedder())
    again = LengthEmbedder()
    later = NOW + timedelta(days=1)
    assert embedded(articles, again, rows, later) == [
        replace(rows[0], embedded_at=later)
    ]
    assert again.texts == ["Title 1\nunreadable"]


def test_a_row_of_an_older_content_hash_is_updated_with_its_vector() -> None:
    [row] = embedded([article(1, content_hash="old")], LengthEmbedder())
    embedder = LengthEmbedder()
    again = embedded([article(1, content_hash="new")], embedder, [row])
    assert again == [replace(row, content_hash="new")]
    assert embedder.texts == []


@pytest.mark.parametrize(
    ("title", "text", "summary", "expected"),
    [
        (
            "Title",
            "# Head\n\nSome **bold** [words](https://example.org/).",
            None,
            "Title\nHead Some bold words.",
        ),
        ("Rain falls", "Rain falls\n\nIt is wet.", None, "Rain falls It is wet."),
        (None, "Only text.", "A summary.", "Only text."),
        ("Photo", "![a](https://example.org/a.jpg)", "A bridge.", "Photo\nA bridge."),
        (None, "", None, ""),
    ],
)
def test_title_and_text_are_embedded_without_markdown(
    title: str | None, text: str, summary: str | None, expected: str
) -> None:
    assert embedding_text(title, text, summary) == expected


@given(st.none() | st.text(), st.text(), st.none() | st.text())
def test_any_input_gives_at_most_two_lines(
    title: str | None, text: str, summary: str | None
) -> None:
    found = embedding_text(title, text, summary)
    assert found == found.strip()
    assert found.count("\n") <= 1


@given(st.text(), st.text())
def test_another_model_is_another_hash(text: str, model: str) -> None:
    assert input_hash(text, model) != input_hash(text, model + "x")
    assert len(input_hash(text, model)) == 64


@pytest.mark.parametrize(
    ("models", "dim"), [({}, None), ({"length": 2}, None), ({"length": 2}, 2), ({}, 2)]
)
def test_a_model_like_the_stored_one_is_accepted(
    models: dict[str, int], dim: int | None
) -> None:
    check_model(LengthEmbedder(), models, dim)


@pytest.mark.parametrize(
    ("models", "dim", "reason"),
    [
        (
            {"other": 384},
            None,
            "article_embeddings holds vectors of other (384 dimensions): set NEWS_EMBEDDING_MODEL to other, or",
        ),
        (
            {"length": 2, "other": 2},
            None,
            "article_embeddings holds vectors of length (2 dimensions), other (2 dimensions): ",
        ),
        (
            {},
            384,
            "but the search index holds vectors of 384 dimensions: set NEWS_EMBEDDING_MODEL to the",
        ),
        (
            {"other": 384},
            384,
            "other (384 dimensions) and the search index holds vectors of 384 dimensions: set",
        ),
    ],
)
def test_another_model_is_refused_with_the_fix(
    models: dict[str, int], dim: int | None, reason: str
) -> None:
    with pytest.raises(
        EmbedError, match=r"^the model is length \(2 dimensions\), but .*"
    ) as refused:
        check_model(LengthEmbedder(), models, dim)
    assert reason in str(refused.value)
    assert str(refused.value).endswith("run `news-assets rebuild search`")
