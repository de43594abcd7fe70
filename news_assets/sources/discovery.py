"""Where a site's sources may be: one of its pages in, leads out, in the order in which they are worth asking. Pure.

A lead comes from what the page announces (`<link rel=alternate>`, links that plainly are feeds), from what the page
looks like (`platforms.py`), or from the addresses that sites usually have. Asking them, reading what they answer and
judging it belong to `pipeline/discovery/discover.py`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from news_assets.records import Page
from news_assets.sources.entries import unique
from news_assets.sources.html.document import base_of, html_tree, select, title_of, words_of
from news_assets.sources.platforms import PLONE, PLONE_6, WORDPRESS, platform_of
from news_assets.text.html import plain_text
from news_assets.text.language import language_tag
from news_assets.text.urls import canonical_url, host_of, is_same_site, web_url

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_FEED_KINDS: Final = ("feed", "json_feed", "sitemap")
_PAGE_KINDS: Final = ("plone_listing", "ebc", "g1")
_KIND_OF_HOST: Final = {"g1.globo.com": "g1"}  # its feeds are RSS, of which this kind reads more
_FEED_TYPES: Final = ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json")
_ANY_XML_OR_JSON: Final = ("application/xml", "text/xml", "application/json")  # a feed, or the API's copy of the page
_FEED_PATH = re.compile(
    r"/\.?(?:feeds?|rss2?|atom)(?:/|$|\.(?:xml|php|json|aspx?)$)|\.(?:rss|rdf|atom)$|/(?:index|feed|rss)\.(?:xml|rdf)$",
    re.IGNORECASE,
)
_FEED_QUERY = re.compile(r"(?:^|&)(?:feed|format|type|fmt)=(?:rss2?|atom|feed)(?:&|$)", re.IGNORECASE)
_COMMENTS = re.compile(
    r"\bcomments?(?: on\b| feed\b|$)|\bcoment[áa]rios?\b|\bcomentarios\b|\bkommentare?\b", re.IGNORECASE
)
_COMMENTS_PATH = re.compile(r"/comments?(?:/|$)|[?&]feed=comments", re.IGNORECASE)
_FEED_WORDS = re.compile(r"(?:\s*[»|:–—-]\s*|\s+)(?:rss(?:\s?2(?:\.0)?)?|atom|feed)(?:\s+feed)?\s*$", re.IGNORECASE)
_MAX_NAME_CHARS: Final = 80
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_HEAD_BYTES: Final = 65_536

# Usual addresses below the page, then at the root of the host; in the order in which they are asked.
_BELOW_ANY: Final = ("feed", "rss")
_AT_ROOT: Final = ("feed", "rss", "rss.xml", "feed.xml", "atom.xml", "index.xml", "feed.json")
_BELOW_PLONE: Final = (
    "RSS",
    "assuntos/noticias",
    "noticias",
)  # one host holds many sites of Plone: nothing at its root
_SITEMAPS: Final = ("sitemap.xml", "sitemap_index.xml", "news-sitemap.xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """An address that may be a source, and what led to it.

    `kind` is None where the document there has to tell. `refusal` is a reason not to ask. A guess that leads nowhere
    says nothing of the site.
    """

    url: str
    found_by: str
    kind: str | None = None
    refusal: str | None = None
    is_guess: bool = False


def kinds_of(page: Page) -> tuple[str, ...]:
    """Return the kinds that may read this document where it is, the likeliest first; none of them asks elsewhere."""
    platform = platform_of(page)
    readable = (*_FEED_KINDS, *_PAGE_KINDS)
    looks_like = platform.kind if platform and platform.kind in readable else None
    others = _PAGE_KINDS if is_html(page) else _FEED_KINDS
    return unique((_KIND_OF_HOST.get(host_of(page.final_url)), looks_like, *others))


def is_html(page: Page) -> bool:
    """Whether the page is one for people, which may lead to sources."""
    platform = platform_of(page)
    if platform is not None and (platform.kind in _FEED_KINDS or page.body.lstrip()[:1] in (b"{", b"[")):
        return False
    return _HTML.search(page.body, 0, _HEAD_BYTES) is not None and html_tree(page) is not None


# --- what a page announces -------------------------------------------------------------------------------------------


def announced(page: Page) -> tuple[Lead, ...]:
    """Return the feeds that a page names, those of its head first, each once; feeds of comments last, as refused."""
    tree = html_tree(page)
    if tree is None:
        return ()
    base = base_of(tree, page)
    leads: dict[str, Lead] = {}
    for lead in (*_of_head(tree, base), *_of_links(tree, base, page)):
        leads.setdefault(canonical_url(lead.url), lead)
    leads.pop(canonical_url(page.final_url), None)
    return tuple(sorted(leads.values(), key=lambda lead: lead.refusal is not None))


def _of_head(tree: "HtmlElement", base: str) -> Iterator[Lead]:
    for link in tree.iter("link"):
        if "alternate" in (link.get("rel") or "").lower().split() and (url := _web_url(link, base)):
            title = plain_text(link.get("title") or "")
            if _is_feed_link(link, url, title):
                yield _lead(url, title, "link rel=alternate")


def _of_links(tree: "HtmlElement", base: str, page: Page) -> Iterator[Lead]:
    for link in tree.iter("a"):
        url = _web_url(link, base)
        if url and _names_feed(url) and is_same_site(url, page.final_url):
            yield _lead(url, words_of(link) or plain_text(link.get("title") or ""), "a link on the page")


def _web_url(link: "HtmlElement", base: str) -> str | None:
    href = (link.get("href") or "").strip()
    return web_url(re.sub(r"^feed:(?://)?(?=https?:)", "", href, flags=re.IGNORECASE), base) if href else None


def _is_feed_link(link: "HtmlElement", url: str, title: str) -> bool:
    """Whether the type says that it is a feed. What is plainly XML or JSON may be, if its address or title says so."""
    stated = (link.get("type") or "").partition(";")[0].strip().lower()
    if stated in _ANY_XML_OR_JSON:
        return _names_feed(url) or re.search(r"\b(?:rss|atom|feed)\b", title, re.IGNORECASE) is not None
    return stated in _FEED_TYPES


def _names_feed(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(_FEED_PATH.search(parts.path) or _FEED_QUERY.search(parts.query))


def _lead(url: str, title: str, found_by: str) -> Lead:
    is_of_comments = _COMMENTS.search(title) or _COMMENTS_PATH.search(url)
    return Lead(url=url, found_by=found_by, refusal="a feed of comments" if is_of_comments else None)


# --- what a page looks like ------------------------------------------------------------------------------------------


def of_platform(page: Page) -> tuple[Lead, ...]:
    """Return the API of the software that made the page, where a kind of source asks it."""
    match platform_of(page):
        case found if found == WORDPRESS:
            return (Lead(url=_wordpress_url(page), kind="wordpress", found_by="looks like WordPress"),)
        case found if found == PLONE_6:
            return (Lead(url=page.final_url, kind="plone_search", found_by="looks like Plone 6"),)
    return ()


def _wordpress_url(page: Page) -> str:
    """Return the site whose API the page announces; the root of its host where it announces none."""
    tree = html_tree(page)
    links = select(tree, 'link[rel="https://api.w.org/"]') if tree is not None else []
    stated = next(filter(None, (_web_url(link, page.final_url) for link in links)), None)
    return re.sub(r"wp-json/?$", "", stated) if stated else urljoin(page.final_url, "/")


# --- where sites usually have them -----------------------------------------------------------------------------------


def usual_feeds(url: str, page: Page | None) -> tuple[Lead, ...]:
    """Return the addresses at which a site like this one usually has its feed; `page` is the one at `url`, if any."""
    platform = platform_of(page) if page else None
    if platform == PLONE:
        return _guesses(_below(url, _BELOW_PLONE))
    if platform == PLONE_6:
        return ()  # its search lists all there is
    return _guesses((*_below(url, _BELOW_ANY), *_below(urljoin(url, "/"), _AT_ROOT)))


def robots_url(url: str, page: Page | None) -> str | None:
    """Return where the site names its sitemaps; None where the host holds many sites, as those of Plone do."""
    platform = platform_of(page) if page else None
    return None if platform in (PLONE, PLONE_6) else urljoin(url, "/robots.txt")


def usual_sitemaps(url: str, page: Page | None) -> tuple[Lead, ...]:
    """Return the addresses at which a site like this one usually has its sitemap."""
    if robots_url(url, page) is None:
        return _guesses(_below(url, ("sitemap.xml.gz",)))
    return _guesses(_below(urljoin(url, "/"), _SITEMAPS))


def _guesses(urls: Iterable[str]) -> tuple[Lead, ...]:
    return tuple(Lead(url=url, found_by="a usual address", is_guess=True) for url in dict.fromkeys(urls))


def _below(url: str, names: Iterable[str]) -> list[str]:
    parts = urlsplit(url)
    folder = parts._replace(path=parts.path.rstrip("/") + "/", query="", fragment="").geturl()
    return [folder + name for name in names]


# --- what a page says of its site ------------------------------------------------------------------------------------


def site_name(page: Page) -> str | None:
    """Return what the site is called: the name its page states for others, else the page's title."""
    tree = html_tree(page) if is_html(page) else None
    if tree is None:
        return None
    stated = select(tree, 'meta[property="og:site_name"], meta[name="application-name"]')
    names = (plain_text(meta.get("content") or "") for meta in stated)
    return name_of(next(filter(None, names), None) or title_of(tree))


def name_of(title: str | None) -> str | None:
    """Return a title as a name: without the word feed at its end, and not longer than a line."""
    name = _FEED_WORDS.sub("", title or "").strip()
    if len(name) > _MAX_NAME_CHARS:
        name = name[: _MAX_NAME_CHARS + 1].rpartition(" ")[0] or name[:_MAX_NAME_CHARS]
    return name or None


def stated_language(page: Page) -> str | None:
    """Return the language that a page for people states of itself."""
    tree = html_tree(page) if is_html(page) else None
    return language_tag(tree.get("lang")) if tree is not None else None
