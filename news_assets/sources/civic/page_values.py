"""HTML and JSON answers of vendors: trees, cells, links and values, with errors that
name the page.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from lxml import etree
from lxml.html import HtmlElement

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.meetings import Attachment, Link, Request
from news_assets.records.reading import Page
from news_assets.sources.html_document import html_tree, select, words_of
from news_assets.sources.platforms import found_instead
from news_assets.sources.storable_entries import or_none
from news_assets.sources.xml_documents import recovering_parser, repaired_xml
from news_assets.text.html import plain_text
from news_assets.text.limits import line, loads
from news_assets.text.urls import web_url

_MAX_ELEMENTS = 200_000  # an archive page of 2,000 meetings has some 40,000
_IN_SCRIPT = re.compile(
    r"""['"]([^'"\s]{1,500}\.(?:aspx|ashx|php)\?[^'"\s]{1,500})['"]""", re.IGNORECASE
)

Object = Mapping[str, Any]
Requests = tuple[Request, ...]


def tree_of(page: Page, expected: str) -> HtmlElement:
    """Return the page's tree. Raises SourceError for an empty page, ListingChangedError
    for one that is not HTML.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    tree = html_tree(page, _MAX_ELEMENTS)
    if tree is None:
        raise listing_changed(page, expected)
    return tree


def xml_of(page: Page) -> etree._Element:
    """Return the root of an XML document. Raises SourceError if nothing of it can be
    read.
    """
    body, _, _ = repaired_xml(page)
    root = etree.fromstring(body, recovering_parser())
    if root is None:
        raise SourceError(f"{page.url}: XML that cannot be read")
    return root


def listing_changed(page: Page, expected: str) -> ListingChangedError:
    """Return the error of a page that is not what it should be."""
    return ListingChangedError(f"{page.url}: not {expected}: {found_instead(page)}")


def json_of(page: Page, expected: str) -> Any:
    """Return a JSON document. Raises SourceError if it is empty or broken,
    ListingChangedError for another form.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    try:
        return loads(page.body.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError as error:
        raise ListingChangedError(f"{page.url}: JSON nested too deeply") from error
    except ValueError as error:  # also UnicodeDecodeError
        if not is_json(page):
            raise listing_changed(page, expected) from error
        raise SourceError(
            f"{page.url}: JSON that cannot be read: {str(error)[:120]}"
        ) from error


def is_json(page: Page) -> bool:
    """Whether a document begins as JSON."""
    text = page.body.lstrip(b"\xef\xbb\xbf \t\r\n")
    return text.startswith((b"{", b"["))


def objects(value: Any) -> list[Object]:
    """Return the objects of a list; none for anything else."""
    if not isinstance(value, list):
        return []
    return [one for one in value if isinstance(one, dict)]


def text_at(owner: Object, *names: str) -> str:
    """Return the first value of these names as a clean line: a text or number; empty if
    there is none.
    """
    for name in names:
        value = owner.get(name)
        if isinstance(value, str) and (text := line(plain_text(value), "title")):
            return text
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def url_at(owner: Object, page: Page, *names: str) -> str | None:
    """Return the first value of these names as an address; None if there is none."""
    stated = text_at(owner, *names)
    if not stated:
        return None
    return web_url(stated, page.final_url)


def optional_link(title: str, href: str | None) -> Link | None:
    """Return a link; None without an address."""
    if not href:
        return None
    return Link(title=title, href=href)


def optional_text(owner: Object, *names: str) -> str | None:
    """Return the first value of these names as `text_at` does; None if there is none."""
    return or_none(text_at(owner, *names))


def links_to(links: Iterable[Link], pattern: re.Pattern[str]) -> list[Link]:
    """Return the links whose address has a match of a pattern."""
    return [link for link in links if pattern.search(link.href)]


def attachments_of(links: Iterable[Link]) -> tuple[Attachment, ...]:
    """Return links as attachments of an item."""
    attachments = []
    for link in links:
        attachments.append(Attachment(name=link.title, url=link.href))
    return tuple(attachments)


def requests_to(*urls: str | None) -> Requests:
    """Return a request for each of these addresses; none for a missing one."""
    found: list[Request] = []
    for url in urls:
        if url:
            found.append(Request(url=url))
    return tuple(found)


def dateless_rows(count: int) -> tuple[str, ...]:
    """Return the problem of a listing with rows that have no date."""
    if not count:
        return ()
    return (f"{count} rows have no date that can be read",)


def words_at(element: HtmlElement, css: str) -> str:
    """Return the text of the first match below an element; empty if there is none."""
    return text_of(first_match(element, css))


def text_of(element: HtmlElement | None) -> str:
    """Return the text of an element on one clean line; empty for no element."""
    if element is None:
        return ""
    return title_line(words_of(element))


def first_match(element: HtmlElement, css: str) -> HtmlElement | None:
    """Return the first match below an element; None if there is none."""
    found = select(element, css)
    if not found:
        return None
    return found[0]


def lines_of(element: HtmlElement | None) -> str:
    """Return the texts within an element, one a line; empty for no element."""
    if element is None:
        return ""
    return "\n".join(element.itertext())


def title_line(text: str) -> str:
    """Return a text on one clean line, cut to the limit of titles."""
    return line(text, "title") or ""


def href_of(anchor: HtmlElement, base: str) -> str | None:
    """Return where a link leads, also if a script opens it; None for one that leads
    nowhere.
    """
    href = anchor.get("href", "").strip()
    if not href or href.lower().startswith(("#", "javascript:")):
        script = f"{anchor.get('onclick', '')} {href}"
        match = _IN_SCRIPT.search(script[:4000])
        if match is None:
            return None
        href = match[1]
    return web_url(href, base)


def links_in(element: HtmlElement, base: str, css: str = "a") -> tuple[Link, ...]:
    """Return the links below an element with their texts; without a text, the image's
    description or the title.
    """
    found: dict[tuple[str, str], Link] = {}
    for anchor in select(element, css):
        href = href_of(anchor, base)
        if href:
            title = text_of(anchor) or _described(anchor)
            found.setdefault((title, href), Link(title=title, href=href))
    return tuple(found.values())


def _described(anchor: HtmlElement) -> str:
    stated = (
        anchor.get("aria-label"),
        anchor.get("title"),
        *(image.get("alt") for image in anchor.iter("img")),
    )
    for value in stated:
        if value and (text := title_line(value)):
            return text
    return ""


def parameter(url: str | None, *names: str) -> str:
    """Return the first of these parameters in an address, in any case; empty if there
    is none.
    """
    try:
        pairs = {
            name.lower(): value
            for name, value in parse_qsl(urlsplit(url or "").query, max_num_fields=100)
        }
    except ValueError:
        return ""
    for name in names:
        if pairs.get(name):
            return pairs[name]
    return ""


def unique_links(links: Iterable[Link | None]) -> tuple[Link, ...]:
    """Return links without gaps and repetitions."""
    stated = filter(None, links)
    return tuple(dict.fromkeys(stated))


def titled_links(element: HtmlElement, base: str, css: str = "a") -> list[Link]:
    """Return the links below an element that have a title."""
    return [link for link in links_in(element, base, css) if link.title]


def first_parameter(links: Iterable[Link], name: str) -> str:
    """Return this parameter of the first link that has it; empty if none has."""
    for link in links:
        value = parameter(link.href, name)
        if value:
            return value
    return ""


def origin_of(url: str) -> str:
    """Return scheme and host of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
