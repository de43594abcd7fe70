"""Terms: the numbered stems that documents are found by, how much each field weighs,
and spelling corrections.

Corrections are made by looking up every spelling one edit away from a word (about 500
for nine letters, 1 ms). A table of delete-1 keys would give the same, but would be
eight times the size of the vocabulary and slow every write.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.index_texts import MAX_WORD_CHARS
from news_assets.ports.search_index import SearchDocument
from news_assets.text.query_tree import MAX_TEXT_WORDS, field_values, secondary_text
from news_assets.text.words import (
    KEPT_WORDS,
    TextWords,
    fold,
    stem,
    words,
    words_of_texts,
)

# A word of the title counts as three of the text (BM25F). Summary, section, tags and
# keywords count like text: weighing them more did not improve known-item search.
TITLE_WEIGHT = 3
_FIELDS = 3  # title, text, the rest
MIN_TYPO_CHARS, MAX_TYPO_CHARS = 4, 24  # shorter words have too many neighbours
_BATCH_DOCUMENTS = 1_000  # 30 MB of words

_ALPHABETS = (
    ("abcdefghijklmnopqrstuvwxyz", "a", "z"),
    ("αβγδεζηθικλμνξοπρςστυφχψω", "α", "ω"),
    ("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "а", "я"),
)

PACKED_TERM = np.dtype([("term", "<i8"), ("weight", "u1")])

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """A document's distinct terms, packed (`PACKED_TERM`): the terms of its words,
    then the terms of its fields (`field_term`); and its length in words.
    """

    packed: bytes
    length: int


@dataclass(frozen=True, slots=True)
class _BatchTerms:
    """The terms of several documents, in their order, and the distinct words of each
    language.
    """

    documents: list[DocumentTerms]
    words: dict[str | None, set[str]]


def batch_terms(documents: Sequence[SearchDocument]) -> _BatchTerms:
    """Return the terms of documents, each stemmed in its own language.

    Agency and theme are filters, not terms: "educação" should not find everything the
    Ministry of Education publishes.
    """
    of_language: dict[str | None, list[SearchDocument]] = {}
    for document in documents:
        of_language.setdefault(document.language, []).append(document)
    terms: dict[int, DocumentTerms] = {}  # by the identity of the document
    known: dict[str | None, set[str]] = {}
    for language, every in of_language.items():
        known[language] = set()
        for start in range(0, len(every), _BATCH_DOCUMENTS):
            batch = every[start : start + _BATCH_DOCUMENTS]
            found, distinct = _terms_in_language(batch, language)
            known[language].update(distinct)
            for document, of_document in zip(batch, found, strict=True):
                terms[id(document)] = _with_fields(of_document, document)
    return _BatchTerms([terms[id(document)] for document in documents], known)


def _terms_in_language(
    documents: Sequence[SearchDocument], language: str | None
) -> tuple[Iterator[DocumentTerms], list[str]]:
    """Return the terms of each document of a language, and the distinct words."""
    written = words_of_texts(_searched_texts(documents))
    distinct = [word[:MAX_WORD_CHARS] for word in written.distinct]
    keys = [term_of(word, language) for word in distinct]
    return _document_terms(written, np.array(keys, np.int64)), distinct


def _with_fields(found: DocumentTerms, document: SearchDocument) -> DocumentTerms:
    """Return the terms, and after them the terms of the fields that operators search,
    which do not count as length.
    """
    keys = set[int]()
    for word in words(document.title)[:MAX_TEXT_WORDS]:
        written = stem(word[:MAX_WORD_CHARS], document.language)
        keys.add(field_term("title", written))
    for field, values in field_values(document).items():
        keys.update(field_term(field, value) for value in values)
    packed = np.ones(len(keys), PACKED_TERM)
    packed["term"] = sorted(keys)
    return DocumentTerms(found.packed + packed.tobytes(), found.length)


def _searched_texts(documents: Iterable[SearchDocument]) -> list[str]:
    """Return the `_FIELDS` texts of each document."""
    texts: list[str] = []
    for one in documents:
        texts += (one.title, one.text, secondary_text(one))
    return texts


def _document_terms(words: TextWords, keys: Int64s) -> Iterator[DocumentTerms]:
    """Yield the terms of each document; `words` has `_FIELDS` texts of each, `keys` the
    terms of the distinct words.
    """
    terms, rank_of = np.unique(keys, return_inverse=True)
    counts = np.minimum(words.counts, MAX_TEXT_WORDS)
    occurrences = _occurrences(words, counts, rank_of, len(terms))
    of_word = occurrences >> 1
    starts = np.flatnonzero(np.diff(of_word, prepend=-1))
    of_document, rank = np.divmod(of_word[starts], max(len(terms), 1))
    packed = np.empty(len(starts), PACKED_TERM)
    packed["term"] = terms[rank]
    packed["weight"] = _weights(occurrences, starts)
    numbers = np.arange(len(counts) // _FIELDS)
    ends = np.searchsorted(of_document, numbers, side="right")
    ends *= PACKED_TERM.itemsize
    data = packed.tobytes()
    start = 0
    for end, length in zip(ends.tolist(), _lengths(counts).tolist(), strict=True):
        yield DocumentTerms(data[start:end], length)
        start = end


def _weights(occurrences: Int64s, starts: Int64s) -> Int64s:
    """Return the weight of each term of a document, whose occurrences begin at
    `starts`; at most 255.
    """
    if not len(starts):
        return starts
    is_title = occurrences & 1
    each = 1 + (TITLE_WEIGHT - 1) * is_title
    weights = np.add.reduceat(each, starts)
    return np.minimum(weights, 255)


def _lengths(counts: Int64s) -> Int64s:
    """Return the length of each document in words, from the lengths of its fields."""
    by_field = counts.reshape(-1, _FIELDS)
    lengths: Int64s = by_field @ (TITLE_WEIGHT, 1, 1)
    return np.minimum(lengths, 0xFFFF)


def _occurrences(
    words: TextWords, counts: Int64s, rank_of: Int64s, term_count: int
) -> Int64s:
    """Return one number per word, ascending: document, term, and whether it is in the
    title. One sort groups a document's equal terms.

    Args:
        words: `_FIELDS` texts of each document.
        counts: How many words of each text count.
        rank_of: The number of the term of each distinct word.
        term_count: The number of terms.
    """
    fields = np.repeat(np.arange(len(counts)), counts)
    documents = fields // _FIELDS
    is_title = fields % _FIELDS == 0
    is_kept = _word_indexes(words.counts) < MAX_TEXT_WORDS
    ranks = rank_of[words.codes[is_kept]]
    occurrences: Int64s = ((documents * term_count + ranks) << 1) + is_title
    occurrences.sort()
    return occurrences


def _word_indexes(counts: Int64s) -> Int64s:
    """Return the index of each word within its field."""
    firsts = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - np.repeat(firsts, counts)


@lru_cache(KEPT_WORDS)
def term_of(word: str, language: str | None) -> int:
    """Return the number of a lower-cased word's stem, the same in every process."""
    return key_of(stem(word, language))


@lru_cache(KEPT_WORDS)
def field_term(field: str, value: str) -> int:
    """Return the number of a value of a field: of a stem of the title, or of what
    `field_values` has. It is not the number of a word, which has no space.
    """
    return key_of(f"{field} {value}")


def key_of(text: str) -> int:
    """Return a 63-bit number for a string, the same in every process; never 0, which
    means none.
    """
    data = text.encode("utf-8", "replace")
    digest = blake2b(data, digest_size=8).digest()
    number = int.from_bytes(digest, "little")
    return (number >> 1) or 1


def query_terms(word: str, languages: Iterable[str]) -> tuple[int, ...]:
    """Return the terms that a word of a query may have: one per language of the index,
    and the folded word.
    """
    terms = [term_of(word, language) for language in languages]
    terms.append(term_of(word, None))
    return tuple(dict.fromkeys(terms))


# --- corrections ----------------------------------------------------------------------


def correctable_forms(word: str, language: str | None) -> tuple[str, ...]:
    """Return what a typo may be corrected to for this word, and what a beginning may
    find: the folded word and its stem. A word with digits is one edit from no word.
    """
    if not 3 <= len(word) <= MAX_TYPO_CHARS:
        return ()
    if not word[0].isalpha():
        return ()
    return fold(word), stem(word, language)


def one_edit_away(word: str) -> set[str]:
    """Return every spelling one insertion, deletion, change or swap away from a folded
    word; none for a short word.
    """
    if not MIN_TYPO_CHARS <= len(word) <= MAX_TYPO_CHARS:
        return set()
    if not word.isalpha():
        return set()
    letters = _letters_of(word[0])
    found: set[str] = set()
    for i in range(len(word) + 1):
        left = word[:i]
        right = word[i:]
        found.update(left + letter + right for letter in letters)  # insertions
        if right:
            found.add(left + right[1:])  # a deletion
            found.update(left + letter + right[1:] for letter in letters)  # changes
        if len(right) > 1:
            found.add(left + right[1] + right[0] + right[2:])  # a swap
    found.discard(word)
    return found


def _letters_of(letter: str) -> str:
    """Return the alphabet of a letter."""
    for letters, first, last in _ALPHABETS:
        if first <= letter <= last:
            return letters
    return ""


def corrections(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return the words of the index that are one edit away from this folded word, in
    alphabetical order.
    """
    edits = one_edit_away(word)
    if not edits:
        return []
    rows = connection.execute(
        "SELECT word FROM words WHERE word IN (SELECT value FROM json_each(?)) ORDER BY word",
        (json.dumps(list(edits)),),
    )
    return [known for (known,) in rows]
