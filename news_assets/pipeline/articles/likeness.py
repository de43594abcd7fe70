"""How alike two texts are, by the shingles of each text and of its lead; and the
duplicates in a stream of documents, for the `dedupe` command.

A follow-up report that shares its background paragraphs with the first one is no copy:
what counts is how much of the lead two texts share.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from news_assets.pipeline.page.stated import is_home
from news_assets.text.fingerprint import normal_words, shingles, text_hash
from news_assets.text.urls import canonical_url

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rensa import RMinHash  # type: ignore[import-untyped]

# why one is a copy
SAME_ADDRESS, SAME_TEXT, NEARLY_SAME_TEXT = (
    "same address",
    "same text",
    "nearly the same text",
)
# shorter texts ("Leia mais", "Em atualização") repeat without being copies
MIN_TEXT_CHARS = 100
_MIN_WORDS = 25
_LEAD_WORDS = 60
# Twice a lead. In a longer text a lead with other words is news on the same background:
# a follow-up and no copy.
_SHORT_TEXT_SHINGLES = 2 * _LEAD_WORDS

MINHASH_BYTES = 32
# Leads that share 40 % of their shingles have as many equal bytes 99 times in 100,
# unrelated ones 3 times in 10^9.
MIN_EQUAL_BYTES = 6


@dataclass(frozen=True, slots=True)
class Shingles:
    """Sorted 32-bit hashes of the shingles of a text and of its lead, and of the words
    of the lead.
    """

    text: "NDArray[np.uint32]"
    lead: "NDArray[np.uint32]"
    lead_words: "NDArray[np.uint32]"

    @classmethod
    def of(cls, text: str) -> "Shingles | None":
        """Return the hashed shingles of a text; None for one of too few words."""
        found = normal_words(text)
        if len(found) < _MIN_WORDS:
            return None
        lead = found[:_LEAD_WORDS]
        return cls(
            _hashes(shingles(found)), _hashes(shingles(lead)), _hashes(frozenset(lead))
        )


class Thresholds(NamedTuple):
    """Shares from which on two texts are copies.

    Set on 236 labelled pairs of real news and 813 altered copies (dedupe_real,
    dedupe_synth): follow-ups differ in the lead and share what comes below it, copies
    share the lead. `news_assets_tests/quality/dedupe.py` scores both with values set on
    others.
    """

    lead: float = 0.6
    jaccard: float = 0.55
    contained: float = 0.9
    contained_lead: float = 0.7
    """Of a copy that was cut off after its lead."""

    reworded: float = 0.4
    lead_words: float = 0.75
    """A few edits in a short text (_SHORT_TEXT_SHINGLES) leave few shingles, but the
    same words. In those pairs the leads of copies have .74 to .90 of their words in
    common, and those of other short texts with as many common shingles at most .67; of
    long follow-ups up to .73."""


THRESHOLDS = Thresholds()


class Overlap(NamedTuple):
    """What two texts have in common, as shares, and how long they are."""

    jaccard: float
    """Of the shingles of both."""

    contained: float
    """Of the shingles of the shorter text."""

    lead: float
    """Of the shingles of a lead that are in the other text, for the lead with fewer."""

    lead_words: float
    """Of the words of both leads."""

    longer: int
    """The number of shingles of the longer text."""


def _lead_within(one: Shingles, other: Shingles) -> float:
    """Return the share of the lead of one text that is in the other."""
    return _common(one.lead, other.text) / one.lead.size


def overlap(one: Shingles, other: Shingles) -> Overlap:
    """Return what two texts have in common."""
    common = _common(one.text, other.text)
    words = _common(one.lead_words, other.lead_words)
    return Overlap(
        jaccard=common / (one.text.size + other.text.size - common),
        contained=common / min(one.text.size, other.text.size),
        lead=min(_lead_within(one, other), _lead_within(other, one)),
        lead_words=words / (one.lead_words.size + other.lead_words.size - words),
        longer=max(one.text.size, other.text.size),
    )


def likeness(found: Overlap, thresholds: Thresholds = THRESHOLDS) -> float:
    """Return the share of shingles that two copies have in common; 0 for two texts that
    are no copies.

    It is that of both texts (Jaccard), or of the shorter one where it was cut off.
    """
    if found.lead >= thresholds.lead and found.jaccard >= thresholds.jaccard:
        return found.jaccard
    if found.longer <= _SHORT_TEXT_SHINGLES and _has_same_words(found, thresholds):
        return found.jaccard
    if found.contained < thresholds.contained:
        return 0.0
    if found.lead < thresholds.contained_lead:
        return 0.0
    return found.contained


def _has_same_words(found: Overlap, thresholds: Thresholds) -> bool:
    """Whether the order of words differs more than the words."""
    if found.jaccard < thresholds.reworded:
        return False
    return found.lead_words >= thresholds.lead_words


def minhash(text: str) -> bytes | None:
    """Return one byte for each of 32 minima of the hashes of the lead's shingles; None
    for a text that is too short.

    The share of equal bytes of two leads estimates the share of common shingles (b-bit
    minwise hashing, Li and König 2010).
    """
    from rensa import RMinHash

    if len(text) < MIN_TEXT_CHARS:
        return None
    lead = _hashes(shingles(normal_words(text)[:_LEAD_WORDS]))
    if not lead.size:
        return None
    signature = RMinHash(num_perm=MINHASH_BYTES, seed=1)
    signature.update(list(map(str, lead.tolist())))
    return bytes(minimum & 0xFF for minimum in signature.digest())


def _common(one: "NDArray[np.uint32]", other: "NDArray[np.uint32]") -> int:
    import numpy as np

    return np.intersect1d(one, other, assume_unique=True).size


def _hashes(found: frozenset[str]) -> "NDArray[np.uint32]":
    import numpy as np

    # Unlike hash(), CRC-32 is the same in every process.
    codes = (crc32(shingle.encode("utf-8", "surrogatepass")) for shingle in found)
    return np.unique(np.fromiter(codes, dtype=np.uint32, count=len(found)))


# --- duplicates in a stream of documents ----------------------------------------------

# two rows a band: finds leads that share 30 % of their shingles 95 times in 100
_PERMUTATIONS, _BANDS = 64, 32

_Match = tuple[str | None, str | None, float]  # id of the original, reason, score
_NO_MATCH: _Match = (None, None, 0.0)


def dedupe_stream(
    documents: Iterable[Mapping[str, str | None]],
) -> Iterator[tuple[str, str | None, str | None, float]]:
    """Yield (id, duplicate_of, reason, score) per document, in order; the first of
    several copies is the original.

    A document has `id`, and may have `url` and `text`. Reasons: `same address`, `same
    text`, `nearly the same text`. The score is the share of common shingles: of both
    texts (Jaccard), or of the shorter one where it was cut off.
    """
    near = _NearIndex()
    by_url: dict[str, str] = {}
    by_text: dict[str, str] = {}
    for document in documents:
        key = document["id"] or ""
        text = document.get("text") or ""
        url = canonical_url(document.get("url") or "")
        digest = text_hash(text) if len(text) >= MIN_TEXT_CHARS else None
        found = Shingles.of(text)
        match = _NO_MATCH
        if url and not is_home(url) and url in by_url:
            match = by_url[url], SAME_ADDRESS, 1.0
        elif digest and digest in by_text:
            match = by_text[digest], SAME_TEXT, 1.0
        elif found:
            match = near.find(found)
        root = match[0] or key
        by_url.setdefault(url, root)
        if digest:
            by_text.setdefault(digest, root)
        if found:
            near.add(root, found)
        yield key, *match


class _NearIndex:
    """Documents by the MinHash of their leads; candidates are compared by their
    shingles.
    """

    def __init__(self) -> None:
        from rensa import RMinHashLSH

        self._lsh = RMinHashLSH(threshold=0.3, num_perm=_PERMUTATIONS, num_bands=_BANDS)
        self._documents: list[tuple[str, Shingles]] = []

    def add(self, root: str, found: Shingles) -> None:
        self._lsh.insert(len(self._documents), _signature(found))
        self._documents.append((root, found))

    def find(self, found: Shingles) -> _Match:
        best = _NO_MATCH
        for position in sorted(self._lsh.query(_signature(found))):
            root, other = self._documents[position]
            score = likeness(overlap(found, other))
            if score > best[2]:
                best = root, NEARLY_SAME_TEXT, round(score, 4)
        return best


def _signature(found: Shingles) -> "RMinHash":
    from rensa import RMinHash

    signature = RMinHash(num_perm=_PERMUTATIONS, seed=1)
    signature.update(list(map(str, found.lead.tolist())))
    return signature
