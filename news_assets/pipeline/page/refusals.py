"""Recognises HTML pages that hold no article: bot checks, consent and log-in pages,
error pages, and pages that list other pages.

Precision matters more than recall: a refused text is lost, while a kept one can still
be found to be short. No single sign decides that a page is a section, a search or a
home page, because each also occurs on articles: signs have points, and a page needs
several of them.
"""

import re
from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.page.body_text import LONG_CHARS
from news_assets.pipeline.page.page_metadata import PageMetadata
from news_assets.pipeline.page.stated import is_home
from news_assets.records.reading import Outcome, Page
from news_assets.text.dates import day_in_address
from news_assets.text.words import alphabetic_length, words

_Refusal = tuple[Outcome, str]

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
) -> _Refusal | None:
    """Return outcome and reason of a page without an article; None for an article."""
    if is_home(metadata.canonical_url) and not is_home(page.url):
        return "failed", "redirected to the home page"
    if len(text) <= _SMALL_CHARS:
        wall = _wall(tree, metadata, text, page)
        if wall is not None:
            return wall
    return _refusal_of_text(tree, metadata, text, page)


def _wall(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> _Refusal | None:
    title = metadata.title or ""
    names = list(filter(None, (title, *metadata.titles)))
    if _is_named(_CHALLENGE, names) or _has_challenge(tree, text):
        return "blocked", f"challenge page: {title[:80] or 'without a title'}"
    if _is_named(_CONSENT, names) and not metadata.is_stated_article:
        return "blocked", f"consent page: {title[:80]}"
    if _is_log_in(tree, names, page.final_url, metadata):
        return "blocked", f"log-in page: {title[:80]}"
    return _refusal_of_missing(metadata, names, text)


def _is_named(pattern: re.Pattern[str], names: list[str]) -> bool:
    """Whether one of the forms of the title has this wording."""
    return any(map(pattern.search, names))


def _has_challenge(tree: HtmlElement, text: str) -> bool:
    if len(text) > _CHALLENGE_CHARS:
        return False
    for element in tree.iter("script", "form", "iframe"):
        script = element.get("src") or element.text
        if not script:
            continue
        if _CHALLENGE_SCRIPT.search(script):
            return True
    return False


def _is_log_in(
    tree: HtmlElement, names: list[str], final_url: str, metadata: PageMetadata
) -> bool:
    has_password = tree.find(".//input[@type='password']") is not None
    if _is_named(_LOG_IN, names):
        if has_password:
            return True
        return not metadata.is_stated_article
    if not has_password:
        return False
    return _LOG_IN_PATH.search(final_url) is not None


def _refusal_of_missing(
    metadata: PageMetadata, names: list[str], text: str
) -> _Refusal | None:
    """Return the refusal of an error page sent with status 200; its text may be little
    more than the menu.
    """
    if metadata.is_stated_article:
        return None
    if metadata.article_type:
        return None
    if _is_named(_MISSING, names):
        return "failed", f"error page: {metadata.title or names[0]}"[:120]
    if metadata.published_at is not None:
        return None
    match = _MISSING.search(text)
    return ("failed", f"error page: {match[0]}") if match else None


def _refusal_of_text(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> _Refusal | None:
    is_article = _states_article(tree, metadata)
    min_chars = MIN_TEXT_CHARS if is_article else _MIN_UNSTATED_CHARS
    if alphabetic_length(text) < min_chars:
        if target := _refresh_target(tree):
            return "failed", f"only redirects to {target}"
        return "failed", f"too little text: {len(text)} characters"
    if not is_article and is_home(page.final_url) and not _is_prose(text):
        return "skipped", "home page, no article"
    facts = page_facts(
        tree, metadata, page.final_url, is_listed=bool(page.listed_title)
    )
    signs = signs_of_index(facts) if facts else []
    if signs:
        return "skipped", f"index page, no article: {', '.join(signs)}"
    return None


def _states_article(tree: HtmlElement, metadata: PageMetadata) -> bool:
    """Whether a page states that it is an article, has a date, or one element `article`."""
    if metadata.is_stated_article:
        return True
    if metadata.article_type:
        return True
    if metadata.published_at:
        return True
    return len(list(islice(tree.iter("article"), 2))) == 1


def _refresh_target(tree: HtmlElement) -> str | None:
    """Return the URL of a `<meta http-equiv=refresh>`."""
    for tag in tree.iter("meta"):
        content = tag.get("content", "")
        is_refresh = tag.get("http-equiv", "").lower() == "refresh"
        if not is_refresh:
            continue
        if "url" in content.lower():
            return content.partition("=")[2].strip(" '\"")[:200]
    return None


def _is_prose(text: str) -> bool:
    """Whether at least half the text is in lines too long for teasers and menus."""
    prose = 0
    for line in text.splitlines():
        if alphabetic_length(line) > _PROSE_LINE_CHARS:
            prose += len(line)
    return 2 * prose >= len(text)


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
    """Of a home page, or below a segment such as `tag`; added to the points of a short one."""

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
    links = [link.get("href", "") for link in tree.iter("a")]
    if metadata.article_type:
        return None
    if len(links) < _MIN_LINKS:
        return None
    path = urlsplit(url).path
    has_listing_address = is_home(url) or _LISTING_SEGMENT.search(path) is not None
    if not has_listing_address and _is_dated_article(metadata, url):
        return None
    short_texts = [text.strip() for text in _SHORT_TEXTS(tree)]
    return PageFacts(
        is_listed=is_listed,
        has_no_date=metadata.published_origin in (None, "guess"),
        title_words=len(words(metadata.title or "")),
        slug_words=max(map(_words_in, path.split("/"))),
        has_listing_address=has_listing_address,
        controls=_count(_CONTROL.fullmatch, short_texts),
        prices=_count(_PRICE.fullmatch, short_texts),
        has_more_pages=any(map(_NEXT_PAGES.search, links)),
        prose_share=prose_share(tree),
    )


def _is_dated_article(metadata: PageMetadata, url: str) -> bool:
    """Whether a page has words after a day in its address, or is stated as an article
    with a date.
    """
    has_dated_address = day_in_address(url) is not None
    if has_dated_address and _SLUG_AT_END.search(urlsplit(url).path):
        return True
    is_dated = has_dated_address or metadata.published_origin in _STATED
    if not is_dated:
        return False
    return metadata.is_stated_article


def _count(is_of_kind: Callable[[str], re.Match[str] | None], texts: list[str]) -> int:
    """Return how many of these texts are of this kind."""
    count = 0
    for text in texts:
        if is_of_kind(text):
            count += 1
    return count


def _words_in(segment: str) -> int:
    """Return the words in a segment of a path; an article's slug may precede its
    number.
    """
    words = _BETWEEN_WORDS.split(_EXTENSION.sub("", segment))
    return len(list(filter(None, words)))


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
    if sum(points.values()) < signs.enough:
        return []
    return [sign for sign, count in points.items() if count > 0]


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
    return found.prose / max(found.all, 1)


def _chars_in(element: _Element, counted: dict[_Element, _Chars]) -> _Chars:
    """Return the characters in an element whose children are counted."""
    total = linked = prose = 0
    for text in _texts_of(element):
        total += len(text)
        if alphabetic_length(text) >= LONG_CHARS:
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


def _texts_of(element: _Element) -> list[str]:
    """Return the texts right in an element, on one line each."""
    texts = [element.text, *(child.tail for child in element)]
    lines: list[str] = []
    for text in texts:
        if text:
            lines.append(" ".join(text.split()))
    return list(filter(None, lines))


def _cards(parent: _Element, counted: dict[_Element, _Chars]) -> list[_Element]:
    """Return the children of an element that are cards, where most of their kind are."""
    if len(parent) < _MIN_CARDS:
        return []
    kinds: dict[_Element, tuple[str, str]] = {}
    cards: list[_Element] = []
    for child in parent:
        found = counted.get(child, _NO_CHARS)
        if not found.all:
            continue
        kinds[child] = (str(child.tag), child.get("class", "").partition(" ")[0])
        if _is_card(found):
            cards.append(child)
    of_kind = Counter(kinds.values())
    cards_of_kind = Counter(map(kinds.__getitem__, cards))
    kept: list[_Element] = []
    for card in cards:
        kind = kinds[card]
        if cards_of_kind[kind] >= max(_MIN_CARDS, _ALIKE * of_kind[kind]):
            kept.append(card)
    return kept


def _is_card(found: _Chars) -> bool:
    if found.all > _CARD_CHARS:
        return False
    return found.linked >= max(10, _CARD_LINK_SHARE * found.all)
