"""Marks copies among the articles of the lake, of all desks, when they are stored: by
address, text and near text.

    RawArticle rows to store
    | store_marked       an article with the address and text that it had keeps its mark
    | marked_articles    the others, with stored articles of WINDOW days around that may be
    |                    their originals, found by copy keys
    | mark_duplicates    each with those before it -> `duplicate_of`, reason and score
    = stored rows, and the copies of changed originals, which are marked again

Duplicates are kept, not deleted: the copy carries `duplicate_of`, the reason and a
score. The original is the article on its publisher's own site, else the one that a run
listed first (`precedence_at`), also if it is stored after a copy. What publishers state
about time decides only among articles of one agency: anybody can state any. Articles
published more than WINDOW days apart are not compared, but one that states an earlier
day than that is also compared with those of the day when it was first seen. A missed
copy is better than a wrong one, so a near copy is compared with originals only, by all
its shingles (`likeness.py`). Articles stored before there were copy keys are not found
until they are stored again; `replay --write` does that.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from heapq import nlargest
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from news_assets.pipeline.articles.likeness import (
    MIN_EQUAL_BYTES,
    MIN_TEXT_CHARS,
    MINHASH_BYTES,
    NEARLY_SAME_TEXT,
    SAME_ADDRESS,
    SAME_TEXT,
    Shingles,
    likeness,
    overlap,
)
from news_assets.pipeline.articles.ownership import owner_rank
from news_assets.pipeline.page.stated import is_home
from news_assets.pipeline.stage_declaration import content_hash
from news_assets.ports.services import Reader, Rows
from news_assets.records.articles import CopyKey, RawArticle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LOG = logging.getLogger(__name__)

# agencies republish a text within days; twice as many days take twice as long
WINDOW = timedelta(days=7)
# stored articles that are read for one new article, those with the likeliest leads
_MAX_CANDIDATES = 20
_URL_BYTES = 4  # of a copy key; the others are those of the MinHash
_LAST = datetime.max.replace(tzinfo=UTC)


class _Mark(NamedTuple):
    """The columns of a row that say what it is a copy of; all None for an original."""

    duplicate_of: str | None = None
    duplicate_reason: str | None = None
    duplicate_score: float | None = None


_ORIGINAL = _Mark()


@dataclass(frozen=True, slots=True)
class KnownArticle:
    """The columns of a stored article that duplicates are found by."""

    article_id: str
    url_hash: str
    text_hash: str | None
    duplicate_of: str | None = None
    text: str | None = None
    lead_minhash: bytes | None = None
    published_at: datetime | None = None
    first_seen_at: datetime = _LAST
    precedence_at: datetime | None = None
    address_owner: str = ""


_KNOWN_COLUMNS = KnownArticle.__match_args__


def store_marked(
    rows: Rows, articles: Sequence[RawArticle], stored: Mapping[str, RawArticle]
) -> list[RawArticle]:
    """Store articles with their marks, and re-mark stored copies whose original changed.

    The mark of an article whose address and text are as they were stays.

    Args:
        rows: The transaction.
        articles: The rows to store, of which `duplicate_of` is ignored.
        stored: The present rows of those that have one, by article id.

    Returns:
        The articles as they were stored, in their order, and then the re-marked copies.
    """
    settled: list[RawArticle] = []
    changed: list[RawArticle] = []
    for row in articles:
        former = stored.get(row.article_id)
        if former is not None and _is_settled(row, former):
            settled.append(_as_stored(row, _mark_of(former)))
        else:
            changed.append(row)
    marked = _store_with_marks(rows, changed)
    _store(rows, settled)
    by_id = {row.article_id: row for row in (*settled, *marked)}
    replaced = [stored[row.article_id] for row in marked if row.article_id in stored]
    in_order = [by_id[row.article_id] for row in articles]
    return in_order + mark_copies_again(rows, replaced)


def mark_copies_again(rows: Rows, former: Iterable[RawArticle]) -> list[RawArticle]:
    """Re-mark the copies of these originals, after their rows were changed; return the
    copies as they are now.

    Args:
        rows: The transaction.
        former: The rows of the originals before the change.
    """
    originals: list[RawArticle] = []
    for row in former:
        if row.duplicate_of is None and row.outcome == "ok":
            originals.append(row)
    if not originals:
        return []
    ids = {row.article_id for row in originals}
    days = _days_around(row.day for row in originals)
    columns = ("article_id", "day")
    copies = rows.frame(RawArticle, None, columns, duplicate_of=ids, day=days)
    if copies.is_empty():
        return []
    copy_ids = set(copies["article_id"])
    copy_days = set(copies["day"])
    return _store_with_marks(
        rows, rows.read(RawArticle, article_id=copy_ids, day=copy_days)
    )


def _is_settled(row: RawArticle, former: RawArticle) -> bool:
    """Whether the stored row has the same address and text, and was marked by these."""
    if former.lead_minhash is None:
        return False
    return _inputs_of_mark(former) == _inputs_of_mark(row)


def _inputs_of_mark(row: RawArticle) -> tuple[object, ...]:
    return (
        row.outcome,
        row.day,
        row.url_hash,
        row.text_hash,
        row.lead_minhash,
        row.address_owner,
    )


def _mark_of(row: RawArticle) -> _Mark:
    return _Mark(row.duplicate_of, row.duplicate_reason, row.duplicate_score)


def without_mark(row: RawArticle) -> RawArticle:
    """Return the row without what marking sets, which changes when other articles do."""
    return replace(_marked(row, _ORIGINAL), content_hash="")


def _as_stored(row: RawArticle, mark: _Mark) -> RawArticle:
    """Return the row with this mark and the `content_hash` that follows from it."""
    marked = _marked(row, mark)
    return replace(marked, content_hash=content_hash(marked))


def _store_with_marks(rows: Rows, articles: Sequence[RawArticle]) -> list[RawArticle]:
    """Store articles with their marks, and the stored originals that they precede;
    return all, the articles first.
    """
    marked = marked_articles(rows, articles)
    if preceded := _preceded(rows, marked):
        marked = marked_articles(rows, [*articles, *preceded])
    _store(rows, marked)
    for row in marked:
        if row.duplicate_of:
            original, reason = row.duplicate_of, row.duplicate_reason
            _LOG.debug("%s: copy of %s: %s", row.article_id, original, reason)
    return marked


def _preceded(rows: Rows, marked: Sequence[RawArticle]) -> list[RawArticle]:
    """Return the stored originals of new copies that precede them, and the other copies
    of these originals.
    """
    known = {None, *(row.article_id for row in marked)}
    copies = [row for row in marked if row.duplicate_of not in known]
    if not copies:
        return []
    days = _days_around(chain.from_iterable(map(_compared_days, copies)))
    preceded = _preceded_ids(rows, copies, days)
    if not preceded:
        return []
    found = rows.read(RawArticle, article_id=preceded, day=days)
    days |= _days_around(row.day for row in found)
    others = rows.read(RawArticle, duplicate_of=preceded, day=days)
    return found + [row for row in others if row.article_id not in known]


def _preceded_ids(
    rows: Rows, copies: Iterable[RawArticle], days: Collection[date]
) -> set[str]:
    """Return the ids of the stored originals that one of their new copies precedes."""
    # by original, the place of the copy that is before all others
    first: dict[str, tuple[int, datetime]] = {}
    for row in sorted(copies, key=_precedence):
        first.setdefault(row.duplicate_of or "", _precedence(row)[:2])
    preceded: set[str] = set()
    for original in _known(rows, first, days):
        if first[original.article_id] < _precedence(original)[:2]:
            preceded.add(original.article_id)
    return preceded


def _store(rows: Rows, articles: Sequence[RawArticle]) -> None:
    if articles:
        rows.upsert(articles)
    if keys := [_key_of(row) for row in articles if row.outcome == "ok"]:
        rows.upsert(keys)


def _key_of(row: RawArticle) -> CopyKey:
    address = crc32(row.url_hash.encode()).to_bytes(_URL_BYTES)
    key = address + (row.lead_minhash or bytes(MINHASH_BYTES))
    return CopyKey(article_id=row.article_id, day=row.day, copy_key=key)


def marked_articles(lake: Reader, articles: Sequence[RawArticle]) -> list[RawArticle]:
    """Return the articles in their order as they are to be stored: with their marks and
    `content_hash`.

    They are compared with each other and with the stored articles of WINDOW days before
    and after; the present rows of the articles themselves are ignored.
    """
    stored_near = _stored_near(lake, articles)
    marked: dict[str, RawArticle] = {}
    in_order = sorted(articles, key=_precedence)
    for days, of_days in groupby(in_order, key=_compared_days):
        known: list[KnownArticle] = []
        for row in marked.values():
            if _is_near(row, days):
                known.append(_as_known(row))
        for day in days:
            known += stored_near[day]
        for row in mark_duplicates(list(of_days), known):
            marked[row.article_id] = row
    return [_as_stored(row, _mark_of(marked[row.article_id])) for row in articles]


def _stored_near(
    lake: Reader, articles: Iterable[RawArticle]
) -> dict[date, list[KnownArticle]]:
    """Return the stored candidates by the days that these articles are compared around,
    without the articles themselves.
    """
    by_day: dict[date, list[RawArticle]] = defaultdict(list)
    ids: set[str] = set()
    for row in articles:
        ids.add(row.article_id)
        for day in _compared_days(row):
            by_day[day].append(row)
    stored_near: dict[date, list[KnownArticle]] = {}
    for day, of_day in by_day.items():
        candidates = _candidates(lake, day, of_day)
        stored_near[day] = [one for one in candidates if ids.isdisjoint(_ids_in(one))]
    return stored_near


def _as_known(row: RawArticle) -> KnownArticle:
    return KnownArticle(*(getattr(row, name) for name in _KNOWN_COLUMNS))


def _ids_in(known: KnownArticle) -> tuple[str | None, str | None]:
    return known.article_id, known.duplicate_of


def _compared_days(row: RawArticle) -> tuple[date, ...]:
    """Return the days that a row is compared around: its own, and that of first sight."""
    seen_on = row.first_seen_at.astimezone(UTC).date()
    if seen_on - row.day <= WINDOW:
        return (row.day,)
    return row.day, seen_on


def _is_near(row: RawArticle, days: Iterable[date]) -> bool:
    """Whether an article with a text is of a day near one of these."""
    if row.outcome != "ok":
        return False
    return any(abs(row.day - day) <= WINDOW for day in days)


def _days_around(days: Iterable[date]) -> set[date]:
    """Return these days, and those of WINDOW before and after each."""
    around: set[date] = set()
    for day in days:
        for n in range(-WINDOW.days, WINDOW.days + 1):
            around.add(day + timedelta(days=n))
    return around


def _candidates(
    lake: Reader, day: date, articles: Sequence[RawArticle]
) -> list[KnownArticle]:
    """Return the stored articles near this day that some of these may be copies of, and
    their originals.
    """
    import polars as pl

    days = _days_around([day])
    stored = lake.frame(CopyKey, None, ("copy_key",), day=days)["copy_key"]
    if stored.is_empty():
        return []
    as_bytes = pl.Array(pl.UInt8, _URL_BYTES + MINHASH_BYTES)
    keys = stored.bin.reinterpret(dtype=as_bytes).to_numpy()
    found: set[int] = set()
    for row in articles:
        if row.outcome == "ok":
            found |= _likely(row, keys)
    if not found:
        return []
    likely = set(stored[sorted(found)])
    of_keys = lake.frame(CopyKey, None, ("article_id",), day=days, copy_key=likely)
    ids = set(of_keys["article_id"])
    known = _known(lake, ids, days)
    originals: set[str] = set()
    for one in known:
        if one.duplicate_of:
            originals.add(one.duplicate_of)
    if not originals <= ids:
        known += _known(lake, originals - ids, days)
    return known


def _likely(row: RawArticle, keys: "NDArray[np.uint8]") -> set[int]:
    """Return the positions of the keys with the same address, and of those with the
    most equal bytes of the MinHash.
    """
    import numpy as np

    equal = keys == np.frombuffer(_key_of(row).copy_key, np.uint8)
    same_address = np.flatnonzero(equal[:, :_URL_BYTES].all(axis=1))
    found = set(same_address[:_MAX_CANDIDATES].tolist())
    if row.lead_minhash is not None:
        found |= _most_equal(equal[:, _URL_BYTES:])
    return found


def _most_equal(equal: "NDArray[np.bool_]") -> set[int]:
    """Return the positions of the keys with the most equal bytes, enough of them."""
    import numpy as np

    counts = equal.sum(axis=1, dtype=np.uint8)
    likely = np.flatnonzero(counts >= MIN_EQUAL_BYTES)
    most_equal_first = np.argsort(counts[likely], kind="stable")[::-1]
    return set(likely[most_equal_first[:_MAX_CANDIDATES]].tolist())


def _known(
    lake: Reader, ids: Collection[str], days: Collection[date]
) -> list[KnownArticle]:
    frame = lake.frame(
        RawArticle, None, _KNOWN_COLUMNS, article_id=ids, day=days, outcome=["ok"]
    )
    return [KnownArticle(*row) for row in frame.iter_rows()]


def mark_duplicates(
    rows: Sequence[RawArticle], known: Sequence[KnownArticle]
) -> list[RawArticle]:
    """Return the rows in their order with their marks recomputed: the first original's
    id, or None.

    An article is compared with the stored ones and with the new ones that precede it
    (`_precedence`). Rows without a text are ignored, and of texts under MIN_TEXT_CHARS
    only the URL is compared. A known copy of an unknown article is ignored.
    """
    duplicate_of = {article.article_id: article.duplicate_of for article in known}
    in_batch = {row.article_id for row in rows}
    index = _Index()
    originals_first = sorted(
        known, key=lambda one: (one.duplicate_of is not None, _precedence(one))
    )
    for article in originals_first:
        if article.article_id in in_batch:
            continue
        root = _root(article.article_id, duplicate_of)
        if root in duplicate_of:
            index.add(article, root)
    marks: dict[str, _Mark] = {}
    stored_first = sorted(
        rows, key=lambda row: (row.article_id not in duplicate_of, _precedence(row))
    )
    for row in stored_first:
        if row.outcome != "ok":
            continue
        if row.article_id not in marks:
            marks[row.article_id] = index.mark_and_add(row)
    return [_marked(row, marks.get(row.article_id, _ORIGINAL)) for row in rows]


def _precedence(
    article: KnownArticle | RawArticle,
) -> tuple[int, datetime, datetime, str]:
    """Return the order among copies: the publisher on its own site first, then by which
    run listed them first.

    The time of publication decides only between articles that one agency listed in the
    same run.
    """
    listed_at = article.precedence_at or article.first_seen_at
    published_at = article.published_at or article.first_seen_at
    return (
        owner_rank(article.address_owner),
        listed_at,
        published_at,
        article.article_id,
    )


def _marked(row: RawArticle, mark: _Mark) -> RawArticle:
    return replace(row, **mark._asdict())


class _Index:
    """The first article of each URL and of each text, and the originals by the MinHash
    of their leads.
    """

    def __init__(self) -> None:
        self._by_url: dict[str, str] = {}
        self._by_text: dict[str, str] = {}
        self._originals: list[tuple[str, bytes, str]] = []  # id, MinHash, text
        self._shingles: dict[str, Shingles | None] = {}

    def add(self, article: KnownArticle | RawArticle, root: str) -> None:
        self._by_url.setdefault(article.url_hash, root)
        if article.text_hash:
            self._by_text.setdefault(article.text_hash, root)
        if root == article.article_id and article.lead_minhash and article.text:
            self._originals.append((root, article.lead_minhash, article.text))

    def mark_and_add(self, row: RawArticle) -> _Mark:
        """Return the row's mark, and add the row."""
        if row.text_chars < MIN_TEXT_CHARS:
            row = replace(row, text_hash=None, lead_minhash=None)
        mark = self._found(row)
        if mark.duplicate_of == row.article_id:
            mark = _ORIGINAL
        self.add(row, mark.duplicate_of or row.article_id)
        return mark

    def _found(self, row: RawArticle) -> _Mark:
        if row.url_hash in self._by_url and not is_home(row.canonical_url):
            return _Mark(self._by_url[row.url_hash], SAME_ADDRESS, 1.0)
        if row.text_hash and row.text_hash in self._by_text:
            return _Mark(self._by_text[row.text_hash], SAME_TEXT, 1.0)
        if row.lead_minhash is None:
            return _ORIGINAL
        if not row.text:
            return _ORIGINAL
        return self._near(row.article_id, row.text, row.lead_minhash)

    def _near(self, article_id: str, text: str, minhash: bytes) -> _Mark:
        """Return the mark by the earliest original with nearly the same text."""
        equal: list[tuple[int, int]] = []  # bytes, and the place of the original
        for n, (_, other, _) in enumerate(self._originals):
            count = sum(map(int.__eq__, minhash, other))
            if count >= MIN_EQUAL_BYTES:
                equal.append((count, n))
        likeliest = nlargest(_MAX_CANDIDATES, equal)
        for _, n in sorted(likeliest, key=itemgetter(1)):
            original, _, its_text = self._originals[n]
            ours = self._shingles_of(article_id, text)
            theirs = self._shingles_of(original, its_text)
            if ours is None:
                continue
            if theirs is None:
                continue
            if score := likeness(overlap(ours, theirs)):
                return _Mark(original, NEARLY_SAME_TEXT, round(score, 4))
        return _ORIGINAL

    def _shingles_of(self, article_id: str, text: str) -> Shingles | None:
        if article_id not in self._shingles:
            self._shingles[article_id] = Shingles.of(text)
        return self._shingles[article_id]


def _root(article_id: str, duplicate_of: Mapping[str, str | None]) -> str:
    """Follow `duplicate_of` to the original; stop at a cycle."""
    seen = {article_id}
    while (original := duplicate_of.get(article_id)) and original not in seen:
        seen.add(original)
        article_id = original
    return article_id
