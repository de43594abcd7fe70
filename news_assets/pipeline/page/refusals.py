"""Recognises HTML pages that hold no article: bot checks, consent and log-in pages,
error pages, and pages that list other pages.

Precision matters more than recall: a refused text is lost, while a kept one can still
be found to be short. No single sign decides that a page is a section, a search or a
home page, because each also occurs on articles: signs have points, and a page needs
several of them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.page.links import is_home
from news_assets.pipeline.page.page_metadata import PageMetadata
from news_assets.pipeline.page.readings import LONG_CHARS
from news_assets.records.reading import Outcome, Page
from news_assets.text.dates import day_in_address
from news_assets.text.words import alphabetic_length, words

Refusal = tuple[Outcome, str]

MIN_TEXT_CHARS = 60  # two short sentences, on a page that states that it is an article
# on any other page: shorter texts are menus, teasers and error messages
_MIN_UNSTATED_CHARS = 100
_PROSE_LINE_CHARS = 150  # longer than a teaser or a menu entry
_SMALL_CHARS = 1500  # pages with more text are not checked for walls and error messages
_CHALLENGE_CHARS = 400  # pages that only run a bot check have less text
_CHALLENGE = re.compile(
    r"""just\sa\smoment|attention\srequired!|access\sdenied|acesso\snegado|403\sforbidden|captcha|security\scheck
    | are\syou\s(?:a\s)?(?:human|robot)|checking\syour\sbrowser|pardon\sour\sinterruption
    | request\sunsuccessful
    | verif(?:y|ying)\syou\sare\shuman|verifi(?:que|cando)\s(?:se\s)?você\sé\shumano|ddos-guard
    | bot\s(?:detection|protection)""",
    re.IGNORECASE | re.VERBOSE,
)
_CHALLENGE_SCRIPT = re.compile(
    r"cf-browser-verification|cf_chl_|challenge-platform|_Incapsula_Resource|px-captcha|datadome|awswaf|hcaptcha-box"
)
_CONSENT = re.compile(
    r"""before\syou\scontinue|antes\sde\scontinuar|cookie\s(?:consent|wall|settings|preferences|notice)
    | privacy\s(?:consent|gate)|consent\s(?:manager|required)|zustimmung|einwilligung
    | (?:aviso|uso)\sde\scookies""",
    re.IGNORECASE | re.VERBOSE,
)
_LOG_IN = re.compile(
    r"""^\W*(?:log\s?in|sign\s?in|log\son|please\slog\sin.*|entrar|acess(?:ar|e)\s(?:sua\s)?conta|acesso\srestrito
    | faça\s(?:seu\s)?login|autenticação|anmelden|iniciar\ssesión|se\sconnecter
    | connexion)\b\W*(?:$|[|–—-])""",
    re.IGNORECASE | re.VERBOSE,
)
_LOG_IN_PATH = re.compile(
    r"/(?:require_login|login_form|login|signin|sign-in|acl_users)\b", re.IGNORECASE
)
_MISSING = re.compile(
    r"""\b(?:404|410)\b.{0,30}\b(?:not\sfound|error|erro|gone|página)|^\W*(?:erro?r?\W*)?404\b|not\sfound
    | (?:page|article|story|content)\s(?:is\s)?(?:no\slonger\savailable|unavailable)
    | (?:página|conteúdo|notícia)\snão\s(?:foi\s)?encontrad[ao]|página\sinexistente
    | página\sno\sencontrada
    | page\sintrouvable|seite\snicht\sgefunden|pagina\snon\strovata|страница\sне\sнайдена""",
    re.IGNORECASE | re.VERBOSE,
)


def refusal_of(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> Refusal | None:
    """Return outcome and reason of a page without an article; None for an article."""
    if is_home(metadata.canonical_url) and not is_home(page.url):
        return "failed", "redirected to the home page"
    wall = _wall(tree, metadata, text, page) if len(text) <= _SMALL_CHARS else None
    return wall or _refusal_of_text(tree, metadata, text, page)


def _wall(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> Refusal | None:
    title = metadata.title or ""
    names = [name for name in (title, *metadata.titles) if name]
    if any(_CHALLENGE.search(name) for name in names) or _has_challenge(tree, text):
        return "blocked", f"challenge page: {title[:80] or 'without a title'}"
    if any(_CONSENT.search(name) for name in names) and not metadata.is_stated_article:
        return "blocked", f"consent page: {title[:80]}"
    if _is_log_in(tree, names, page.final_url, metadata):
        return "blocked", f"log-in page: {title[:80]}"
    return _refusal_of_missing(metadata, names, text)


def _has_challenge(tree: HtmlElement, text: str) -> bool:
    if len(text) > _CHALLENGE_CHARS:
        return False
    scripts = (
        element.get("src") or element.text or ""
        for element in tree.iter("script", "form", "iframe")
    )
    return any(_CHALLENGE_SCRIPT.search(script) for script in scripts)


def _is_log_in(
    tree: HtmlElement, names: list[str], final_url: str, metadata: PageMetadata
) -> bool:
    has_password = tree.find(".//input[@type='password']") is not None
    if any(_LOG_IN.search(name) for name in names):
        return has_password or not metadata.is_stated_article
    return has_password and _LOG_IN_PATH.search(final_url) is not None


def _refusal_of_missing(
    metadata: PageMetadata, names: list[str], text: str
) -> Refusal | None:
    """Return the refusal of an error page sent with status 200; its text may be little
    more than the menu.
    """
    if metadata.is_stated_article or metadata.article_type:
        return None
    if any(_MISSING.search(name) for name in names):
        return "failed", f"error page: {metadata.title or names[0]}"[:120]
    if metadata.published_at is None and (match := _MISSING.search(text)):
        return "failed", f"error page: {match[0]}"
    return None


def _refusal_of_text(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> Refusal | None:
    states = (metadata.is_stated_article, metadata.article_type, metadata.published_at)
    is_article = any(states) or len(list(islice(tree.iter("article"), 2))) == 1
    if alphabetic_length(text) < (
        MIN_TEXT_CHARS if is_article else _MIN_UNSTATED_CHARS
    ):
        if target := _refresh_target(tree):
            return "failed", f"only redirects to {target}"
        return "failed", f"too little text: {len(text)} characters"
    if is_home(page.final_url) and not is_article and not _is_prose(text):
        return "skipped", "home page, no article"
    facts = page_facts(
        tree, metadata, page.final_url, is_listed=bool(page.listed_title)
    )
    if facts and (signs := signs_of_index(facts)):
        return "skipped", f"index page, no article: {', '.join(signs)}"
    return None


def _refresh_target(tree: HtmlElement) -> str | None:
    """Return the URL of a `<meta http-equiv=refresh>`."""
    for tag in tree.iter("meta"):
        content = tag.get("content") or ""
        if (
            tag.get("http-equiv") or ""
        ).lower() == "refresh" and "url" in content.lower():
            return content.partition("=")[2].strip(" '\"")[:200]
    return None


def _is_prose(text: str) -> bool:
    """Whether at least half the text is in lines too long for teasers and menus."""
    return 2 * sum(
        len(line)
        for line in text.splitlines()
        if alphabetic_length(line) > _PROSE_LINE_CHARS
    ) >= len(text)


# --- pages that list other pages ------------------------------------------------------


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
