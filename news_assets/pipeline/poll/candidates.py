"""Evaluates and ranks candidate sources by what their listings contain now. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from news_assets.records.desks import Source
from news_assets.records.meetings import Meeting, MeetingListing
from news_assets.records.reading import ListedEntry, Listing
from news_assets.text.html import plain_text
from news_assets.text.prose import language_of, language_tag
from news_assets.text.urls import canonical_url

MAX_AGE_DAYS: Final = 7
# wrong clocks and days without a zone; later dates belong to an agenda
_MAX_AHEAD: Final = timedelta(days=1)
_LANGUAGE_ENTRIES: Final = 20  # of a listing, from which its language is detected
_MIN_FULL_TEXT_CHARS: Final = 500  # teasers are shorter
# of the newest entries; not all, because documents of one site are seldom updated
# together
_SAME_RATIO: Final = 0.8
_LISTINGS: Final = ("plone_listing", "ebc", "g1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What is accepted. None accepts any language; `known` are the desks' sources by
    `same_source_key`.
    """

    now: datetime
    max_age: timedelta = timedelta(days=MAX_AGE_DAYS)
    language: str | None = None
    timezone: str = "UTC"
    known: Mapping[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a listing contains. `language` is detected, `stated_language` is declared;
    ratios are 0 to 1.
    """

    entries: tuple[ListedEntry, ...] = field(repr=False)
    title: str | None = None
    newest_at: datetime | None = None
    dated_ratio: float = 0.0
    titled_ratio: float = 0.0
    full_text_ratio: float = 0.0
    language: str | None = None
    stated_language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One address that may become a source; accepted if it has no refusals.

    `kind` is None if no kind reads it. `known_as` is the desks' source with this
    address or content. `replaces` is a known source of this address whose kind no
    longer reads it.
    """

    url: str
    found_by: str
    kind: str | None = None
    contents: Contents | None = None
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    known_as: Source | None = None
    replaces: Source | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether it is worth adding."""
        return not self.refusals


def _times(entries: Iterable[ListedEntry], now: datetime) -> list[datetime]:
    """Return the times of entries, of publication or else of change, up to now."""
    times: list[datetime] = []
    for entry in entries:
        time = entry.published_at or entry.updated_at
        if not time:
            continue
        if time <= now + _MAX_AHEAD:
            times.append(time)
    return times


def contents_of(
    listing: Listing, stated_language: str | None, now: datetime
) -> Contents:
    """Return what a listing contains. Future times are ignored; a `lastmod` or time of
    change counts as a date.
    """
    entries = listing.entries
    stated = language_tag(listing.language) or stated_language
    return Contents(
        entries=entries,
        title=listing.title,
        newest_at=max(_times(entries, now), default=None),
        dated_ratio=_share(
            entries, lambda entry: entry.published_at or entry.updated_at
        ),
        titled_ratio=_share(entries, lambda entry: entry.title),
        full_text_ratio=_share(entries, _has_full_text),
        language=language_of(_words_of(entries[:_LANGUAGE_ENTRIES]), stated),
        stated_language=stated,
    )


def _share(
    entries: Collection[ListedEntry], has: Callable[[ListedEntry], object]
) -> float:
    if entries:
        return sum(bool(has(entry)) for entry in entries) / len(entries)
    return 0.0


def _has_full_text(entry: ListedEntry) -> bool:
    return len(plain_text(entry.content_html or "")) >= _MIN_FULL_TEXT_CHARS


def _words_of(entries: Iterable[ListedEntry]) -> str:
    parts: list[str] = []
    for entry in entries:
        parts += filter(None, (entry.title, entry.summary))
    return "\n".join(parts)


def meeting_contents(listing: MeetingListing, url: str) -> Contents:
    """Return what a list of meetings contains; those without an address get that of
    the list.
    """
    entries = tuple(_meeting_entry(meeting, url) for meeting in listing.meetings)
    dated = [entry for entry in entries if entry.published_at is not None]
    titled = [entry for entry in entries if entry.title]
    return Contents(
        entries=entries,
        dated_ratio=len(dated) / len(entries),
        titled_ratio=len(titled) / len(entries),
    )


def _meeting_entry(meeting: Meeting, url: str) -> ListedEntry:
    return ListedEntry(
        entry_id=meeting.vendor_id,
        url=meeting.url or meeting.agenda_url or f"{url}#{meeting.vendor_id}",
        title=meeting.title or meeting.body,
        published_at=meeting.starts_at,
    )


def meetings_note(listing: MeetingListing, criteria: Criteria) -> str:
    """Return how many meetings are listed, and when the next or the last one is."""
    starts: list[datetime] = []
    for meeting in listing.meetings:
        if meeting.starts_at:
            starts.append(meeting.starts_at)
    count = f"{len(listing.meetings)} meetings"
    coming = [at for at in starts if at >= criteria.now]
    if coming:
        return f"{count}, the next on {min(coming):%Y-%m-%d}"
    return f"{count}, the last on {max(starts):%Y-%m-%d}" if starts else count


def evaluated(candidate: Candidate, criteria: Criteria) -> Candidate:
    """Return the candidate with its refusals and notes."""
    contents = candidate.contents
    if contents is None:
        return candidate
    known = candidate.known_as
    already = (f"already in desk {known.desk}, agency {known.agency}",) if known else ()
    refusals = (
        *already,
        *_staleness(candidate.kind, contents, criteria),
        *_language_mismatch(contents, criteria),
    )
    return replace(
        candidate,
        refusals=(*candidate.refusals, *refusals),
        notes=_notes(candidate, contents, criteria),
    )


def _staleness(
    kind: str | None, contents: Contents, criteria: Criteria
) -> Iterable[str]:
    if not contents.entries:
        yield "no entries"
    elif contents.newest_at is None and contents.dated_ratio:
        yield "every date is in the future"
    elif contents.newest_at is None and kind == "sitemap":
        yield "no entry has a date, and a sitemap lists pages of any age"
    elif (
        contents.newest_at is not None
        and criteria.now - contents.newest_at > criteria.max_age
    ):
        age = (criteria.now - contents.newest_at).days
        yield f"newest entry {age} days old, more than {criteria.max_age.days}"


def _language_mismatch(contents: Contents, criteria: Criteria) -> Iterable[str]:
    wanted, found = criteria.language, contents.language
    if not wanted or not found:
        return
    if _primary(found) != _primary(wanted):
        yield f"language {found} is not {wanted}"


def _notes(
    candidate: Candidate, contents: Contents, criteria: Criteria
) -> tuple[str, ...]:
    stated = contents.stated_language
    found = contents.language
    old = candidate.replaces
    notes = list(candidate.notes)
    if contents.entries and not contents.dated_ratio:
        # Not a refusal: classic Plone lists no times, but its article pages state them.
        notes.append("no entry has a date: freshness unknown")
    if contents.entries and criteria.language and not found:
        notes.append("language unknown")
    if stated and found and _primary(stated) != _primary(found):
        notes.append(f"declares language {stated}")
    if old:
        notes.append(
            f"replaces kind {old.kind} in desk {old.desk}, agency {old.agency}"
        )
    return tuple(notes)


def _primary(tag: str) -> str:
    return tag.partition("-")[0].lower()


# --- ranking --------------------------------------------------------------------------


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, best first; one with the same content as a better one
    becomes a note there.

    Feeds and APIs with dates and full text come first, then other feeds, listings,
    sitemaps; equals keep their order. A candidate with the content of a known source is
    refused as known.
    """
    kept: list[Candidate] = []
    for candidate in sorted(candidates, key=_sort_key):
        for number, better in enumerate(kept):
            if _lists_the_same(better, candidate):
                kept[number] = _merged(better, candidate)
                break
        else:
            kept.append(candidate)
    return sorted(kept, key=_sort_key)


def _sort_key(candidate: Candidate) -> tuple[bool, bool, int]:
    return not candidate.is_accepted, candidate.contents is None, _rank(candidate)


def _rank(candidate: Candidate) -> int:
    if candidate.kind == "sitemap":
        return 3
    contents = candidate.contents
    if contents and min(contents.full_text_ratio, contents.dated_ratio) >= 0.5:
        return 0
    return 2 if candidate.kind in _LISTINGS else 1


def _merged(better: Candidate, other: Candidate) -> Candidate:
    if other.known_as and not better.known_as:
        known = f"lists the same as {other.url}, {other.refusals[0]}"
        return replace(
            better, refusals=(*better.refusals, known), known_as=other.known_as
        )
    return replace(
        better, notes=(*better.notes, f"{other.kind} {other.url} lists the same")
    )


def _lists_the_same(better: Candidate, other: Candidate) -> bool:
    """Return whether both have the same newest entries, compared over the length of the
    shorter listing.
    """
    if not (better.contents and other.contents):
        if better.url != other.url:
            return False
        return better.kind == other.kind
    count = min(len(better.contents.entries), len(other.contents.entries))
    if count == 0:
        return False
    newest = _addresses(better.contents.entries[:count])
    shared = newest & _addresses(other.contents.entries[:count])
    return len(shared) >= _SAME_RATIO * count


def _addresses(entries: Sequence[ListedEntry]) -> set[str]:
    return {canonical_url(entry.url) for entry in entries}
