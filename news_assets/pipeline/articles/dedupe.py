"""Which articles are copies of earlier ones: rows or documents in, the original's id out. Pure.

Nothing is deleted: the later one carries `duplicate_of`, and both stay. Two stories taken for one is the worse error,
so a follow-up that shares its background paragraphs with the first report stays an article of its own. In the lake only
exact copies are marked, by address and by text; near-duplicates are for whoever asks (`dedupe_stream`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash, RMinHashLSH  # type: ignore[import-untyped]

from news_assets.pipeline.page.links import is_home
from news_assets.records import RawArticle
from news_assets.text.fingerprint import normal_words, shingles, text_hash
from news_assets.text.urls import canonical_url

MIN_TEXT_CHARS = 100  # a shorter text ("Leia mais", "Em atualização") is the same everywhere without being a copy
_MIN_NEAR_WORDS = 25

# Tuned on 236 labelled pairs of real news and 813 altered copies: follow-ups differ in the lead and share what comes
# below it, copies share the lead. Precision 1.00, recall .86 on the pairs; Jaccard alone has .87 and .87 at .56.
LEAD_WORDS = 60
_MIN_LEAD = 0.6  # share of each one's lead that stands in the other
_MIN_JACCARD = 0.55
_MIN_CONTAINMENT, _MIN_CONTAINED_LEAD = 0.9, 0.7  # a copy cut after its lead
_PERMUTATIONS, _BANDS = 64, 32  # two rows a band: finds leads that share 30 % of their shingles 95 times in 100


# --- rows of the lake ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownArticle:
    """What is remembered of a stored article."""

    article_id: str
    url_hash: str
    text_hash: str | None
    duplicate_of: str | None = None


def mark_duplicates(rows: Sequence[RawArticle], originals: Sequence[KnownArticle]) -> list[RawArticle]:
    """Return the rows in their order, with `duplicate_of` set anew: the root original's id, or None.

    Stored articles come before new ones, new ones by time of publication; a row that is stored already keeps its place
    among the stored ones. Rows without a text, and texts too short to tell, are copies of nothing.
    """
    stored = {known.article_id for known in originals}
    in_hand = {row.article_id for row in rows}
    index = _Index()
    roots = {known.article_id: known.duplicate_of for known in originals}
    for known in sorted(originals, key=lambda known: known.duplicate_of is not None):
        if known.article_id not in in_hand:
            index.add(known.url_hash, known.text_hash, _root(known.article_id, roots))
    marks: dict[str, str | None] = {}
    for row in sorted(rows, key=lambda row: (row.article_id not in stored, _age(row), row.article_id)):
        if row.outcome == "ok" and row.article_id not in marks:
            marks[row.article_id] = index.place(row)
    return [replace(row, duplicate_of=marks.get(row.article_id)) for row in rows]


class _Index:
    """The first article of each address and each text."""

    def __init__(self) -> None:
        self._by_url: dict[str, str] = {}
        self._by_text: dict[str, str] = {}

    def add(self, url: str, text: str | None, article_id: str) -> None:
        self._by_url.setdefault(url, article_id)
        if text:
            self._by_text.setdefault(text, article_id)

    def place(self, row: RawArticle) -> str | None:
        """Return the row's original, or None and remember the row as one."""
        digest = row.text_hash if row.text_chars >= MIN_TEXT_CHARS else None
        original = self._by_url.get(row.url_hash) or (self._by_text.get(digest) if digest else None)
        original = None if original == row.article_id else original
        self.add(row.url_hash, digest, original or row.article_id)
        return original


def _root(article_id: str, roots: Mapping[str, str | None]) -> str:
    """Follow `duplicate_of` to its end; a circle ends where it began."""
    seen = {article_id}
    while (original := roots.get(article_id)) and original not in seen:
        seen.add(original)
        article_id = original
    return article_id


def _age(row: RawArticle) -> datetime:
    return row.published_at or row.first_seen_at


# --- near-duplicates of any documents --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Seen:
    """One document as it is compared: shingles of the text and of its lead as sorted 32-bit hashes."""

    root: str
    text: NDArray[np.int32]
    lead: NDArray[np.int32]


def dedupe_stream(documents: Iterable[Mapping[str, str | None]]) -> Iterator[tuple[str, str | None, str | None, float]]:
    """Yield (id, duplicate_of, reason, score) per document, in order; the first of several copies is the original.

    A document has `id`, and may have `url`, `title`, `text`. Reasons: `same address`, `same text`, `nearly the same
    text`; the score is the share of shingles in common (Jaccard), of the shorter one's where one is cut.
    """
    near = _NearIndex()
    by_url: dict[str, str] = {}
    by_text: dict[str, str] = {}
    for document in documents:
        key, text = document["id"] or "", document.get("text") or ""
        url = canonical_url(document.get("url") or "")
        digest = text_hash(text) if len(text) >= MIN_TEXT_CHARS else None
        seen = _seen(key, text)
        if url and not is_home(url) and url in by_url:
            found: tuple[str | None, str | None, float] = (by_url[url], "same address", 1.0)
        elif digest and digest in by_text:
            found = (by_text[digest], "same text", 1.0)
        else:
            found = near.find(seen) if seen else (None, None, 0.0)
        root = found[0] or key
        by_url.setdefault(url, root)
        if digest:
            by_text.setdefault(digest, root)
        if seen:
            near.add(replace(seen, root=root))
        yield key, *found


class _NearIndex:
    """Documents by the MinHash of their leads; what comes near is compared exactly."""

    def __init__(self) -> None:
        self._lsh = RMinHashLSH(threshold=0.3, num_perm=_PERMUTATIONS, num_bands=_BANDS)
        self._seen: list[_Seen] = []

    def add(self, seen: _Seen) -> None:
        self._lsh.insert(len(self._seen), _signature(seen))
        self._seen.append(seen)

    def find(self, seen: _Seen) -> tuple[str | None, str | None, float]:
        best: tuple[str | None, str | None, float] = (None, None, 0.0)
        for position in sorted(self._lsh.query(_signature(seen))):
            other = self._seen[position]
            score = _near_score(seen, other)
            if score > best[2]:
                best = (other.root, "nearly the same text", round(score, 4))
        return best


def _signature(seen: _Seen) -> RMinHash:
    signature = RMinHash(num_perm=_PERMUTATIONS, seed=1)
    signature.update(list(map(str, seen.lead.tolist())))
    return signature


def _near_score(one: _Seen, other: _Seen) -> float:
    """Return how much two documents share if they are copies, else 0."""
    lead = min(_share(one.lead, other.text), _share(other.lead, one.text))
    if lead < _MIN_LEAD:
        return 0.0
    common = np.intersect1d(one.text, other.text, assume_unique=True).size
    jaccard = common / (one.text.size + other.text.size - common)
    contained = common / min(one.text.size, other.text.size)
    if jaccard >= _MIN_JACCARD:
        return float(jaccard)
    return float(contained) if contained >= _MIN_CONTAINMENT and lead >= _MIN_CONTAINED_LEAD else 0.0


def _share(part: NDArray[np.int32], whole: NDArray[np.int32]) -> float:
    return np.intersect1d(part, whole, assume_unique=True).size / part.size


def _seen(key: str, text: str) -> _Seen | None:
    found = normal_words(text)
    if len(found) < _MIN_NEAR_WORDS:
        return None
    return _Seen(key, _hashes(shingles(found)), _hashes(shingles(found[:LEAD_WORDS])))


def _hashes(found: frozenset[str]) -> NDArray[np.int32]:
    hashes = np.fromiter(map(hash, found), dtype=np.int64, count=len(found))
    return np.unique(hashes.astype(np.int32))
