"""Recognises pages that list other pages: sections, tags, searches, collections, home
pages of sites.

No single sign decides, because each also occurs on articles: signs have points, and a
page needs several of them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.page.choice import LONG_CHARS
from news_assets.pipeline.page.links import is_home
from news_assets.pipeline.page.metadata import PageMetadata
from news_assets.text.dates import day_in_address
from news_assets.text.words import alphabetic_length, words


class Signs(NamedTuple):
    """Points of each sign of an index page, the points that are enough, and bounds of
    what is counted.

    `news_assets_tests/quality/index_pages.py` scores each set with the values that are
    best for the others.
    """

    enough: float = 5
    short_title: float = 2
    short_address: float = 1
    listing_address: float = 2
    """Of a home page, or below a segment such as `tag`; added to those of a short one."""

    no_date: float = 1
    controls: float = 2
    prices: float = 1
    more_pages: float = 1
    hardly_prose: float = 2
    listed: float = -2
    """Of an address that a listing gives a title: it is no index page unless most signs say so."""

    prose_share: float = 0.25
    """Of the page's text; less is hardly any."""

    min_prices: float = 3


SIGNS = Signs()
# origins of dates that lists and side columns do not give a page
_STATED = (
    "json_ld",
    "meta",
    "markup",
    "url",
)
# all labelled index pages have 39 and more; short notices on plain pages have fewer
_MIN_LINKS = 20
_SHORT_TITLE_WORDS = 3
_SHORT_SLUG_WORDS = 2
_CONTROL_CHARS = 60
_MIN_CARDS = 3
_CARD_CHARS = 800
_CARD_LINK_SHARE = 0.15
_ALIKE = 0.7  # share of an element's children with one class that are cards

_NO_TEXT = (
    "script",
    "style",
    "noscript",
    "template",
    "textarea",
    "option",
    "select",
    "svg",
    "button",
    "iframe",
)
_SHORT_TEXTS = XPath(
    f"//body//text()[string-length() <= {_CONTROL_CHARS}]"
    f"[not({' or '.join(f'parent::{tag}' for tag in _NO_TEXT[:5])})]",
    smart_strings=False,
)
_PRICE = re.compile(
    r"\W{0,3}(?:[a-z]{1,10} ){0,3}(?:US|R|C|AU|A)?[$€£] ?\d[\d.,]*(?: ?[-–/].{0,14})?\W{0,3}",
    re.IGNORECASE,
)
_CONTROL = re.compile(
    r"""\W{0,3}(?:sort(?:ed)?(?:\sby)?|filters?(?:\sby)?|filter\sresults|refine(?:\sby)?|clear\sall|(?:results?|items)\sper\spage
    | showing\s\d.*
    | \d+(?:\sof\s\d+)?\s(?:results|items|products|resultados|produtos|notícias|articles)
    | ordenar(?:\spor)?|filtrar(?:\spor)?|resultados\spor\spágina|sortieren(?:\snach)?|filtern
    | trier(?:\spar)?|filtrer)
    \b.{0,20}""",
    re.IGNORECASE | re.VERBOSE,
)
_NEXT_PAGES = re.compile(
    r"[?&/](?:page|pagina|p|paged|start|b_start:int|offset)[=/]\d+", re.IGNORECASE
)
_LISTING_SEGMENT = re.compile(
    r"/(?:archives?|authors?|autor|browse|catalog(?:ue)?|categor(?:y|ies)|categorias?|collections?|editorias?|genres?|kategorie"
    r"|label|search|busca|sections?|tags?|temas?|topics?|assuntos?)/?(?:/[^/]+/?){0,2}$",
    re.IGNORECASE,
)
# /2026/09/11/name/; an archive of a day ends in digits
_SLUG_AT_END = re.compile(r"/[^/]*[^\W\d_]{3}[^/]*/?$")
_EXTENSION = re.compile(r"\.\w{2,5}$")
_BETWEEN_WORDS = re.compile(r"[-_+]|%20")


class PageFacts(NamedTuple):
    """What is counted on a page that may be an index page."""

    is_listed: bool
    has_no_date: bool
    title_words: int
    slug_words: int
    has_listing_address: bool
    controls: int
    prices: int
    has_more_pages: bool
    prose_share: float


def page_facts(
    tree: HtmlElement, metadata: PageMetadata, url: str, *, is_listed: bool = False
) -> PageFacts | None:
    """Count what tells an index page from an article.

    None for a page with few links, and for one that JSON-LD or microdata call an
    article. Unless its address is that of a listing, also for one that og:type calls an
    article and that has a date, or with words after a day in its address.
    """
    links = [link.get("href") or "" for link in tree.iter("a")]
    path = urlsplit(url).path
    has_listing_address = is_home(url) or _LISTING_SEGMENT.search(path) is not None
    has_dated_address = day_in_address(url) is not None
    has_dated_slug = has_dated_address and _SLUG_AT_END.search(path) is not None
    is_stated = metadata.is_stated_article and (
        has_dated_address or metadata.published_origin in _STATED
    )
    is_article = (has_dated_slug or is_stated) and not has_listing_address
    if metadata.article_type or is_article or len(links) < _MIN_LINKS:
        return None
    short_texts = [text.strip() for text in _SHORT_TEXTS(tree)]
    return PageFacts(
        is_listed=is_listed,
        has_no_date=metadata.published_origin in (None, "guess"),
        title_words=len(words(metadata.title or "")),
        slug_words=max(map(_words_in, path.split("/"))),
        has_listing_address=has_listing_address,
        controls=sum(_CONTROL.fullmatch(text) is not None for text in short_texts),
        prices=sum(_PRICE.fullmatch(text) is not None for text in short_texts),
        has_more_pages=any(map(_NEXT_PAGES.search, links)),
        prose_share=prose_share(tree),
    )


def _words_in(segment: str) -> int:
    """Return the words in a segment of a path; an article's slug may precede its
    number.
    """
    return len(list(filter(None, _BETWEEN_WORDS.split(_EXTENSION.sub("", segment)))))


def signs_of_index(facts: PageFacts, signs: Signs = SIGNS) -> list[str]:
    """Return the signs that a page lists other pages; none if their points are not
    enough.

    Without controls, prices, further pages or hardly any prose a page is a short note,
    which has the other signs too.
    """
    has_prices = facts.prices >= signs.min_prices
    has_hardly_prose = facts.prose_share < signs.prose_share
    if not (facts.controls or has_prices or facts.has_more_pages or has_hardly_prose):
        return []
    points = {
        "short title": (facts.title_words <= _SHORT_TITLE_WORDS) * signs.short_title,
        "short address": (facts.slug_words <= _SHORT_SLUG_WORDS) * signs.short_address,
        "address of a listing": facts.has_listing_address * signs.listing_address,
        "no date": facts.has_no_date * signs.no_date,
        "listed": facts.is_listed * signs.listed,
        "controls of a listing": bool(facts.controls) * signs.controls,
        "prices": has_prices * signs.prices,
        "hardly any prose": has_hardly_prose * signs.hardly_prose,
        "more pages": facts.has_more_pages * signs.more_pages,
    }
    return (
        [sign for sign, count in points.items() if count > 0]
        if sum(points.values()) >= signs.enough
        else []
    )


# --- prose ----------------------------------------------------------------------------


class _Chars(NamedTuple):
    """The characters of text in an element: all, those in links, and those in long
    texts outside links and cards.
    """

    all: int = 0
    linked: int = 0
    prose: int = 0


_NO_CHARS = _Chars()


def prose_share(tree: HtmlElement) -> float:
    """Return the share of the page's text in long texts outside links and cards; 0 for
    a page without text.

    Cards are at least three elements with one parent and class, each with a link and
    little text.
    """
    body = tree.find("body")
    if body is None:
        return 0.0
    counted: dict[_Element, _Chars] = {}
    for element in reversed(list(body.iter("*"))):  # children precede their parents
        if element.tag not in _NO_TEXT:
            counted[element] = _chars_in(element, counted)
    found = counted.get(body, _NO_CHARS)
    return found.prose / found.all if found.all else 0.0


def _chars_in(element: _Element, counted: dict[_Element, _Chars]) -> _Chars:
    """Return the characters in an element whose children are counted."""
    total = linked = prose = 0
    for text in _texts_of(element):
        total += len(text)
        if len(text) >= LONG_CHARS or alphabetic_length(text) >= LONG_CHARS:
            prose += len(text)
    for child in element:
        inner = counted.get(child, _NO_CHARS)
        total += inner.all
        linked += inner.linked
        prose += inner.prose
    if element.tag == "a":
        return _Chars(total, total, 0)
    for card in _cards(element, counted):
        prose -= counted[card].prose
    return _Chars(total, linked, prose)


def _texts_of(element: _Element) -> Iterator[str]:
    for text in (element.text, *(child.tail for child in element)):
        if text and (bare := " ".join(text.split())):
            yield bare


def _cards(parent: _Element, counted: dict[_Element, _Chars]) -> list[_Element]:
    """Return the children of an element that are cards."""
    if len(parent) < _MIN_CARDS:
        return []
    filled = [child for child in parent if counted.get(child, _NO_CHARS).all]
    kinds = {
        child: (child.tag, (child.get("class") or "").partition(" ")[0])
        for child in filled
    }
    cards = [child for child in filled if _is_card(counted[child])]
    alike, carded = Counter(kinds.values()), Counter(kinds[card] for card in cards)
    return [
        card
        for card in cards
        if carded[kinds[card]] >= max(_MIN_CARDS, _ALIKE * alike[kinds[card]])
    ]


def _is_card(found: _Chars) -> bool:
    return found.all <= _CARD_CHARS and found.linked >= max(
        10, _CARD_LINK_SHARE * found.all
    )
