"""Decide what a listing changes among the stored entries; pure.

An entry gets its key, its article and its day here when it is first stored.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from news_assets.pipeline.articles.ownership import Owners
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import USUAL_CAPS, Desk, Source
from news_assets.records.reading import ListedEntry, Listing
from news_assets.text.dates import day_of
from news_assets.text.fingerprint import article_id
from news_assets.text.urls import canonical_url, url_hash

# clocks are off and time zones are misstated; up to this counts as now
_FUTURE_SLACK = timedelta(hours=1)
_MOVE_AFTER = timedelta(days=1)
# before the first news site; 1970 and 1904 are epochs of clocks
_FIRST_DATE = datetime(1990, 1, 1, tzinfo=UTC)
_BUILD_TIME_ENTRIES = 3
_TAG, _WORD = re.compile(r"<[^<>]*>"), re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """The rows to upsert, and how many entries of the listing are new or have changed
    content.

    `deferred_count` counts the new entries beyond the cap, which the next poll stores.
    """

    rows: tuple[FeedEntry, ...] = ()
    new_count: int = 0
    updated_count: int = 0
    deferred_count: int = 0


@dataclass(frozen=True, slots=True)
class EntryRules:
    """The rules by which a run stores new entries.

    Attributes:
        owners: Whose site an address is on; None where all are the agency's own.
        precedence: The `precedence_at` of new entries, by agency.
        max_new: Entries of one listing that are stored at once.
    """

    owners: Owners | None = None
    precedence: Mapping[str, datetime] = field(default_factory=dict)
    max_new: int = USUAL_CAPS.new_entries

    @classmethod
    def of(cls, desk: Desk, started_at: datetime) -> "EntryRules":
        """Return the rules of a run that began at this time.

        Which of the sources of one run answers first says nothing of who published
        first, and what they state about time anybody can state. So the order of the
        desk file, which is the operator's, is that of their new entries.
        """
        in_order = sorted(desk.agencies, key=lambda agency: agency.place)
        precedence: dict[str, datetime] = {}
        for n, one in enumerate(in_order):
            precedence[one.key] = started_at + timedelta(microseconds=n)
        return cls(Owners.of(desk), precedence, desk.caps.new_entries)

    def is_own(self, source: Source, url: str) -> bool:
        """Whether a listed address is not on another agency's site."""
        if self.owners is None:
            return True
        return (
            self.owners.owner(source.desk, source.agency, canonical_url(url)) != "other"
        )


ALL_OWN: Final = EntryRules()


def keyed_entries(listing: Listing) -> dict[str, ListedEntry]:
    """Return the entries by their id within the source, in the listing's order, without
    those that have no web URL.

    An id that is empty, or that several URLs share, is replaced by the canonical URL,
    so that no entry is lost. Of entries with the same id and URL the first one counts.
    """
    urls: dict[str, set[str]] = defaultdict(set)
    listed = [(entry, canonical_url(entry.url)) for entry in listing.entries]
    for entry, url in listed:
        urls[entry.entry_id].add(url)
    keyed: dict[str, ListedEntry] = {}
    for entry, url in listed:
        if url.startswith(("http://", "https://")):
            is_unique = bool(entry.entry_id) and len(urls[entry.entry_id]) == 1
            keyed.setdefault(entry.entry_id if is_unique else url, entry)
    return keyed


def entry_changes(
    source: Source,
    listing: Listing | None,
    known: Iterable[FeedEntry],
    now: datetime,
    trace_id: str,
    rules: EntryRules = ALL_OWN,
) -> EntryChanges:
    """Return what a listing changes among the known rows; no changes without a listing.

    Article, day and `url_hash` are fixed when an entry is first stored; a URL that the
    agency already has gives its article and day. The day moves once, with every row of
    the article, if the source corrects the date by more than a day. Entries at another
    agency's addresses are filed under the day when they are first seen.

    Args:
        source: The source of the listing.
        listing: What it listed.
        known: The rows of this source, and rows of the agency's other sources with a
            listed `url_hash`.
        now: The time of the answer.
        trace_id: Id of the run, of new rows.
        rules: How new entries are stored.
    """
    if listing is None:
        return EntryChanges()
    changes = _Changes(source, known, now, trace_id, rules)
    keeps_updated_at = not _is_build_time(listing)
    for entry_id, listed in keyed_entries(listing).items():
        changes.add(entry_id, _cleaned(listed, keeps_updated_at))
    return EntryChanges(
        tuple(changes.rows.values()),
        changes.new_count,
        changes.updated_count,
        changes.deferred_count,
    )


class _Changes:
    """The rows that the entries of one listing change, entry by entry."""

    def __init__(
        self,
        source: Source,
        known: Iterable[FeedEntry],
        now: datetime,
        trace_id: str,
        rules: EntryRules,
    ) -> None:
        self.rows: dict[tuple[str, str], FeedEntry] = {}
        self.new_count = 0
        self.updated_count = 0
        self.deferred_count = 0
        self._source = source
        self._now = now
        self._trace_id = trace_id
        self._rules = rules
        self._stored: dict[tuple[str, str], FeedEntry] = {}
        for row in known:
            if row.agency == source.agency:
                self._stored[row.source_id, row.entry_id] = row
        self._by_url = {row.url_hash: row for row in self._stored.values()}

    def add(self, entry_id: str, entry: ListedEntry) -> None:
        """Add the row of an entry; a new one beyond the cap is only counted."""
        known_row = self._stored.get((self._source.source_id, entry_id))
        if known_row is not None:
            self._update(known_row, entry)
        elif self.new_count < self._rules.max_new:
            self._add_new(entry_id, entry)
        else:
            self.deferred_count += 1

    def _update(self, known_row: FeedEntry, entry: ListedEntry) -> None:
        key = known_row.source_id, known_row.entry_id
        before = self.rows.get(key, known_row)
        is_own = self._rules.is_own(self._source, entry.url)
        row = _updated_row(before, self._source, entry, self._now, is_own=is_own)
        self.rows[key] = row
        self.updated_count += row.entry_hash != known_row.entry_hash
        if row.is_moved and not known_row.is_moved:
            self._by_url[row.url_hash] = row
            self.rows |= _moved_rows(row, {**self._stored, **self.rows})

    def _add_new(self, entry_id: str, entry: ListedEntry) -> None:
        source = self._source
        row = _new_row(
            source,
            entry_id,
            entry,
            self._by_url,
            self._now,
            self._trace_id,
            is_own=self._rules.is_own(source, entry.url),
        )
        precedence_at = self._rules.precedence.get(source.agency)
        row = replace(row, precedence_at=precedence_at)
        self.rows[source.source_id, entry_id] = row
        self._by_url.setdefault(row.url_hash, row)
        self.new_count += 1


def entry_hash(entry: ListedEntry) -> str:
    """Return the SHA-256 of the article's content as listed, which excludes dates of
    publication.
    """
    updated_at = entry.updated_at.isoformat() if entry.updated_at else None
    content = [entry.title, entry.url, updated_at, entry.summary, entry.content_html]
    return _sha256_of(content)


def news_hash(entry: ListedEntry) -> str:
    """Return the SHA-256 of the listed content that is news wherever it changes.

    The summary, and markup and numbers of the full text, are left out: counters of
    views and shares, addresses of tracking images and relative times change at every
    poll, and say nothing of the article.
    """
    updated_at = entry.updated_at.isoformat() if entry.updated_at else None
    words = _WORD.findall(_TAG.sub(" ", entry.content_html or ""))
    return _sha256_of([entry.title, entry.url, updated_at, *words])


def _sha256_of(content: list[str | None]) -> str:
    return hashlib.sha256(
        json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def _is_build_time(listing: Listing) -> bool:
    """Whether all entries have the same `updated_at`: it is the document's own time,
    and says nothing of changes.
    """
    times = [entry.updated_at for entry in listing.entries]
    if len(times) < _BUILD_TIME_ENTRIES:
        return False
    return len(set(times)) == 1


def _cleaned(entry: ListedEntry, keeps_updated_at: bool) -> ListedEntry:
    if entry.published_at and entry.published_at < _FIRST_DATE:
        entry = replace(entry, published_at=None)
    return entry if keeps_updated_at else replace(entry, updated_at=None)


def _new_row(
    source: Source,
    entry_id: str,
    entry: ListedEntry,
    by_url: Mapping[str, FeedEntry],
    now: datetime,
    trace_id: str,
    *,
    is_own: bool,
) -> FeedEntry:
    hashed_url = url_hash(entry.url)
    known = by_url.get(hashed_url)
    if known is not None:
        day, of_article = known.day, known.article_id
    else:
        stated_at = entry.published_at if is_own else None
        day = _filing_day(stated_at, source, now, entry.day)
        of_article = article_id(source.agency, day, entry.title, hashed_url)
    return FeedEntry(
        entry_id=entry_id,
        source_id=source.source_id,
        desk=source.desk,
        agency=source.agency,
        day=day,
        article_id=of_article,
        url=entry.url,
        url_hash=hashed_url,
        title=entry.title,
        summary=entry.summary,
        content_html=entry.content_html,
        authors=entry.authors,
        categories=entry.categories,
        image_url=entry.image_url,
        published_at=entry.published_at,
        updated_at=entry.updated_at,
        is_future_dated=_is_future(entry.published_at, now),
        is_moved=known is not None and known.is_moved,
        entry_hash=entry_hash(entry),
        news_hash=news_hash(entry),
        first_seen_at=now,
        last_seen_at=now,
        trace_id=trace_id,
    )


def _updated_row(
    row: FeedEntry, source: Source, entry: ListedEntry, now: datetime, *, is_own: bool
) -> FeedEntry:
    """Return the row of an entry that is listed again."""
    moved_to = _corrected_day(row, source, entry.published_at if is_own else None, now)
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
        news_hash=news_hash(entry),
        last_seen_at=now,
    )


def _corrected_day(
    row: FeedEntry, source: Source, published_at: datetime | None, now: datetime
) -> date | None:
    """Return the day that a row moves to, None if it stays."""
    if row.is_moved:
        return None
    if published_at is None:
        return None
    if _is_future(published_at, now):
        return None
    if abs(published_at - (row.published_at or row.first_seen_at)) <= _MOVE_AFTER:
        return None
    day = _filing_day(published_at, source, now)
    return day if day != row.day else None


def _moved_rows(
    moved: FeedEntry, rows: Mapping[tuple[str, str], FeedEntry]
) -> dict[tuple[str, str], FeedEntry]:
    """Return the other rows of a moved article, moved to the same day: all rows of an
    article have the same day.
    """
    found: dict[tuple[str, str], FeedEntry] = {}
    for key, row in rows.items():
        if row.article_id != moved.article_id:
            continue
        if not row.is_moved:
            found[key] = replace(row, day=moved.day, is_moved=True)
    return found


def _filing_day(
    published_at: datetime | None,
    source: Source,
    now: datetime,
    day_in_url: date | None = None,
) -> date:
    """Return the day of publication in the source's time zone, else the day in the URL,
    else today; no future day.
    """
    today = day_of(now, source.timezone)
    if published_at is None:
        return min(day_in_url or today, today)
    if _is_future(published_at, now):
        return today
    return min(day_of(published_at, source.timezone), today)


def _is_future(published_at: datetime | None, now: datetime) -> bool:
    if published_at is None:
        return False
    return published_at > now + _FUTURE_SLACK
