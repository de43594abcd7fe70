"""What a listing changes: its entries and the known rows in, rows to store out. Pure.

Identity is settled here when an entry is first stored: its key, its article, its day. Fetching it is `fetch.py`'s.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from news_assets.records import FeedEntry, ListedEntry, Listing, Source
from news_assets.text.dates import day_of
from news_assets.text.fingerprint import article_id
from news_assets.text.urls import canonical_url, url_hash

FUTURE_SLACK = timedelta(hours=1)  # clocks and zones are a little off; an hour ahead is still now
MOVE_AFTER = timedelta(days=1)
FIRST_DATE = datetime(1990, 1, 1, tzinfo=UTC)  # before the first news site; 1970 and 1904 are a clock's zero
MAX_NEW = 2000  # stored in one go; the rest of a longer listing is taken by the next polls
_BUILD_TIME_ENTRIES = 3


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """Rows to upsert; how many entries were never seen before; how many known ones say something else now.

    `left_count` of the entries never seen before are left to the next poll.
    """

    rows: tuple[FeedEntry, ...] = ()
    new_count: int = 0
    updated_count: int = 0
    left_count: int = 0


def keyed_entries(listing: Listing) -> dict[str, ListedEntry]:
    """Return the entries by their id within the source, in the listing's order; those without a web address stay out.

    An id that stands on several addresses names none of them, and an empty one nothing: the canonical URL takes its
    place, so that nothing is lost. The same id on the same address is the same entry; the first one counts.
    """
    addresses: dict[str, set[str]] = defaultdict(set)
    listed = [(entry, canonical_url(entry.url)) for entry in listing.entries]
    for entry, address in listed:
        addresses[entry.entry_id].add(address)
    keyed: dict[str, ListedEntry] = {}
    for entry, address in listed:
        if address.startswith(("http://", "https://")):
            is_own = bool(entry.entry_id) and len(addresses[entry.entry_id]) == 1
            keyed.setdefault(entry.entry_id if is_own else address, entry)
    return keyed


def entry_changes(
    source: Source, listing: Listing | None, known: Iterable[FeedEntry], now: datetime, trace_id: str
) -> EntryChanges:
    """Return what a listing changes among the known rows; nothing where there is no listing.

    `known` are the rows of this source, and the rows of the same agency with the same `url_hash` from other sources.
    Article, day and `url_hash` are settled when an entry is first stored; an address that the agency already has gives
    its article and day. The day moves once, with every row of the article, if the source corrects the date by more
    than a day. Of entries never seen before the first MAX_NEW of the listing count.
    """
    if listing is None:
        return EntryChanges()
    stored = {(row.source_id, row.entry_id): row for row in known if row.agency == source.agency}
    settled = {row.url_hash: row for row in stored.values()}
    keeps_updated_at = not _is_build_time(listing)
    rows: dict[tuple[str, str], FeedEntry] = {}
    new_count = updated_count = left_count = 0
    for entry_id, entry in keyed_entries(listing).items():
        stated = _cleaned(entry, keeps_updated_at)
        known_row = stored.get((source.source_id, entry_id))
        if known_row is None and new_count == MAX_NEW:
            left_count += 1
            continue
        if known_row is None:
            row = _new_row(source, entry_id, stated, settled, now, trace_id)
            settled.setdefault(row.url_hash, row)
            new_count += 1
        else:
            row = _seen_again(rows.get((source.source_id, entry_id), known_row), source, stated, now)
            updated_count += row.entry_hash != known_row.entry_hash
        rows[source.source_id, entry_id] = row
        if known_row is not None and row.is_moved and not known_row.is_moved:
            settled[row.url_hash] = row
            rows |= _moved_along(row, {**stored, **rows})
    return EntryChanges(tuple(rows.values()), new_count, updated_count, left_count)


def entry_hash(entry: ListedEntry) -> str:
    """Return the SHA-256 of what the listing says of the article's content; dates of publication are not part of it."""
    updated_at = entry.updated_at.isoformat() if entry.updated_at else None
    said = [entry.title, entry.url, updated_at, entry.summary, entry.content_html]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _is_build_time(listing: Listing) -> bool:
    """Whether `updated_at` is the time the document was made, the same on all: no reason to fetch them all again."""
    times = [entry.updated_at for entry in listing.entries]
    return len(times) >= _BUILD_TIME_ENTRIES and len(set(times)) == 1


def _cleaned(entry: ListedEntry, keeps_updated_at: bool) -> ListedEntry:
    published_at = entry.published_at if entry.published_at and entry.published_at >= FIRST_DATE else None
    return replace(entry, published_at=published_at, updated_at=entry.updated_at if keeps_updated_at else None)


def _new_row(
    source: Source,
    entry_id: str,
    entry: ListedEntry,
    settled: Mapping[str, FeedEntry],
    now: datetime,
    trace_id: str,
) -> FeedEntry:
    address_hash = url_hash(entry.url)
    known = settled.get(address_hash)
    day = known.day if known else _filing_day(entry.published_at, source, now, entry.day)
    return FeedEntry(
        entry_id=entry_id,
        source_id=source.source_id,
        desk=source.desk,
        agency=source.agency,
        day=day,
        article_id=known.article_id if known else article_id(source.agency, day, entry.title, address_hash),
        url=entry.url,
        url_hash=address_hash,
        title=entry.title,
        summary=entry.summary,
        content_html=entry.content_html,
        authors=entry.authors,
        categories=entry.categories,
        image_url=entry.image_url,
        published_at=entry.published_at,
        updated_at=entry.updated_at,
        is_future_dated=_is_future(entry.published_at, now),
        is_moved=known.is_moved if known else False,
        entry_hash=entry_hash(entry),
        first_seen_at=now,
        last_seen_at=now,
        trace_id=trace_id,
    )


def _seen_again(row: FeedEntry, source: Source, entry: ListedEntry, now: datetime) -> FeedEntry:
    """Give the row as it is after the source listed it once more."""
    moved_to = _corrected_day(row, source, entry.published_at, now)
    new_hash = entry_hash(entry)
    if new_hash == row.entry_hash and moved_to is None:
        return replace(row, last_seen_at=now)
    return replace(
        row,
        url=entry.url,
        title=entry.title,
        summary=entry.summary,
        content_html=entry.content_html,
        authors=entry.authors,
        categories=entry.categories,
        image_url=entry.image_url,
        published_at=entry.published_at or row.published_at,
        updated_at=entry.updated_at,
        day=moved_to or row.day,
        is_moved=row.is_moved or moved_to is not None,
        entry_hash=new_hash,
        last_seen_at=now,
    )


def _corrected_day(row: FeedEntry, source: Source, published_at: datetime | None, now: datetime) -> date | None:
    """Give the day that a row moves to, None where it stays."""
    if row.is_moved or published_at is None or _is_future(published_at, now):
        return None
    if abs(published_at - (row.published_at or row.first_seen_at)) <= MOVE_AFTER:
        return None
    day = _filing_day(published_at, source, now)
    return day if day != row.day else None


def _moved_along(moved: FeedEntry, rows: Mapping[tuple[str, str], FeedEntry]) -> dict[tuple[str, str], FeedEntry]:
    """Give the other rows of a moved article, moved to the same day: an article has one."""
    return {
        key: replace(row, day=moved.day, is_moved=True)
        for key, row in rows.items()
        if row.article_id == moved.article_id and not row.is_moved
    }


def _filing_day(published_at: datetime | None, source: Source, now: datetime, named: date | None = None) -> date:
    """Give the day of publication where the agency is; today where none is stated or named, or it is still to come."""
    today = day_of(now, source.timezone)
    if published_at is None:
        return min(named or today, today)
    if _is_future(published_at, now):
        return today
    return min(day_of(published_at, source.timezone), today)


def _is_future(published_at: datetime | None, now: datetime) -> bool:
    return published_at is not None and published_at > now + FUTURE_SLACK
