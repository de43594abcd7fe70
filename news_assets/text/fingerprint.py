"""Fingerprints of articles: the words by which texts are compared, hashes of a text,
and article ids.
"""

import hashlib
import html
import re
from datetime import date

from news_assets.text.words import fold, words

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
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()


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
