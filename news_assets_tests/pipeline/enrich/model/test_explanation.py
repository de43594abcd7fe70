from news_assets.pipeline.enrich.model.explanation import (
    Evidence,
    evidence_of,
    marked,
    marked_paragraphs,
)
from news_assets.pipeline.enrich.model.reading.evidence import Span
from news_assets.records.derived import EnrichedArticle
from news_assets_tests.store.examples import sparse

TEXT = "The council met.\n\nIt voted for the bus. All were glad.\n\nNobody spoke.\n\nThe mayor left."


def row(
    summary: tuple[str, ...] = (),
    points: tuple[str, ...] = (),
    spans: tuple[str, ...] = (),
) -> EnrichedArticle:
    return sparse(
        EnrichedArticle, summary_spans=summary, key_points=points, key_point_spans=spans
    )


def span(part: str) -> Span:
    start = TEXT.index(part)
    return Span(start, start + len(part))


def test_each_sentence_has_its_part_of_the_text_or_nothing() -> None:
    vote, left = span("voted for the bus"), span("The mayor left.")
    assert evidence_of(
        row((str(vote),), ("Gone.", "Glad."), (str(left), "")), TEXT
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
    assert evidence_of(row(), TEXT) == []


def test_evidence_is_marked_by_its_number_also_where_it_overlaps() -> None:
    spans = [
        span("The council met."),
        span("voted for the bus"),
        span("the bus. All were"),
    ]
    evidence = evidence_of(row(tuple(map(str, spans))), TEXT)
    assert marked(TEXT, evidence).startswith(
        "[[1 The council met. 1]]\n\nIt [[2 voted for [[3 the bus 2]]. All were 3]] glad."
    )
    assert marked(TEXT, []) == TEXT


def test_paragraphs_without_evidence_are_left_out_together() -> None:
    evidence = evidence_of(row((str(span("All were glad.")),)), TEXT)
    assert marked_paragraphs(TEXT, evidence) == [
        "…",
        "It voted for the bus. [[1 All were glad. 1]]",
        "…",
    ]
    over_lines = evidence_of(row((str(span("glad.\n\nNobody spoke")),)), TEXT)
    assert marked_paragraphs(TEXT, over_lines)[1:-1] == [
        "It voted for the bus. All were [[1 glad.",
        "",
        "Nobody spoke 1]].",
    ]
