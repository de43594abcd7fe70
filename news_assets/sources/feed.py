"""Feeds of any format (RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0, RDF, CDF, JSON Feed),
distinguished by the document's content rather than by its name or Content-Type.

    Page.body -> read -+-> platforms.decoded_json -> _read_json -> Listing
                       +-> xml_documents.repaired_xml -> _read_xml (feedparser) -> Listing

`xml_documents` decodes and repairs broken documents and bounds their size, so that
feedparser takes bounded time. feedparser gets UTF-8 bytes in memory, never an address
it could open. Its sanitising is off, because nh3 is faster, and its times are not used,
because it takes a time without a zone for UTC. `parse` adds the rules of
`storable_entries.storable`.
"""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import feedparser  # type: ignore[import-untyped]  # it ships no types

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.platforms import (
    decoded_json,
    file_of,
    found_instead,
    platform_of,
)
from news_assets.sources.storable_entries import (
    fallback_id,
    first_web_url,
    optional_url,
    or_none,
    problem_if,
    sanitized,
    storable,
    unique,
)
from news_assets.sources.xml_documents import repaired_xml
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text
from news_assets.text.limits import most
from news_assets.text.prose import language_tag
from news_assets.text.urls import canonical_url, web_url

ROOT = re.compile(r"<(?:[\w.-]+:)?(?:rss|feed|RDF)[\s>]")
_HEAD_BYTES = 65_536
_PROLOGUE = re.compile(rb"<!--.*?(?:-->|$)|<\?.*?(?:\?>|$)", re.DOTALL)
_HTML = re.compile(
    rb"\s*(?:<!doctype\s+html|<(?:html|head|body|script|meta|div)[\s>/])", re.IGNORECASE
)
# feedparser's bugs on broken documents (an xml:base that is not an address, a
# declaration within a declaration).
_PARSER_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_PERIOD_S = {
    "hourly": 3600,
    "daily": 86_400,
    "weekly": 604_800,
    "monthly": 2_592_000,
    "yearly": 31_536_000,
}
# a description this long is the article itself, as in G1's feeds
_FULL_TEXT_CHARS = 1000
_IMAGE_NAME = re.compile(r"\.(?:avif|gif|jpe?g|png|webp)(?:$|\?)", re.IGNORECASE)
_NOT_LINKS: Final = (
    "self",
    "enclosure",
    "replies",
    "edit",
    "license",
    "next",
    "prev",
    "hub",
    "related",
    "via",
)

_Parsed = Mapping[str, Any]  # of feedparser
_Object = dict[str, Any]  # of JSON

# A private method, so pyproject.toml bounds the version; a release without it fails at
# this line.
_add_tag = feedparser.mixin._FeedParserMixin._add_tag


def _add_few_tags(self: Any, term: Any, scheme: Any, label: Any) -> None:
    """Add a category until the entry has enough: feedparser compares each with all
    others of the entry.
    """
    if len(self._get_context().get("tags", ())) < most("categories"):
        _add_tag(self, term, scheme, label)


feedparser.mixin._FeedParserMixin._add_tag = _add_few_tags


def parse(page: Page, source: Source) -> Listing:
    """Return the entries that can be stored, newest first, each with an http(s) address
    and an id of its own.

    Times without a zone are read in `source.timezone`. `published_at` is the time of
    change if a feed states only that. What cannot be read is reported in `problems`; a
    truncated feed yields its whole entries.

    Raises:
        ListingChangedError: An HTML page, a log-in form, other JSON or XML, or a binary
            file.
        SourceError: The document is empty or unreadable.
    """
    return storable(read(page, source))


def read(page: Page, source: Source) -> Listing:
    """Return every entry in the document's order; `url` is empty if an entry has no
    address. Raises as `parse`.
    """
    head = page.body[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head:
        raise SourceError(f"{page.url}: an empty document")
    if head.startswith((b"{", b"[")):
        return _read_json(decoded_json(page, source, "a feed"), page, source)
    if _is_no_xml(page, head):
        raise ListingChangedError(
            f"{page.url}: not a feed: {found_instead(page, source.kind)}"
        )
    return _read_xml(page, source)


def _is_no_xml(page: Page, head: bytes) -> bool:
    """Return whether a document is a binary file, plain text or an HTML page."""
    if file_of(page) is not None:
        return True
    if b"<" not in page.body:
        return True
    return _HTML.match(_PROLOGUE.sub(b"", head)) is not None


# --- RSS, Atom, RDF and CDF -----------------------------------------------------------


def _read_xml(page: Page, source: Source) -> Listing:
    """Return every entry of an XML feed in the document's order; entries without an
    address have an empty `url`.

    Raises:
        ListingChangedError: XML that is not a feed.
        SourceError: feedparser cannot read it.
    """
    parsed, problems, is_whole = _parsed(page)
    entries = parsed["entries"]
    if not entries and not parsed.get("version"):
        raise ListingChangedError(
            f"{page.url}: not a feed: {found_instead(page, source.kind)}"
        )
    feed: _Parsed = parsed["feed"]
    base = _base_of(parsed, page)
    return Listing(
        entries=tuple(_xml_entry(entry, base, source) for entry in entries),
        title=_plain(feed, "title"),
        language=language_tag(_string(feed, "language")),
        ttl_s=_ttl_s(feed),
        is_whole=is_whole,
        problems=problems,
    )


def _parsed(page: Page) -> tuple[_Parsed, tuple[str, ...], bool]:
    """Run feedparser over the repaired document; return its result, the problems, and
    whether it was whole.
    """
    body, problems, is_whole = repaired_xml(page)
    try:
        parsed: _Parsed = feedparser.parse(
            io.BytesIO(body),
            response_headers={"content-type": "application/xml; charset=utf-8"},
            sanitize_html=False,
            resolve_relative_uris=False,
        )
    except _PARSER_ERRORS as error:
        raise SourceError(f"{page.url}: XML that cannot be read: {error}") from error
    count = len(parsed["entries"])
    losses = ("truncated", "not well-formed", "document cut")
    counted = (
        f"{problem}: {count} entries read" if problem.startswith(losses) else problem
        for problem in problems
    )
    return parsed, tuple(counted), is_whole


def _base_of(parsed: _Parsed, page: Page) -> str:
    """Return the base of relative links: the channel's site in RSS, the document in
    Atom (RFC 4287, section 2).
    """
    if str(parsed.get("version", "")).startswith("atom"):
        return page.final_url
    return web_url(_string(parsed["feed"], "link"), page.final_url) or page.final_url


def _ttl_s(feed: _Parsed) -> float | None:
    """Return the feed's update interval: `ttl` in minutes, else `sy:updatePeriod` over
    `sy:updateFrequency`.
    """
    ttl = _number(feed, "ttl")
    if ttl:
        return ttl * 60
    period = _PERIOD_S.get(_string(feed, "sy_updateperiod").lower())
    if not period:
        return None
    return period / (_number(feed, "sy_updatefrequency") or 1)


def _number(owner: _Parsed, key: str) -> float | None:
    text = _string(owner, key)
    if not re.fullmatch(r"\d{1,7}(?:\.\d{1,3})?", text):
        return None
    return float(text)


# --- one entry ------------------------------------------------------------------------


def _xml_entry(entry: _Parsed, base: str, source: Source) -> ListedEntry:
    url = first_web_url(_links(entry), base)
    title = _plain(entry, "title")
    summary_html, content_html = _texts(entry)
    summary = or_none(plain_text(summary_html))
    updated = parse_date(_string(entry, "updated"), source.timezone)
    own_id = _id_of(entry)
    if not own_id:
        own_id = fallback_id(url, title, summary or content_html)
    return ListedEntry(
        entry_id=own_id,
        url=url or "",
        title=title,
        summary=summary,
        content_html=sanitized(content_html, base),
        authors=_authors(entry),
        categories=_categories(entry),
        image_url=first_web_url(_images(entry), base),
        published_at=_published_at(entry, source) or updated,
        updated_at=updated,
    )


def _published_at(entry: _Parsed, source: Source) -> datetime | None:
    """Return the time of publication; feedparser puts dc:date and Atom 0.3 `modified`
    under `updated`.
    """
    for name in ("published", "created"):
        at = parse_date(_string(entry, name), source.timezone)
        if at is not None:
            return at
    return None


def _id_of(entry: _Parsed) -> str:
    """Return Atom id, RSS guid or rdf:about; an address without its user and password."""
    entry_id = _string(entry, "id")
    if "@" in entry_id and "://" in entry_id:
        return web_url(entry_id, "") or entry_id
    return entry_id


def _links(entry: _Parsed) -> list[str]:
    """Return possible article addresses, best first; FeedBurner's original address
    precedes its tracking redirect.
    """
    names = ("feedburner_origlink", "pheedo_origlink", "link")
    found = [_string(entry, name) for name in names]
    others: list[str] = []
    for link in _objects(entry, "links"):
        relation = link.get("rel")
        if relation == "alternate":
            found.append(_string(link, "href"))
        elif relation not in _NOT_LINKS:
            others.append(_string(link, "href"))
    found += others
    if entry.get("guidislink") is not False:
        own_id = _string(entry, "id")
        if own_id.startswith(("http://", "https://")):
            found.append(own_id)
    return found


def _objects(entry: _Parsed, name: str) -> list[_Parsed]:
    """Return the parts of an entry with this name."""
    return [one for one in entry.get(name, ()) if isinstance(one, Mapping)]


def _texts(entry: _Parsed) -> tuple[str, str]:
    """Return summary and full text as HTML, without feedparser's copy of the content in
    a missing summary; a long summary with markup is a full text too.
    """
    summary = _string(entry, "summary")
    contents = [_string(content, "value") for content in _objects(entry, "content")]
    content = max(contents, key=len, default="")
    if not content:
        return summary, summary if _is_full_text(summary) else ""
    if summary == content:
        return "", content
    return summary, content


def _is_full_text(summary: str) -> bool:
    if "<" not in summary:
        return False
    return len(plain_text(summary)) >= _FULL_TEXT_CHARS


def _authors(entry: _Parsed) -> tuple[str, ...]:
    named: list[str] = []
    for person in _objects(entry, "authors"):
        named.append(plain_text(_string(person, "name") or _string(person, "email")))
    return unique(named) or unique([_plain(entry, "author")])


def _categories(entry: _Parsed) -> tuple[str, ...]:
    tags = _objects(entry, "tags")
    return unique(_plain(tag, "label") or _plain(tag, "term") for tag in tags)


def _enclosed_images(entry: _Parsed) -> list[str]:
    images: list[str] = []
    for link in _objects(entry, "links"):
        if link.get("rel") == "enclosure" and _is_image(link, "href"):
            images.append(_string(link, "href"))
    return images


def _images(entry: _Parsed) -> list[str]:
    """Return images, best first: media:content (widest), media:thumbnail, enclosure,
    itunes:image.
    """
    media = [one for one in _objects(entry, "media_content") if _is_image(one, "url")]
    media.sort(key=lambda one: _number(one, "width") or 0, reverse=True)
    thumbnails = _objects(entry, "media_thumbnail")
    images = [_string(one, "url") for one in [*media, *thumbnails]]
    images += _enclosed_images(entry)
    image = entry.get("image")
    if isinstance(image, Mapping):
        images.append(_string(image, "href"))
    return images


def _is_image(item: _Parsed, key: str) -> bool:
    kind = _string(item, "medium") or _string(item, "type")
    if kind:
        return kind.startswith("image")
    return _IMAGE_NAME.search(_string(item, key)) is not None


def _plain(owner: _Parsed, key: str) -> str | None:
    return or_none(plain_text(_string(owner, key)))


def _string(owner: _Parsed, key: str) -> str:
    """Return a string value, bypassing feedparser's own lookup, which returns
    `published` for a missing `updated`.
    """
    value = dict.get(owner, key) if isinstance(owner, dict) else None
    if not isinstance(value, str):
        return ""
    return value.strip()


# --- JSON Feed ------------------------------------------------------------------------


def parse_json_feed(page: Page, source: Source) -> Listing:
    """Return the entries that can be stored, newest first, and the feed's `next_url`,
    which leads to older ones.

    Raises:
        ListingChangedError: XML, an HTML page, a log-in form or other JSON.
        SourceError: The document is empty, or its JSON is broken.
    """
    document = decoded_json(page, source, "a JSON Feed")
    listing = storable(_read_json(document, page, source))
    next_url = optional_url(_json_string(document, "next_url"), page.final_url)
    own = [canonical_url(page.url), canonical_url(page.final_url)]
    if next_url is None:
        return listing
    if canonical_url(next_url) in own:
        return listing
    return replace(listing, next_urls=(next_url,))


def _read_json(document: Any, page: Page, source: Source) -> Listing:
    """Return every item of a JSON Feed in the document's order.

    Raises:
        ListingChangedError: Any other JSON.
    """
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise _no_feed(page, "no list of items")
    if "version" not in document and "title" not in document:
        raise _no_feed(page, "neither version nor title")
    objects = [item for item in items if isinstance(item, dict)]
    lost = len(items) - len(objects)
    return Listing(
        entries=tuple(_json_entry(item, page, source) for item in objects),
        title=_json_plain(document, "title"),
        language=language_tag(_json_string(document, "language")),
        problems=problem_if(lost, f"{lost} items are not objects: skipped"),
    )


def _no_feed(page: Page, reason: str) -> ListingChangedError:
    hint = f"; {found_instead(page)}" if platform_of(page) else ""
    return ListingChangedError(f"{page.url}: JSON but not a feed: {reason}{hint}")


def _json_entry(item: _Object, page: Page, source: Source) -> ListedEntry:
    base = page.final_url
    url = _json_url(item, base)
    title = _json_plain(item, "title")
    summary = _json_plain(item, "summary") or _json_plain(item, "content_text")
    content = _json_string(item, "content_html")
    entry_id = _json_string(item, "id")
    if not entry_id:
        entry_id = fallback_id(url, title, summary or content)
    published = parse_date(_json_string(item, "date_published"), source.timezone)
    updated = parse_date(_json_string(item, "date_modified"), source.timezone)
    images = (_json_string(item, "image"), _json_string(item, "banner_image"))
    return ListedEntry(
        entry_id=entry_id,
        url=url or "",
        title=title,
        summary=summary,
        content_html=sanitized(content, base),
        authors=_json_authors(item),
        categories=unique(map(plain_text, _json_strings(item.get("tags")))),
        image_url=first_web_url(images, base),
        published_at=published or updated,
        updated_at=updated,
    )


def _json_url(item: _Object, base: str) -> str | None:
    """Return an item's address; it may be stated as its id only."""
    link = _json_string(item, "url") or _json_string(item, "external_url")
    if not link:
        own_id = _json_string(item, "id")
        link = own_id if own_id.startswith("http") else ""
    return optional_url(link, base)


def _json_authors(item: _Object) -> tuple[str, ...]:
    """Return names of `authors` (1.1) and `author` (1.0)."""
    people = item.get("authors")
    if not isinstance(people, list):
        people = []
    names = []
    for person in [*people, item.get("author")]:
        if isinstance(person, dict):
            names.append(plain_text(_json_string(person, "name")))
    return unique(names)


def _json_string(owner: _Object, key: str) -> str:
    """Return a trimmed string, or a number's digits: many feeds have numeric ids."""
    value = owner.get(key)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def _json_strings(values: Any) -> list[str]:
    if not isinstance(values, list):
        return []
    return [value for value in values if isinstance(value, str)]


def _json_plain(owner: _Object, key: str) -> str | None:
    return or_none(plain_text(_json_string(owner, key)))
