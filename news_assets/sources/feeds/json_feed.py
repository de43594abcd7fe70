"""JSON Feed 1.0 and 1.1 (jsonfeed.org). A value of the wrong type is treated as
missing.
"""

from dataclasses import replace
from typing import Any

from news_assets.errors import ListingChangedError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.json_document import decoded_json
from news_assets.sources.platforms import found_instead, platform_of
from news_assets.sources.storable_entries import fallback_id, storable, unique
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text, sanitize
from news_assets.text.language import language_tag
from news_assets.text.urls import canonical_url, web_url


def parse(page: Page, source: Source) -> Listing:
    """Return the entries that can be stored, newest first, and the feed's `next_url`,
    which leads to older ones.

    Raises:
        ListingChangedError: XML, an HTML page, a log-in form or other JSON.
        SourceError: The document is empty, or its JSON is broken.
    """
    document = decoded_json(page, source, "a JSON Feed")
    listing = storable(read_json(document, page, source))
    link = _string(document, "next_url")
    next_url = web_url(link, page.final_url) if link else None
    is_older = next_url is not None and canonical_url(next_url) not in map(
        canonical_url, (page.url, page.final_url)
    )
    return replace(listing, next_urls=(next_url,) if next_url and is_older else ())


def read_json(document: Any, page: Page, source: Source) -> Listing:
    """Return every item of a JSON Feed in the document's order. Raises
    ListingChangedError for any other JSON.
    """
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise ListingChangedError(
            f"{page.url}: JSON but not a feed: no list of items{_hint(page)}"
        )
    if "version" not in document and "title" not in document:
        raise ListingChangedError(
            f"{page.url}: JSON but not a feed: neither version nor title{_hint(page)}"
        )
    items = [item for item in document["items"] if isinstance(item, dict)]
    lost = len(document["items"]) - len(items)
    return Listing(
        entries=tuple(_entry(item, page, source) for item in items),
        title=_text(document, "title"),
        language=language_tag(_string(document, "language")),
        problems=(f"{lost} items are not objects: skipped",) if lost else (),
    )


def _hint(page: Page) -> str:
    if not platform_of(page):
        return ""
    return f"; {found_instead(page)}"


def _entry(item: dict[str, Any], page: Page, source: Source) -> ListedEntry:
    base = page.final_url
    entry_id, link = (
        _string(item, "id"),
        _string(item, "url") or _string(item, "external_url"),
    )
    url = None
    if link or entry_id.startswith("http"):
        url = web_url(link or entry_id, base)
    content = _string(item, "content_html")
    title, summary = (
        _text(item, "title"),
        _text(item, "summary") or _text(item, "content_text"),
    )
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
    return unique(
        plain_text(_string(person, "name"))
        for person in people
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
