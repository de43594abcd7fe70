"""What both backends store of a document and show of a hit.

Stored are searched texts, limits and unit vectors, compared with what the lake has. The
snippet of a hit is the part of its text with most matching words, as escaped HTML with
`<mark>` around them. The explanation has its ranks, and which of its fields have words
of the query.
"""

import html
import re
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from news_assets.errors import IndexingError
from news_assets.ports.search_index import TIME_FACETS, Explanation, SearchDocument
from news_assets.records.reading import AgencyDays
from news_assets.text.words import fold, word_spans, words

if TYPE_CHECKING:
    import polars as pl


MAX_WORD_CHARS = 64  # longer "words" are encoded data
# entities and matters that an answer counts, of possibly as many as there are documents
MAX_NAMES = 100


def is_stored(document: SearchDocument, hashes: Mapping[str, str]) -> bool:
    """Return whether the document is stored in this state, by the stored document
    hashes; an empty hash never is.
    """
    if not document.document_hash:
        return False
    return hashes.get(document.article_id) == document.document_hash


def of_partitions(stored: "pl.DataFrame", keys: AgencyDays | None) -> "pl.DataFrame":
    """Return the rows of these agency-days; all rows if `keys` is None."""
    import polars as pl

    if keys is None:
        return stored
    pairs = pl.DataFrame(
        list(keys.pairs), {"agency": pl.String, "day": pl.Date}, orient="row"
    )
    return stored.join(pairs, on=("agency", "day"), how="semi")


def most_first(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return counts by value: the most frequent first, then in alphabetical order."""

    def order(pair: tuple[str, int]) -> tuple[int, str]:
        value, count = pair
        return -count, value

    return dict(sorted(counts, key=order))


def time_values(day: str) -> dict[str, str]:
    """Return the values of each of `TIME_FACETS` of a day (ISO)."""
    of_day = date.fromisoformat(day)
    monday = of_day - timedelta(days=of_day.weekday())
    return {"month": day[:7], "week": monday.isoformat(), "day": day}


def time_counts(days: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return counts by value of each of `TIME_FACETS` from those by day (ISO, in
    order), in their order.
    """
    counts: dict[str, dict[str, int]] = {name: {} for name in TIME_FACETS}
    for day, count in days.items():
        for name, value in time_values(day).items():
            of_name = counts[name]
            of_name[value] = of_name.get(value, 0) + count
    return counts


Float64s = npt.NDArray[np.float64]


def unit_vectors(vectors: Sequence[Sequence[float] | None]) -> list[Float64s | None]:
    """Return each vector scaled to length 1; None for None and for a vector without a
    direction.

    A vector has no direction if it is empty, all zeros, or holds a value that is not
    finite.
    """
    units: list[Float64s | None] = [None] * len(vectors)
    for positions, rows in _matrices(vectors):
        scaled, has_direction = _scaled(rows)
        for row, position in enumerate(positions):
            if has_direction[row]:
                units[position] = scaled[row]
    return units


def _scaled(rows: Float64s) -> tuple[Float64s, list[bool]]:
    """Return each row scaled to length 1, and whether it has a direction."""
    highest = np.abs(rows).max(axis=1, keepdims=True)
    has_direction = np.isfinite(highest) & (highest > 0)
    # Divided by its highest value first, so that no square overflows or vanishes.
    scaled = np.zeros_like(rows)
    np.divide(rows, highest, out=scaled, where=has_direction)
    norms = np.sqrt(np.vecdot(scaled, scaled))[:, None]
    np.divide(scaled, norms, out=scaled, where=has_direction)
    return scaled, has_direction[:, 0].tolist()


def _matrices(
    vectors: Sequence[Sequence[float] | None],
) -> Iterator[tuple[list[int], Float64s]]:
    """Yield the non-empty vectors of each dimension as the rows of one matrix, with
    their positions.
    """
    of_dim: dict[int, list[int]] = {}
    for position, vector in enumerate(vectors):
        if vector:
            of_dim.setdefault(len(vector), []).append(position)
    for dim, positions in of_dim.items():
        values = chain.from_iterable(vectors[position] or () for position in positions)
        matrix = np.fromiter(values, np.float64, dim * len(positions))
        yield positions, matrix.reshape(-1, dim)


def check_query_vector(where: object, vector: Sequence[float], dim: int | None) -> None:
    """Raise IndexingError, which names the index by `where`, if the query's vector does
    not fit its vectors.
    """
    if dim is not None and len(vector) != dim:
        raise IndexingError(
            f"{where}: the query has {len(vector)} dimensions, the index has {dim}; use the model"
            " the index was made with, or embed everything with the other model, then run"
            " `news-assets rebuild search`"
        )
    if unit_vectors([vector])[0] is None:
        raise IndexingError(
            f"{where}: the query's vector is empty, all zeros or holds a value that is not finite"
        )


_SHOWN_IDS = 3


def parity_problems(
    expected: Mapping[str, Mapping[str, str]],
    stored: "Callable[[str], pl.DataFrame]",
    count: int,
) -> list[str]:
    """Return a sentence per kind of difference: missing, unexpected or outdated
    documents; none if both are equal.

    Args:
        expected: By desk, the document hash of each article.
        stored: Returns article_id and document_hash of a desk's documents in the index.
        count: Number of documents in the index.
    """
    problems = []
    for desk, hashes in expected.items():
        found = dict(stored(desk).select("article_id", "document_hash").iter_rows())
        both = hashes.keys() & found.keys()
        outdated = {one for one in both if hashes[one] != found[one]}
        problems += _listed(f"{desk}: {{}} missing", hashes.keys() - found.keys())
        problems += _listed(f"{desk}: {{}} unexpected", found.keys() - hashes.keys())
        problems += _listed(f"{desk}: {{}} outdated", outdated)
    total = sum(map(len, expected.values()))
    if not problems and count != total:
        return [f"{count} documents stored, {total} expected"]
    return problems


def _listed(text: str, article_ids: set[str]) -> list[str]:
    if not article_ids:
        return []
    shown = ", ".join(sorted(article_ids)[:_SHOWN_IDS])
    more = ", ..." if len(article_ids) > _SHOWN_IDS else ""
    return [f"{text.format(len(article_ids))} ({shown}{more})"]


# --- texts of a hit -------------------------------------------------------------------


_SNIPPET_CHARS = 240
_LEAD_CHARS = 60  # before the first match
_STEM_CHARS = 4

_LATIN_1 = bytes(range(256)).decode("latin-1")
_FOLDED_LATIN_1 = "".join(
    fold(c)[:1] if c.isalpha() else c for c in _LATIN_1.lower()
).encode("latin-1", "replace")
_REST_OF_WORD = re.compile(r"[^\W_]*")


@dataclass(frozen=True, slots=True)
class Highlighter:
    """Finds the words of a query in texts of any language.

    `words` are as typed or corrected; `is_match` returns whether a lower-cased word of a
    language matches one of them.
    """

    words: tuple[str, ...]
    is_match: Callable[[str, str | None], bool]

    def spans(self, text: str, language: str | None) -> list[tuple[int, int]]:
        """Return the start and end of each matching word of a text, in order."""
        if not all(fold(word).isascii() for word in self.words):
            return [
                (start, end)
                for word, start, end in word_spans(text)
                if self.is_match(word, language)
            ]
        folded = _folded_bytes(text)
        spans: set[tuple[int, int]] = set()
        for word in self.words:
            spans.update(self._spans_of(_start(word), folded, text, language))
        return sorted(spans)

    def _spans_of(
        self, start: bytes, folded: bytes, text: str, language: str | None
    ) -> Iterable[tuple[int, int]]:
        at = folded.find(start)
        while at >= 0:
            if at == 0 or not text[at - 1].isalnum():
                end = _REST_OF_WORD.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
                if self.is_match(text[at:end].lower(), language):
                    yield at, end
            at = folded.find(start, at + 1)


def _folded_bytes(text: str) -> bytes:
    """Return the text in lower case without accents, one byte a character; `?` for a
    character outside Latin-1.

    Searching these bytes for the first letters of a word takes half the time of a
    pattern of letters in any case and accent (0.3 against 0.7 ms for ten texts of 2
    kB). `is_match` decides about each candidate.
    """
    return (
        text.replace("ı", "i").encode("latin-1", "replace").translate(_FOLDED_LATIN_1)
    )


def _start(word: str) -> bytes:
    """Return the letters that each form of a word begins with."""
    folded = fold(word)
    count = min(_STEM_CHARS, len(folded) - 2)
    return folded[: max(1, count)].encode("ascii")


def snippet(text: str, spans: Collection[tuple[int, int]]) -> str:
    """Return about 240 characters of the text around most different matches, or its
    start if there are none.
    """
    start, end = _window(text, list(spans))
    shown = []
    for first, last in spans:
        if start <= first and last <= end:
            shown.append((first, last))
    before = "… " if start else ""
    after = " …" if end < len(text) else ""
    return f"{before}{_marked(text, start, end, shown)}{after}"


def _window(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    if len(text) <= _SNIPPET_CHARS:
        return 0, len(text)
    start = _densest(text, spans) - _LEAD_CHARS
    start = 0 if start < _LEAD_CHARS else _next_word(text, start)
    end = start + _SNIPPET_CHARS
    if end >= len(text):
        return start, len(text)
    return start, _last_word(text, start, end)


def _densest(text: str, spans: list[tuple[int, int]]) -> int:
    """Return the start of the span with most different words in one snippet; the first
    of several.
    """
    best, most = 0, 0
    for first, (start, _) in enumerate(spans[:100]):
        within = set()
        for begin, end in spans[first : first + 20]:
            if end <= start + _SNIPPET_CHARS - _LEAD_CHARS:
                within.add(text[begin:end].lower()[:_STEM_CHARS])
        if len(within) > most:
            best, most = start, len(within)
    return best


def _next_word(text: str, start: int) -> int:
    space = text.find(" ", start, start + _LEAD_CHARS)
    if space < 0:
        return start
    return space + 1


def _last_word(text: str, start: int, end: int) -> int:
    middle = start + _SNIPPET_CHARS // 2
    space = text.rfind(" ", middle, end)
    if space < 0:
        return end
    return space


def _marked(text: str, start: int, end: int, spans: Iterable[tuple[int, int]]) -> str:
    pieces = []
    at = start
    for first, last in spans:
        pieces.append(html.escape(text[at:first]))
        pieces.append(f"<mark>{html.escape(text[first:last])}</mark>")
        at = last
    pieces.append(html.escape(text[at:end]))
    marked = "".join(pieces)
    return " ".join(marked.split())


_Key = TypeVar("_Key", bound=Hashable)
_Term = TypeVar("_Term", bound=Hashable)

_UNRANKED = (None, None)


def ranks(
    by_words: Iterable[tuple[_Key, float]], by_vector: Iterable[tuple[_Key, float]]
) -> dict[_Key, Explanation]:
    """Return ranks and scores by key, without words; both rankings are best first.

    Copies of one text have one key, and the rank of the first of them.
    """
    keyword, near = _first_ranks(by_words), _first_ranks(by_vector)
    found = {}
    for key in keyword | near:
        keyword_rank, score = keyword.get(key, _UNRANKED)
        vector_rank, similarity = near.get(key, _UNRANKED)
        found[key] = Explanation(
            words={},
            keyword_rank=keyword_rank,
            keyword_score=score,
            vector_rank=vector_rank,
            similarity=similarity,
        )
    return found


def _first_ranks(
    ranking: Iterable[tuple[_Key, float]],
) -> dict[_Key, tuple[int, float]]:
    first: dict[_Key, tuple[int, float]] = {}
    for rank, (key, score) in enumerate(ranking, start=1):
        first.setdefault(key, (rank, score))
    return first


def with_words(
    explanation: Explanation,
    wanted: Mapping[str, Collection[_Term]],
    fields: Mapping[str, str],
    term_of: Callable[[str], _Term],
) -> Explanation:
    """Return the explanation with the words of the query that the fields have.

    Args:
        explanation: Ranks and scores.
        wanted: For each word of the query, the terms that match it.
        fields: Text by name of the field.
        term_of: Returns the term of a lower-cased word.
    """
    terms = {name: set(map(term_of, words(text))) for name, text in fields.items()}
    found = {}
    for word, of_word in wanted.items():
        names = [name for name in terms if not terms[name].isdisjoint(of_word)]
        if names:
            found[word] = tuple(names)
    return replace(explanation, words=found)
