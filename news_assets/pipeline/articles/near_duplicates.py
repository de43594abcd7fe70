"""Finds duplicates and near-duplicates in a stream of documents, for the `dedupe`
command; see `likeness.py`.
"""

from collections.abc import Iterable, Iterator, Mapping

from rensa import RMinHash, RMinHashLSH  # type: ignore[import-untyped]

from news_assets.pipeline.articles.likeness import (
    MIN_TEXT_CHARS,
    NEARLY_SAME_TEXT,
    SAME_ADDRESS,
    SAME_TEXT,
    Shingles,
    likeness,
    overlap,
)
from news_assets.pipeline.page.links import is_home
from news_assets.text.fingerprint import text_hash
from news_assets.text.urls import canonical_url

# two rows a band: finds leads that share 30 % of their shingles 95 times in 100
_PERMUTATIONS, _BANDS = (
    64,
    32,
)

Match = tuple[str | None, str | None, float]  # id of the original, reason, score
_NO_MATCH: Match = (None, None, 0.0)


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
        key, text = document["id"] or "", document.get("text") or ""
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
        self._lsh = RMinHashLSH(threshold=0.3, num_perm=_PERMUTATIONS, num_bands=_BANDS)
        self._documents: list[tuple[str, Shingles]] = []

    def add(self, root: str, found: Shingles) -> None:
        self._lsh.insert(len(self._documents), _signature(found))
        self._documents.append((root, found))

    def find(self, found: Shingles) -> Match:
        best = _NO_MATCH
        for position in sorted(self._lsh.query(_signature(found))):
            root, other = self._documents[position]
            score = likeness(overlap(found, other))
            if score > best[2]:
                best = root, NEARLY_SAME_TEXT, round(score, 4)
        return best


def _signature(found: Shingles) -> RMinHash:
    signature = RMinHash(num_perm=_PERMUTATIONS, seed=1)
    signature.update(list(map(str, found.lead.tolist())))
    return signature
