"""Absolute http(s) URLs on a page: its canonical URL, media, and links out of the text."""

import re
from collections.abc import Iterable
from itertools import islice
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from news_assets.text.limits import most
from news_assets.text.urls import (
    canonical_url,
    is_same_site,
    resolve,
    served_url,
    web_url,
)

_BLOCKS = frozenset(
    {
        "p",
        "li",
        "td",
        "blockquote",
        "h2",
        "h3",
        "h4",
        "dd",
        "div",
        "section",
        "article",
        "body",
    }
)
_MAX_CLIMB = 8  # elements between a link and its block
_COMPARED_CHARS = 60  # of a block that is searched for in the text
_LINK_CHARS = 500  # of a link's own text
_READ_CHARS = 5000  # of an element, until it has as many letters
_MAX_LINKS = 200
# links with an address; the words of each are searched for in the text
_MAX_TRIED = 2000
_MAX_STATED = 10
_NO_WORD = re.compile(r"[\W_]+")


def base_url(tree: HtmlElement, url: str) -> str:
    """Return the URL that relative links are resolved against."""
    for tag in tree.iter("base"):
        if href := tag.get("href"):
            return resolve(url, href)
    return resolve(url, url)


def first_url(base: str, texts: Iterable[str]) -> str | None:
    """Return the first http(s) URL, made absolute."""
    for text in texts:
        url = web_url(text, base)
        if url:
            return url
    return None


def canonical_url_of(
    tree: HtmlElement, shared: Iterable[str], base: str, url: str
) -> str:
    """Return the canonical URL that the page states if it is on the same site and not a
    home page, else its own.

    `shared` holds the URLs stated for sharing (og:url), which rank below
    `rel=canonical`.
    """
    own = served_url(url)
    links = filter(_is_canonical, tree.iter("link"))
    stated_urls = [link.get("href", "") for link in islice(links, _MAX_STATED)]
    for text in (*stated_urls, *shared):
        if not 0 < len(text) <= most("address"):
            continue
        stated = canonical_url(text, base)
        if not _is_page(stated):
            continue
        if is_same_site(stated, own):
            return stated
    return own


def _is_canonical(link: HtmlElement) -> bool:
    return "canonical" in link.get("rel", "").lower().split()


def _is_page(url: str) -> bool:
    if not _is_web(url):
        return False
    return not is_home(url)


def is_home(url: str) -> bool:
    """Whether an http(s) URL has no path, query or fragment."""
    if not _is_web(url):
        return False
    parts = urlsplit(url)
    return not any((parts.path.strip("/"), parts.query, parts.fragment))


def _is_elsewhere(target: str, url: str) -> bool:
    if len(target) > most("address"):
        return False
    return not is_same_site(target, url)


def out_links(tree: HtmlElement, text: str, base: str, url: str) -> tuple[str, ...]:
    """Return the URLs on other sites that the text links to, in order."""
    squeezed = _squeezed(text)
    found: dict[str, None] = {}
    links = (link for link in tree.iter("a") if "//" in link.get("href", ""))
    for link in islice(links, _MAX_TRIED):
        # before the address, whose parsing takes longer
        if not _is_in_text(link, squeezed):
            continue
        target = web_url(link.get("href", ""), base)
        if target is not None and _is_elsewhere(target, url):
            found.setdefault(target)
        if len(found) == _MAX_LINKS:
            break
    return tuple(found)


def _is_in_text(link: HtmlElement, squeezed: str) -> bool:
    """Whether the block around a link is part of the text, judged by the beginnings of
    both.
    """
    words = _beginning(link, _LINK_CHARS)
    if not words:
        return False
    if words not in squeezed:
        return False
    return _beginning(_block_of(link), _COMPARED_CHARS) in squeezed


def _block_of(link: HtmlElement) -> HtmlElement:
    block = link
    for _ in range(_MAX_CLIMB):
        parent = block.getparent()
        if parent is None:
            break
        if block.tag in _BLOCKS:
            break
        block = parent
    return block


def _beginning(element: HtmlElement, chars: int) -> str:
    """Return the first letters and digits of an element's text."""
    words, read = "", 0
    for part in element.itertext():
        words += _squeezed(part[:_READ_CHARS])
        read += len(part)
        if len(words) >= chars:
            break
        if read >= _READ_CHARS:
            break
    return words[:chars]


def _squeezed(text: str) -> str:
    return _NO_WORD.sub("", text)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https"):
        return False
    return bool(parts.netloc)
