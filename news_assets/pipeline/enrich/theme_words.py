"""Find the theme of a text by the words of a taxonomy.

No training on labelled articles: keywords, labels, includes, descriptions and examples
are evidence for a theme, excludes against it. A term weighs more the fewer themes share
it. Only whole words and phrases count.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from news_assets.taxonomy import (
    ANY_LANGUAGE,
    ByLanguage,
    Taxonomy,
    Theme,
)
from news_assets.text.words import fold, has_stemmer, stem, stopwords, words

# Weight of a mention by part of the theme, as a phrase and as single words.
_PHRASE_WEIGHTS = {
    "label": 1.0,
    "keywords": 1.0,
    "hints": 0.35,
    "includes": 0.5,
    "excludes": -0.6,
}
_WORD_WEIGHTS = {
    "label": 0.3,
    "keywords": 0.12,
    "includes": 0.2,
    "descriptions": 0.1,
    "examples": 0.1,
}
# only the stem is equal: "parte" and "partido", "important" and "imports"
_OTHER_FORM_FACTOR = 0.4
_PHRASE_BONUS = 1.5  # of two words or more
_MAX_PHRASE_WORDS = 4

_TITLE_WEIGHT = 4.0
_LEAD_WEIGHT, _LEAD_WORDS = 1.5, 60
_BODY_WEIGHT, _BODY_WORDS = 1.0, 300
_TAIL_WEIGHT = 0.5
MAX_CHARS = 12_000  # enough to settle a theme

# `_confidence` approximates the share of correct themes. Its three constants, and no
# words, were fitted to the labels of six news corpora. Of the 9,000 texts with a best
# theme in the sets of `news_assets_tests/quality/themes.py`, those with a score from .8
# to .9 were right in 88 %, from .6 to .7 in 62 %, from .5 to .55 in 54 %, from .35 to
# .5 in 48 %, and below in 30 %. Where a theme is given from .5 on, 5 texts in 100 lose
# theirs, and nearly half of these are right.
_MIN_SCORE = 0.42
_MIN_LEAD = 1.01  # less is a tie
_MIN_CHILD_EVIDENCE, _MIN_CHILD_LEAD = 0.8, 1.15

_REFERENCE = re.compile(r"\((?:ver|see|vide)\b[^()]*+\)", re.IGNORECASE)

# Evidence for the lender's themes counts this much. With .5 to 1, the share of right
# themes of the gov.br taxonomy rose by .03 to .07 on gov.br news, Brazilian papers and
# SIB-200.
_LENT_WEIGHT = 0.7
# A theme whose texts mean little to the other taxonomy lends little: half of its
# evidence where the other one has a seventh of the evidence for them that the lender
# has.
_STRANGE = 0.02

_Evidence = dict[str, float]
_Read = tuple[list[str], list[str]]  # the significant words of a text, and their stems


@dataclass(frozen=True, slots=True)
class FoundTheme:
    """Codes from level 1 down, empty if the evidence is weak or divided, and then the
    reason.

    `score` is the probability that the first code is right, also where it is not given.
    """

    path: tuple[str, ...] = ()
    score: float = 0.0
    reason: str | None = None


class ThemeTable:
    """A taxonomy's terms in one language, indexed for lookup.

    The words of a `lender`, the table of another taxonomy in the same language, are
    evidence too: for the themes of level 1 whose own words are in the texts of the
    lender's themes.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        language: str | None,
        lender: "ThemeTable | None" = None,
    ) -> None:
        self._language = language
        self._taxonomy = taxonomy
        self._forms: dict[str, set[str]] = defaultdict(set)
        self._evidence = self._evidence_of_themes()
        self._rarity = _rarity([self._evidence[code] for code in taxonomy.roots])
        self._postings: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for code, evidence in self._evidence.items():
            for term, weight in evidence.items():
                self._postings[term].append((code, weight * self._rarity[term]))
        self._prefixes = _prefixes(self._rarity)
        self._lender = lender
        self._shares = self._shares_of(lender) if lender else {}

    def _evidence_of_themes(self) -> dict[str, _Evidence]:
        """Return the terms of each theme and its descendants, by the theme's code."""
        themes = self._taxonomy.themes
        own = {code: self._terms_of_theme(theme) for code, theme in themes.items()}
        return {code: _subtree(self._taxonomy, own, code) for code in themes}

    def find(self, title: str, text: str) -> FoundTheme:
        """Return the theme of one text without markup."""
        return self._decide(self.evidence(title, text))

    def evidence(self, title: str, text: str) -> dict[str, float]:
        """Return the evidence of one text without markup for every theme, by code."""
        read = self._read(title), self._read(text[:MAX_CHARS])
        found = self._own_evidence(*read)
        if self._lender is None:
            return found
        for code, lent in self._lender._own_evidence(*read).items():
            for root, share in self._shares[code].items():
                found[root] += max(lent, 0.0) * share
        return found

    def _shares_of(self, lender: "ThemeTable") -> dict[str, _Evidence]:
        """Return how much of the evidence for each of the lender's themes each root
        gets.
        """
        shares: dict[str, _Evidence] = {}
        for code, theme in lender._taxonomy.themes.items():
            read = self._read_theme(theme)
            found = self._own_evidence(*read)
            claims = {root: max(found[root], 0.0) ** 2 for root in self._taxonomy.roots}
            own = lender._own_evidence(*read)[lender._taxonomy.path(code)[0]]
            total = sum(claims.values()) + _STRANGE * own**2
            shares[code] = {}
            for root, claim in claims.items():
                if claim:
                    shares[code][root] = _LENT_WEIGHT * claim / total
        return shares

    def _read_theme(self, theme: Theme) -> tuple[_Read, _Read]:
        """Read a theme's label and its other texts as the title and text of an article."""
        texts: list[str] = []
        for part in _parts(theme).values():
            texts += self._texts(part)
        return self._read(theme.label(self._language)), self._read("; ".join(texts))

    def _terms_of_theme(self, theme: Theme) -> _Evidence:
        evidence: _Evidence = defaultdict(float)
        for term, weight in self._weighted_terms(theme):
            if abs(weight) > abs(evidence[term]):
                evidence[term] = weight
        return dict(evidence)

    def _weighted_terms(self, theme: Theme) -> Iterator[tuple[str, float]]:
        for part, texts in _parts(theme).items():
            for text in self._texts(texts):
                phrase = _REFERENCE.sub("", text)
                significant = self._significant(phrase)
                stems = [stem(word, self._language) for word in significant]
                for word, stemmed in zip(significant, stems, strict=True):
                    self._forms[stemmed].add(_form(word))
                if part in _PHRASE_WEIGHTS and self._is_phrase(phrase, stems):
                    bonus = _PHRASE_BONUS if len(stems) > 1 else 1.0
                    yield " ".join(stems), _PHRASE_WEIGHTS[part] * bonus
                if part in _WORD_WEIGHTS:
                    for word in stems:
                        yield word, _WORD_WEIGHTS[part]

    def _is_phrase(self, phrase: str, stems: list[str]) -> bool:
        """Whether the significant words of a phrase may stand for it.

        "Série A" without its stop word would match every "série".
        """
        if len(stems) == 1:
            return len(words(phrase)) == 1
        return 1 < len(stems) <= _MAX_PHRASE_WORDS

    def _texts(self, texts: ByLanguage) -> tuple[str, ...]:
        for_all = texts.get(ANY_LANGUAGE, ())
        if not self._language:
            return for_all
        return texts.get(self._language, ()) + for_all

    def _significant(self, text: str) -> list[str]:
        stop = stopwords(self._language)
        found: list[str] = []
        for word in words(text):
            if word not in stop and (len(word) > 1 or word.isdigit()):
                found.append(word)
        return found

    def _read(self, text: str) -> _Read:
        found = self._significant(text)
        return found, [stem(word, self._language) for word in found]

    def _own_evidence(self, title: _Read, text: _Read) -> _Evidence:
        """Return the evidence of the taxonomy's own words for every theme."""
        mentions: _Evidence = defaultdict(float)
        for term, factor, _ in self._terms(*title):
            mentions[term] += _TITLE_WEIGHT * factor
        for term, factor, place in self._terms(*text):
            mentions[term] += _place_weight(place) * factor
        found: _Evidence = dict.fromkeys(self._taxonomy.themes, 0.0)
        for term, count in mentions.items():
            for code, weight in self._postings[term]:
                found[code] += weight * math.log1p(count)
        return found

    def _terms(
        self, found: list[str], stems: list[str]
    ) -> Iterator[tuple[str, float, int]]:
        """Yield the taxonomy's terms in a text, the longest ones, with factor and
        position.
        """
        place = 0
        while place < len(stems):
            length = self._longest(stems, place)
            if length == 1:
                is_same = _form(found[place]) in self._forms[stems[place]]
                yield stems[place], 1.0 if is_same else _OTHER_FORM_FACTOR, place
            elif length:
                yield " ".join(stems[place : place + length]), 1.0, place
            place += length or 1

    def _longest(self, stems: list[str], place: int) -> int:
        longest, term = 0, stems[place]
        for length in range(1, _MAX_PHRASE_WORDS + 1):
            if term in self._rarity:
                longest = length
            if term not in self._prefixes:
                break
            if place + length >= len(stems):
                break
            term = f"{term} {stems[place + length]}"
        return longest

    def _decide(self, evidence: _Evidence) -> FoundTheme:
        best, first, second = _first_two(
            {code: evidence[code] for code in self._taxonomy.roots}
        )
        score = _confidence(first, second)
        doubt = _doubt(first, second, score)
        if doubt is None:
            path = descend(self._taxonomy, best, evidence.__getitem__)
            return FoundTheme(path, score)
        doubts = list(self._gaps())
        if self._rarity:
            doubts.append(doubt)
        return FoundTheme((), score, "; ".join(doubts))

    def _gaps(self) -> Iterator[str]:
        """Yield what is missing to find themes in this language."""
        if self._language is None:
            yield "the language is unknown"
            return
        missing: list[str] = []
        if not stopwords(self._language):
            missing.append("no stop words")
        if not has_stemmer(self._language):
            missing.append("no stems")
        if missing:
            yield f"{' and '.join(missing)} are known for language {self._language}"
        if not self._rarity:
            yield f"the taxonomy has no words in language {self._language}"


def descend(
    taxonomy: Taxonomy, code: str, evidence_for: Callable[[str], float]
) -> tuple[str, ...]:
    """Return the path from a theme of level 1 to where the evidence becomes weak or
    divided.
    """
    path = [code]
    while children := taxonomy.themes[path[-1]].children:
        child, first, second = _first_two(
            {child: evidence_for(child) for child in children}
        )
        if first < _MIN_CHILD_EVIDENCE:
            break
        if first < second * _MIN_CHILD_LEAD:
            break
        path.append(child)
    return tuple(path)


def _parts(theme: Theme) -> dict[str, ByLanguage]:
    return {
        "label": theme.labels,
        "keywords": theme.keywords,
        "hints": theme.hints,
        "includes": theme.includes,
        "excludes": theme.excludes,
        "descriptions": theme.descriptions,
        "examples": theme.examples,
    }


def _subtree(taxonomy: Taxonomy, own: Mapping[str, _Evidence], code: str) -> _Evidence:
    """Return the strongest weight of each term in a theme and its descendants."""
    evidence = dict(own[code])
    for child in taxonomy.themes[code].children:
        for term, weight in _subtree(taxonomy, own, child).items():
            if abs(weight) > abs(evidence.get(term, 0.0)):
                evidence[term] = weight
    return evidence


def _rarity(roots: list[_Evidence]) -> _Evidence:
    """Return 1 for a term of one theme of level 1, towards 0 for a term of all of them."""
    weights: dict[str, list[float]] = defaultdict(list)
    for evidence in roots:
        for term, weight in evidence.items():
            weights[term].append(max(weight, 0.0))
    whole = math.log(len(roots) + 1)
    rarity: _Evidence = {}
    for term, found in weights.items():
        themes = max(1.0, sum(found) / (max(found) or 1.0))
        rarity[term] = math.log((len(roots) + 1) / themes) / whole
    return rarity


def _prefixes(terms: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for term in terms:
        parts = term.split(" ")
        found.update(" ".join(parts[:length]) for length in range(1, len(parts)))
    return frozenset(found)


def _place_weight(place: int) -> float:
    if place < _LEAD_WORDS:
        return _LEAD_WEIGHT
    return _BODY_WEIGHT if place < _BODY_WORDS else _TAIL_WEIGHT


def _form(word: str) -> str:
    return fold(word).rstrip("s")


def _first_two(scores: Mapping[str, float]) -> tuple[str, float, float]:
    code = max(scores, key=lambda code: scores[code])
    others = [score for other, score in scores.items() if other != code]
    return code, scores[code], max([0.0, *others])


def _doubt(first: float, second: float, score: float) -> str | None:
    """Return why the first theme is not given; None if it is."""
    if first <= 0:
        return "the text has no words of a theme"
    if first < second * _MIN_LEAD:
        return "two themes fit equally"
    if score < _MIN_SCORE:
        return (
            "the evidence is weak: "
            f"the best theme has a score of {score:.2f}, less than {_MIN_SCORE:.2f}"
        )
    return None


def _confidence(first: float, second: float) -> float:
    """Return the probability that the first theme is right, from its evidence and its
    lead.
    """
    if first <= 0:
        return 0.0
    lead = (first - second) / first
    return 1 / (1 + math.exp(-(-0.5 + 0.5 * math.log(first) + 2.0 * lead)))
