"""JSON Feed 1.0 and 1.1 (jsonfeed.org): a decoded document in, a Listing out.

A value of another type than the format asks for is as good as missing. Telling JSON from XML is `feed.py`'s part.
"""

from typing import Any

from news_assets.errors import ListingChangedError
from news_assets.records import ListedEntry, Listing, Page, Source
from news_assets.sources.entries import fallback_id, language_tag, unique
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text, sanitize
from news_assets.text.urls import web_url


def read_json(document: Any, page: Page, source: Source) -> Listing:
    """Return every item of a JSON Feed in the document's order. Raises ListingChangedError for any other JSON."""
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise ListingChangedError(f"{page.url}: JSON that is no feed: it has no list of items")
    if not (str(document.get("version", "")).find("jsonfeed") >= 0 or "title" in document):
        raise ListingChangedError(f"{page.url}: JSON that is no feed: it has neither version nor title")
    items = [item for item in document["items"] if isinstance(item, dict)]
    lost = len(document["items"]) - len(items)
    return Listing(
        entries=tuple(_entry(item, page, source) for item in items),
        title=_text(document, "title"),
        language=language_tag(_string(document, "language")),
        problems=(f"{lost} items are no objects: skipped",) if lost else (),
    )


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
