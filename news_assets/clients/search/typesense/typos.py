"""Words that no document has, corrected by what the server finds one mistake away.

The words of a query enter, as typed and as stems; the stems to look for leave. Asked only where no document has all
words: each word costs three small searches, all in one request.
"""

from collections.abc import Sequence
from typing import Any

from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.query import CUTOFF_MS, Params, SoughtWords, word_params
from news_assets.text.words import fold, shared_stem, words

MAX_CORRECTED_WORDS = 12
MIN_TYPO_CHARS = 4  # in a shorter word a mistake makes another word
_MAX_WORD_CHARS = 24


def known_words(
    connection: TypesenseConnection, name: str, sought: SoughtWords, languages: tuple[str, ...]
) -> SoughtWords:
    """Return the same with unknown words corrected, or left out where nothing is near them."""
    pairs = list(zip(sought.words, sought.stems, strict=True))
    asked = pairs[:MAX_CORRECTED_WORDS]
    searches = [search for word, stem in asked for search in _searches(name, word, stem)]
    answers = connection.search(searches)
    kept = pairs[MAX_CORRECTED_WORDS:]
    for order, (word, stem) in enumerate(asked):
        stem_now = _corrected(stem, answers[3 * order : 3 * order + 3], languages)
        if stem_now is not None:
            kept.insert(len(kept) - max(0, len(pairs) - MAX_CORRECTED_WORDS), (word, stem_now))
    return SoughtWords(
        words=tuple(word for word, _ in kept),
        stems=tuple(stem for _, stem in kept),
        phrases=sought.phrases,
        excluded=sought.excluded,
        is_blank=False,
    )


def _searches(name: str, word: str, stem: str) -> list[Params]:
    """Return three searches: is the stem there; which word as typed is near; which stem is near."""
    common = {"collection": name, "search_cutoff_ms": CUTOFF_MS}
    exact = common | word_params() | {"drop_tokens_threshold": 0}
    loose = exact | {"num_typos": str(_typos(word)), "min_len_1typo": MIN_TYPO_CHARS, "typo_tokens_threshold": 1}
    as_typed = {"query_by": "title,text", "include_fields": "title,text", "highlight_fields": "title,text"}
    by_stem = {"include_fields": "title_stems,stems", "highlight_fields": "title_stems,stems"}
    return [
        exact | {"q": stem, "per_page": 0},
        loose | {"q": fold(word), "per_page": 1} | as_typed,
        loose | {"q": stem, "per_page": 1} | by_stem,
    ]


def _typos(word: str) -> int:
    return int(MIN_TYPO_CHARS <= len(word) <= _MAX_WORD_CHARS and word.isalpha())


def _corrected(stem: str, answers: Sequence[dict[str, Any]], languages: tuple[str, ...]) -> str | None:
    exact, as_typed, by_stem = answers
    if exact["found"]:
        return stem
    for token in _matched(as_typed):
        found = words(token)
        if len(found) == 1:
            return shared_stem(found[0], languages)
    return next(iter(_matched(by_stem)), None)


def _matched(answer: dict[str, Any]) -> list[str]:
    """Return what of the best hit's texts matched."""
    highlights = (hit.get("highlight", {}) for hit in answer["hits"])
    return [token for by_field in highlights for field in by_field.values() for token in field["matched_tokens"]]
