"""Recognises pages that list other pages: sections, tags, searches, collections, home pages of sites.

No single sign decides, because each also occurs on articles: signs have points, and a page needs several of them.
Points and bounds were set on the `dev` part of article_wcxb (79 listings and collections, 300 articles) and on the
articles of aeb, fundus, naeb and trafilatura; `news_assets_tests/quality/extraction.py` scores them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.page.choice import LONG_CHARS
from news_assets.pipeline.page.metadata import PageMetadata
from news_assets.text.dates import day_in_address

MIN_POINTS = 4  # 3 would refuse 22 of 642 articles
MIN_LINKS = 20  # all labelled index pages have 39 and more; short notices on plain pages have fewer
LITTLE_PROSE, HARDLY_PROSE = 0.4, 0.2  # share of the page's text
_OF_LISTINGS = ("controls of a listing", "prices", "more pages")  # the other signs are also those of short notes
_SHORT_TITLE_WORDS = 3
_SHORT_SLUG_WORDS = 2
_MIN_PRICES = 5
_CONTROL_CHARS = 60
_MIN_CARDS = 3
_CARD_CHARS = 800
_CARD_LINK_SHARE = 0.15
_ALIKE = 0.7  # share of an element's children with one class that are cards

_NO_TEXT = ("script", "style", "noscript", "template", "textarea", "option", "select", "svg", "button", "iframe")
_TEXTS = XPath(f"//body//*[not({' or '.join(f'self::{tag}' for tag in _NO_TEXT[:5])})]/text()")
_PRICE = re.compile(
    r"\W{0,3}(?:[a-z]{1,10} ){0,3}(?:US|R|C|AU|A)?[$€£] ?\d[\d.,]*(?: ?[-–/].{0,14})?\W{0,3}", re.IGNORECASE
)
_CONTROL = re.compile(
    r"""\W{0,3}(?:sort(?:ed)?(?:\sby)?|filters?(?:\sby)?|filter\sresults|refine(?:\sby)?|clear\sall|(?:results?|items)\sper\spage
    | showing\s\d.*|\d+(?:\sof\s\d+)?\s(?:results|items|products|resultados|produtos|notícias|articles)
    | ordenar(?:\spor)?|filtrar(?:\spor)?|resultados\spor\spágina|sortieren(?:\snach)?|filtern|trier(?:\spar)?|filtrer)
    \b.{0,20}""",
    re.IGNORECASE | re.VERBOSE,
)
_NEXT_PAGES = re.compile(r"[?&/](?:page|pagina|p|paged|start|b_start:int|offset)[=/]\d+", re.IGNORECASE)
_EXTENSION = re.compile(r"\.\w{2,5}$")
_BETWEEN_WORDS = re.compile(r"[-_+]|%20")


def index_signs(tree: HtmlElement, metadata: PageMetadata, url: str) -> dict[str, int]:
    """Return the signs of an index page with their points.

    None for a page that JSON-LD or microdata call an article, or that og:type calls one and that has a date.
    """
    is_dated = metadata.published_origin in ("json_ld", "meta", "markup", "url") or day_in_address(url) is not None
    is_article = metadata.article_type or (metadata.is_stated_article and is_dated)
    if is_article or sum(1 for _ in tree.iter("a")) < MIN_LINKS:
        return {}
    found = {**_signs_of_metadata(metadata, url, is_dated=is_dated), **_signs_of_texts(tree)}
    prose = prose_share(tree)
    found["little prose"] = (prose < LITTLE_PROSE) + (prose < HARDLY_PROSE)
    found["more pages"] = int(any(_NEXT_PAGES.search(link.get("href") or "") for link in tree.iter("a")))
    is_listing = prose < HARDLY_PROSE or any(found[sign] for sign in _OF_LISTINGS)
    return {sign: points for sign, points in found.items() if points} if is_listing else {}


def _signs_of_metadata(metadata: PageMetadata, url: str, *, is_dated: bool) -> dict[str, int]:
    path = urlsplit(url).path.strip("/")
    slug = _EXTENSION.sub("", path.rpartition("/")[2])
    return {
        "short title": int(len((metadata.title or "").split()) <= _SHORT_TITLE_WORDS),
        "short address": int(len(list(filter(None, _BETWEEN_WORDS.split(slug)))) <= _SHORT_SLUG_WORDS),
        "no date": -1 if is_dated else int(metadata.published_origin in (None, "guess")),
        "stated article": -int(metadata.is_stated_article),
    }


def _signs_of_texts(tree: HtmlElement) -> dict[str, int]:
    """Return the points for controls of a listing and for prices."""
    prices = controls = 0
    for text in _TEXTS(tree):
        if len(text) <= _CONTROL_CHARS:
            bare = text.strip()
            prices += _PRICE.fullmatch(bare) is not None
            controls += _CONTROL.fullmatch(bare) is not None
    return {"controls of a listing": 2 * bool(controls), "prices": int(prices >= _MIN_PRICES)}


# --- prose -----------------------------------------------------------------------------------------------------------


def prose_share(tree: HtmlElement) -> float:
    """Return the share of the page's text in long texts outside links and cards; 0 for a page without text.

    Cards are at least three elements with one parent and class, each with a link and little text.
    """
    chars: Counter[_Element] = Counter()
    linked: Counter[_Element] = Counter()
    prose: Counter[_Element] = Counter()
    body = tree.find("body")
    elements = [] if body is None else list(body.iter("*"))
    for element in reversed(elements):  # children precede their parents
        if element.tag in _NO_TEXT:
            continue
        for text in _texts_of(element):
            chars[element] += len(text)
            prose[element] += len(text) if len(text) >= LONG_CHARS else 0
        for count in (chars, linked, prose):
            count[element] += sum(count[child] for child in element)
        if element.tag == "a":
            linked[element], prose[element] = chars[element], 0
        prose[element] -= sum(prose[card] for card in _cards(element, chars, linked))
    return prose[elements[0]] / chars[elements[0]] if elements and chars[elements[0]] else 0.0


def _texts_of(element: _Element) -> Iterator[str]:
    for text in (element.text, *(child.tail for child in element)):
        if text and (bare := " ".join(text.split())):
            yield bare


def _cards(parent: _Element, chars: Counter[_Element], linked: Counter[_Element]) -> list[_Element]:
    """Return the children of an element that are cards."""
    if len(parent) < _MIN_CARDS:
        return []
    kinds = {child: (child.tag, (child.get("class") or "").partition(" ")[0]) for child in parent if chars[child]}
    cards = [child for child in kinds if _is_card(chars[child], linked[child])]
    alike, carded = Counter(kinds.values()), Counter(kinds[card] for card in cards)
    return [card for card in cards if carded[kinds[card]] >= max(_MIN_CARDS, _ALIKE * alike[kinds[card]])]


def _is_card(chars: int, linked: int) -> bool:
    return chars <= _CARD_CHARS and linked >= max(10, _CARD_LINK_SHARE * chars)
