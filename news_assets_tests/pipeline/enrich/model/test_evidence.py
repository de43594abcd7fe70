"""Passages that a model quotes, found and shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.enrich.model.evidence import (
    Evidence,
    SearchedText,
    Span,
    evidence_of,
    marked,
    marked_paragraphs,
    parse_span,
)
from news_assets.records.derived import EnrichedArticle
from news_assets_tests.store.examples import sparse

TEXT = (
    "O **Ministério da Saúde** disse, na\n\nsexta-feira (20), que [a campanha](https://x.example/a-b) não vacinou "
    "1.200 pessoas."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("o ministério da saúde disse", "O **Ministério da Saúde** disse"),
        ("“disse, na sexta–feira (20)”", "disse, na\n\nsexta-feira (20"),
        (
            "que a campanha não vacinou",
            "que [a campanha](https://x.example/a-b) não vacinou",
        ),
        (
            "O Ministério da Saúde disse na sexta-feria 20 que a campanha",
            TEXT[: TEXT.index("](")],
        ),
    ],
)
def test_a_quote_is_found_as_the_text_writes_it(quote: str, found: str) -> None:
    span = SearchedText(TEXT).find(quote)
    assert span is not None
    assert TEXT[span.start : span.end] == found
    assert parse_span(str(span)) == span


@pytest.mark.parametrize(
    "quote",
    [
        "o ministro da fazenda negou tudo",
        "que a campanha não vacinou 1.300 pessoas",  # another number
        "Ministério da",  # too short to support anything
        "",
        "a " * 400,
    ],
)
def test_what_the_text_does_not_say_is_not_found(quote: str) -> None:
    assert SearchedText(TEXT).find(quote) is None


@given(st.text(max_size=80), st.text(max_size=40))
def test_a_span_is_a_part_of_the_text_whatever_is_quoted(text: str, quote: str) -> None:
    span = SearchedText(text).find(quote)
    assert span is None or (
        0 <= span.start < span.end <= len(text) and text[span.start : span.end]
    )


@given(
    st.lists(
        st.sampled_from(["a", "bc", "déf", "ghi", "12", "jkl"]), min_size=3, max_size=30
    ),
    st.data(),
)
def test_a_part_of_a_text_is_found_in_it(parts: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(parts) - 3))
    quote = parts[start : start + data.draw(st.integers(3, len(parts)))]
    text = ", ".join(parts)
    span = SearchedText(text).find(" ".join(quote))
    assert span is not None
    assert text[span.start : span.end] == ", ".join(quote)


EXPLAINED = "The council met.\n\nIt voted for the bus. All were glad.\n\nNobody spoke.\n\nThe mayor left."


def row(
    summary: tuple[str, ...] = (),
    points: tuple[str, ...] = (),
    spans: tuple[str, ...] = (),
) -> EnrichedArticle:
    return sparse(
        EnrichedArticle, summary_spans=summary, key_points=points, key_point_spans=spans
    )


def span(part: str) -> Span:
    start = EXPLAINED.index(part)
    return Span(start, start + len(part))


def test_each_sentence_has_its_part_of_the_text_or_nothing() -> None:
    vote, left = span("voted for the bus"), span("The mayor left.")
    assert evidence_of(
        row((str(vote),), ("Gone.", "Glad."), (str(left), "")), EXPLAINED
    ) == [
        Evidence(
            number=1, of="summary", sentence=None, span=vote, quote="voted for the bus"
        ),
        Evidence(
            number=2,
            of="key point",
            sentence="Gone.",
            span=left,
            quote="The mayor left.",
        ),
        Evidence(number=3, of="key point", sentence="Glad.", span=None, quote=None),
    ]
    assert evidence_of(row(), EXPLAINED) == []


def test_evidence_is_marked_by_its_number_also_where_it_overlaps() -> None:
    spans = [
        span("The council met."),
        span("voted for the bus"),
        span("the bus. All were"),
    ]
    evidence = evidence_of(row(tuple(map(str, spans))), EXPLAINED)
    assert marked(EXPLAINED, evidence).startswith(
        "[[1 The council met. 1]]\n\nIt [[2 voted for [[3 the bus 2]]. All were 3]] glad."
    )
    assert marked(EXPLAINED, []) == EXPLAINED


def test_paragraphs_without_evidence_are_left_out_together() -> None:
    evidence = evidence_of(row((str(span("All were glad.")),)), EXPLAINED)
    assert marked_paragraphs(EXPLAINED, evidence) == [
        "…",
        "It voted for the bus. [[1 All were glad. 1]]",
        "…",
    ]
    over_lines = evidence_of(row((str(span("glad.\n\nNobody spoke")),)), EXPLAINED)
    assert marked_paragraphs(EXPLAINED, over_lines)[1:-1] == [
        "It voted for the bus. All were [[1 glad.",
        "",
        "Nobody spoke 1]].",
    ]
