"""JSON Feed 1.0 and 1.1 (jsonfeed.org): a decoded document in, a Listing out.

A value of another type than the format asks for is as good as missing. As a kind of its own (`parse`) it refuses what
is no JSON; telling JSON from XML is `feed.py`'s part.
"""

import json
from dataclasses import replace
from typing import Any

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records import ListedEntry, Listing, Page, Source
from news_assets.sources.entries import fallback_id, language_tag, storable, unique
from news_assets.sources.platforms import found_instead, platform_of
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text, sanitize
from news_assets.text.urls import canonical_url, web_url


def parse(page: Page, source: Source) -> Listing:
    """Return the entries that can be stored, newest first, and the feed's `next_url`, which leads to older ones.

    Raises:
        ListingChangedError: XML, a page, a log-in form or other JSON in place of a JSON Feed.
        SourceError: Nothing, or JSON that cannot be read.
    """
    document = decoded_json(page, "JSON Feed")
    listing = storable(read_json(document, page, source))
    link = _string(document, "next_url")
    next_url = web_url(link, page.final_url) if link else None
    is_older = next_url is not None and canonical_url(next_url) not in map(canonical_url, (page.url, page.final_url))
    return replace(listing, next_urls=(next_url,) if next_url and is_older else ())


def decoded_json(page: Page, expected: str) -> Any:
    """Return the document of a page that has to be JSON.

    Raises:
        ListingChangedError: It is something else; the reason says what, and what was expected.
        SourceError: Nothing, or JSON that cannot be read.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    try:
        return json.loads(page.body)
    except RecursionError as error:
        raise ListingChangedError(f"{page.url}: JSON that is nested too deeply") from error
    except ValueError as error:  # also UnicodeDecodeError
        if page.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            raise SourceError(f"{page.url}: JSON that cannot be read: {error}") from error
        raise ListingChangedError(f"{page.url}: no {expected}: {found_instead(page)}") from error


def read_json(document: Any, page: Page, source: Source) -> Listing:
    """Return every item of a JSON Feed in the document's order. Raises ListingChangedError for any other JSON."""
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise ListingChangedError(f"{page.url}: JSON that is no feed: it has no list of items{_maker(page)}")
    if "version" not in document and "title" not in document:
        raise ListingChangedError(f"{page.url}: JSON that is no feed: it has neither version nor title{_maker(page)}")
    items = [item for item in document["items"] if isinstance(item, dict)]
    lost = len(document["items"]) - len(items)
    return Listing(
        entries=tuple(_entry(item, page, source) for item in items),
        title=_text(document, "title"),
        language=language_tag(_string(document, "language")),
        problems=(f"{lost} items are no objects: skipped",) if lost else (),
    )


def _maker(page: Page) -> str:
    return f"; {found_instead(page)}" if platform_of(page) else ""


def _entry(item: dict[str, Any], page: Page, source: Source) -> ListedEntry:
    base = page.final_url
    entry_id, link = _string(item, "id"), _string(item, "url") or _string(item, "external_url")
    url = web_url(link or entry_id, base) if link or entry_id.startswith("http") else None
    content = _string(item, "content_html")
    title, summary = _text(item, "title"), _text(item, "summary") or _text(item, "content_text")
    published = parse_date(_string(item, "date_published"), source.timezone)
    updated = parse_date(_string(item, "date_modified"), source.timezone)
    image = _string(item, "image") or _string(item, "banner_image")
    return ListedEntry(
        entry_id=entry_id or fallback_id(url, title, summary or content),
        url=url or "",
        title=title,
        summary=summary,
        content_html=sanitize(content, base) or None if content else None,
        authors=_authors(item),
        categories=unique(map(plain_text, _strings(item.get("tags")))),
        image_url=web_url(image, base) if image else None,
        published_at=published or updated,
        updated_at=updated,
    )


def _authors(item: dict[str, Any]) -> tuple[str, ...]:
    """Return names of `authors` (1.1) and `author` (1.0)."""
    authors = item.get("authors")
    people = [*(authors if isinstance(authors, list) else ()), item.get("author")]
    return unique(plain_text(_string(person, "name")) for person in people if isinstance(person, dict))


def _string(owner: dict[str, Any], key: str) -> str:
    """Return a string; a number as its digits, since ids are numbers in many feeds."""
    value = owner.get(key)
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _strings(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _text(owner: dict[str, Any], key: str) -> str | None:
    return plain_text(_string(owner, key)) or None
