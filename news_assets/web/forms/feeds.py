"""Entries as Atom (RFC 4287) with paging (RFC 5005) and as JSON Feed 1.1
(https://jsonfeed.org/version/1.1).
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from lxml import etree
from starlette.responses import Response

from news_assets.text.defuse import xml_text
from news_assets.web.forms.choice import MEDIA_TYPES
from news_assets.web.forms.documents import json_document

_ATOM: Final = "http://www.w3.org/2005/Atom"
# `updated` of a feed without entries, so that it has one ETag
_EMPTY: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a feed. `key` is its id in this archive, `url` where to read it,
    `page` its page on this server.
    """

    key: str
    title: str
    url: str
    page: str
    updated: datetime
    published: datetime | None = None
    summary: str = ""
    authors: Sequence[str] = ()
    categories: Sequence[str] = ()
    language: str | None = None

    @property
    def id(self) -> str:
        """The same in every feed and on every host: a UUID of the key (RFC 9562,
        version 5).
        """
        return uuid.uuid5(uuid.NAMESPACE_URL, f"news-assets:{self.key}").urn


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A list as a feed. Addresses are absolute; `id` is that of its first page,
    `following` that of the next page.
    """

    title: str
    id: str
    here: str
    page: str
    following: str | None
    entries: Sequence[Entry]

    @property
    def updated(self) -> datetime:
        """Time of the newest change of an entry."""
        return max((entry.updated for entry in self.entries), default=_EMPTY)


def atom(feed: Feed) -> Response:
    """Return a feed as Atom."""
    root = etree.Element(_name("feed"), nsmap={None: _ATOM})
    _text(root, "title", feed.title)
    _text(root, "id", feed.id)
    _text(root, "updated", feed.updated.isoformat())
    _text(root, "generator", "news_assets")
    for relation, url in (
        ("self", feed.here),
        ("alternate", feed.page),
        ("first", feed.id),
        ("next", feed.following),
    ):
        if url:
            etree.SubElement(root, _name("link"), rel=relation, href=url)
    author = etree.SubElement(root, _name("author"))
    _text(author, "name", "news_assets")
    for entry in feed.entries:
        _add(root, entry)
    body = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(body, media_type=MEDIA_TYPES[".atom"])


def _add(root: etree._Element, entry: Entry) -> None:
    element = etree.SubElement(root, _name("entry"))
    if entry.language:
        element.set(
            "{http://www.w3.org/XML/1998/namespace}lang", xml_text(entry.language)
        )
    _text(element, "title", entry.title)
    _text(element, "id", entry.id)
    etree.SubElement(element, _name("link"), rel="alternate", href=xml_text(entry.url))
    etree.SubElement(element, _name("link"), rel="related", href=entry.page)
    _text(element, "updated", entry.updated.isoformat())
    if entry.published:
        _text(element, "published", entry.published.isoformat())
    for author in entry.authors:
        _text(etree.SubElement(element, _name("author")), "name", author)
    for category in entry.categories:
        etree.SubElement(element, _name("category"), term=xml_text(category))
    if entry.summary:
        _text(element, "summary", entry.summary)


def _name(local: str) -> str:
    return f"{{{_ATOM}}}{local}"


def _text(parent: etree._Element, name: str, text: str) -> None:
    etree.SubElement(parent, _name(name)).text = xml_text(text)


def json_feed(feed: Feed) -> Response:
    """Return a feed as JSON Feed."""
    value: dict[str, Any] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        "home_page_url": feed.page,
        "feed_url": feed.here,
        "next_url": feed.following,
        "items": [_item(entry) for entry in feed.entries],
    }
    return json_document(_given(value), MEDIA_TYPES[".feed.json"])


def _item(entry: Entry) -> dict[str, Any]:
    return _given(
        {
            "id": entry.id,
            "url": entry.url,
            "title": entry.title,
            "content_text": entry.summary or entry.title,
            "date_published": entry.published,
            "date_modified": entry.updated,
            "authors": [{"name": name} for name in entry.authors],
            "tags": list(entry.categories),
            "language": entry.language,
        }
    )


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in values.items()
        if value not in (None, []) or name == "items"
    }
