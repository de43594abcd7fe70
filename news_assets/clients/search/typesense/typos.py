"""Spelling corrections: words that no document has are replaced by what the server finds one edit away.

Needed only if no document has all words. Each word costs three small searches, all in one request.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.query import CUTOFF_MS, Params, StemmedQuery, word_params
from news_assets.text.words import fold, shared_stem, words

MAX_CORRECTED_WORDS = 12
MIN_TYPO_CHARS = 4  # an edit of a shorter word makes another word
_MAX_WORD_CHARS = 24


def known_words(
    connection: TypesenseConnection, name: str, stemmed: StemmedQuery, languages: tuple[str, ...]
) -> StemmedQuery:
    """Return the query with unknown words corrected, or dropped if no known word is near."""
    pairs = list(zip(stemmed.words, stemmed.stems, strict=True))
    checked, unchecked = pairs[:MAX_CORRECTED_WORDS], pairs[MAX_CORRECTED_WORDS:]
    responses = iter(connection.search([search for word, stem in checked for search in _searches(name, word, stem)]))
    corrected = [(word, _corrected(stem, list(islice(responses, 3)), languages)) for word, stem in checked]
    kept = [(word, stem) for word, stem in corrected if stem is not None] + unchecked
    return replace(stemmed, words=tuple(word for word, _ in kept), stems=tuple(stem for _, stem in kept))


def _searches(name: str, word: str, stem: str) -> list[Params]:
    """Return three searches: for the stem, for words near the typed word, and for stems near the stem."""
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


def _corrected(stem: str, responses: Sequence[dict[str, Any]], languages: tuple[str, ...]) -> str | None:
    exact, as_typed, by_stem = responses
    if exact["found"]:
        return stem
    for token in _matched(as_typed):
        found = words(token)
        if len(found) == 1:
            return shared_stem(found[0], languages)
    return next(iter(_matched(by_stem)), None)


def _matched(response: dict[str, Any]) -> list[str]:
    """Return the matched tokens of the best hit."""
    highlights = (hit.get("highlight", {}) for hit in response["hits"])
    return [token for by_field in highlights for field in by_field.values() for token in field["matched_tokens"]]
