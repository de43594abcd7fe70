"""An HTML page as an lxml tree of bounded size, and the text, base address and title in
it.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from news_assets.records.reading import Page
from news_assets.text.html import decode, plain_text
from news_assets.text.limits import clean_text
from news_assets.text.urls import resolve

if TYPE_CHECKING:
    from lxml.cssselect import CSSSelector

_MAX_CHARS = 4_000_000  # of a page; the largest listing pages seen have 0.4 million
_MAX_ELEMENTS = 20_000  # a listing of 60 items has some 3000
_INVISIBLE = ("script", "style", "noscript", "template", "head")


def html_tree(page: Page, max_elements: int = _MAX_ELEMENTS) -> HtmlElement | None:
    """Return the page's root element without comments, cut at the size limits; None for
    a page without elements.
    """
    text = decode(page.body, page.encoding)[:_MAX_CHARS]
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        tree = etree.fromstring(clean_text(text).encode(), parser)
    except etree.LxmlError:
        return None
    if not isinstance(tree, HtmlElement):
        return None
    return _cut(tree, max_elements)


def _cut(tree: HtmlElement, max_elements: int) -> HtmlElement:
    if tree.xpath(f"count(//*) <= {max_elements}"):
        return tree
    for element in list(tree.iter())[max_elements:]:
        if (parent := element.getparent()) is not None:
            parent.remove(element)
    return tree


def select(
    root: HtmlElement, css: str, *, with_root: bool = False
) -> list[HtmlElement]:
    """Return the elements below `root` that match a CSS selector, in the document's
    order, and `root` if wanted.
    """
    found: list[HtmlElement] = _selector(css)(root)
    return [element for element in found if with_root or element is not root]


def problem_of(css: str) -> str | None:
    """Return why a text cannot be used as a CSS selector, None if it can."""
    from cssselect import SelectorError, parse

    try:
        if any(selector.pseudo_element for selector in parse(css)):
            return "pseudo-elements such as ::text match no element"
        _selector(css)(etree.Element("html"))
    except (SelectorError, etree.XPathError) as error:
        return " ".join(str(error).split())
    return None


@lru_cache(maxsize=512)
def _selector(css: str) -> "CSSSelector":
    from lxml.cssselect import CSSSelector

    return CSSSelector(css, translator="html")


def words_of(element: HtmlElement) -> str:
    """Return the visible text of an element on one line."""
    return plain_text(" ".join(_texts(element)))


def _texts(element: HtmlElement) -> Iterator[str]:
    """Yield each piece of text outside scripts and styles, without recursion, which
    deep nesting would exhaust.
    """
    skipped: HtmlElement | None = None
    for event, part in etree.iterwalk(element, events=("start", "end")):
        if skipped is None and event == "start":
            if part.tag in _INVISIBLE:
                skipped = part
            elif part.text:
                yield part.text
        elif event == "end":
            skipped = None if part is skipped else skipped
            if skipped is None and part is not element and part.tail:
                yield part.tail


def base_of(tree: HtmlElement, page: Page) -> str:
    """Return the base address of the page's relative links."""
    for tag in tree.iter("base"):
        stated = tag.get("href")
        if stated:
            base = resolve(page.final_url, stated)
            return base if _is_web(base) else page.final_url
    return page.final_url


def _is_web(address: str) -> bool:
    try:
        return urlsplit(address).scheme in ("http", "https")
    except ValueError:
        return False


def title_of(tree: HtmlElement) -> str | None:
    """Return the page's `<title>`, else its first `<h1>`."""
    for tag in tree.iter("title", "h1"):
        name = words_of(tag)
        if tag.tag == "title":
            name = plain_text(tag.text or "")
        if name:
            return name
    return None
