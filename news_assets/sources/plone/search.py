"""Plone 6: one answer of plone.restapi's `@search` in, a Listing with full texts out.

A source's address is its news page, such as www.gov.br/anpd/pt-br/assuntos/noticias; asked is the search below that
page, through the traverser of Plone 6 at the site's root: www.gov.br/anpd/++api++/pt-br/assuntos/noticias/@search.
An address that names `@search` itself keeps its own parameters. No answer of gov.br was at hand when this was written:
it follows the documentation of plone.restapi (`searching`, `batching`, and the answers recorded in its tests).
"""

import json
import re
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records import ListedEntry, Listing, Page, Source
from news_assets.sources.entries import fallback_id, storable, unique
from news_assets.sources.platforms import found_instead
from news_assets.sources.plone.blocks import blocks_html
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text, sanitize
from news_assets.text.urls import web_url

_API = "++api++"
_LANGUAGE_FOLDER = re.compile(r"[a-z]{2}-[a-z]{2}", re.IGNORECASE)  # pt-br: the site ends before it
_QUERY: Final = (
    ("portal_type", "News Item"),
    ("sort_on", "effective"),
    ("sort_order", "descending"),
    ("fullobjects", "1"),
    ("b_size", "25"),  # of whole objects; plone.restapi warns of more
)
_FIRST_YEAR = 1971  # Plone writes 1969-12-30 or -31 for "never", by the server's zone
_MAX_SAID_CHARS = 120


def first_url(source: Source) -> str:
    """Return the address of the search below the news page, newest first."""
    return _search_url(source.url, ())


def day_url(source: Source, day: date) -> str:
    """Return the search for what was published on a day of the source's zone.

    A range is written with dotted names, as plone.restapi documents query options: `effective.query` twice and
    `effective.range=min:max`. Zope's `:record` notation is not understood there, and `:list` keeps both values.
    """
    zone = ZoneInfo(source.timezone)
    ends = (datetime.combine(day, time.min, zone), datetime.combine(day, time(23, 59, 59), zone))
    dates = [("effective.query:list", end.isoformat()) for end in ends]
    return _search_url(source.url, (*dates, ("effective.range", "min:max")))


def parse(page: Page, source: Source) -> Listing:
    """Return the items of one answer, newest first, and the address of the next.

    `content_html` is the article's text where the answer has it. Names are not taken: `creators` are accounts.

    Raises:
        ListingChangedError: No JSON, another JSON, or an error that Plone reports.
        SourceError: Nothing, or JSON that is cut.
    """
    answer = _answer(page, source)
    items = [item for item in answer["items"] if isinstance(item, dict)]
    lost = len(answer["items"]) - len(items)
    return storable(
        Listing(
            entries=tuple(_entry(item, page, source) for item in items),
            next_urls=_next_urls(answer, page),
            problems=(f"{lost} items are no objects: skipped",) if lost else (),
        )
    )


# --- addresses -------------------------------------------------------------------------------------------------------


def _search_url(address: str, conditions: Sequence[tuple[str, str]]) -> str:
    parts = urlsplit(address)
    own = parse_qsl(parts.query, keep_blank_values=True) if "@search" in parts.path else []
    named = {name.partition(":")[0] for name, _ in own}
    pairs = [*own, *((name, value) for name, value in _QUERY if name not in named), *conditions]
    query = urlencode(pairs, quote_via=quote, safe=":")
    return urlunsplit((parts.scheme, parts.netloc, _search_path(parts.path), query, ""))


def _search_path(path: str) -> str:
    segments = [segment for segment in path.split("/") if segment and not segment.startswith("@")]
    if _API not in segments:
        folders = (at for at, segment in enumerate(segments) if _LANGUAGE_FOLDER.fullmatch(segment))
        segments.insert(next(folders, 0), _API)
    return "/".join(("", *segments, "@search"))


def _next_urls(answer: dict[str, Any], page: Page) -> tuple[str, ...]:
    """Return the address that was asked with the query of `batching.next`.

    Its host and path are not used: behind a proxy they may be the inner server's, or lack the traverser.
    """
    batching = answer.get("batching")
    link = web_url(_string(batching, "next"), page.final_url) if isinstance(batching, dict) else None
    if not link or not _string(batching, "next"):
        return ()
    asked = urlsplit(page.final_url)
    url = urlunsplit((asked.scheme, asked.netloc, asked.path, urlsplit(link).query, ""))
    return (url,) if url != page.final_url else ()


def _public_url(item: dict[str, Any], page: Page) -> str | None:
    """Return the address that readers use; Plone keeps its traverser in some answers."""
    link = _string(item, "@id").replace(f"/{_API}/", "/")
    return web_url(link, page.final_url) if link else None


# --- the answer ------------------------------------------------------------------------------------------------------


def _answer(page: Page, source: Source) -> dict[str, Any]:
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    if page.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        raise ListingChangedError(f"{page.url}: {found_instead(page, source.kind)}, in place of Plone's JSON")
    try:
        answer = json.loads(page.body)
    except RecursionError as error:
        raise ListingChangedError(f"{page.url}: JSON that is nested too deeply") from error
    except ValueError as error:  # also UnicodeDecodeError
        raise SourceError(f"{page.url}: JSON that cannot be read: {str(error)[:_MAX_SAID_CHARS]}") from error
    if isinstance(answer, dict) and isinstance(answer.get("items"), list) and "@id" in answer:
        return answer
    raise ListingChangedError(f"{page.url}: {_refusal(answer, page, source)}")


def _refusal(answer: Any, page: Page, source: Source) -> str:
    said = [_string(answer, key) for key in ("type", "message")] if isinstance(answer, dict) else []
    if any(said):
        return f"Plone answers with an error: {': '.join(filter(None, said))[:_MAX_SAID_CHARS]}"
    return f"JSON without a list of items: {found_instead(page, source.kind)}"


def _entry(item: dict[str, Any], page: Page, source: Source) -> ListedEntry:
    url = _public_url(item, page)
    title = plain_text(_string(item, "title")) or None
    summary = plain_text(_string(item, "description")) or None
    return ListedEntry(
        entry_id=_string(item, "UID") or fallback_id(url, title, summary),
        url=url or "",
        title=title,
        summary=summary,
        content_html=_content_of(item, url or page.final_url),
        categories=unique(map(plain_text, _subjects(item))),
        image_url=_image_of(item, url or page.final_url),
        published_at=_time(item, "effective", source) or _time(item, "created", source),
        updated_at=_time(item, "modified", source),
    )


def _content_of(item: dict[str, Any], base: str) -> str | None:
    """Return the article's HTML: blocks, else the rich text of sites without them."""
    text = item.get("text")
    markup = blocks_html(item.get("blocks"), item.get("blocks_layout"))
    if not markup and isinstance(text, dict):
        markup = _string(text, "data")
    return sanitize(markup.replace(f"/{_API}/", "/"), base) or None if markup else None


def _subjects(item: dict[str, Any]) -> list[str]:
    values = item.get("subjects") or item.get("Subject")
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _image_of(item: dict[str, Any], base: str) -> str | None:
    pictures = [item.get(name) for name in ("preview_image", "image", "preview_image_link")]
    links = (
        _string(picture, "download") or _string(picture, "@id") for picture in pictures if isinstance(picture, dict)
    )
    return next(filter(None, (web_url(link.replace(f"/{_API}/", "/"), base) for link in links if link)), None)


def _time(item: dict[str, Any], key: str, source: Source) -> datetime | None:
    at = parse_date(_string(item, key), source.timezone)
    return at if at is not None and at.year >= _FIRST_YEAR else None


def _string(owner: Any, key: str) -> str:
    value = owner.get(key)
    return value.strip() if isinstance(value, str) else ""
