"""RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0, RDF and CDF, read by feedparser.

feedparser gets UTF-8 bytes in memory, never an address it could open. Its sanitising is
off, because nh3 is faster, and its times are not used, because it takes a time without
a zone for UTC.
"""

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import feedparser  # type: ignore[import-untyped]  # it ships no types

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.feeds.xml_documents import sound_xml
from news_assets.sources.platforms import found_instead
from news_assets.sources.storable_entries import fallback_id, first_web_url, unique
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text, sanitize
from news_assets.text.language import language_tag
from news_assets.text.limits import most
from news_assets.text.urls import web_url

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
_FULL_TEXT_CHARS = (
    1000  # a description this long is the article itself, as in G1's feeds
)
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

Parsed = Mapping[str, Any]

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


def read_xml(page: Page, source: Source) -> Listing:
    """Return every entry of an XML feed in the document's order; entries without an
    address have an empty `url`.

    Raises:
        ListingChangedError: XML that is not a feed.
        SourceError: feedparser cannot read it.
    """
    parsed, problems, is_whole = _parsed(page)
    if not parsed.get("version") and not parsed["entries"]:
        raise ListingChangedError(
            f"{page.url}: not a feed: {found_instead(page, source.kind)}"
        )
    feed: Parsed = parsed["feed"]
    base = _base_of(parsed, page)
    return Listing(
        entries=tuple(_entry(entry, base, source) for entry in parsed["entries"]),
        title=_plain(feed, "title"),
        language=language_tag(_string(feed, "language")),
        ttl_s=_ttl_s(feed),
        is_whole=is_whole,
        problems=problems,
    )


def _parsed(page: Page) -> tuple[Parsed, tuple[str, ...], bool]:
    """Run feedparser over the repaired document; return its result, the problems, and
    whether it was whole.
    """
    body, problems, is_whole = sound_xml(page)
    try:
        parsed: Parsed = feedparser.parse(
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


def _base_of(parsed: Parsed, page: Page) -> str:
    """Return the base of relative links: the channel's site in RSS, the document in
    Atom (RFC 4287, section 2).
    """
    if str(parsed.get("version", "")).startswith("atom"):
        return page.final_url
    return web_url(_string(parsed["feed"], "link"), page.final_url) or page.final_url


def _ttl_s(feed: Parsed) -> float | None:
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


def _number(owner: Parsed, key: str) -> float | None:
    text = _string(owner, key)
    if not re.fullmatch(r"\d{1,7}(?:\.\d{1,3})?", text):
        return None
    return float(text)


# --- one entry ------------------------------------------------------------------------


def _entry(entry: Parsed, base: str, source: Source) -> ListedEntry:
    url = first_web_url(_links(entry), base)
    title = _plain(entry, "title")
    summary_html, content_html = _texts(entry)
    summary = plain_text(summary_html) or None
    if (
        content_html is None
        and "<" in summary_html
        and len(summary or "") >= _FULL_TEXT_CHARS
    ):
        content_html = summary_html
    updated = parse_date(_string(entry, "updated"), source.timezone)
    published = next(
        filter(
            None,
            (parse_date(_string(entry, key), source.timezone) for key in _PUBLISHED),
        ),
        None,
    )
    return ListedEntry(
        entry_id=_id_of(entry) or fallback_id(url, title, summary or content_html),
        url=url or "",
        title=title,
        summary=summary,
        content_html=sanitize(content_html, base) or None if content_html else None,
        authors=_authors(entry),
        categories=_categories(entry),
        image_url=first_web_url(_images(entry), base),
        published_at=published or updated,
        updated_at=updated,
    )


_PUBLISHED = (
    "published",
    "created",
)  # feedparser puts dc:date and Atom 0.3 `modified` under `updated`


def _id_of(entry: Parsed) -> str:
    """Return Atom id, RSS guid or rdf:about; an address without its user and password."""
    entry_id = _string(entry, "id")
    if "@" in entry_id and "://" in entry_id:
        return web_url(entry_id, "") or entry_id
    return entry_id


def _links(entry: Parsed) -> Iterator[str]:
    """Yield possible article addresses, best first; FeedBurner's original address
    precedes its tracking redirect.
    """
    yield _string(entry, "feedburner_origlink")
    yield _string(entry, "pheedo_origlink")
    yield _string(entry, "link")
    links = [link for link in entry.get("links", ()) if isinstance(link, Mapping)]
    yield from (
        _string(link, "href") for link in links if link.get("rel") == "alternate"
    )
    yield from (
        _string(link, "href") for link in links if link.get("rel") not in _NOT_LINKS
    )
    entry_id = _string(entry, "id")
    if (
        entry_id.startswith(("http://", "https://"))
        and entry.get("guidislink") is not False
    ):
        yield entry_id


def _texts(entry: Parsed) -> tuple[str, str | None]:
    """Return summary and full text as HTML, without feedparser's copy of the content in
    a missing summary.
    """
    summary = _string(entry, "summary")
    contents = [
        _string(content, "value")
        for content in entry.get("content", ())
        if isinstance(content, Mapping)
    ]
    content = max(contents, key=len, default="")
    return ("" if summary == content else summary), content or None


def _authors(entry: Parsed) -> tuple[str, ...]:
    people = [
        person for person in entry.get("authors", ()) if isinstance(person, Mapping)
    ]
    named = [
        plain_text(_string(person, "name") or _string(person, "email"))
        for person in people
    ]
    return unique(named) or unique([_plain(entry, "author")])


def _categories(entry: Parsed) -> tuple[str, ...]:
    tags = [tag for tag in entry.get("tags", ()) if isinstance(tag, Mapping)]
    return unique(_plain(tag, "label") or _plain(tag, "term") for tag in tags)


def _images(entry: Parsed) -> Iterator[str]:
    """Yield images, best first: media:content (widest), media:thumbnail, enclosure,
    itunes:image.
    """
    media = [
        item
        for item in entry.get("media_content", ())
        if isinstance(item, Mapping) and _is_image(item, "url")
    ]
    yield from (
        _string(item, "url")
        for item in sorted(media, key=lambda item: -(_number(item, "width") or 0))
    )
    yield from (
        _string(item, "url")
        for item in entry.get("media_thumbnail", ())
        if isinstance(item, Mapping)
    )
    links = [
        link
        for link in entry.get("links", ())
        if isinstance(link, Mapping) and link.get("rel") == "enclosure"
    ]
    yield from (_string(link, "href") for link in links if _is_image(link, "href"))
    image = entry.get("image")
    if isinstance(image, Mapping):
        yield _string(image, "href")


def _is_image(item: Parsed, key: str) -> bool:
    kind = _string(item, "medium") or _string(item, "type")
    return kind.startswith("image") or bool(
        not kind and _IMAGE_NAME.search(_string(item, key))
    )


def _plain(owner: Parsed, key: str) -> str | None:
    return plain_text(_string(owner, key)) or None


def _string(owner: Parsed, key: str) -> str:
    """Return a string value, bypassing feedparser's own lookup, which returns
    `published` for a missing `updated`.
    """
    value = dict.get(owner, key) if isinstance(owner, dict) else None
    if not isinstance(value, str):
        return ""
    return value.strip()
