"""The terms of a document: what of it can be found, how strongly each field counts, and how it is packed.

Documents enter; numbered terms with weights leave. Ranking does not belong here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat

import numpy as np
import numpy.typing as npt

from news_assets.ports import SearchDocument
from news_assets.text.words import TextsWords, fold, stem, words_of_texts

# A word of the title counts as three of the text (BM25F). What enrichment and the site say about the article counts
# like text: it helps finding, and weighing it more did not help on known-item search.
TITLE_WEIGHT = 3
_LOOKED_AT_TOGETHER = 1_000  # documents: 30 MB of words
FIELDS = 3  # of a document that are looked at apart: title, text, the rest
MAX_TEXT_WORDS = 20_000  # a longer document is found by its first 20,000 words
MAX_WORD_CHARS = 64  # longer "words" are encoded data

PACKED_TERM = np.dtype([("term", "<i8"), ("weight", "u1")])

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """A document's distinct terms, packed (`PACKED_TERM`, sorted by term), and its length in words."""

    packed: bytes
    length: int


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """The terms of several documents, in their order, and the distinct words of each language."""

    documents: list[DocumentTerms]
    words: dict[str | None, set[str]]


def batch_terms(documents: Sequence[SearchDocument]) -> BatchTerms:
    """Return what documents can be found by; the words of each are stemmed by its own language.

    Agency and theme are filters, not words: "educação" should not find everything the Ministry of Education writes.
    """
    of_language: dict[str | None, list[int]] = {}
    for position, document in enumerate(documents):
        of_language.setdefault(document.language, []).append(position)
    terms: dict[int, DocumentTerms] = {}
    known: dict[str | None, set[str]] = {language: set() for language in of_language}
    for language, every in of_language.items():
        for start in range(0, len(every), _LOOKED_AT_TOGETHER):
            positions = every[start : start + _LOOKED_AT_TOGETHER]
            words = words_of_texts([field for position in positions for field in _fields(documents[position])])
            distinct = [word[:MAX_WORD_CHARS] for word in words.distinct]
            known[language].update(distinct)
            keys = np.fromiter(map(term_of, distinct, repeat(language)), np.int64, len(distinct))
            terms.update(zip(positions, _document_terms(words, keys), strict=True))
    return BatchTerms([terms[position] for position in range(len(documents))], known)


def _fields(document: SearchDocument) -> tuple[str, str, str]:
    """Return the title, and what counts once: the text, and what else is said."""
    said = (document.summary or "", document.section or "", *document.tags, *document.keywords)
    return document.title, document.text, "\n".join(said)


def _document_terms(words: TextsWords, keys: Int64s) -> Iterator[DocumentTerms]:
    """Yield the terms of each document, whose fields follow each other; `keys` are the terms of the distinct words."""
    terms, rank_of = np.unique(keys, return_inverse=True)
    counts = np.minimum(words.counts, MAX_TEXT_WORDS)
    fields = np.repeat(np.arange(len(counts)), counts)
    is_kept = _places(words.counts) < MAX_TEXT_WORDS
    documents, is_title = fields // FIELDS, fields % FIELDS == 0
    # One number for each word, so that one sort brings a document's equal terms together: document, term, in the title.
    met = ((documents * len(terms) + rank_of[words.codes[is_kept]]) << 1) + is_title
    met.sort()
    starts = np.flatnonzero(np.diff(met >> 1, prepend=-1))
    weights = np.add.reduceat(1 + (TITLE_WEIGHT - 1) * (met & 1), starts) if len(starts) else starts
    of_document, rank = np.divmod(met[starts] >> 1, max(len(terms), 1))
    packed = np.empty(len(starts), PACKED_TERM)
    packed["term"], packed["weight"] = terms[rank], np.minimum(weights, 255)
    ends = np.searchsorted(of_document, np.arange(len(counts) // FIELDS), side="right") * PACKED_TERM.itemsize
    lengths = np.minimum(counts.reshape(-1, FIELDS) @ (TITLE_WEIGHT, 1, 1), 0xFFFF)
    data, start = packed.tobytes(), 0
    for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
        yield DocumentTerms(data[start:end], length)
        start = end


def _places(counts: Int64s) -> Int64s:
    """Return the place of each word within its field, from 0."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


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
