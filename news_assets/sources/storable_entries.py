"""Rules for the entries of every listing format: ids, order, and a problem for each
entry that cannot be stored.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from news_assets.records.reading import ListedEntry, Listing
from news_assets.text.html import sanitize
from news_assets.text.limits import identifier, line, lines, most
from news_assets.text.urls import canonical_url, web_url

_NEVER = datetime.min.replace(tzinfo=UTC)
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
    by_id: dict[str, ListedEntry] = {}
    for entry in _newest_first(_with_own_ids(entries, shared)):
        by_id.setdefault(entry.entry_id, entry)
    every = tuple(by_id.values())
    kept = every[: most("entries")]
    ids = f"{len(shared)} ids are shared by several addresses: addresses used as ids"
    problems = (
        *listing.problems,
        *_link_problems(listing.entries),
        *problem_if(shared, ids),
        *_size_problems(listing.entries, len(every) - len(kept)),
        *_date_problems(kept),
    )
    title = line(listing.title, "title")
    return replace(listing, entries=kept, title=title, problems=problems)


def _with_own_ids(
    entries: Iterable[ListedEntry], shared: Collection[str]
) -> list[ListedEntry]:
    """Return the entries; one with a shared id gets its address as id."""
    found: list[ListedEntry] = []
    for entry in entries:
        if entry.entry_id in shared:
            found.append(replace(entry, entry_id=canonical_url(entry.url)))
        else:
            found.append(entry)
    return found


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
    if not url:
        return False
    return len(url) <= most("address")


def _shared_ids(entries: Sequence[ListedEntry]) -> set[str]:
    urls: dict[str, set[str]] = defaultdict(set)
    ids = Counter(entry.entry_id for entry in entries)
    for entry in entries:
        if ids[entry.entry_id] > 1:
            urls[entry.entry_id].add(canonical_url(entry.url))
    shared = set()
    for entry_id, addresses in urls.items():
        if len(addresses) > 1:
            shared.add(entry_id)
    return shared


def _link_problems(entries: Sequence[ListedEntry]) -> list[str]:
    """Return a problem for each of the first entries without a link, and their count."""
    numbers = [place for place, entry in enumerate(entries, start=1) if not entry.url]
    problems: list[str] = []
    for number in numbers[:_MAX_NAMED]:
        problems.append(f"entry {number} has no link: skipped")
    more = len(numbers) - _MAX_NAMED
    if more > 0:
        problems.append(f"{more} more entries have no link: skipped")
    return problems


def _size_problems(entries: Sequence[ListedEntry], beyond: int) -> Iterable[str]:
    long = sum(len(entry.url) > most("address") for entry in entries)
    if long:
        yield f"{long} entries have an address of more than {most('address'):,} characters: skipped"
    if beyond:
        yield f"{beyond:,} entries beyond the newest {most('entries'):,}: skipped"


def _date_problems(entries: Sequence[ListedEntry]) -> Iterable[str]:
    undated = sum(entry.published_at is None for entry in entries)
    if not entries:
        yield "no entries"
    elif undated == len(entries):
        yield "no dates"
    elif undated:
        yield f"{undated} of {len(entries)} entries have no readable date"


def _newest_first(entries: Sequence[ListedEntry]) -> Sequence[ListedEntry]:
    """Return the entries by time; in their order if one has none."""
    if any(entry.published_at is None for entry in entries):
        return entries
    return sorted(entries, key=lambda entry: entry.published_at or _NEVER, reverse=True)


def fallback_id(url: str | None, *texts: str | None) -> str:
    """Return an id for an entry that states none: its canonical URL, else the hash of
    its texts.
    """
    if url:
        return canonical_url(url)
    joined = "\n".join(text or "" for text in texts)
    digest = hashlib.sha256(joined.encode("utf-8", "replace"))
    return f"sha256:{digest.hexdigest()}"


def first_web_url(links: Iterable[str], base: str) -> str | None:
    """Return the first link that is an http(s) address, made absolute; empty links are
    skipped.
    """
    for link in links:
        url = optional_url(link, base)
        if url:
            return url
    return None


def optional_url(link: str | None, base: str) -> str | None:
    """Return a link as an absolute http(s) address; None for a missing link or another
    one.
    """
    if not link:
        return None
    if not link.strip():
        return None
    return web_url(link, base)


def problem_if(applies: object, problem: str) -> tuple[str, ...]:
    """Return a problem of a listing if it applies, such as a count above zero."""
    if not applies:
        return ()
    return (problem,)


def unique(values: Iterable[str | None]) -> tuple[str, ...]:
    """Return the non-empty values, each once, in order."""
    return tuple(dict.fromkeys(filter(None, values)))


def sanitized(markup: str, base: str) -> str | None:
    """Return an entry's text as safe HTML; None without a text."""
    if not markup:
        return None
    return or_none(sanitize(markup, base))


def or_none(text: str) -> str | None:
    """Return a text; None for an empty one."""
    if not text:
        return None
    return text
