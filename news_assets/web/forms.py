"""One list in several forms, chosen by the suffix of the address or the Accept header: JSON,
CSV and XLSX, iCalendar, Atom (RFC 4287) with paging (RFC 5005), JSON Feed 1.1
(https://jsonfeed.org/version/1.1), and errors as problem+json (RFC 9457).
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin

from lxml import etree
from starlette.requests import Request
from starlette.responses import Response

from news_assets.text.defuse import json_of, xml_text

# By suffix.
MEDIA_TYPES: Final = {
    ".json": "application/json",
    ".csv": "text/csv",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".atom": "application/atom+xml",
    ".feed.json": "application/feed+json",
    ".ics": "text/calendar",
}
TABLE_FORMS: Final = (".csv", ".xlsx")
FORM_NAMES: Final = {
    ".json": "JSON",
    ".csv": "CSV",
    ".xlsx": "XLSX",
    ".atom": "Atom",
    ".feed.json": "JSON Feed",
    ".ics": "iCalendar",
}
_SUFFIXES: Final = {kind: suffix for suffix, kind in MEDIA_TYPES.items()} | {
    "text/html": ""
}


def form_of(request: Request) -> str:
    """Return the suffix of the form: that of the address, else of the best of the
    accepted types; empty for HTML.
    """
    if request.url.path.startswith("/api/"):
        return ".json"
    stated = str(request.path_params.get("suffix", ""))
    if stated:
        return stated
    accepted = request.headers.get("accept", "").split(",")
    for one in sorted(accepted, key=_weight, reverse=True):
        kind = one.partition(";")[0].strip().lower()
        if kind in _SUFFIXES:
            return _SUFFIXES[kind]
    return ""


def _weight(accepted: str) -> float:
    """Return the weight of a type in an Accept header, 0 to 1."""
    for parameter in accepted.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def json_document(
    value: Mapping[str, Any], media_type: str = "application/json"
) -> Response:
    """Return a JSON document; times in ISO 8601 with offset."""
    return Response(json_of(value) + "\n", media_type=media_type)


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as problem+json: `title` is the status in words, `detail` says
    what is wrong.
    """
    value = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    return Response(json_of(value) + "\n", status, headers, "application/problem+json")


def calendar_file(data: bytes) -> Response:
    """Return an iCalendar file."""
    return Response(data, media_type=MEDIA_TYPES[".ics"])


_ATOM: Final = "http://www.w3.org/2005/Atom"
# `updated` of a feed without entries, so that it has one ETag
_EMPTY: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a feed. `key` is its id in this archive, `url` where to read it,
    `page` its page on this server, `content` its text in HTML, `image` an address.
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
    content: str = ""
    image: str | None = None

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
    def icon(self) -> str:
        """Address of the server's icon."""
        return urljoin(self.page, "/static/favicon.svg")

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
    _text(root, "icon", feed.icon)
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
    if entry.content:
        _text(element, "content", entry.content)
        element[-1].set("type", "html")


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
        "icon": feed.icon,
        "favicon": feed.icon,
        "items": list(map(_item, feed.entries)),
    }
    return json_document(_given(value), MEDIA_TYPES[".feed.json"])


FEED_FORMS: Final = {".atom": atom, ".feed.json": json_feed}


def _item(entry: Entry) -> dict[str, Any]:
    return _given(
        {
            "id": entry.id,
            "url": entry.url,
            "title": entry.title,
            **_content_of(entry),
            "image": entry.image,
            "date_published": entry.published,
            "date_modified": entry.updated,
            "authors": [{"name": name} for name in entry.authors],
            "tags": list(entry.categories),
            "language": entry.language,
        }
    )


def _content_of(entry: Entry) -> dict[str, str]:
    """Return the members with the text of an entry; one of them has to be there."""
    if not entry.content:
        return {"content_text": entry.summary or entry.title}
    if not entry.summary:
        return {"content_html": entry.content}
    return {"content_html": entry.content, "summary": entry.summary}


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the members that are not empty; `items` is always there."""
    empty = [name for name, value in values.items() if value in (None, [])]
    for name in empty:
        if name != "items":
            del values[name]
    return values
