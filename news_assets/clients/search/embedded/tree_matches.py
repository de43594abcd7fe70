"""Searches with operators: which documents match a tree.

Words, fields and days are decided by the postings and the table. Phrases, beginnings of
words and NEAR are decided by the texts of the best `TEXT_CANDIDATES` documents that may
match, as their words are in the postings without places.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from news_assets.clients.search.embedded.document_table import Bools, DocumentTable
from news_assets.clients.search.embedded.postings import Postings, PostingsReader
from news_assets.clients.search.embedded.terms import Int64s, field_term, term_of
from news_assets.errors import QueryError
from news_assets.text.query_parser import WIDE_PREFIX
from news_assets.text.search_query import (
    And,
    Days,
    FieldValue,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Prefix,
    Searchable,
    Word,
    has_text,
    holds,
)
from news_assets.text.words import stem

# documents whose texts are read; a thousand of 2 kB take 0.1 s
TEXT_CANDIDATES = 1_000
_MAX_BEGINNINGS = 500  # words with one beginning

_TermOf = Callable[[str], int]


@dataclass(slots=True)
class TreeMatcher:
    """Matches trees on the index as it was at the last refresh."""

    connection: sqlite3.Connection
    table: DocumentTable
    postings: PostingsReader
    today: date
    _decided: dict[Node, Bools] = field(default_factory=dict)

    def possible(self, node: Node) -> Bools:
        """Return a mask, by document number, that every match passes.

        Raises:
            QueryError: Too many words have a beginning.
        """
        return self._mask(node, is_possible=True)

    def certain(self, node: Node) -> Bools:
        """Return a mask that only matches pass."""
        return self._mask(node, is_possible=False)

    def confirmed(self, node: Node, ns: Int64s) -> Int64s:
        """Return the documents, of these, whose texts match."""
        kept = []
        for n in ns.tolist():
            if self._is_match(node, n):
                kept.append(n)
        return np.array(kept, np.int64)

    def terms_of_prefix(self, prefix: Prefix) -> frozenset[int]:
        """Return the terms of the words of the index that have a beginning."""
        find = "SELECT word FROM words WHERE word >= ? AND word < ? LIMIT ?"
        bounds = (prefix.start, f"{prefix.start}\U0010ffff", _MAX_BEGINNINGS + 1)
        rows = self.connection.execute(find, bounds).fetchall()
        if len(rows) > _MAX_BEGINNINGS:
            raise QueryError(
                WIDE_PREFIX, prefix.column, count=_MAX_BEGINNINGS, start=prefix.start
            )
        terms: set[int] = set()
        for (word,) in rows:
            terms.update(term_of(word, one) for one in self.table.languages())
            terms.add(term_of(word, None))
        return frozenset(terms)

    def _mask(self, node: Node, *, is_possible: bool) -> Bools:
        match node:
            case And(parts):
                found = self._everything()
                for part in parts:
                    found &= self._mask(part, is_possible=is_possible)
                return found
            case Or(parts):
                found = self._nothing()
                for part in parts:
                    found |= self._mask(part, is_possible=is_possible)
                return found
            case Not(part):
                return ~self._mask(part, is_possible=not is_possible)
            case Word() | FieldValue() | Days():
                return self._exact(node)
        if is_possible:
            return self._possible_text(node)
        return self._nothing()

    def _everything(self) -> Bools:
        return np.ones(self.table.size, np.bool_)

    def _nothing(self) -> Bools:
        return np.zeros(self.table.size, np.bool_)

    def _possible_text(self, node: Node) -> Bools:
        """Return the documents with the words of a phrase, of NEAR, or with a beginning."""
        match node:
            case Phrase(words, in_title):
                parts = tuple(Word(word, in_title) for word in words)
                return self._mask(And(parts), is_possible=True)
            case Near(left, right):
                return self._mask(And((left, right)), is_possible=True)
            case Prefix():
                return self._with_any(self.terms_of_prefix(node))
        return self._everything()

    def _exact(self, node: Node) -> Bools:
        if node not in self._decided:
            self._decided[node] = self._decide(node)
        return self._decided[node]

    def _decide(self, node: Node) -> Bools:
        match node:
            case Word(text, in_title):
                return self._with_word(text, in_title=in_title)
            case Days(last=last):
                return self.table.of_days(node.first_day(self.today), last)
            case FieldValue(field, value, words):
                found = self._everything()
                for word in words:
                    found &= self._with_any([field_term(field, word)])
                whole = self._with_any([field_term(field, value)])
                return found | whole if words else whole
        return self._nothing()

    def _with_word(self, word: str, *, in_title: bool) -> Bools:
        """Return the documents with a word as stemmed in their own language."""
        languages: dict[int, list[str]] = {}
        for language in (*self.table.languages(), ""):
            stemmed = stem(word, language)
            term = field_term("title", stemmed) if in_title else term_of(word, language)
            languages.setdefault(term, []).append(language)
        found = self._nothing()
        for term, of_term in languages.items():
            passing = self._with_any([term])
            if len(languages) > 1:
                passing &= self.table.in_languages(of_term)
            found |= passing
        return found

    def _with_any(self, terms: "frozenset[int] | list[int]") -> Bools:
        found = self._nothing()
        for term in terms:
            found |= self._postings(term).column(self.table.size) > 0
        return found

    def _postings(self, term: int) -> Postings:
        return self.postings.term(term)

    def _is_match(self, node: Node, n: int) -> bool:
        document: Searchable | None = None

        def decide(part: Node) -> bool:
            nonlocal document
            if isinstance(part, Word | FieldValue | Days):
                return bool(self._exact(part)[n])
            if document is None:
                document = self._read(n)
            return has_text(part, document)

        return holds(node, decide)

    def _read(self, n: int) -> Searchable:
        find = "SELECT title, text, summary, labels, language FROM texts WHERE n = ?"
        row = self.connection.execute(find, (n,)).fetchone()
        title, text, summary, labels, language = row
        day = date.fromordinal(int(self.table.columns["day"][n]))
        rest = f"{summary or ''}\n{labels}"
        return Searchable(language, day, title, text, rest)
