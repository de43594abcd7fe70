"""Sitemaps as listings; the children of an index or a robots.txt are `next_urls`.

Follows the protocol (sitemaps.org), Google's documentation of the news and image
extensions, and RFC 9309 for robots.txt. A `lastmod` is a time of change, never of
publication.

A past day is selected by a fragment (`sitemap.xml#day=2026-11-03`), which is not sent
to the server (RFC 3986, section
3.5): only the children and entries that can belong to that day are returned.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources import feed
from news_assets.sources.platforms import found_instead
from news_assets.sources.sitemap_xml import (
    MAX_ITEMS,
    Child,
    Fields,
    in_order,
    read_sitemap,
)
from news_assets.sources.storable_entries import (
    bounded,
    is_usable,
    optional_url,
    or_none,
    problem_if,
    unique,
)
from news_assets.sources.xml_documents import decoded
from news_assets.text.dates import day_of, parse_date
from news_assets.text.html import plain_text
from news_assets.text.limits import line, most
from news_assets.text.prose import language_tag
from news_assets.text.urls import canonical_url, web_url

MAX_BYTES = 52_428_800  # decompressed, as the protocol allows
_GZIP_MAGIC = b"\x1f\x8b"
_MAX_MEMBERS = 100  # of one gzip file
_HEAD_CHARS = 4096
_ROBOTS_LINE = re.compile(
    r"^[ \t]*(user-agent|disallow|allow|sitemap)[ \t]*:[ \t]*([^\r\n#]*)",
    re.IGNORECASE | re.M,
)
_ROBOTS_CHARS = 512_000  # RFC 9309, section 2.5: at least 500 KiB are read
_DAY = re.compile(r"#day=(\d{4}-\d\d-\d\d)$")
_NEVER = datetime.min.replace(tzinfo=UTC)


def day_url(source: Source, day: date) -> str:
    """Return the source's address with the day as its fragment."""
    return f"{source.url.partition('#')[0]}#day={day.isoformat()}"


def parse(page: Page, source: Source) -> Listing:
    """Return the entries of a sitemap, newest first, or the children of an index or a
    robots.txt as `next_urls`.

    Reads `urlset` and `sitemapindex` with the news and image extensions, plain text
    with one address a line, RSS and Atom, each also as gzip. Only news sitemaps state
    `published_at` and `title`; `updated_at` is the `lastmod`, read in `source.timezone`
    if it has no zone. Of more than 10,000 entries the newest are returned, with a
    problem.

    Raises:
        ListingChangedError: An HTML page, a log-in form, other XML, JSON or text.
        SourceError: The document is empty or unreadable.
    """
    unpacked, is_whole = _unpacked(page)
    text, problem = decoded(unpacked.body, page.encoding, page.content_type)
    text = text.strip("\ufeff\0 \t\r\n")
    if not text:
        raise SourceError(f"{page.url}: an empty document")
    read = _reader_of(text, unpacked)
    listing = read(text, unpacked, source)
    problems = (problem, None if is_whole else "truncated gzip", *listing.problems)
    return replace(
        listing,
        is_whole=listing.is_whole and is_whole,
        problems=tuple(filter(None, problems)),
    )


def _reader_of(text: str, page: Page) -> Callable[[str, Page, Source], Listing]:
    if text.startswith("<"):
        if feed.ROOT.search(text, 0, _HEAD_CHARS):
            return _feed_listing
        return _xml_listing
    if _ROBOTS_LINE.search(text) and "<" not in text[:_HEAD_CHARS]:
        return _robots_listing
    if text.lower().startswith(("http://", "https://")):
        return _text_listing
    raise ListingChangedError(f"{page.url}: not a sitemap: {found_instead(page)}")


def _unpacked(page: Page) -> tuple[Page, bool]:
    """Return the page decompressed, up to the protocol's size limit, and whether its
    gzip was whole.
    """
    if not page.body.startswith(_GZIP_MAGIC):
        return page, True
    body = bytearray()
    rest = page.body
    is_whole = True
    for _ in range(_MAX_MEMBERS):  # concatenated members are one document
        if not rest.startswith(_GZIP_MAGIC):
            break
        member, rest, is_whole = _inflated(rest, MAX_BYTES + 1 - len(body), page)
        body += member
        if len(body) > MAX_BYTES:
            raise SourceError(f"{page.url}: more than {MAX_BYTES:,} bytes decompressed")
    if body.startswith(_GZIP_MAGIC):
        raise ListingChangedError(f"{page.url}: not a sitemap: compressed twice")
    return replace(page, body=bytes(body), content_type=""), is_whole


def _inflated(packed: bytes, max_bytes: int, page: Page) -> tuple[bytes, bytes, bool]:
    """Return one member of a gzip file, what follows it, and whether it was whole."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        body = inflater.decompress(packed, max_bytes)
    except zlib.error as error:
        raise SourceError(f"{page.url}: gzip that cannot be read: {error}") from error
    return body, inflater.unused_data, inflater.eof


# --- the documents --------------------------------------------------------------------


def _feed_listing(_: str, page: Page, source: Source) -> Listing:
    return feed.parse(page, source)


def _xml_listing(text: str, page: Page, source: Source) -> Listing:
    sitemap = read_sitemap(text, page.url)
    if sitemap.root not in ("urlset", "sitemapindex"):
        raise ListingChangedError(f"{page.url}: not a sitemap: {found_instead(page)}")
    if sitemap.root == "sitemapindex":
        found = Listing(entries=(), next_urls=_children(sitemap.items, page, source))
    else:
        found = _listing_of(sitemap.items, page, source)
    return replace(
        found, is_whole=sitemap.is_whole, problems=(*sitemap.problems, *found.problems)
    )


def _robots_listing(text: str, page: Page, source: Source) -> Listing:
    lines = _ROBOTS_LINE.finditer(text, 0, _ROBOTS_CHARS)
    items = [
        {"loc": match[2].strip()} for match in lines if match[1].lower() == "sitemap"
    ]
    children = _children(items, page, source)
    if not children:
        raise ListingChangedError(f"{page.url}: robots.txt names no sitemap")
    return Listing(entries=(), next_urls=children)


def _text_listing(text: str, page: Page, source: Source) -> Listing:
    lines = text.split(None, MAX_ITEMS)
    items = [{"loc": line} for line in lines[:MAX_ITEMS]]
    listing = _listing_of(items, page, source)
    problem = f"more than {MAX_ITEMS:,} addresses: the others are not read"
    cut = problem_if(len(lines) > MAX_ITEMS, problem)
    return replace(listing, problems=(*cut, *listing.problems))


def _children(items: Iterable[Fields], page: Page, source: Source) -> tuple[str, ...]:
    """Return the addresses of an index, each with the requested day, without the index
    itself.
    """
    children: list[Child] = []
    for item in items:
        url = web_url(item["loc"], page.final_url) if "loc" in item else None
        if url is None:
            continue
        if is_usable(url):
            children.append(Child(url, _time(item.get("lastmod"), source)))
    day = _requested_day(page)
    own = {page.url.partition("#")[0], page.final_url}
    fragment = f"#day={day.isoformat()}" if day else ""
    ordered = in_order(children, day)
    return tuple(f"{url}{fragment}" for url in ordered if url not in own)


def _requested_day(page: Page) -> date | None:
    match = _DAY.search(page.url)
    if match is None:
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None


# --- entries --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Dated:
    """One item of a sitemap with its times parsed."""

    item: Fields
    published_at: datetime | None
    updated_at: datetime | None

    @property
    def sort_time(self) -> datetime:
        return self.published_at or self.updated_at or _NEVER


def _listing_of(items: Sequence[Fields], page: Page, source: Source) -> Listing:
    dated = _possible(items, page, source)
    taken = _taken(dated, page)
    entries: dict[str, ListedEntry] = {}
    unusable = 0
    for one in taken:
        entry = _entry(one, page)
        if entry is None:
            unusable += 1
        else:
            entries.setdefault(entry.entry_id, entry)
    names = [plain_text(one.item.get("news:name", "")) for one in taken]
    languages = [one.item.get("news:language") for one in taken]
    return Listing(
        entries=tuple(entries.values()),
        title=line(_agreed(names), "title"),
        language=language_tag(_agreed(languages)),
        problems=(
            *_problems(unusable, len(taken), len(dated)),
            *problem_if(not items, "no entries"),
        ),
    )


def _taken(dated: Iterable[_Dated], page: Page) -> list[_Dated]:
    """Return the newest entries, or those closest to the day that is requested, newest
    first.
    """
    newest = sorted(dated, key=lambda one: one.sort_time, reverse=True)
    count = most("entries")
    if _requested_day(page) is None:
        return newest[:count]
    return newest[-count:]


def _problems(unusable: int, taken: int, found: int) -> tuple[str, ...]:
    """Return the problems of a listing of `found` items: how many more than `taken` there
    are, and how many are `unusable`.
    """
    beyond = found - taken
    skipped = f"{taken:,} of {found:,} entries are used: {beyond:,} skipped"
    return (
        *problem_if(unusable, f"{unusable:,} addresses cannot be used: skipped"),
        *problem_if(beyond, skipped),
    )


def _possible(items: Iterable[Fields], page: Page, source: Source) -> list[_Dated]:
    """Return the items with their times; if a day is requested, only those that can
    belong to it.
    """
    day = _requested_day(page)
    dated: list[_Dated] = []
    for item in items:
        dated.append(
            _Dated(
                item,
                _time(item.get("news:publication_date"), source),
                _time(item.get("lastmod"), source),
            )
        )
    if day is None:
        return dated
    return [one for one in dated if _may_be_of(one, day, source.timezone)]


def _may_be_of(dated: _Dated, day: date, timezone: str) -> bool:
    """Return whether an item can belong to a day: published on it or, if that is
    unknown, changed on it or later.
    """
    if dated.published_at is not None:
        return day_of(dated.published_at, timezone) == day
    if dated.updated_at is None:
        return True
    return day_of(dated.updated_at, timezone) >= day


def _entry(dated: _Dated, page: Page) -> ListedEntry | None:
    """Return the entry; None if its address is not http(s) or is too long."""
    item = dated.item
    url = optional_url(item.get("loc"), page.final_url)
    if url is None:
        return None
    if not is_usable(url):
        return None
    keywords = item.get("news:keywords", "").split(",")
    entry = ListedEntry(
        entry_id=canonical_url(url),
        url=url,
        title=or_none(plain_text(item.get("news:title", ""))),
        categories=unique(map(plain_text, keywords)),
        image_url=optional_url(item.get("image:loc"), page.final_url),
        published_at=dated.published_at,
        updated_at=dated.updated_at,
    )
    return bounded(entry)


def _time(text: str | None, source: Source) -> datetime | None:
    return parse_date(text, source.timezone)


def _agreed(values: Iterable[str | None]) -> str | None:
    """Return the value if all items that state one agree."""
    stated = {value for value in values if value}
    if len(stated) != 1:
        return None
    return stated.pop()
