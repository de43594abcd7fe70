"""Feeds of any format (RSS, Atom, RDF, CDF, JSON Feed), distinguished by the document's
content rather than by its name or Content-Type.

    Page.body -> read -+-> platforms.decoded_json -> _read_json -> Listing
                       +-> xml_documents.sound_xml -> syndication.read_xml (feedparser)
                           -> Listing

`xml_documents` decodes and repairs broken documents and bounds their size, so that
feedparser takes bounded time. `parse` adds the rules of `storable_entries.storable`.
"""

import re
from dataclasses import replace
from typing import Any

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
    problem_if,
    sanitized,
    storable,
    unique,
)
from news_assets.sources.syndication import read_xml
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text
from news_assets.text.language import language_tag
from news_assets.text.urls import canonical_url

ROOT = re.compile(r"<(?:[\w.-]+:)?(?:rss|feed|RDF)[\s>]")
_HEAD_BYTES = 65_536
_PROLOGUE = re.compile(rb"<!--.*?(?:-->|$)|<\?.*?(?:\?>|$)", re.DOTALL)
_HTML = re.compile(
    rb"\s*(?:<!doctype\s+html|<(?:html|head|body|script|meta|div)[\s>/])", re.IGNORECASE
)


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
    if head[:1] in (b"{", b"["):
        return _read_json(decoded_json(page, source, "a feed"), page, source)
    if file_of(page) or b"<" not in page.body or _HTML.match(_PROLOGUE.sub(b"", head)):
        raise ListingChangedError(
            f"{page.url}: not a feed: {found_instead(page, source.kind)}"
        )
    return read_xml(page, source)


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
    next_url = optional_url(_string(document, "next_url"), page.final_url)
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
        entries=tuple(_entry(item, page, source) for item in objects),
        title=_text(document, "title"),
        language=language_tag(_string(document, "language")),
        problems=problem_if(lost, f"{lost} items are not objects: skipped"),
    )


def _no_feed(page: Page, reason: str) -> ListingChangedError:
    hint = f"; {found_instead(page)}" if platform_of(page) else ""
    return ListingChangedError(f"{page.url}: JSON but not a feed: {reason}{hint}")


def _entry(item: dict[str, Any], page: Page, source: Source) -> ListedEntry:
    base = page.final_url
    entry_id = _string(item, "id")
    content = _string(item, "content_html")
    title = _text(item, "title")
    summary = _text(item, "summary") or _text(item, "content_text")
    url = _url(item, base)
    published = parse_date(_string(item, "date_published"), source.timezone)
    updated = parse_date(_string(item, "date_modified"), source.timezone)
    images = (_string(item, "image"), _string(item, "banner_image"))
    return ListedEntry(
        entry_id=entry_id or fallback_id(url, title, summary or content),
        url=url or "",
        title=title,
        summary=summary,
        content_html=sanitized(content, base),
        authors=_authors(item),
        categories=unique(map(plain_text, _strings(item.get("tags")))),
        image_url=first_web_url(images, base),
        published_at=published or updated,
        updated_at=updated,
    )


def _url(item: dict[str, Any], base: str) -> str | None:
    """Return an item's address; it may be stated as its id only."""
    link = _string(item, "url") or _string(item, "external_url")
    own_id = _string(item, "id")
    if not link and own_id.startswith("http"):
        link = own_id
    return optional_url(link, base)


def _authors(item: dict[str, Any]) -> tuple[str, ...]:
    """Return names of `authors` (1.1) and `author` (1.0)."""
    authors = item.get("authors")
    people = authors if isinstance(authors, list) else []
    return unique(
        plain_text(_string(person, "name"))
        for person in [*people, item.get("author")]
        if isinstance(person, dict)
    )


def _string(owner: dict[str, Any], key: str) -> str:
    """Return a trimmed string, or a number's digits: many feeds have numeric ids."""
    value = owner.get(key)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def _strings(values: Any) -> list[str]:
    if not isinstance(values, list):
        return []
    return [value for value in values if isinstance(value, str)]


def _text(owner: dict[str, Any], key: str) -> str | None:
    return plain_text(_string(owner, key)) or None
