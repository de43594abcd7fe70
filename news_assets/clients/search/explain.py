"""Why a document is a hit, for both backends: its ranks, and which of its fields have
words of the query.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from news_assets.ports.search import Explanation
from news_assets.text.words import words

Key = TypeVar("Key", bound=Hashable)
Term = TypeVar("Term", bound=Hashable)

_UNRANKED = (None, None)


def ranks(
    by_words: Iterable[tuple[Key, float]], by_vector: Iterable[tuple[Key, float]]
) -> dict[Key, Explanation]:
    """Return ranks and scores by key, without words; both rankings are best first.

    Copies of one text have one key, and the rank of the first of them.
    """
    keyword, near = _first_ranks(by_words), _first_ranks(by_vector)
    found = {}
    for key in keyword | near:
        (keyword_rank, score), (vector_rank, similarity) = (
            keyword.get(key, _UNRANKED),
            near.get(key, _UNRANKED),
        )
        found[key] = Explanation(
            words={},
            keyword_rank=keyword_rank,
            keyword_score=score,
            vector_rank=vector_rank,
            similarity=similarity,
        )
    return found


def _first_ranks(ranking: Iterable[tuple[Key, float]]) -> dict[Key, tuple[int, float]]:
    first: dict[Key, tuple[int, float]] = {}
    for rank, (key, score) in enumerate(ranking, start=1):
        first.setdefault(key, (rank, score))
    return first


def with_words(
    explanation: Explanation,
    asked: Mapping[str, Collection[Term]],
    fields: Mapping[str, str],
    term_of: Callable[[str], Term],
) -> Explanation:
    """Return the explanation with the words of the query that the fields have.

    Args:
        explanation: Ranks and scores.
        asked: The terms of each word of the query, one of which a field has to have.
        fields: Text by name of the field.
        term_of: Returns the term of a lower-cased word.
    """
    terms = {name: set(map(term_of, words(text))) for name, text in fields.items()}
    found = {
        word: tuple(name for name in terms if not terms[name].isdisjoint(asked[word]))
        for word in asked
    }
    return replace(
        explanation, words={word: names for word, names in found.items() if names}
    )
