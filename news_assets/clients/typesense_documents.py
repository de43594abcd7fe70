"""Documents as the server's lines of JSON: what is stored of each, what is refused before it is sent.

`SearchDocument`s enter; lines and reasons leave. Which lines are sent, and how, stands in `typesense_writing.py`.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from news_assets.clients.search_terms import MAX_TEXT_WORDS, MAX_WORD_CHARS
from news_assets.ports import SearchDocument
from news_assets.text.words import shared_stem, words

_VECTOR_DIGITS = 6  # of a unit vector: cosines differ in the sixth digit, lines are half as long
_KEPT_STEMS = 300_000
_MAX_VECTOR_VALUE = 3.4e38  # the server takes 1e39 and stores infinity
_NAMES = tuple(
    field.name for field in fields(SearchDocument) if field.name not in ("article_id", "vector", "trace_id", "day")
)
_ERASABLE = (
    "summary", "section", "tags", "keywords", "language", "theme_code", "theme_path", "theme_labels", "image_url",
    "text_hash", "duplicate_of", "languages", "title_stems", "stems",
)  # fmt: skip


def reason_refused(document: SearchDocument, dim: int | None) -> str | None:
    """Return why a document cannot be stored; None where it can.

    The server itself takes vectors of zeros and values beyond float32, and makes up an id where there is none.
    """
    if not document.article_id.strip():
        return "the article_id is empty"
    if "`" in document.article_id or "\n" in document.article_id:
        return "the article_id holds a backtick or a line break, by which it could not be asked for"
    if document.vector is None:
        return None
    if dim is not None and len(document.vector) != dim:
        return f"the vector has {len(document.vector)} dimensions, the index has {dim}"
    values = np.asarray(document.vector, np.float64)
    if not len(values) or not np.isfinite(values).all() or np.abs(values).max() > _MAX_VECTOR_VALUE:
        return "the vector is empty or holds a value that is not finite"
    return None if values.any() else "the vector is all zeros"


def stored_form(document: SearchDocument, languages: tuple[str, ...], story: str) -> dict[str, Any]:
    """Return what is stored of a document, without its vector; what is empty is left out."""
    given = {name: getattr(document, name) for name in _NAMES}
    own = {
        "id": document.article_id,
        "day": day_number(document.day),
        "month": f"{document.day:%Y-%m}",
        "story": story,
        "desk_key": exact_key(document.desk),
        "agency_key": exact_key(document.agency),
        "languages": language_levels(document.language),
        "title_stems": stems_of(document.title, languages),
        "stems": stems_of(_said(document), languages),
    }
    required = {"title": clean(document.title), "text": clean(document.text), "published_ts": document.published_ts}
    return {name: _cleaned(value) for name, value in (given | own).items() if value} | required


def _cleaned(value: Any) -> Any:
    if isinstance(value, tuple):
        return [clean(part) for part in value]
    return clean(value) if isinstance(value, str) else value


def clean(text: str) -> str:
    """Return a text as it can be sent: composed (a decomposed one finds only its like), halves of pairs as `?`."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def _said(document: SearchDocument) -> str:
    said = (document.summary or "", document.section or "", *document.tags, *document.keywords)
    return "\n".join((document.text, *said))


class _StemOf(dict[str, str]):
    """The stem of each word that was met. A plain dictionary: asking a cached function takes twenty times as long."""

    def __init__(self, languages: tuple[str, ...]) -> None:
        super().__init__()
        self._languages = languages

    def __missing__(self, word: str) -> str:
        if len(self) >= _KEPT_STEMS:
            self.clear()
        self[word] = stem = shared_stem(word[:MAX_WORD_CHARS], self._languages)
        return stem


@cache
def _stem_of(languages: tuple[str, ...]) -> _StemOf:
    return _StemOf(languages)


def stems_of(text: str, languages: tuple[str, ...]) -> str:
    """Return a text's words as stems, parted by spaces."""
    return " ".join(map(_stem_of(languages).__getitem__, words(text)[:MAX_TEXT_WORDS]))


def language_levels(language: str | None) -> tuple[str, ...]:
    """Return a language and all that it is a kind of, in lower case: `pt-BR` gives `pt` and `pt-br`."""
    parts = (language or "").lower().split("-")
    return tuple("-".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0])


def exact_key(key: str) -> str:
    """Return a key as it is filtered by: one word, which no other key's is."""
    return key.encode("utf-8", "replace").hex()


def day_number(day: date) -> int:
    """Return a day as it is stored and filtered by: 20260131."""
    return day.year * 10_000 + day.month * 100 + day.day


def day_of(number: int) -> date:
    """Return the day that a stored number stands for."""
    return date(number // 10_000, number // 100 % 100, number % 100)


# --- vectors ---------------------------------------------------------------------------------------------------------


def unit_values(vector: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return a vector at length 1, as it is sent."""
    values = np.asarray(vector, np.float64)
    values = values / np.abs(values).max()  # so that squares neither vanish nor overflow
    unit: npt.NDArray[np.float64] = np.round(values / np.sqrt(values @ values), _VECTOR_DIGITS)
    return unit


def vector_hash(values: npt.NDArray[np.float64] | None) -> str:
    """Return a short hash of a vector that tells whether it changed; empty without one."""
    return "" if values is None else sha256(values.astype("<f4").tobytes()).hexdigest()[:16]


# --- lines -----------------------------------------------------------------------------------------------------------


def whole_line(stored: Mapping[str, Any], values: npt.NDArray[np.float64] | None) -> str:
    """Return the line that makes a document anew."""
    if values is None:
        return json.dumps(stored, ensure_ascii=False)
    vector = {"vector_hash": vector_hash(values), "vector": values.tolist()}
    return json.dumps({**stored, **vector}, ensure_ascii=False)


def partial_line(stored: Mapping[str, Any]) -> str:
    """Return the line that changes everything but the vector; what is empty now is erased by name."""
    return json.dumps({**dict.fromkeys(_ERASABLE), **stored}, ensure_ascii=False)


def story_line(article_id: str, story: str) -> str:
    """Return the line that puts a stored document to another story."""
    return json.dumps({"id": article_id, "story": story}, ensure_ascii=False)


# --- stories ---------------------------------------------------------------------------------------------------------


def own_story(article_id: str, text_hash: str | None) -> str:
    """Return what an original and all its duplicates share."""
    return text_hash or article_id


def stories_of(documents: Sequence[SearchDocument], known: Mapping[str, str]) -> dict[str, str]:
    """Return each document's story: its original's, whether that comes along or is known already.

    Duplicates whose original is not here share its id, until it comes.

    Args:
        documents: In any order; the original may follow its duplicates.
        known: Stories of documents that are stored, by id.
    """
    stories = {
        one.article_id: own_story(one.article_id, one.text_hash) for one in documents if one.duplicate_of is None
    }
    copies = {one.article_id: one.duplicate_of for one in documents if one.duplicate_of is not None}
    for article_id in copies:
        original, seen = copies[article_id], {article_id}
        while original in copies and original not in seen:  # a copy of a copy
            seen.add(original)
            original = copies[original]
        stories[article_id] = stories.get(original) or known.get(original) or original
    return stories
