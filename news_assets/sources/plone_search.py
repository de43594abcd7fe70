"""Plone 6 sites, read through plone.restapi's `@search`, which returns full texts.

The source's address is its news page, such as www.gov.br/anpd/pt-br/assuntos/noticias;
the request goes to the search below it, through the API path at the site's root:
www.gov.br/anpd/++api++/pt-br/assuntos/noticias/@search. An address that contains
`@search` keeps its own parameters. Written without a response of gov.br: it follows
plone.restapi's documentation (`searching`, `batching`) and the responses recorded in
its tests.

An article is a mapping of ids to blocks and a layout with their order, nested in grids
and tabs (Volto's published block model). Blocks that repeat the page's head (title,
description) or show other pages (listings, searches, teasers) are omitted. `slate` is
the editor since Volto 16, `text` (Draft.js) the one before.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from html import escape
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from news_assets.errors import ListingChangedError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.platforms import decoded_json, found_instead, string_of
from news_assets.sources.storable_entries import (
    fallback_id,
    first_web_url,
    or_none,
    sanitized,
    storable,
    unique,
)
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text
from news_assets.text.urls import web_url

_API = "++api++"
# pt-br: the site ends before it
_LANGUAGE_FOLDER = re.compile(r"[a-z]{2}-[a-z]{2}", re.IGNORECASE)
_QUERY: Final = (
    ("portal_type", "News Item"),
    ("sort_on", "effective"),
    ("sort_order", "descending"),
    ("fullobjects", "1"),
    ("b_size", "25"),  # of full objects; plone.restapi advises against more
)
_FIRST_YEAR = 1971  # Plone writes 1969-12-30 or -31 for "never", by the server's zone
_MAX_ERROR_CHARS = 120


def first_url(source: Source) -> str:
    """Return the address of the search below the news page, newest first."""
    return _search_url(source.url, ())


def day_url(source: Source, day: date) -> str:
    """Return the address of the search for a day of publication in the source's zone.

    plone.restapi takes a range as dotted query options, `effective.query` twice and
    `effective.range=min:max`, and not as Zope's `:record`; `:list` keeps both values.
    """
    zone = ZoneInfo(source.timezone)
    ends = (
        datetime.combine(day, time.min, zone),
        datetime.combine(day, time(23, 59, 59), zone),
    )
    dates = [("effective.query:list", end.isoformat()) for end in ends]
    return _search_url(source.url, (*dates, ("effective.range", "min:max")))


def parse(page: Page, source: Source) -> Listing:
    """Return the items of one response, newest first, and the address of the next one.

    `content_html` is the article's text if the response has it. Authors are omitted:
    `creators` are user accounts.

    Raises:
        ListingChangedError: Not JSON, other JSON, or an error reported by Plone.
        SourceError: The document is empty, or its JSON is broken.
    """
    result = _result(page, source)
    items = [item for item in result["items"] if isinstance(item, dict)]
    lost = len(result["items"]) - len(items)
    return storable(
        Listing(
            entries=tuple(_entry(item, page, source) for item in items),
            next_urls=_next_urls(result, page),
            problems=(f"{lost} items are not objects: skipped",) if lost else (),
        )
    )


# --- addresses ------------------------------------------------------------------------


def _search_url(address: str, conditions: Sequence[tuple[str, str]]) -> str:
    parts = urlsplit(address)
    pairs: list[tuple[str, str]] = []
    if "@search" in parts.path:
        pairs = parse_qsl(parts.query, keep_blank_values=True)
    named = {name.partition(":")[0] for name, _ in pairs}
    pairs += [(name, value) for name, value in _QUERY if name not in named]
    query = urlencode([*pairs, *conditions], quote_via=quote, safe=":")
    search = parts._replace(path=_search_path(parts.path), query=query, fragment="")
    return search.geturl()


def _search_path(path: str) -> str:
    """Return the path of the search below a folder; the API stands before the folder of
    a language.
    """
    segments = []
    for one in path.split("/"):
        if one and not one.startswith("@"):
            segments.append(one)
    if _API not in segments:
        segments.insert(_place_of_api(segments), _API)
    return "/".join(("", *segments, "@search"))


def _place_of_api(segments: Sequence[str]) -> int:
    """Return where the API's segment belongs: before a folder of a language, else at
    the beginning.
    """
    for place, segment in enumerate(segments):
        if _LANGUAGE_FOLDER.fullmatch(segment):
            return place
    return 0


def _next_urls(result: dict[str, Any], page: Page) -> tuple[str, ...]:
    """Return the requested address with the query of `batching.next`.

    The host and path of `batching.next` are not used: behind a proxy they may be the
    inner server's, or lack `++api++`.
    """
    link = first_web_url([string_of(result.get("batching"), "next")], page.final_url)
    if link is None:
        return ()
    requested = urlsplit(page.final_url)
    url = urlunsplit(
        (requested.scheme, requested.netloc, requested.path, urlsplit(link).query, "")
    )
    if url == page.final_url:
        return ()
    return (url,)


def _public_url(item: dict[str, Any], page: Page) -> str | None:
    """Return the public address of an item; some responses have `++api++` in it."""
    link = string_of(item, "@id").replace(f"/{_API}/", "/")
    if not link:
        return None
    return web_url(link, page.final_url)


# --- the response ---------------------------------------------------------------------


def _result(page: Page, source: Source) -> dict[str, Any]:
    result = decoded_json(page, source, "a response of Plone's API")
    if not isinstance(result, dict) or "@id" not in result:
        raise _changed(result, page, source)
    if not isinstance(result.get("items"), list):
        raise _changed(result, page, source)
    return result


def _changed(result: Any, page: Page, source: Source) -> ListingChangedError:
    return ListingChangedError(f"{page.url}: {_refusal(result, page, source)}")


def _refusal(result: Any, page: Page, source: Source) -> str:
    stated = [string_of(result, key) for key in ("type", "message")]
    error = ": ".join(filter(None, stated))
    if error:
        return f"Plone reports an error: {error[:_MAX_ERROR_CHARS]}"
    return f"JSON without a list of items: {found_instead(page, source.kind)}"


def _entry(item: dict[str, Any], page: Page, source: Source) -> ListedEntry:
    url = _public_url(item, page)
    base = url or page.final_url
    title = or_none(plain_text(string_of(item, "title")))
    summary = or_none(plain_text(string_of(item, "description")))
    return ListedEntry(
        entry_id=string_of(item, "UID") or fallback_id(url, title, summary),
        url=url or "",
        title=title,
        summary=summary,
        content_html=_content_of(item, base),
        categories=unique(map(plain_text, _subjects(item))),
        image_url=_image_of(item, base),
        published_at=_time(item, source, "effective", "created"),
        updated_at=_time(item, source, "modified"),
    )


def _content_of(item: dict[str, Any], base: str) -> str | None:
    """Return the article's HTML from its blocks, else from its rich text."""
    markup = _blocks_html(item.get("blocks"), item.get("blocks_layout"))
    if not markup:
        markup = string_of(item.get("text"), "data")
    markup = markup.replace(f"/{_API}/", "/")
    return sanitized(markup, base)


def _subjects(item: dict[str, Any]) -> list[str]:
    values = item.get("subjects") or item.get("Subject")
    if not isinstance(values, list):
        return []
    return [value for value in values if isinstance(value, str)]


def _image_of(item: dict[str, Any], base: str) -> str | None:
    links: list[str] = []
    for name in ("preview_image", "image", "preview_image_link"):
        picture = item.get(name)
        link = string_of(picture, "download") or string_of(picture, "@id")
        links.append(link.replace(f"/{_API}/", "/"))
    return first_web_url(links, base)


def _time(item: dict[str, Any], source: Source, *names: str) -> datetime | None:
    """Return the first time with one of these names; Plone states 1969 for none."""
    for name in names:
        at = parse_date(string_of(item, name), source.timezone)
        if at is None:
            continue
        if at.year >= _FIRST_YEAR:
            return at
    return None


# --- blocks of an article -------------------------------------------------------------

_MAX_DEPTH = 40  # of nested blocks and of nodes within one
_MAX_NODES = 20_000
_TAGS: Final = frozenset(
    ("blockquote", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol",
     "p", "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "tr", "u", "ul")
)  # fmt: skip
_STYLES: Final = (("bold", "strong"), ("italic", "em"), ("code", "code"))
_DRAFT_TAGS: Final = {
    "blockquote": "blockquote",
    "header-one": "h2",
    "header-two": "h2",
    "header-three": "h3",
    "ordered-list-item": "li",
    "unordered-list-item": "li",
}
_Json = Any


def _blocks_html(blocks: _Json, layout: _Json) -> str:
    """Return the text blocks as HTML, in the layout's order; empty if there are none.
    Never raises.
    """
    return "\n".join(filter(None, _rendered(blocks, layout, 0)))


def _in_order(blocks: dict[str, Any], layout: _Json) -> list[str]:
    """Return the names of blocks in the order of the layout, each once: repeats would
    take exponential time.
    """
    order = _at(layout, "items")
    names = order if isinstance(order, list) else list(blocks)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _rendered(blocks: _Json, layout: _Json, depth: int) -> list[str]:
    if not isinstance(blocks, dict):
        return []
    if depth > _MAX_DEPTH:
        return []
    found: list[str] = []
    for name in _in_order(blocks, layout):
        block = blocks.get(name)
        if not isinstance(block, dict):
            continue
        render = _RENDERERS.get(str(block.get("@type")))
        found.append(render(block) if render else "\n".join(_nested(block, depth)))
    return found


def _at(owner: _Json, name: str) -> _Json:
    """Return a value of an object; None for anything else."""
    if not isinstance(owner, dict):
        return None
    return owner.get(name)


def _nested(block: dict[str, _Json], depth: int) -> list[str]:
    """Render the blocks in a grid, column, tab or accordion."""
    found: list[str] = []
    for holder in (block, block.get("data")):
        layout = _at(holder, "blocks_layout")
        found += _rendered(_at(holder, "blocks"), layout, depth + 1)
    return found


def _slate(block: dict[str, _Json]) -> str:
    return _nodes(block.get("value"), 0)


def _nodes(nodes: _Json, depth: int) -> str:
    if not isinstance(nodes, list):
        return ""
    if depth > _MAX_DEPTH:
        return ""
    return "".join(
        _node(node, depth) for node in nodes[:_MAX_NODES] if isinstance(node, dict)
    )


def _node(node: dict[str, _Json], depth: int) -> str:
    if isinstance(node.get("text"), str):
        return _styled(node)
    inner = _nodes(node.get("children"), depth + 1)
    kind = node.get("type")
    if kind in ("a", "link"):
        return _link(node, inner)
    if isinstance(kind, str) and kind in _TAGS:
        return f"<{kind}>{inner}</{kind}>"
    return inner


def _styled(leaf: dict[str, _Json]) -> str:
    text = escape(leaf["text"], quote=False).replace("\n", "<br>")
    if not text:
        return ""
    for style, tag in _STYLES:
        if leaf.get(style) is True:
            text = f"<{tag}>{text}</{tag}>"
    return text


def _link(node: dict[str, _Json], inner: str) -> str:
    data = node.get("data")
    url = data.get("url") if isinstance(data, dict) else node.get("url")
    if not isinstance(url, str):
        return inner
    return f'<a href="{escape(url)}">{inner}</a>'


def _draft(block: dict[str, _Json]) -> str:
    lines = _at(block.get("text"), "blocks")
    if not isinstance(lines, list):
        return ""
    return "".join(_draft_line(line) for line in lines if isinstance(line, dict))


def _draft_line(line: dict[str, _Json]) -> str:
    text = line.get("text")
    if not isinstance(text, str):
        return ""
    if not text.strip():
        return ""
    tag = _DRAFT_TAGS.get(str(line.get("type")), "p")
    return f"<{tag}>{escape(text, quote=False)}</{tag}>"


def _html(block: dict[str, _Json]) -> str:
    markup = block.get("html")
    if isinstance(markup, str):
        return markup
    return ""


def _image(block: dict[str, _Json]) -> str:
    url = block.get("url")
    alt = block.get("alt")
    if not isinstance(url, str):
        return ""
    if not url.startswith(("http://", "https://", "/")):
        return ""
    words = escape(alt) if isinstance(alt, str) else ""
    return f'<img src="{escape(url)}" alt="{words}">'


def _table(block: dict[str, _Json]) -> str:
    rows = _at(block.get("table"), "rows")
    if not isinstance(rows, list):
        return ""
    return f"<table>{''.join(map(_row, rows[:_MAX_NODES]))}</table>"


def _row(row: _Json) -> str:
    cells = _at(row, "cells")
    if not isinstance(cells, list):
        return ""
    texts: list[str] = []
    for cell in cells:
        if isinstance(cell, dict):
            texts.append(_nodes(cell.get("value"), 0))
    inner = "".join(f"<td>{text}</td>" for text in texts)
    return f"<tr>{inner}</tr>"


_RENDERERS: Final[dict[str, Callable[[dict[str, _Json]], str]]] = {
    "html": _html,
    "image": _image,
    "slate": _slate,
    "slateTable": _table,
    "text": _draft,
    **dict.fromkeys(
        ("description", "leadimage", "listing", "search", "teaser", "title"),
        lambda _: "",
    ),
}
