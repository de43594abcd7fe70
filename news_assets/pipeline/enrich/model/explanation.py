"""Why an article's enrichment is what it is: the evidence of its sentences, marked in
the text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from news_assets.pipeline.enrich.model.reading.evidence import Span, parse_span
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What supports one sentence: a part of the text, or nothing (`span` and `quote`
    are None).

    `sentence` is None for those of a summary, which is stored as a whole.
    """

    number: int
    of: str
    sentence: str | None
    span: Span | None
    quote: str | None


def is_outdated(row: EnrichedArticle, article: RawArticle) -> bool:
    """Return whether the text has changed since, so that spans are those of another
    text.
    """
    return row.content_hash != article.content_hash


def evidence_of(row: EnrichedArticle, text: str) -> list[Evidence]:
    """Return the evidence of the summary's sentences and then of the key points.

    None of a local result.
    """
    stored: list[tuple[str, str | None, str]] = [
        ("summary", None, span) for span in row.summary_spans
    ]
    # The local enricher has neither.
    points = zip(row.key_points, row.key_point_spans, strict=False)
    stored += [("key point", sentence, span) for sentence, span in points]
    return [
        _evidence(number, of, sentence, parse_span(span), text)
        for number, (of, sentence, span) in enumerate(stored, 1)
    ]


def _evidence(
    number: int, of: str, sentence: str | None, span: Span | None, text: str
) -> Evidence:
    quote = text[span.start : span.end] if span else None
    return Evidence(number=number, of=of, sentence=sentence, span=span, quote=quote)


def marked(text: str, evidence: Sequence[Evidence]) -> str:
    """Return the text with each piece of evidence between `[[1 ` and ` 1]]`, by its
    number.
    """
    marks = sorted(_marks(evidence), key=lambda mark: mark[:2])
    parts, last = [], 0
    for offset, _, mark in marks:
        parts += [text[last:offset], mark]
        last = offset
    return "".join((*parts, text[last:]))


def _marks(evidence: Sequence[Evidence]) -> Iterator[tuple[int, int, str]]:
    """Yield offset, order among the marks of one place (ends come before beginnings),
    and mark.
    """
    for one in evidence:
        if one.span:
            yield one.span.start, 1, f"[[{one.number} "
            yield one.span.end, 0, f" {one.number}]]"


def marked_paragraphs(text: str, evidence: Sequence[Evidence]) -> list[str]:
    """Return the paragraphs of the text that hold evidence, marked.

    Those without any are one `…`.
    """
    lines: list[str] = []
    is_open = 0
    for line in marked(text, evidence).split("\n"):
        has_mark = is_open > 0 or any(
            f"[[{one.number} " in line for one in evidence if one.span
        )
        is_open += sum(
            (f"[[{one.number} " in line) - (f" {one.number}]]" in line)
            for one in evidence
            if one.span
        )
        if has_mark:
            lines.append(line)
        elif line.strip() and lines[-1:] != ["…"]:
            lines.append("…")
    return lines
