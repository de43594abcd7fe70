"""Rules for the entries of every listing format: ids, order, and a problem for each
entry that cannot be stored.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from news_assets.records.reading import ListedEntry, Listing
from news_assets.text.limits import identifier, line, lines, most
from news_assets.text.urls import canonical_url, web_url

_MAX_NAMED = 3  # entries without a link that get a problem each; the rest is counted


def storable(listing: Listing) -> Listing:
    """Return the listing as it is stored: newest first, each entry within the limits,
    with an address and an own id.

    An entry without an http(s) address, or with one that is too long, is dropped with a
    problem. Where several addresses share one id, each entry gets its address as id, so
    that none replaces another. Where one address has one id several times, the newest
    is kept. Entries with equal times keep the document's order, and so do all entries
    if one of them has no time.
    """
    entries = [bounded(entry) for entry in listing.entries if is_usable(entry.url)]
    shared = _shared_ids(entries)
    identified = [
        replace(entry, entry_id=canonical_url(entry.url))
        if entry.entry_id in shared
        else entry
        for entry in entries
    ]
    first_of_each: dict[str, ListedEntry] = {}
    for entry in _newest_first(identified):
        first_of_each.setdefault(entry.entry_id, entry)
    every = tuple(first_of_each.values())
    kept = every[: most("entries")]
    problems = (
        *listing.problems,
        *_link_problems(
            [
                number
                for number, entry in enumerate(listing.entries, start=1)
                if not entry.url
            ]
        ),
        *(
            [
                f"{len(shared)} ids are shared by several addresses: addresses used as ids"
            ]
            if shared
            else ()
        ),
        *_size_problems(listing.entries, len(every) - len(kept)),
        *_date_problems(kept),
    )
    return replace(
        listing, entries=kept, title=line(listing.title, "title"), problems=problems
    )


def bounded(entry: ListedEntry) -> ListedEntry:
    """Return an entry with clean values, cut to their limits."""
    return replace(
        entry,
        entry_id=identifier(entry.entry_id),
        title=line(entry.title, "title"),
        summary=line(entry.summary, "summary"),
        authors=lines(entry.authors, "authors"),
        categories=lines(entry.categories, "categories"),
        image_url=entry.image_url if is_usable(entry.image_url) else None,
    )


def is_usable(url: str | None) -> bool:
    """Return whether there is an address, and it is short enough; a cut one would be
    another address.
    """
    return bool(url) and len(url or "") <= most("address")


def _shared_ids(entries: Sequence[ListedEntry]) -> set[str]:
    ids = Counter(entry.entry_id for entry in entries)
    urls = defaultdict(set)
    for entry in entries:
        if ids[entry.entry_id] > 1:
            urls[entry.entry_id].add(canonical_url(entry.url))
    return {entry_id for entry_id, addresses in urls.items() if len(addresses) > 1}


def _link_problems(numbers: Sequence[int]) -> Iterable[str]:
    for number in numbers[:_MAX_NAMED]:
        yield f"entry {number} has no link: skipped"
    if len(numbers) > _MAX_NAMED:
        yield f"{len(numbers) - _MAX_NAMED} more entries have no link: skipped"


def _size_problems(entries: Sequence[ListedEntry], left: int) -> Iterable[str]:
    long = sum(len(entry.url) > most("address") for entry in entries)
    if long:
        yield f"{long} entries have an address of more than {most('address'):,} characters: skipped"
    if left:
        yield f"{left:,} entries beyond the newest {most('entries'):,}: skipped"


def _date_problems(entries: Sequence[ListedEntry]) -> Iterable[str]:
    undated = sum(entry.published_at is None for entry in entries)
    if not entries:
        yield "no entries"
    elif undated == len(entries):
        yield "no dates"
    elif undated:
        yield f"{undated} of {len(entries)} entries have no readable date"


def _newest_first(entries: Sequence[ListedEntry]) -> Sequence[ListedEntry]:
    dated = [
        (entry.published_at, entry)
        for entry in entries
        if entry.published_at is not None
    ]
    if len(dated) < len(entries):
        return entries
    return [entry for _, entry in sorted(dated, key=lambda pair: pair[0], reverse=True)]


def fallback_id(url: str | None, *texts: str | None) -> str:
    """Return an id for an entry that states none: its canonical URL, else the hash of
    its texts.
    """
    if url:
        return canonical_url(url)
    return (
        "sha256:"
        + hashlib.sha256(
            "\n".join(text or "" for text in texts).encode("utf-8", "replace")
        ).hexdigest()
    )


def first_web_url(links: Iterable[str], base: str) -> str | None:
    """Return the first link that is an http(s) address, made absolute; empty links are
    skipped.
    """
    urls = (web_url(link, base) for link in links if link.strip())
    return next(filter(None, urls), None)


def unique(values: Iterable[str | None]) -> tuple[str, ...]:
    """Return the non-empty values, each once, in order."""
    return tuple(dict.fromkeys(value for value in values if value))
