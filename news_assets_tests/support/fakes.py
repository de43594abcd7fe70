"""A search index in memory that scans all documents.

It passes the contract tests of the real backends, so tests of other parts can use it in
their place.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property
from html import escape
from math import hypot, isfinite
from unicodedata import normalize

import polars as pl

from news_assets.errors import IndexingError
from news_assets.ports.search_index import (
    COPIED_FACETS,
    FACETS,
    Explanation,
    SearchAnswer,
    SearchDocument,
    SearchHit,
    SearchQuery,
    values_of,
)
from news_assets.records.reading import AgencyDays
from news_assets.text.query_parser import parse_operators, plain_words
from news_assets.text.query_tree import matches, searchable_of
from news_assets.text.words import fold, stem, stopwords, word_spans, words

ENOUGH = 10  # below so many documents with every word, those with some words are added
MIN_TYPO_CHARS = 5  # shorter words are not corrected
COLUMNS = ("article_id", "agency", "day", "document_hash")
SINGLE_VALUED = (
    "desk",
    "agency",
    "language",
    *(one.name for one in COPIED_FACETS if not one.is_list),
)
Rank = tuple[int | None, float | None]  # and the score
_PART = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')


@dataclass
class FakeSearchIndex:
    """An implementation of `ports.SearchIndex`."""

    backend: str = "fake"
    documents: dict[str, SearchDocument] = field(default_factory=dict)
    dim: int | None = None
    model: str | None = None

    def vector_dim(self) -> int | None:
        return self.dim

    def vector_model(self) -> str | None:
        return self.model

    def name_model(self, model: str) -> None:
        self.model = self.model or model

    def count(self) -> int:
        return len(self.documents)

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        refused = {}
        for one in {one.article_id: one for one in documents}.values():
            reason = (
                "the article_id is empty"
                if not one.article_id.strip()
                else self._wrong_vector(one.vector)
            )
            there = self.documents.get(one.article_id)
            if reason:
                refused[one.article_id] = reason
            elif (
                there is None
                or not one.document_hash
                or there.document_hash != one.document_hash
            ):
                self.documents[one.article_id] = one
                self.dim = self.dim or (len(one.vector) if one.vector else None)
        return refused

    def _wrong_vector(self, vector: tuple[float, ...] | None) -> str | None:
        if vector is None:
            return None
        if self.dim and len(vector) != self.dim:
            return f"the vector has {len(vector)} dimensions, the index has {self.dim}"
        return (
            None
            if any(vector) and all(map(isfinite, vector))
            else "the vector is empty, all zeros or not finite"
        )

    def delete(self, article_ids: Sequence[str]) -> None:
        for article_id in article_ids:
            self.documents.pop(article_id, None)

    def stored(
        self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None
    ) -> pl.DataFrame:
        rows = [
            tuple(getattr(one, name) for name in COLUMNS)
            for one in self.documents.values()
            if one.desk == desk
            and (keys is None or (one.agency, one.day) in keys.pairs)
            and (first_day is None or one.day >= first_day)
        ]
        return pl.DataFrame(
            rows, dict.fromkeys(COLUMNS, pl.String) | {"day": pl.Date}, orient="row"
        )

    def search(self, query: SearchQuery) -> SearchAnswer:
        terms = Terms(query)
        is_near = query.mode != "keyword" and query.vector is not None
        if is_near and (reason := self._wrong_vector(query.vector)):
            raise IndexingError(reason)
        passing = [one for one in self.documents.values() if _passes(one, query)]
        tree = parse_operators(query.text)
        if tree is not None:
            today = query.today or datetime.now(UTC).date()
            passing = [
                one for one in passing if matches(tree, searchable_of(one), today)
            ]
            plain = replace(query, text=plain_words(query.text))
            terms = Terms(plain, tree_text=query.text)
        by_words = (
            {}
            if is_near and (query.mode == "vector" or not terms.words)
            else terms.ranked(passing, self.documents.values())
        )
        near = _nearest(passing, query.vector) if is_near and query.vector else {}
        every = by_words | near
        scores = (
            by_words if not near else near if not by_words else _fused(by_words, near)
        )
        matched = [self.documents[article_id] for article_id in every]
        if query.sort == "date":
            shown = {one for _, one in self._stories(every)}
            scores = every
            ordered = sorted(
                shown, key=lambda one: (-self.documents[one].published_ts, one)
            )
        else:
            ordered = sorted(scores, key=lambda one: -scores[one])

        def explanation(one: str, best: str) -> Explanation | None:
            if not query.explain:
                return None
            return terms.explanation(
                self.documents[one], _ranked(best, by_words), _ranked(best, near)
            )

        stories = self._stories(ordered)
        hits = [
            _hit(self.documents[one], scores[best], terms, explanation(one, best))
            for best, one in stories
        ]
        return SearchAnswer(
            hits=tuple(hits[query.offset : query.offset + query.limit]),
            found=len(self._stories([one.article_id for one in matched])),
            facets=_facets(matched, self._story),
            took_ms=0.0,
            languages=_languages([self.documents[one] for one in by_words or near]),
        )

    def _stories(self, article_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Return for each story its best document and the one to show: the original if
        it is among these.
        """
        stories: dict[str, list[str]] = {}
        for article_id in article_ids:
            stories.setdefault(self._story(self.documents[article_id]), []).append(
                article_id
            )
        return [(ids[0], min(ids, key=self._lateness)) for ids in stories.values()]

    def _story(self, document: SearchDocument) -> str:
        if document.duplicate_of is None:
            return document.text_hash or document.article_id
        original = self.documents.get(document.duplicate_of)
        return self._story(original) if original else document.duplicate_of

    def _lateness(self, article_id: str) -> tuple[bool, int, str]:
        one = self.documents[article_id]
        return (
            one.duplicate_of is not None,
            0 if one.duplicate_of else one.published_ts,
            article_id,
        )


class Terms:
    """The words, phrases and exclusions of a query's text."""

    def __init__(self, query: SearchQuery, *, tree_text: str = "") -> None:
        parts = _PART.findall(query.text)
        said = [
            word
            for minus, quoted, bare in parts
            if not minus
            for word in words(quoted or bare)
        ]
        small = {
            fold(word)
            for code in (query.language or "pt", "en")
            for word in stopwords(code)
        }
        self.words = tuple(
            dict.fromkeys(word for word in said if fold(word) not in small)
        ) or tuple(said)
        self.phrases = [
            words(quoted) for minus, quoted, _ in parts if quoted and not minus
        ]
        self.excluded = [
            word
            for minus, quoted, bare in parts
            if minus
            for word in words(quoted or bare)
        ]
        # words without an exact match, for which one typo is accepted
        self.forgiven: set[str] = set()
        self.lists_all = not query.text.strip() or bool(
            self.excluded and not self.words
        )
        self.beginnings = re.findall(r"\w+(?=\*)", tree_text)
        self.lists_all |= bool(tree_text)  # whose documents were matched before

    def ranked(
        self,
        documents: Sequence[SearchDocument],
        all_documents: Iterable[SearchDocument],
    ) -> dict[str, float]:
        """Every document that matches, best first, with its score; the newer of equals
        comes first. Whether many have every word is counted among all documents.
        """
        texts = [_Text(one) for one in documents]
        texts = [
            one
            for one in texts
            if not any(map(one.has, self.excluded))
            and all(map(one.holds, self.phrases))
        ]
        if not self.lists_all:
            self.forgiven = {
                word for word in self.words if not any(one.has(word) for one in texts)
            }
            texts = [one for one in texts if self._matched(one)]
            complete = [one for one in texts if self._matched(one) == len(self.words)]
            everywhere = [
                one
                for one in map(_Text, all_documents)
                if self._matched(one) == len(self.words)
                and not any(map(one.has, self.excluded))
            ]
            texts = complete if len(everywhere) >= ENOUGH else texts
        newest = sorted(
            texts, key=lambda one: (-one.document.published_ts, one.document.article_id)
        )
        best = sorted(newest, key=self._score, reverse=True)
        return {one.document.article_id: self._score(one) for one in best}

    def _matched(self, text: "_Text") -> int:
        return sum(
            text.has(word, is_forgiven=word in self.forgiven) for word in self.words
        )

    def _score(self, text: "_Text") -> float:
        in_title = sum(
            text.has(word, text.title, is_forgiven=word in self.forgiven)
            for word in self.words
        )
        return 10.0 * self._matched(text) + in_title

    def explanation(
        self, document: SearchDocument, by_words: Rank, near: Rank
    ) -> Explanation:
        text = _Text(document)
        labels = words(
            "\n".join((document.section or "", *document.tags, *document.keywords))
        )
        fields = {
            "title": text.title,
            "text": words(document.text),
            "summary": words(document.summary or ""),
        }
        found = {
            word: tuple(
                name
                for name, among in (fields | {"labels": labels}).items()
                if text.has(word, among, is_forgiven=word in self.forgiven)
            )
            for word in self.words
        }
        return Explanation(
            words={word: names for word, names in found.items() if names},
            keyword_rank=by_words[0],
            keyword_score=by_words[1],
            vector_rank=near[0],
            similarity=near[1],
        )

    def marks(self, word: str, language: str | None) -> bool:
        return any(
            stem(one, language) == stem(word, language)
            or (one in self.forgiven and _is_one_typo(one, word, language))
            or (fold(word).startswith(one) and one in self.beginnings)
            for one in self.words
        )


@dataclass
class _Text:
    document: SearchDocument

    @cached_property
    def title(self) -> list[str]:
        return words(self.document.title)

    @cached_property
    def every(self) -> list[str]:
        one = self.document
        return words(
            "\n".join(
                (
                    one.title,
                    one.text,
                    one.summary or "",
                    one.section or "",
                    *one.tags,
                    *one.keywords,
                )
            )
        )

    @cached_property
    def stems(self) -> list[str]:
        return [stem(word, self.document.language) for word in self.every]

    def has(
        self, asked: str, among: list[str] | None = None, *, is_forgiven: bool = False
    ) -> bool:
        language = self.document.language
        among = self.every if among is None else among
        return any(
            stem(asked, language) == stem(word, language)
            or (is_forgiven and _is_one_typo(asked, word, language))
            for word in among
        )

    def holds(self, phrase: list[str]) -> bool:
        stems = [stem(word, self.document.language) for word in phrase]
        return any(
            self.stems[at : at + len(stems)] == stems for at in range(len(self.stems))
        )


def _is_one_typo(asked: str, word: str, language: str | None) -> bool:
    return len(asked) >= MIN_TYPO_CHARS and (
        _is_one_edit(fold(asked), fold(word))
        or _is_one_edit(stem(asked, language), stem(word, language))
    )


def _is_one_edit(one: str, other: str) -> bool:
    """Return whether one insertion, deletion, substitution or transposition turns one
    word into the other.
    """
    start = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    a, b = one[start:], other[start:]
    return (
        a[1:] == b
        or a == b[1:]
        or a[1:] == b[1:]
        or (a[:2] == b[1::-1] and a[2:] == b[2:])
    )


def _passes(one: SearchDocument, query: SearchQuery) -> bool:
    language = (one.language or "").lower()
    wanted = (query.language or "").lower()
    return (
        (query.theme is None or bool({*values_of(query.theme)} & {*one.theme_path}))
        and (query.entity is None or query.entity in one.entities)
        and all(
            getattr(query, name) is None
            or getattr(one, name) in values_of(getattr(query, name))
            for name in SINGLE_VALUED
            if name != "language"
        )
        and (
            query.language is None
            or language == wanted
            or language.startswith(f"{wanted}-")
        )
        and (query.from_day or date.min) <= one.day <= (query.to_day or date.max)
    )


def _nearest(
    documents: Sequence[SearchDocument], asked: tuple[float, ...]
) -> dict[str, float]:
    def cosine(vector: tuple[float, ...]) -> float:
        return (
            sum(a * b for a, b in zip(asked, vector, strict=True))
            / hypot(*asked)
            / hypot(*vector)
        )

    found = {one.article_id: cosine(one.vector) for one in documents if one.vector}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def _fused(*rankings: dict[str, float]) -> dict[str, float]:
    """Return each document's sum of reciprocal ranks."""
    fused: dict[str, float] = {}
    for ranking in rankings:
        for place, article_id in enumerate(ranking):
            fused[article_id] = fused.get(article_id, 0.0) + 1 / (60 + place)
    return fused


def _facets(
    documents: Sequence[SearchDocument], story: Callable[[SearchDocument], str]
) -> dict[str, dict[str, int]]:
    """Return the number of stories by value."""
    pairs: dict[str, set[tuple[str, str]]] = {name: set() for name in FACETS}
    for one in documents:
        values: dict[str, Iterable[str | None]] = {
            name: (getattr(one, name),) for name in SINGLE_VALUED
        }
        values |= {
            "theme": one.theme_path,
            "entity": one.entities,
            "month": (f"{one.day:%Y-%m}",),
            "week": (date.fromisocalendar(*one.day.isocalendar()[:2], 1).isoformat(),),
            "day": (one.day.isoformat(),),
        }
        for name, several in values.items():
            pairs[name].update((value, story(one)) for value in several if value)
    return {name: Counter(value for value, _ in pairs[name]) for name in FACETS}


def _languages(documents: Sequence[SearchDocument]) -> dict[str, int]:
    return Counter(one.language for one in documents if one.language)


def _hit(
    one: SearchDocument, score: float, terms: Terms, explanation: Explanation | None
) -> SearchHit:
    text, at, snippet = normalize("NFC", one.text), 0, ""
    for word, start, end in word_spans(text):
        if terms.marks(word, one.language):
            snippet += f"{escape(text[at:start], quote=False)}<mark>{escape(text[start:end])}</mark>"
            at = end
    return SearchHit(
        article_id=one.article_id,
        title=one.title,
        url=one.url,
        desk=one.desk,
        agency=one.agency,
        day=one.day,
        score=score,
        snippet=snippet + escape(text[at:], quote=False),
        theme_code=one.theme_code,
        language=one.language,
        published_at=datetime.fromtimestamp(one.published_ts, UTC),
        explanation=explanation,
    )


def _ranked(article_id: str, ranking: dict[str, float]) -> Rank:
    return (
        (list(ranking).index(article_id) + 1, ranking[article_id])
        if article_id in ranking
        else (None, None)
    )
