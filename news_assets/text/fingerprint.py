"""How texts and names are compared: the words of a text, hashes of them, and article ids;
how well a name fits what somebody wrote of it.
"""

import hashlib
import html
import re
from collections.abc import Iterable
from datetime import date
from difflib import SequenceMatcher
from typing import Final

from news_assets.text.words import fold, words

_NOT_WORDS = re.compile(r"[\W_]+")
_MAX_ID_CHARS: Final = 100


def sha256(text: str) -> str:
    """Return the SHA-256 of a text, which may hold lone surrogates, in lower hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def name_id(kind: str, name: str) -> str:
    """Return the id of what has a name, such as `person/ana-lima`: the same for each
    spelling with and without accents and capitals.
    """
    shown = "body" if kind == "organisation" else kind
    words = _NOT_WORDS.sub("-", fold(name).lower()).strip("-")
    return f"{shown}/{words[:_MAX_ID_CHARS]}"


_SHINGLE_WORDS = 4
_MAX_SLUG_CHARS = 80
_URL_HASH_CHARS = 10
_ESCAPE = re.compile(r"&(?:#\d+|#x[0-9a-f]+|[a-z]+\d*);", re.IGNORECASE)
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*\)")
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_NO_SLUG = re.compile(r"[^a-z0-9]+")


def normal_words(text: str) -> list[str]:
    """Return the words of a text without case, accents, punctuation, Markdown syntax
    and HTML escapes.

    Accents are folded because re-published copies lose them, and no two articles differ
    by accents alone.
    """
    for _ in range(2):  # some feeds escape their text twice
        if "&" not in text:
            break
        if not _ESCAPE.search(text):
            break
        text = html.unescape(text)
    if "](" in text:
        text = _LINK_TARGET.sub("", _IMAGE.sub(" ", text))
    return words(fold(text.casefold()).replace("_", " "))


def text_hash(text: str) -> str | None:
    """Return the SHA-256 of the normalised text, in hex; None for a text without words."""
    normal = " ".join(normal_words(text))
    if not normal:
        return None
    return sha256(normal)


def shingles(found: list[str]) -> frozenset[str]:
    """Return the distinct runs of four of these words; fewer words are one shingle, no
    words none.
    """
    if not found:
        return frozenset()
    starts = range(max(len(found) - _SHINGLE_WORDS + 1, 1))
    return frozenset(
        " ".join(found[start : start + _SHINGLE_WORDS]) for start in starts
    )


def article_id(agency: str, day: date, title: str | None, url_hash: str) -> str:
    """Return a readable id: `mec-2026-02-27-ministerio-anuncia-vagas-1a2b3c4d5e`."""
    return f"{agency}-{day.isoformat()}-{_slug_of(title or '')}-{url_hash[:_URL_HASH_CHARS]}"


def _slug_of(title: str) -> str:
    """Return an ASCII slug, cut between words; `untitled` for a title without ASCII
    letters or digits.
    """
    slug = _NO_SLUG.sub("-", fold(title).lower()).strip("-")
    if len(slug) > _MAX_SLUG_CHARS:
        cut = slug[: _MAX_SLUG_CHARS + 1].rpartition("-")[0]
        slug = cut or slug[:_MAX_SLUG_CHARS]
    return slug or "untitled"


_WORD: Final = re.compile(r"\w+")
_MAX_WORDS: Final = 12  # of either side, of _MAX_CHARS each
_MAX_CHARS: Final = 40
# share of letters that a misspelt word has in common with the right one
_NEAR: Final = 0.75
_IN_PART: Final = 0.9
_MISSPELT: Final = 0.8


def fitness(wanted: str, names: Iterable[str]) -> float:
    """Return how well the best of these names fits: 1 for the same words, less for a part
    of them, less for misspelt ones, 0 if a word is like none of them.
    """
    wanted_words = _words_of(wanted)
    if not wanted_words:
        return 0.0
    return max(
        (_fitness_of(wanted_words, _words_of(name)) for name in names), default=0.0
    )


def _words_of(text: str) -> list[str]:
    words = _WORD.findall(fold(text.lower()).replace("_", " "))
    return [word[:_MAX_CHARS] for word in words[:_MAX_WORDS]]


def _fitness_of(wanted_words: list[str], name: list[str]) -> float:
    if wanted_words == name:
        return 1.0
    nearness = [_nearness(word, name) for word in wanted_words]
    if min(nearness) < _NEAR:
        return 0.0
    share = len(wanted_words) / max(len(wanted_words), len(name))
    if min(nearness) == 1:
        return _IN_PART + (1 - _IN_PART) * share / 2
    return _MISSPELT * sum(nearness) / len(nearness) + share / 20


def _nearness(word: str, name: list[str]) -> float:
    best = 0.0
    for one in name:
        if one.startswith(word):
            return 1.0
        best = max(best, SequenceMatcher(None, word, one).ratio())
    return best
