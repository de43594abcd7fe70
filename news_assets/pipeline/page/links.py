"""Addresses on a page: its own canonical one, those of media, and where its text leads.

A parsed page and its final address enter; absolute http(s) addresses leave. What makes two addresses one is settled in
`text/urls.py`.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from news_assets.text.urls import canonical_url, is_same_site, resolve

_BLOCKS = frozenset({"p", "li", "td", "blockquote", "h2", "h3", "h4", "dd", "div", "section", "article", "body"})
_MAX_CLIMB = 8  # from a link up to the block it stands in
_COMPARED_CHARS = 60  # of a block, to find it in the text
_MAX_LINKS = 200
_NO_WORD = re.compile(r"[\W_]+")


def base_address(tree: HtmlElement, url: str) -> str:
    """Return the address that relative links start from."""
    return resolve(url, next((href for tag in tree.iter("base") if (href := tag.get("href"))), url))


def first_address(base: str, texts: Iterable[str]) -> str | None:
    """Return the first http(s) address, absolute."""
    return next((address for text in texts if _is_web(address := resolve(base, text))), None)


def stated_address(tree: HtmlElement, shared: Iterable[str], base: str, url: str) -> str:
    """Return the canonical address the page states if it is on the same site and no home page; else its own.

    `shared` are addresses stated for sharing (og:url), asked after `rel=canonical`.
    """
    own = canonical_url(url)
    links = [link.get("href") for link in tree.iter("link") if "canonical" in (link.get("rel") or "").lower().split()]
    stated = (canonical_url(text, base) for text in (*filter(None, links), *shared))
    return next((it for it in stated if _is_web(it) and not is_home(it) and is_same_site(it, own)), own)


def is_home(address: str) -> bool:
    """Whether an address names no page of its site, only the site."""
    if not _is_web(address):
        return False
    parts = urlsplit(address)
    return not (parts.path.strip("/") or parts.query or parts.fragment)


def out_links(tree: HtmlElement, text: str, base: str, url: str) -> tuple[str, ...]:
    """Return the addresses on other sites that links within the text lead to, in order."""
    squeezed = _squeezed(text)
    found: dict[str, None] = {}
    for link in tree.iter("a"):
        href = link.get("href") or ""
        if "//" not in href or len(found) == _MAX_LINKS or not _stands_in(link, squeezed):
            continue
        address = resolve(base, href)
        if address not in found and _is_web(address) and not is_same_site(address, url):
            found[address] = None
    return tuple(found)


def _stands_in(link: HtmlElement, squeezed: str) -> bool:
    """Whether the block around a link begins as some part of the text does."""
    words = _squeezed(" ".join(link.itertext()))
    if not words or words not in squeezed:
        return False
    block = link
    for _ in range(_MAX_CLIMB):
        parent = block.getparent()
        if parent is None or block.tag in _BLOCKS:
            break
        block = parent
    return _squeezed(" ".join(block.itertext()))[:_COMPARED_CHARS] in squeezed


def _squeezed(text: str) -> str:
    return _NO_WORD.sub("", text)


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
