"""Candidate addresses of a site's sources, most promising first: feeds that a page
links, APIs, usual paths.

Pure: the addresses are fetched, parsed and evaluated in
`pipeline/poll/discover.py`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from news_assets.records.reading import Page
from news_assets.sources.civic.detection import VendorAddress, vendors_of_page
from news_assets.sources.html_document import (
    base_of,
    html_tree,
    select,
    title_of,
    words_of,
)
from news_assets.sources.platforms import (
    PLONE,
    PLONE_6,
    WORDPRESS,
    Platform,
    platform_of,
)
from news_assets.sources.storable_entries import optional_url, or_none, unique
from news_assets.text.html import plain_text
from news_assets.text.prose import language_tag
from news_assets.text.urls import canonical_url, host_of, is_same_site

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_FEED_KINDS: Final = ("feed", "json_feed", "sitemap")
_PAGE_KINDS: Final = ("plone_listing", "ebc", "g1")
# its feeds are RSS; this kind reads more of them than kind feed
_KIND_OF_HOST: Final = {"g1.globo.com": "g1"}
_FEED_TYPES: Final = (
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/feed+json",
)
# a feed, or the page in an API's format
_ANY_XML_OR_JSON: Final = (
    "application/xml",
    "text/xml",
    "application/json",
)
_FEED_PATH = re.compile(
    r"/\.?(?:feeds?|rss2?|atom)(?:/|$|\.(?:xml|php|json|aspx?)$)|\.(?:rss|rdf|atom)$|/(?:index|feed|rss)\.(?:xml|rdf)$",
    re.IGNORECASE,
)
_FEED_QUERY = re.compile(
    r"(?:^|&)(?:feed|format|type|fmt)=(?:rss2?|atom|feed)(?:&|$)", re.IGNORECASE
)
_COMMENTS = re.compile(
    r"\bcomments?(?: on\b| feed\b|$)|\bcoment[áa]rios?\b|\bcomentarios\b|\bkommentare?\b",
    re.IGNORECASE,
)
_COMMENTS_PATH = re.compile(r"/comments?(?:/|$)|[?&]feed=comments", re.IGNORECASE)
_FEED_WORDS = re.compile(
    r"(?: ?[»|:–—-] ?| )(?:rss(?: ?2(?:\.0)?)?|atom|feed)(?: feed)?$", re.IGNORECASE
)
_MAX_NAME_CHARS: Final = 80
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_HEAD_BYTES: Final = 65_536

# Usual paths below the page, then at the root of the host, in the order in which they
# are requested.
_BELOW_ANY: Final = ("feed", "rss")
_AT_ROOT: Final = (
    "feed",
    "rss",
    "rss.xml",
    "feed.xml",
    "atom.xml",
    "index.xml",
    "feed.json",
)
# not at the root: one host has many Plone sites
_BELOW_PLONE: Final = (
    "RSS",
    "assuntos/noticias",
    "noticias",
)
_SITEMAPS: Final = ("sitemap.xml", "sitemap_index.xml", "news-sitemap.xml")

_FEED_SCHEME = re.compile(r"^feed:(?://)?(?=https?:)", re.IGNORECASE)
_FEED_TITLE = re.compile(r"\b(?:rss|atom|feed)\b", re.IGNORECASE)
_NAME_TAGS = 'meta[property="og:site_name"], meta[name="application-name"]'


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateUrl:
    """An address that may be a source, and how it was found.

    `kind` is None if only the document shows it. `refusal` is a reason not to request
    the address. A guess that fails is not reported.
    """

    url: str
    found_by: str
    kind: str | None = None
    refusal: str | None = None
    is_guess: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What a document says about itself and its site.

    Attributes:
        platform: What it looks like, if that is known.
        is_html: Whether it is HTML.
        kinds: The kinds that may read it.
        feeds: The feeds that it links.
        apis: The API of its software.
        vendors: The civic vendors that made it or that it links.
        name: The name of the site.
        language: The language that it states, as BCP 47.
    """

    platform: Platform | None
    is_html: bool
    kinds: tuple[str, ...]
    feeds: tuple[CandidateUrl, ...]
    apis: tuple[CandidateUrl, ...]
    vendors: tuple[VendorAddress, ...]
    name: str | None
    language: str | None

    @property
    def may_link_sources(self) -> bool:
        """Whether it is a page of the site, and not a bot wall."""
        is_wall = self.platform is not None and self.platform.is_wall
        if not self.is_html:
            return False
        return not is_wall


def facts_of(page: Page) -> PageFacts:
    """Return all that the functions of this module find in a document."""
    return PageFacts(
        platform=platform_of(page),
        is_html=is_html(page),
        kinds=_kinds_of(page),
        feeds=_linked_feeds(page),
        apis=_platform_apis(page),
        vendors=vendors_of_page(page),
        name=_site_name(page),
        language=_stated_language(page),
    )


def _kinds_of(page: Page) -> tuple[str, ...]:
    """Return the kinds that may read this document itself, most likely first; kinds
    that use an API are omitted.
    """
    likely = [_KIND_OF_HOST.get(host_of(page.final_url))]
    platform = platform_of(page)
    if platform is not None and platform.kind in (*_FEED_KINDS, *_PAGE_KINDS):
        likely.append(platform.kind)
    others = _PAGE_KINDS if is_html(page) else _FEED_KINDS
    return unique((*likely, *others))


def is_html(page: Page) -> bool:
    """Return whether the page is HTML, which may link sources; False for feeds and
    JSON.
    """
    platform = platform_of(page)
    if platform is not None:
        is_json = page.body.lstrip()[:1] in (b"{", b"[")
        if is_json:
            return False
        if platform.kind in _FEED_KINDS:
            return False
    if _HTML.search(page.body, 0, _HEAD_BYTES) is None:
        return False
    return html_tree(page) is not None


# --- feeds a page links ---------------------------------------------------------------


def _linked_feeds(page: Page) -> tuple[CandidateUrl, ...]:
    """Return the feeds that a page links, each once: its head's first, comment feeds
    last and with a refusal.
    """
    tree = html_tree(page)
    if tree is None:
        return ()
    base = base_of(tree, page)
    found: dict[str, CandidateUrl] = {}
    for candidate in _of_head(tree, base) + _of_links(tree, base, page):
        found.setdefault(canonical_url(candidate.url), candidate)
    found.pop(canonical_url(page.final_url), None)
    return tuple(sorted(found.values(), key=lambda one: one.refusal is not None))


def _of_head(tree: "HtmlElement", base: str) -> list[CandidateUrl]:
    found: list[CandidateUrl] = []
    for link in tree.iter("link"):
        if "alternate" not in link.get("rel", "").lower().split():
            continue
        url = _web_url(link, base)
        title = plain_text(link.get("title", ""))
        if url is None:
            continue
        if _is_feed_link(link, url, title):
            found.append(_feed_at(url, title, "link rel=alternate"))
    return found


def _of_links(tree: "HtmlElement", base: str, page: Page) -> list[CandidateUrl]:
    found: list[CandidateUrl] = []
    for link in tree.iter("a"):
        url = _web_url(link, base)
        if url is None:
            continue
        if _looks_like_feed(url) and is_same_site(url, page.final_url):
            title = words_of(link) or plain_text(link.get("title", ""))
            found.append(_feed_at(url, title, "a link on the page"))
    return found


def _web_url(link: "HtmlElement", base: str) -> str | None:
    href = link.get("href", "").strip()
    return optional_url(_FEED_SCHEME.sub("", href), base)


def _is_feed_link(link: "HtmlElement", url: str, title: str) -> bool:
    """Return whether the stated type is a feed's; plain XML or JSON counts if its
    address or title looks like one.
    """
    stated = link.get("type", "").partition(";")[0].strip().lower()
    if stated not in _ANY_XML_OR_JSON:
        return stated in _FEED_TYPES
    if _looks_like_feed(url):
        return True
    return _FEED_TITLE.search(title) is not None


def _looks_like_feed(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if _FEED_PATH.search(parts.path):
        return True
    return _FEED_QUERY.search(parts.query) is not None


def _feed_at(url: str, title: str, found_by: str) -> CandidateUrl:
    refusal = None
    if _COMMENTS.search(title) or _COMMENTS_PATH.search(url):
        refusal = "a feed of comments"
    return CandidateUrl(url=url, found_by=found_by, refusal=refusal)


# --- APIs -----------------------------------------------------------------------------


def _platform_apis(page: Page) -> tuple[CandidateUrl, ...]:
    """Return the API of the software that makes the page, if there is a source kind
    for it.
    """
    platform = platform_of(page)
    if platform == WORDPRESS:
        kind, url = "wordpress", _wordpress_url(page)
    elif platform == PLONE_6:
        kind, url = "plone_search", page.final_url
    else:
        return ()
    found_by = f"looks like {platform.name}"
    return (CandidateUrl(url=url, kind=kind, found_by=found_by),)


def _wordpress_url(page: Page) -> str:
    """Return the site whose API the page links; the root of its host if it links none."""
    tree = html_tree(page)
    links = select(tree, 'link[rel="https://api.w.org/"]') if tree is not None else []
    for link in links:
        stated = _web_url(link, page.final_url)
        if stated:
            return re.sub(r"wp-json/?$", "", stated)
    return urljoin(page.final_url, "/")


# --- usual addresses ------------------------------------------------------------------


def usual_feeds(url: str, platform: Platform | None) -> tuple[CandidateUrl, ...]:
    """Return the addresses where a site like this one usually has its feed."""
    if platform == PLONE:
        return _guesses(_below(url, _BELOW_PLONE))
    if platform == PLONE_6:
        return ()  # its search API lists everything
    return _guesses((*_below(url, _BELOW_ANY), *_below(urljoin(url, "/"), _AT_ROOT)))


def robots_url(url: str, platform: Platform | None) -> str | None:
    """Return the address of the site's robots.txt; None for Plone, where one host holds
    many sites.
    """
    if platform in (PLONE, PLONE_6):
        return None
    return urljoin(url, "/robots.txt")


def usual_sitemaps(url: str, platform: Platform | None) -> tuple[CandidateUrl, ...]:
    """Return the addresses where a site like this one usually has its sitemap."""
    if robots_url(url, platform) is None:
        urls = _below(url, ("sitemap.xml.gz",))
    else:
        urls = _below(urljoin(url, "/"), _SITEMAPS)
    return _guesses(urls)


def _guesses(urls: Iterable[str]) -> tuple[CandidateUrl, ...]:
    found: list[CandidateUrl] = []
    for url in dict.fromkeys(urls):
        found.append(CandidateUrl(url=url, found_by="a usual address", is_guess=True))
    return tuple(found)


def _below(url: str, names: Iterable[str]) -> list[str]:
    parts = urlsplit(url)
    path = parts.path.rstrip("/") + "/"
    folder = parts._replace(path=path, query="", fragment="")
    return [folder.geturl() + name for name in names]


# --- name and language of the site ----------------------------------------------------


def _site_name(page: Page) -> str | None:
    """Return the site's name: `og:site_name` or `application-name`, else the page's
    title.
    """
    tree = html_tree(page) if is_html(page) else None
    if tree is None:
        return None
    for meta in select(tree, _NAME_TAGS):
        name = plain_text(meta.get("content", ""))
        if name:
            return name_of(name)
    return name_of(title_of(tree))


def name_of(title: str | None) -> str | None:
    """Return a title as a name: without "RSS" or "feed" at its end, cut to 80
    characters.
    """
    words = (title or "").split()
    name = _FEED_WORDS.sub("", " ".join(words)).strip()
    if len(name) <= _MAX_NAME_CHARS:
        return or_none(name)
    whole_words = name[: _MAX_NAME_CHARS + 1].rpartition(" ")[0]
    return whole_words or name[:_MAX_NAME_CHARS]


def _stated_language(page: Page) -> str | None:
    """Return the `lang` attribute of an HTML page as BCP 47."""
    tree = html_tree(page) if is_html(page) else None
    if tree is None:
        return None
    return language_tag(tree.get("lang"))
