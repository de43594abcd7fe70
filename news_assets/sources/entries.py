"""What every kind of listing does with its entries: ids, addresses, order, and a reason for whatever cannot be stored.

Pure, and free of any format.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from news_assets.records import ListedEntry, Listing
from news_assets.text.urls import canonical_url

_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|\d{3}))?(?:[-_.@].*)?", re.IGNORECASE)
_SPOKEN_AT_ONCE = 3  # entries named in one reason; more are counted


def storable(listing: Listing) -> Listing:
    """Return the listing as the pipeline stores it: entries with an address and an id of their own, newest first.

    An entry without an http(s) address is left out with a problem: nobody can be led to it. Where different addresses
    share one id, their addresses become their ids, since none may replace another; of one id with one address the
    newest entry stays. The document's order stands among equal times, and altogether where an entry has no time.
    """
    numbered = list(enumerate(listing.entries, start=1))
    entries = [entry for _, entry in numbered if entry.url]
    shared = _shared_ids(entries)
    settled = [
        replace(entry, entry_id=canonical_url(entry.url)) if entry.entry_id in shared else entry for entry in entries
    ]
    first_of_each: dict[str, ListedEntry] = {}
    for entry in _newest_first(settled):
        first_of_each.setdefault(entry.entry_id, entry)
    kept = tuple(first_of_each.values())
    problems = (
        *listing.problems,
        *_without_address([number for number, entry in numbered if not entry.url]),
        *(f"{len(shared)} ids stand for several addresses: addresses taken as ids" for _ in range(bool(shared))),
        *_without_dates(kept),
    )
    return replace(listing, entries=kept, problems=problems)


def _shared_ids(entries: Sequence[ListedEntry]) -> set[str]:
    ids = Counter(entry.entry_id for entry in entries)
    urls = defaultdict(set)
    for entry in entries:
        if ids[entry.entry_id] > 1:
            urls[entry.entry_id].add(canonical_url(entry.url))
    return {entry_id for entry_id, addresses in urls.items() if len(addresses) > 1}


def _without_address(numbers: Sequence[int]) -> Iterable[str]:
    for number in numbers[:_SPOKEN_AT_ONCE]:
        yield f"entry {number} has no link: skipped"
    if len(numbers) > _SPOKEN_AT_ONCE:
        yield f"{len(numbers) - _SPOKEN_AT_ONCE} more entries have no link: skipped"


def _without_dates(entries: Sequence[ListedEntry]) -> Iterable[str]:
    undated = sum(entry.published_at is None for entry in entries)
    if not entries:
        yield "no entries"
    elif undated == len(entries):
        yield "no dates"
    elif undated:
        yield f"{undated} of {len(entries)} entries have no date that can be read"


def _newest_first(entries: Sequence[ListedEntry]) -> Sequence[ListedEntry]:
    dated = [(entry.published_at, entry) for entry in entries if entry.published_at is not None]
    if len(dated) < len(entries):
        return entries
    return [entry for _, entry in sorted(dated, key=lambda pair: pair[0], reverse=True)]


def fallback_id(url: str | None, *said: str | None) -> str:
    """Return an id for an entry that has none: its canonical URL, else the hash of what it says."""
    if url:
        return canonical_url(url)
    return "sha256:" + hashlib.sha256("\n".join(text or "" for text in said).encode("utf-8", "replace")).hexdigest()


def language_tag(text: str | None) -> str | None:
    """Return a BCP 47 tag from "pt_BR", "pt-br" or "en-us.utf-8"; None where there is none in it."""
    match = _LANGUAGE.fullmatch((text or "").strip())
    if match is None:
        return None
    language, script, region = match.groups()
    return "-".join(filter(None, (language.lower(), script and script.title(), region and region.upper())))


def unique(values: Iterable[str | None]) -> tuple[str, ...]:
    """Return the non-empty values, each once, in order."""
    return tuple(dict.fromkeys(value for value in values if value))
