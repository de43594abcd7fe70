"""Find the passages of a text that a model quotes, and show them.

A quote is compared by its words: case, punctuation, quotation marks, dashes, line
breaks and Markdown do not count. One that is not found so is searched for with a few
letters more, less or otherwise, but with the same numbers. What is found is stored as a
span of the text, so it is verbatim, whatever the model wrote.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle

# The share of letters that agree. Measured on 2,000 sentences of news texts: with two
# words in a hundred misspelt or left out, 97 % are found from 90 on, and of sentences
# of other articles none.
_MIN_LIKENESS = 90.0
_MIN_QUOTE_WORDS = 3
_MAX_QUOTE_CHARS = 600

# A word; the target of a Markdown link is no part of the text.
_TOKEN = re.compile(r"\]\([^)\s]{0,2000}\)|(\w+)")


class Span(NamedTuple):
    """A part of a text: offsets in characters, the end not included."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


def parse_span(stored: str) -> Span | None:
    """Return a stored span; None for an empty one."""
    start, _, end = stored.partition("-")
    if end:
        return Span(int(start), int(end))
    return None


_END = re.compile(r"[.!?…][\"'”’»)\]]*\s|\n\s*\n")
_MAX_SENTENCE_CHARS = 600


def sentences_around(text: str, span: Span) -> str:
    """Return the whole sentences of a text in which a span begins and ends, and those
    between.
    """
    first = max(0, span.start - _MAX_SENTENCE_CHARS)
    before = [found.end() for found in _END.finditer(text, first, span.start)]
    start = before[-1] if before else first
    after = _END.search(
        text, max(span.start, span.end - 1), span.end + _MAX_SENTENCE_CHARS
    )
    return text[start : after.end() if after else span.end + _MAX_SENTENCE_CHARS]


class SearchedText:
    """A text, prepared to find quotes in it."""

    def __init__(self, text: str) -> None:
        matches: list[tuple[int, int]] = []
        for match in _TOKEN.finditer(text):
            if match[1]:
                matches.append(match.span(1))
        words = [_folded(text[start:end]) for start, end in matches]
        self._spans = matches
        self._joined = f" {' '.join(words)} "
        starts = accumulate((len(word) + 1 for word in words), initial=1)
        self._starts = list(starts)[:-1]  # of each word in `_joined`

    def find(self, quote: str) -> Span | None:
        """Return where the quote is.

        None if nowhere, or if it is too short or too long to support a sentence.
        """
        words = _words_of(quote[: _MAX_QUOTE_CHARS + 1])
        if len(words) < _MIN_QUOTE_WORDS:
            return None
        if len(quote) > _MAX_QUOTE_CHARS:
            return None
        wanted = f" {' '.join(words)} "
        found = self._joined.find(wanted)
        if found >= 0:
            return self._span(found + 1, found + len(wanted) - 1)
        return self._find_like(wanted.strip(), words)

    def occurrences(self, name: str, limit: int) -> list[Span]:
        """Return the first places where a name of one word or more stands as whole
        words.
        """
        words = _words_of(name[:_MAX_QUOTE_CHARS])
        wanted = f" {' '.join(words)} "
        spans: list[Span] = []
        at = self._joined.find(wanted) if words else -1
        while at >= 0 and len(spans) < limit:
            spans.append(self._span(at + 1, at + len(wanted) - 1))
            at = self._joined.find(wanted, at + len(wanted) - 1)
        return spans

    def _find_like(self, wanted: str, words: list[str]) -> Span | None:
        from rapidfuzz import fuzz

        if len(wanted) > len(self._joined):
            return None
        found = fuzz.partial_ratio_alignment(
            wanted, self._joined, score_cutoff=_MIN_LIKENESS
        )
        if found is None:
            return None
        first = self._word_at(found.dest_start)
        last = self._word_at(max(found.dest_start, found.dest_end - 1))
        # a last word of up to 40 characters is read whole
        around = self._joined[self._starts[first] : self._starts[last] + 40]
        in_span = around.split()
        for word in words:
            if not word[0].isdigit():
                continue
            if word not in in_span:
                return None
        return Span(self._spans[first][0], self._spans[last][1])

    def _span(self, start: int, end: int) -> Span:
        first = self._word_at(start)
        last = self._word_at(end - 1)
        return Span(self._spans[first][0], self._spans[last][1])

    def _word_at(self, place: int) -> int:
        return max(0, bisect_right(self._starts, place) - 1)


def _words_of(text: str) -> list[str]:
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        if match[1]:
            found.append(_folded(match[1]))
    return found


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What supports one sentence: a part of the text, or nothing (`span` and `quote`
    are None).

    `sentence` is None for a sentence of a summary, which is stored as a whole.
    """

    number: int
    of: str
    sentence: str | None
    span: Span | None
    quote: str | None


def is_outdated(row: EnrichedArticle, article: RawArticle) -> bool:
    """Return whether the text has changed since, so that spans no longer fit it."""
    return row.content_hash != article.content_hash


def evidence_of(row: EnrichedArticle, text: str) -> list[Evidence]:
    """Return the evidence of the summary's sentences and then of the key points.

    None of a local result.
    """
    # The local enricher has neither.
    points = zip(row.key_points, row.key_point_spans, strict=False)
    stored: list[tuple[str, str | None, str]] = []
    stored += [("summary", None, span) for span in row.summary_spans]
    stored += [("key point", sentence, span) for sentence, span in points]
    found: list[Evidence] = []
    for number, (of, sentence, written) in enumerate(stored, 1):
        span = parse_span(written)
        quote = text[span.start : span.end] if span else None
        one = Evidence(number=number, of=of, sentence=sentence, span=span, quote=quote)
        found.append(one)
    return found


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
