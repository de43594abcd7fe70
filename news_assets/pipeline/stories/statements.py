"""What the articles of a story say: the sentences that several publishers have, and those
that only one has. Words are compared within one language.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from news_assets.text.prose import paragraphs, sentences
from news_assets.text.words import stem, stopwords, word_spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Bools = NDArray[np.bool_]

_SENTENCES: Final = 40  # of an article
_MIN_WORDS, _MAX_CHARS = 5, 400  # of a sentence
# Dice's coefficient of the weighted words. Looked at by hand in CSTNews: of 10 pairs of .4
# to .5, 9 say the same; of 14 pairs of .3 to .4, half
_SAME: Final = 0.4
_NEW_SHARE: Final = 0.5  # of a sentence's words that no other publisher has
_SHARED, _ALONE, _ALONE_EACH = 6, 12, 2
_CAPITALISED: Final = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class ArticleText:
    """An article of a story; its text is Markdown, its language a primary one."""

    article_id: str
    publisher: str
    language: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of an article, verbatim."""

    article_id: Annotated[str, "id of the article"]
    publisher: Annotated[str, "`desk/agency` of its publisher"]
    language: Annotated[str, "primary language of the article"]
    text: Annotated[str, "the sentence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence, and those of other publishers that say the same."""

    sentence: Sentence
    others: Annotated[Sequence[Sentence], "the nearest sentence of each publisher"]
    has_other_numbers: Annotated[
        bool, "another one has numbers, and not one in common with this sentence"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """What several publishers of a story say, the most first, and what only one says."""

    shared: Annotated[Sequence[Statement], "sentences that several publishers have"]
    alone: Annotated[
        Sequence[Sentence], "sentences with a name or number that one publisher has"
    ]


def statements_of(texts: Sequence[ArticleText]) -> Statements:
    """Return what these articles say, each of another publisher."""
    found: list[Sentence] = []
    words: list[frozenset[str]] = []
    for article in texts:
        for sentence, stems in _sentences(article):
            found.append(sentence)
            words.append(stems)
    if not found:
        return Statements(shared=(), alone=())
    compared = _Compared(found, words)
    return Statements(shared=compared.shared(), alone=compared.alone())


def _sentences(article: ArticleText) -> Iterator[tuple[Sentence, frozenset[str]]]:
    """Yield the first sentences of an article with the stems of their words."""
    seen = set[str]()
    for paragraph in paragraphs(article.text):
        for text in sentences(paragraph):
            stems = _stems(text, article.language)
            is_fit = len(stems) >= _MIN_WORDS and len(text) <= _MAX_CHARS
            if not is_fit or text in seen:
                continue
            seen.add(text)
            sentence = Sentence(
                article_id=article.article_id,
                publisher=article.publisher,
                language=article.language,
                text=text,
            )
            yield sentence, stems
            if len(seen) == _SENTENCES:
                return


def _stems(text: str, language: str) -> frozenset[str]:
    stop = stopwords(language)
    words = [word for word, _, _ in word_spans(text) if word not in stop]
    return frozenset(stem(word, language) for word in words)


class _Compared:
    """Sentences with their similarities."""

    def __init__(
        self, found: Sequence[Sentence], words: Sequence[frozenset[str]]
    ) -> None:
        import numpy as np

        self._found = found
        self._publishers = np.array([one.publisher for one in found])
        self._languages = np.array([one.language for one in found])
        self._weights = _weights(words)
        self._comparable = (self._languages[:, None] == self._languages) & (
            self._publishers[:, None] != self._publishers
        )
        squared = self._weights @ self._present.T
        own = self._weights.sum(axis=1)
        dice = 2 * squared / (own[:, None] + own)
        self._similar = np.where(self._comparable, dice, 0)

    @property
    def _present(self) -> "Floats":
        import numpy as np

        return (self._weights > 0).astype(np.float32)

    def shared(self) -> list[Statement]:
        """Return the sentences that the most publishers have, each with the others."""
        groups = [self._group(n) for n in range(len(self._found))]
        order = sorted(
            range(len(groups)),
            key=lambda n: (-len(groups[n]), -self._similar[n, groups[n]].sum(), n),
        )
        used = set[int]()
        statements: list[Statement] = []
        for n in order:
            if len(statements) == _SHARED or not groups[n]:
                break
            if n in used or used.intersection(groups[n]):
                continue
            used |= {n, *self._like(n)}
            others = [self._found[other] for other in groups[n]]
            statement = Statement(
                sentence=self._found[n],
                others=others,
                has_other_numbers=_has_other_numbers(self._found[n], others),
            )
            statements.append(statement)
        return statements

    def _like(self, n: int) -> list[int]:
        import numpy as np

        return [int(one) for one in np.flatnonzero(self._similar[n] >= _SAME)]

    def _group(self, n: int) -> list[int]:
        """Return the nearest sentence of each other publisher, if it says the same."""
        best: dict[str, int] = {}
        for other in self._like(n):
            publisher = self._found[other].publisher
            known = best.get(publisher)
            if known is None or self._similar[n, other] > self._similar[n, known]:
                best[publisher] = other
        return sorted(best.values())

    def alone(self) -> list[Sentence]:
        """Return sentences whose words mostly are in no other publisher's, with a name or
        a number, in the order of the articles; none where no other publisher writes in
        the language.
        """
        import numpy as np

        is_elsewhere = (self._comparable.astype(np.float32) @ self._present) > 0
        new = np.where(is_elsewhere, 0, self._weights).sum(axis=1)
        shares = new / self._weights.sum(axis=1)
        is_new = self._comparable.any(axis=1) & (shares >= _NEW_SHARE)
        order = sorted(np.flatnonzero(is_new).tolist(), key=lambda n: (-new[n], n))
        of_publisher: dict[str, int] = defaultdict(int)
        chosen: list[int] = []
        for n in order:
            sentence = self._found[n]
            if of_publisher[sentence.publisher] < _ALONE_EACH and _has_fact(
                sentence.text
            ):
                of_publisher[sentence.publisher] += 1
                chosen.append(n)
        return [self._found[n] for n in sorted(chosen[:_ALONE])]


def _weights(words: Sequence[frozenset[str]]) -> "Floats":
    """Return the weight of each word in each sentence: the rarer, the more."""
    import numpy as np

    numbers: dict[str, int] = {}
    for stems in words:
        for one in sorted(stems):
            numbers.setdefault(one, len(numbers))
    present = np.zeros((len(words), len(numbers)), np.float32)
    for row, stems in enumerate(words):
        present[row, [numbers[one] for one in stems]] = 1
    rarity = np.log1p(len(words) / present.sum(axis=0))
    weights: Floats = present * rarity.astype(np.float32)
    return weights


def _has_other_numbers(sentence: Sentence, others: Sequence[Sentence]) -> bool:
    own = set(_NUMBER.findall(sentence.text))
    for other in others:
        numbers = set(_NUMBER.findall(other.text))
        if own and numbers and not own & numbers:
            return True
    return False


def _has_fact(text: str) -> bool:
    """Return whether a sentence has a number, or a name after its first word."""
    _, _, rest = text.partition(" ")
    return any(one.isdigit() for one in text) or _CAPITALISED.search(rest) is not None
