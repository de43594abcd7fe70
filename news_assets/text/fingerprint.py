"""Fingerprints of articles: what makes two texts the same, nearly the same, or one article under two headlines.

Text, titles and hashes enter; hashes, signatures, similarities and article ids leave. Which of two equal articles is
the original is decided in `pipeline/articles/dedupe.py`; what makes two addresses the same, in `text/urls.py`.
"""

import hashlib
import html
import re
from datetime import date

import numpy as np
from rensa import RMinHash  # type: ignore[import-untyped]

from news_assets.text.words import fold, words

SHINGLE_WORDS = 4
_PERMUTATIONS = 64  # 256 bytes an article; the estimate's standard error at a similarity of .5 is .06
_SEED = 1
_SIGNATURE_DTYPE = np.dtype("<u4")
_MAX_SLUG_CHARS = 80
_URL_HASH_CHARS = 10
_ESCAPE = re.compile(r"&(?:#\d+|#x[0-9a-f]+|[a-z]+\d*);", re.IGNORECASE)
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*\)")
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_NO_SLUG = re.compile(r"[^a-z0-9]+")


def normal_words(text: str) -> list[str]:
    """Return the words by which texts are compared: without case, accents, punctuation, Markdown marks and escapes.

    Accents are folded because re-published copies lose them, and no two articles differ by accents alone.
    """
    for _ in range(2):  # feeds escape their text twice now and then
        if "&" not in text or not _ESCAPE.search(text):
            break
        text = html.unescape(text)
    if "](" in text:
        text = _LINK_TARGET.sub("", _IMAGE.sub(" ", text))
    return words(fold(text.casefold()).replace("_", " "))


def text_hash(text: str) -> str | None:
    """Return the SHA-256 of the normalised text, in hex; None for a text without words."""
    normal = " ".join(normal_words(text))
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest() if normal else None


def shingles(text: str) -> frozenset[str]:
    """Return the distinct runs of four words; a shorter text is one shingle, a text without words none."""
    return shingles_of(normal_words(text))


def shingles_of(found: list[str]) -> frozenset[str]:
    """Return the distinct runs of four of these words."""
    count = max(len(found) - SHINGLE_WORDS + 1, 1)
    return frozenset(" ".join(found[start : start + SHINGLE_WORDS]) for start in range(count)) - {""}


def minhash(text: str) -> bytes | None:
    """Return the MinHash signature of the text's shingles, 64 little-endian 32-bit numbers; None without words."""
    found = shingles(text)
    if not found:
        return None
    signature = RMinHash(num_perm=_PERMUTATIONS, seed=_SEED)
    signature.update(list(found))
    return np.array(signature.digest(), dtype=_SIGNATURE_DTYPE).tobytes()


def minhash_similarity(signature: bytes, other: bytes) -> float:
    """Return the estimated Jaccard similarity of two signatures, 0 to 1. Raises ValueError where sizes differ."""
    if len(signature) != len(other):
        raise ValueError(f"signatures of {len(signature)} and {len(other)} bytes cannot be compared")
    return float(np.mean(np.frombuffer(signature, _SIGNATURE_DTYPE) == np.frombuffer(other, _SIGNATURE_DTYPE)))


def jaccard(text: str, other: str) -> float:
    """Return the exact Jaccard similarity of the shingles of two texts, 0 to 1; 0 where neither has words."""
    found, other_found = shingles(text), shingles(other)
    union = len(found | other_found)
    return len(found & other_found) / union if union else 0.0


def article_id(agency: str, day: date, title: str | None, url_hash: str) -> str:
    """Return a readable id: `mec-2026-02-27-ministerio-anuncia-vagas-1a2b3c4d5e`."""
    return f"{agency}-{day.isoformat()}-{_slug_of(title or '')}-{url_hash[:_URL_HASH_CHARS]}"


def _slug_of(title: str) -> str:
    """Make an ASCII slug, cut between words; `untitled` where the title has no letter or digit that ASCII knows."""
    slug = _NO_SLUG.sub("-", fold(title).lower()).strip("-")
    if len(slug) > _MAX_SLUG_CHARS:
        cut = slug[: _MAX_SLUG_CHARS + 1].rpartition("-")[0]
        slug = cut or slug[:_MAX_SLUG_CHARS]
    return slug or "untitled"
