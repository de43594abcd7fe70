"""Documents as the server stores them: what of each, with which stems, and what is refused before it is sent.

`SearchDocument`s enter; what is stored and reasons leave. How that is written stands in `lines.py`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date
from functools import cache, lru_cache
from typing import Any

import numpy as np

from news_assets.clients.search.embedded.terms import MAX_TEXT_WORDS, MAX_WORD_CHARS
from news_assets.ports import SearchDocument
from news_assets.text.words import shared_stem, words_of_texts

_KEPT_STEMS = 300_000
_MAX_VECTOR_VALUE = 3.4e38  # the server takes 1e39 and stores infinity
_NAMES = tuple(
    field.name for field in fields(SearchDocument) if field.name not in ("article_id", "vector", "trace_id", "day")
)


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
    if 0.0 < math.hypot(*document.vector) <= _MAX_VECTOR_VALUE:  # as nearly all are, and seen at a sixth of the cost
        return None
    highest = max(max(document.vector, default=0.0), -min(document.vector, default=0.0))
    is_finite = math.isfinite(sum(document.vector))  # one that is not makes the sum so
    if not document.vector or not is_finite or highest > _MAX_VECTOR_VALUE:
        return "the vector is empty or holds a value that is not finite"
    return None if highest else "the vector is all zeros"


def stored_form(document: SearchDocument, languages: tuple[str, ...], story: str) -> dict[str, Any]:
    """Return what is stored of a document, without its vector; what is empty is left out."""
    (form,) = stored_forms([document], languages, {document.article_id: story})
    return form


def stored_forms(
    documents: Sequence[SearchDocument], languages: tuple[str, ...], stories: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what is stored of each document, with its story by its id."""
    stems = stems_of_texts([text for one in documents for text in (one.title, _said(one))], languages)
    return [
        _stored_form(one, stories[one.article_id], title_stems, said_stems)
        for one, title_stems, said_stems in zip(documents, stems[::2], stems[1::2], strict=True)
    ]


def _stored_form(document: SearchDocument, story: str, title_stems: str, stems: str) -> dict[str, Any]:
    given = {name: value for name in _NAMES if (value := getattr(document, name))}
    own = {
        "id": document.article_id,
        "day": day_number(document.day),
        "month": f"{document.day:%Y-%m}",
        "story": story,
        "desk_key": exact_key(document.desk),
        "agency_key": exact_key(document.agency),
        "languages": list(language_levels(document.language)),
        "title_stems": title_stems,
        "stems": stems,
    }
    required = {"title": "", "text": "", "published_ts": 0}
    return required | given | {name: value for name, value in own.items() if value}


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


def stems_of_texts(texts: Sequence[str], languages: tuple[str, ...]) -> list[str]:
    """Return each text's words as stems, parted by spaces."""
    found = words_of_texts(texts)
    stem_of = np.array([*map(_stem_of(languages).__getitem__, found.distinct), ""], object)
    ends = np.cumsum(found.counts)
    starts = ends - found.counts
    ends = np.minimum(ends, starts + MAX_TEXT_WORDS)
    cuts = zip(starts.tolist(), ends.tolist(), strict=True)
    return [" ".join(stem_of[found.codes[start:end]].tolist()) for start, end in cuts]


@lru_cache(maxsize=1_000)
def language_levels(language: str | None) -> tuple[str, ...]:
    """Return a language and all that it is a kind of, in lower case: `pt-BR` gives `pt` and `pt-br`."""
    parts = (language or "").lower().split("-")
    return tuple("-".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0])


@lru_cache(maxsize=10_000)
def exact_key(key: str) -> str:
    """Return a key as it is filtered by: one word, which no other key's is."""
    return key.encode("utf-8", "replace").hex()


def day_number(day: date) -> int:
    """Return a day as it is stored and filtered by: 20260131."""
    return day.year * 10_000 + day.month * 100 + day.day


def day_of(number: int) -> date:
    """Return the day that a stored number stands for."""
    return date(number // 10_000, number // 100 % 100, number % 100)


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
