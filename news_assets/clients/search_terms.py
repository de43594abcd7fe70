"""The terms of a document: what of it can be found, how strongly each field counts, and how it is packed.

A document enters; numbered terms with weights leave. Ranking does not belong here.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat

import numpy as np
import numpy.typing as npt

from news_assets.ports import SearchDocument
from news_assets.text.words import fold, stem, words

# A word of the title counts as three of the text (BM25F). What enrichment and the site say about the article counts
# like text: it helps finding, and weighing it more did not help on known-item search.
TITLE_WEIGHT = 3
MAX_TEXT_WORDS = 20_000  # a longer document is found by its first 20,000 words
MAX_WORD_CHARS = 64  # longer "words" are encoded data

PACKED_TERM = np.dtype([("term", "<i8"), ("weight", "u1")])

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """A document's distinct terms, packed (`PACKED_TERM`, sorted by term), its length in words, its distinct words."""

    packed: bytes
    length: int
    words: frozenset[str]


def document_terms(document: SearchDocument) -> DocumentTerms:
    """Return what a document can be found by; its words are stemmed by its own language.

    Agency and theme are filters, not words: "educação" should not find everything the Ministry of Education writes.
    """
    title = _words(document.title)
    said = (document.summary or "", document.section or "", *document.tags, *document.keywords)
    body = _words(document.text) + _words("\n".join(said))
    counted = Counter(title * TITLE_WEIGHT)
    counted.update(body)
    return DocumentTerms(
        packed=_packed(counted, document.language),
        length=min(len(body) + TITLE_WEIGHT * len(title), 0xFFFF),
        words=frozenset(counted),
    )


def _words(text: str) -> list[str]:
    return [word[:MAX_WORD_CHARS] for word in words(text)[:MAX_TEXT_WORDS]]


def _packed(counted: Counter[str], language: str | None) -> bytes:
    terms = np.fromiter(map(term_of, counted, repeat(language)), np.int64, len(counted))
    counts = np.fromiter(counted.values(), np.int64, len(counted))
    order = np.argsort(terms)
    terms = terms[order]
    starts = np.flatnonzero(np.diff(terms, prepend=-1))  # words with one stem are one term
    packed = np.empty(len(starts), PACKED_TERM)
    packed["term"] = terms[starts]
    packed["weight"] = np.minimum(np.add.reduceat(counts[order], starts), 255) if len(starts) else 0
    return packed.tobytes()


def correctable_forms(word: str, language: str | None) -> tuple[str, ...]:
    """Return what a typing mistake may be corrected to for this word: the folded word and its stem."""
    is_correctable = 3 <= len(word) <= 24 and word.isalpha()
    return (fold(word), stem(word, language)) if is_correctable else ()


@lru_cache(maxsize=300_000)
def term_of(word: str, language: str | None) -> int:
    """Return the number of a lower-cased word's stem, the same in every process."""
    return key_of(stem(word, language))


def key_of(text: str) -> int:
    """Return a 63-bit number for a string, the same in every process; never 0, which stands for none."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 1) or 1


def query_terms(word: str, languages: Iterable[str]) -> tuple[int, ...]:
    """Return the terms a query's word may have in the index: one for each language the index holds, and as written."""
    return tuple(dict.fromkeys([*(term_of(word, language) for language in languages), term_of(word, None)]))
