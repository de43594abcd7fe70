"""The words, names and numbers that articles are compared by, as codes of 20 bits; and
whether two articles are about one event: parts, weights and thresholds.
"""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from news_assets.text.prose import prose
from news_assets.text.words import fold, stem, stopwords, word_spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint32]
    Floats = NDArray[np.float32]
    Bools = NDArray[np.bool_]

# codes of 35,000 articles share a value with one in forty others
CODES = 1 << 20
# what happened is in the first paragraphs: BCubed F1 of words alone on CSTNews .969 with
# all of them, .974 with 300
_WORDS = 200
_TITLE_WORDS = 20
_TEXT_CHARS = 6000  # that names and numbers are looked for in
# of the words with four letters or more; a headline with more capitals names nothing
_TITLE_CAPITALS = 0.7
_Spans = Sequence[tuple[str, int, int]]  # words with their start and end
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ESCAPED_TAG = re.compile(r"&lt;/?[a-zA-Z](?:(?!&[lg]t;)[^\n]){0,300}&gt;")
_SENTENCE_END = re.compile(r"[.!?\n]")
# words of a sentence that two articles do not share by chance
_SENTENCE_WORDS = 6
SENTENCE = 1 << 31  # bit of the codes of sentences
_DIGITS = re.compile(r"\d+")
_SENTENCE_START = re.compile(r"[.!?:;\n•|\"“‘«]|--|``")


@dataclass(frozen=True, slots=True)
class Features:
    """What an article is compared by.

    `words` are codes of stems with their counts, most frequent first; `names` and
    `numbers` are codes, ascending; `keys` are those that candidates are found by.
    `sentences` are codes of whole sentences with their words, which are known of an
    article that was just read.
    """

    language: str
    words: "Codes"
    counts: "Codes"
    names: "Codes"
    numbers: "Codes"
    keys: "Codes"
    sentences: Mapping[int, Sequence[str]] = field(default_factory=dict)


def features_of(title: str | None, text: str, language: str | None) -> Features:
    """Return the features of an article; `language` is a BCP 47 tag."""
    primary = (language or "").partition("-")[0].lower()
    stop = stopwords(primary)
    body = prose(_without_tags(text[:_TEXT_CHARS]))
    headline = " ".join((title or "").split())
    if body.casefold().startswith(headline.casefold()):
        headline = ""
    in_headline = word_spans(headline)
    in_body = word_spans(body)
    first_words = _words_of([*in_headline, *in_body][:_WORDS])
    stems = Counter(_stems(first_words, primary, stop)).most_common()
    in_title = word_spans(title or body.partition("\n")[0])
    title_words = _words_of(in_title[:_TITLE_WORDS])
    title_stems = _stems(title_words, primary, stop)
    names = _names(headline, in_headline, body, in_body, stop)
    numbers = set(_numbers(f"{headline}\n{body}"))
    return Features(
        language=primary,
        words=_as_codes(_code("w", word) for word, _ in stems),
        counts=_as_codes(count for _, count in stems),
        names=_distinct("n", names),
        numbers=_distinct("#", numbers),
        keys=_distinct("", {*title_stems, *names, *numbers}),
        sentences=_sentences(body, in_body),
    )


class _Shared(NamedTuple):
    """The codes of the words, names and numbers of sentences that two articles share;
    those of words with their counts.
    """

    words: "Codes"
    counts: "Codes"
    names: "Codes"
    numbers: "Codes"


def shared_of(features: Features, sentences: Iterable[int]) -> _Shared:
    """Return what these sentences of an article contribute to its features."""
    words = [word for one in sentences for word in features.sentences[one]]
    stop = stopwords(features.language)
    stems = _stems(words, features.language, stop)
    counts = Counter(_code("w", one) for one in stems)
    return _Shared(
        words=_as_codes(sorted(counts)),
        counts=_as_codes(counts[code] for code in sorted(counts)),
        names=_distinct("n", {fold(word) for word in words}),
        numbers=_distinct("#", set(words)),
    )


def _sentences(text: str, spans: _Spans) -> dict[int, list[str]]:
    """Return the longer sentences of a text by their code, which is the same with other
    numbers.
    """
    found: dict[int, list[str]] = {}
    ends = [end.start() for end in _SENTENCE_END.finditer(text)]
    for _, of_sentence in groupby(spans, lambda span: bisect(ends, span[1])):
        words = [word for word, _, _ in of_sentence]
        if len(words) >= _SENTENCE_WORDS:
            without_numbers = _DIGITS.sub("0", " ".join(words))
            found[_code("", without_numbers, SENTENCE) | SENTENCE] = words
    return found


def _without_tags(text: str) -> str:
    """Return a text without the tags that its source escaped."""
    return _ESCAPED_TAG.sub(" ", text) if "&lt;" in text else text


def _code(kind: str, text: str, codes: int = CODES) -> int:
    return crc32(f"{kind}{text}".encode("utf-8", "replace")) % codes


def _as_codes(values: Iterable[int]) -> "Codes":
    import numpy as np

    return np.fromiter(values, np.uint32)


def _distinct(kind: str, texts: Collection[str]) -> "Codes":
    return _as_codes(sorted({_code(kind, text) for text in texts}))


def _stems(words: Iterable[str], language: str, stop: Collection[str]) -> list[str]:
    """Return the stems of words, without stop words and numbers."""
    return [stem(word, language) for word in words if _is_word(word, stop)]


def _words_of(spans: _Spans) -> list[str]:
    return [word for word, _, _ in spans]


def _is_word(word: str, stop: Collection[str]) -> bool:
    return len(word) > 1 and word not in stop and not word[0].isdigit()


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers of two digits or more, with a point for decimals."""
    for found in _NUMBER.findall(text):
        if len(found) > 1:
            yield found.replace(",", ".")


def _names(
    headline: str,
    in_headline: _Spans,
    body: str,
    in_body: _Spans,
    stop: Collection[str],
) -> set[str]:
    """Return the folded words that are written with a capital inside sentences, or
    begin a sentence and a name of several words, and are nowhere written without.
    """
    found, lower = _capitals(body, in_body)
    if not _has_many_capitals(headline, in_headline):
        more, more_lower = _capitals(headline, in_headline)
        found, lower = found | more, lower | more_lower
    return {fold(word) for word in found - lower if _is_word(word, stop)}


def _has_many_capitals(headline: str, spans: _Spans) -> bool:
    long = [start for word, start, _ in spans if len(word) > 3]
    capitals = sum(headline[start].isupper() for start in long)
    return capitals >= _TITLE_CAPITALS * len(long)


def _capitals(text: str, spans: _Spans) -> tuple[set[str], set[str]]:
    """Return the words with a capital that belong to a name, and those without one."""
    names: set[str] = set()
    lower: set[str] = set()
    last = 0
    beginning = ""  # word with a capital that begins a sentence, if it is the last one
    for word, start, end in spans:
        if not text[start].isupper():
            lower.add(word)
            beginning = ""
        elif last == 0 or _SENTENCE_START.search(text, last, start):
            beginning = word
        else:
            names |= {word, beginning or word}
            beginning = ""
        last = end
    return names, lower


class Parts(NamedTuple):
    """What an article has in common with each of several others, 0 to 1.

    vector: Cosine of their vectors, above that of unrelated articles.
    words: Cosine of their stems by TF-IDF.
    names: Cosine of their capitalised words by IDF.
    numbers: The same of their numbers.
    days: The days between them, in windows.
    """

    vector: "Floats"
    words: "Floats"
    names: "Floats"
    numbers: "Floats"
    days: "Floats"


# Mean cosine of unrelated articles by model: of the sets of `quality/stories.py`. The
# vectors of a model that is not here are taken to be spread over all directions.
_UNRELATED: Final = {"multilingual-e5-small-q4": 0.75, "all-MiniLM-L6-v2": 0.05}


def above_unrelated(cosines: "Floats", model: str) -> "Floats":
    """Return cosines such that 0 is that of unrelated articles and 1 that of equals."""
    unrelated = _UNRELATED.get(model, 0.0)
    return ((cosines - unrelated) / (1 - unrelated)).clip(0, 1)


class _Weights(NamedTuple):
    """The weight of each part in the log-odds of being about one event, and their
    constant.
    """

    vector: float
    words: float
    names: float
    numbers: float
    days: float
    constant: float


# Logistic regression over the pairs of ECB+ and of CSTNews among other texts, each set
# with the same weight, a pair of one event with that of twenty others. No set has both
# days and events: a week apart is as if a tenth of the words were not shared.
_SAME_LANGUAGE: Final = _Weights(9.1, 5.0, 7.7, 6.7, -0.5, -11.4)
# The same over translated sentences of SIB-200, with a lower constant: among 1,900 of
# them 95 % find a translation with -11.2 and 8 % another sentence, 90 % and 5 % with
# this. Stems of two languages are seldom equal.
_OTHER_LANGUAGE: Final = _Weights(27.9, 0.0, 4.2, 5.0, -0.5, -12.6)


def probabilities(parts: Parts, is_same_language: "Bools") -> "Floats":
    """Return how probable it is of each that both articles are about one event."""
    import numpy as np

    same, other = (
        _log_odds(parts, weights) for weights in (_SAME_LANGUAGE, _OTHER_LANGUAGE)
    )
    odds = np.exp(np.where(is_same_language, same, other))
    return (odds / (1 + odds)).astype(np.float32)  # type: ignore[no-any-return]  # numpy types it Any


def _log_odds(parts: Parts, weights: _Weights) -> "Floats":
    """Return the log-odds that these weights give."""
    total = parts.vector * 0 + weights.constant
    for part, weight in zip(parts, weights, strict=False):
        total = total + part * weight
    return total
