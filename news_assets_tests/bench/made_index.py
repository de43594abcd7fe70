"""A search file of made documents, whose rows are written directly: a million in some
minutes.

Texts are of `TEXTS` templates with words by Zipf's law, so that each part of the postings
is that of the first; ids, days, entities and vectors are each document's own.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from news_assets.clients.search.embedded.document_table import CODE, PATH_SEPARATOR
from news_assets.clients.search.embedded.postings import POSTING
from news_assets.clients.search.embedded.search_file import FACTS, connect, writing
from news_assets.clients.search.embedded.terms import (
    correctable_forms,
    key_of,
    term_of,
)

DIM = 384
FIRST_DAY = date(2024, 1, 1)
TEXTS = 32_000  # a part has as many
_WORDS_OF_TEXT = 280
_TITLE_CHARS = 70
_AGENCIES = 160
_DAYS = 600
_NAMES = 20_000
_ENTITIES = 3  # of a document
_LANGUAGES = ("pt-BR", "en")


@dataclass(frozen=True)
class Templates:
    """Titles, texts, and the packed postings by term of one part."""

    titles: list[str]
    texts: list[str]
    postings: list[tuple[int, bytes]]
    lengths: np.ndarray


def make_index(path: Path, count: int, words: list[str]) -> None:
    """Write a new search file with `count` documents, of which every fifth is English
    by name; words are those of the texts, the most common first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    templates = _templates(words)
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        with writing(connection):
            _insert_values(connection, words)
        for first in range(0, count, TEXTS):
            ns = np.arange(first, min(first + TEXTS, count)) + 1
            with writing(connection):
                _insert_documents(connection, ns, templates)
                _insert_part(connection, ns, templates)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _templates(words: list[str]) -> Templates:
    rng = np.random.default_rng(20240101)
    weights = 1 / (np.arange(len(words)) + 2.7)
    limits = np.cumsum(weights / weights.sum())
    drawn = np.searchsorted(limits[:-1], rng.random((TEXTS, _WORDS_OF_TEXT)))
    texts = [" ".join(words[one] for one in row) for row in drawn.tolist()]
    terms = np.array([term_of(word, "pt-BR") for word in words])
    return Templates(
        titles=[text[:_TITLE_CHARS] for text in texts],
        texts=[text[_TITLE_CHARS:] for text in texts],
        postings=_packed_postings(terms[drawn]),
        lengths=np.full(TEXTS, _WORDS_OF_TEXT),
    )


def _packed_postings(terms: np.ndarray) -> list[tuple[int, bytes]]:
    """Return the postings by term of documents with these terms, one row each."""
    distinct, ranks = np.unique(terms, return_inverse=True)
    offsets = np.repeat(np.arange(len(terms)), terms.shape[1])
    pairs = ranks.reshape(-1) * len(terms) + offsets
    found, counts = np.unique(pairs, return_counts=True)
    packed = np.empty(len(found), POSTING)
    packed["offset"] = found % len(terms)
    packed["weight"] = np.minimum(counts, 255)
    ends = np.searchsorted(found, (np.arange(len(distinct)) + 1) * len(terms))
    starts = np.concatenate([[0], ends[:-1]])
    rows = []
    for term, start, end in zip(distinct.tolist(), starts, ends, strict=True):
        rows.append((term, packed[start:end].tobytes()))
    return rows


def _insert_values(connection: sqlite3.Connection, words: list[str]) -> None:
    """Store the words, codes and names that documents have."""
    forms = set[tuple[str]]()
    for word in words:
        forms.update((form,) for form in correctable_forms(word, "pt-BR"))
    connection.executemany("INSERT OR IGNORE INTO words VALUES (?)", sorted(forms))
    connection.executemany("INSERT INTO codes VALUES (?, ?, ?)", _codes())
    names = [(n + 1, "entity", f"Name {n}") for n in range(_NAMES)]
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", names)
    connection.execute("INSERT INTO state VALUES ('dim', ?)", (DIM,))


_DESKS = ("govbr", "world")
_FIRST_AGENCY = 1 + len(_DESKS)
_FIRST_LANGUAGE = _FIRST_AGENCY + _AGENCIES
_FIRST_THEME = _FIRST_LANGUAGE + len(_LANGUAGES)
_THEMES = 100


def _codes() -> Iterator[tuple[int, str, str]]:
    values = [("desk", desk) for desk in _DESKS]
    values += [("agency", f"agency-{n}") for n in range(_AGENCIES)]
    values += [("language", language) for language in _LANGUAGES]
    for n in range(_THEMES):
        path = (f"{n // 4:02d}", f"{n // 4:02d}.{n % 4:02d}")
        values.append(("theme", PATH_SEPARATOR.join(path)))
    for code, (kind, value) in enumerate(values, 1):
        yield code, kind, value


def _insert_documents(
    connection: sqlite3.Connection, ns: np.ndarray, templates: Templates
) -> None:
    facts = _facts(ns, templates)
    rng = np.random.default_rng(int(ns[0]))
    entities = rng.integers(1, _NAMES + 1, (len(ns), _ENTITIES)).astype(CODE)
    vectors = rng.standard_normal((len(ns), DIM), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    documents, texts, packed = [], [], []
    for place, n in enumerate(ns.tolist()):
        agency = f"agency-{n % _AGENCIES}"
        day = FIRST_DAY + timedelta(days=n % _DAYS)
        documents.append(
            (
                n,
                _article_id(n),
                _DESKS[n % 2],
                agency,
                day.isoformat(),
                f"{n:064x}",
                facts[place].tobytes(),
                entities[place].tobytes(),
            )
        )
        title, text = templates.titles[place], templates.texts[place]
        language = _LANGUAGES[n % 5 == 0]
        url = f"https://example.org/{n}"
        texts.append((n, url, title, None, language, None, "", text))
        packed.append((n, vectors[place].astype("<f2").tobytes()))
    _insert(connection, "documents", documents)
    _insert(connection, "texts", texts)
    _insert(connection, "vectors", packed)


def _article_id(n: int) -> str:
    return f"agency-{n % _AGENCIES}-{n}"


def _insert(
    connection: sqlite3.Connection, table: str, rows: list[tuple[object, ...]]
) -> None:
    places = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def _facts(ns: np.ndarray, templates: Templates) -> np.ndarray:
    facts = np.zeros(len(ns), FACTS)
    facts["n"] = ns
    facts["day"] = FIRST_DAY.toordinal() + ns % _DAYS
    facts["published"] = 1_700_000_000 + ns
    facts["id_key"] = [key_of(f"id {_article_id(n)}") for n in ns.tolist()]
    facts["text_key"] = [key_of(f"text {n}") for n in ns.tolist()]
    facts["desk"] = 1 + ns % 2
    facts["agency"] = _FIRST_AGENCY + ns % _AGENCIES
    facts["language"] = _FIRST_LANGUAGE + (ns % 5 == 0)
    facts["theme"] = _FIRST_THEME + ns % _THEMES
    facts["length"] = templates.lengths[: len(ns)]
    return facts


def _insert_part(
    connection: sqlite3.Connection, ns: np.ndarray, templates: Templates
) -> None:
    made = (int(ns[0]), int(ns[-1]), len(ns))
    insert = "INSERT INTO parts (first_n, last_n, document_count) VALUES (?, ?, ?)"
    part = connection.execute(insert, made).lastrowid
    rows = []
    for term, packed in templates.postings:
        kept = np.frombuffer(packed, POSTING)
        if len(ns) < TEXTS:
            kept = kept[kept["offset"] < len(ns)]
        if len(kept):
            rows.append((part, term, kept.tobytes()))
    _insert(connection, "postings", rows)
