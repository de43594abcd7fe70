"""Reads a listing page with the first of several templates (CSS selectors) that finds
an article.

`html_listing_kinds.py` has the tables of templates; another markup is another row there,
never a condition here.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from lxml.html import HtmlElement

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.html_document import (
    base_of,
    html_tree,
    select,
    title_of,
    words_of,
)
from news_assets.sources.platforms import found_instead
from news_assets.sources.storable_entries import (
    fallback_id,
    first_web_url,
    or_none,
    problem_if,
    storable,
    unique,
)
from news_assets.text.dates import parse_date
from news_assets.text.prose import language_tag
from news_assets.text.urls import canonical_url, host_of, web_url

MAX_ITEMS = 1000  # of one page; the longest listing seen shows 60

_CLOCK = r"(?:[\s,|–-]*+(?:[aà]s)?\s*+\d{1,2}(?:h\d{0,2}|:\d{2}(?::\d{2})?))?"
_STAMP = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S*)?"
    rf"|(?<!\d)\d{{1,2}}[/.]\d{{1,2}}[/.](?:\d{{4}}|\d{{2}}){_CLOCK}"
    rf"|(?<!\d)\d{{1,2}}º?\s+de\s+[a-zç]{{4,9}}\s+de\s+\d{{4}}{_CLOCK}",
    re.IGNORECASE,
)
_OF_CHANGE = re.compile(r"modifi|atualiza|alterad|updated", re.IGNORECASE)
_LEADING_STAMP = re.compile(
    rf"^[\s|–—-]*+(?:{_STAMP.pattern})[\s|–—-]*+", re.IGNORECASE
)
_NEXT = "a[rel~=next], a.proximo, .next a, a.next, .pager-next a, .pager__item--next a"
_PAGE_NUMBER = re.compile(r"\d{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One markup of a listing as CSS selectors. All but `items` are applied within an
    item; the first match counts.

    `title` matches the headline. The article's address is that of the first element
    matched by one of `links`, which are tried in order, with a link in it or around it;
    without `links`, that of the headline. `times` are tried in order; the words before
    a date distinguish publication from change. `categories` may match several elements.
    """

    name: str
    items: str
    title: str
    links: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    summary: str = ""
    categories: str = ""
    image: str = "img"


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A listing page as read: its tree, the number of items its template found, and the
    listing.
    """

    tree: HtmlElement
    item_count: int
    listing: Listing


def read_page(page: Page, source: Source, templates: Sequence[Template]) -> ReadPage:
    """Return the entries that the first template with an article finds, each once,
    newest first.

    The listing is empty if no template finds an article; `listing_changed` builds the error for
    that case.

    Raises:
        ListingChangedError: The page is not HTML.
        SourceError: The document is empty.
    """
    tree = _tree_of(page, source)
    base = base_of(tree, page)
    for template in templates:
        items = outermost(select(tree, template.items))
        listing = _listing(items, template, base, source)
        if any(entry.url for entry in listing.entries):
            named = replace(
                listing, title=title_of(tree), language=language_tag(tree.get("lang"))
            )
            return ReadPage(tree, len(items), storable(named))
    return ReadPage(tree, 0, storable(Listing(entries=())))


def _tree_of(page: Page, source: Source) -> HtmlElement:
    """Return the tree of a listing page; raises as `read_page` does."""
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    tree = html_tree(page)
    if tree is None:
        raise ListingChangedError(
            f"{page.url}: not a listing page: {found_instead(page, source.kind)}"
        )
    return tree


def listing_changed(
    page: Page, source: Source, templates: Sequence[Template]
) -> ListingChangedError:
    """Return the error for a page without articles, naming what the page is and the
    templates that were tried.
    """
    tried = ", ".join(template.name for template in templates)
    return ListingChangedError(
        f"{page.url}: no news listing found: {found_instead(page, source.kind)}; templates tried:"
        f" {tried}"
    )


def outermost(items: Sequence[HtmlElement]) -> list[HtmlElement]:
    """Return the items that are not nested in another item."""
    every = set(items)
    return [item for item in items if every.isdisjoint(item.iterancestors())]


def _listing(
    items: Sequence[HtmlElement], template: Template, base: str, source: Source
) -> Listing:
    taken = items[:MAX_ITEMS]
    more = len(items) - len(taken)
    problem = f"{more} items beyond the first {MAX_ITEMS}: skipped"
    entries = [_entry(item, template, base, source) for item in taken]
    return Listing(entries=tuple(entries), problems=problem_if(more, problem))


# --- one item -------------------------------------------------------------------------


def _entry(
    item: HtmlElement, template: Template, base: str, source: Source
) -> ListedEntry:
    headline = _headline(item, template)
    url = _url_of(item, headline, template, base)
    title = _title_of(headline) if headline is not None else None
    summary = _LEADING_STAMP.sub("", _first_words(item, template.summary))
    published, updated = _times_of(item, template, source.timezone)
    return ListedEntry(
        entry_id=fallback_id(url, title, summary),
        url=url or "",
        title=title,
        summary=or_none(summary),
        categories=unique(map(words_of, _selected(item, template.categories))),
        image_url=_image_of(item, template, base),
        published_at=published,
        updated_at=updated,
    )


def _url_of(
    item: HtmlElement, headline: HtmlElement | None, template: Template, base: str
) -> str | None:
    """Return the article's address: of the first linked element, without `links` that
    of the headline.
    """
    if not template.links:
        if headline is not None:
            return _link_of(item, headline, base)
        return None
    for css in template.links:
        for element in select(item, css, with_root=True):
            url = _link_of(item, element, base)
            if url:
                return url
    return None


def _selected(item: HtmlElement, css: str) -> list[HtmlElement]:
    if not css:
        return []
    return select(item, css)


def _headline(item: HtmlElement, template: Template) -> HtmlElement | None:
    """Return the first headline with text, else the first one."""
    found = select(item, template.title, with_root=True)
    for element in found:
        if _title_of(element):
            return element
    return next(iter(found), None)


def _title_of(headline: HtmlElement) -> str | None:
    """Return the text of a headline, else the title or alt text of its link or image."""
    words = words_of(headline)
    if words:
        return words
    for part in headline.iter("a", "img"):
        for name in ("title", "alt"):
            stated = " ".join(part.get(name, "").split())
            if stated:
                return stated
    return None


def _link_of(item: HtmlElement, headline: HtmlElement, base: str) -> str | None:
    """Return the headline's address: of a link in it, or of one around it within the
    item.
    """
    links = list(headline.iter("a"))
    for above in headline.iterancestors("a"):
        if above is item or item in above.iterancestors():
            links.append(above)
    return first_web_url(_hrefs(links), base)


def _hrefs(links: Iterable[HtmlElement]) -> list[str]:
    """Return where links lead, without those to a place in the same page."""
    hrefs: list[str] = []
    for link in links:
        href = link.get("href", "").strip()
        if not href:
            continue
        if not href.startswith("#"):
            hrefs.append(href)
    return hrefs


def _first_words(item: HtmlElement, css: str) -> str:
    for element in _selected(item, css):
        if words := words_of(element):
            return words
    return ""


def _image_of(item: HtmlElement, template: Template, base: str) -> str | None:
    links: list[str] = []
    for image in _selected(item, template.image):
        links.append(image.get("data-src", "") or image.get("src", ""))
    return first_web_url(links, base)


def _times_of(
    item: HtmlElement, template: Template, timezone: str
) -> tuple[datetime | None, datetime | None]:
    """Return the times of publication and change, from the first selector that matches
    a time.
    """
    for css in template.times:
        elements = select(item, css)
        words = [element.get("datetime") or words_of(element) for element in elements]
        times = _times_in(" ".join(words), timezone)
        if any(times):
            return times
    return None, None


def _times_in(words: str, timezone: str) -> tuple[datetime | None, datetime | None]:
    """Return the first time of publication and the first of change in a text."""
    published: datetime | None = None
    updated: datetime | None = None
    end = 0
    for stamp in _STAMP.finditer(words):
        at = parse_date(stamp[0], timezone)
        if _OF_CHANGE.search(words, end, stamp.start()):
            updated = updated or at
        else:
            published = published or at
        end = stamp.end()
    if end:
        return published, updated
    at = parse_date(words, timezone)  # other forms, such as "Feb 27, 2026 02:30 PM"
    if _OF_CHANGE.search(words):
        return None, at
    return at, None


# --- the next page --------------------------------------------------------------------


def page_number(url: str, parameter: str) -> int:
    """Return the page number in a query parameter of a listing's address; 0 if there is
    none.
    """
    for name, value in _pairs(url):
        if name != parameter:
            continue
        if _PAGE_NUMBER.fullmatch(value):
            return int(value)
    return 0


def with_page_number(url: str, parameter: str, number: int) -> str:
    """Return the address with another page number."""
    pairs: list[tuple[str, str]] = []
    for name, value in _pairs(url):
        if name != parameter:
            pairs.append((name, value))
    pairs.append((parameter, str(number)))
    query = urlencode(pairs, quote_via=quote, safe=":")
    return urlsplit(url)._replace(query=query, fragment="").geturl()


def _later_pages(read: ReadPage, page: Page, parameter: str) -> dict[int, str]:
    """Return the same host's links with a higher page number, by the number."""
    current = page_number(page.final_url, parameter)
    stem = parameter.partition(":")[0]  # `:int` may be percent-encoded in links
    hrefs = [href for href in _hrefs(read.tree.iter("a")) if stem in href]
    later: dict[int, str] = {}
    for url in _same_site(hrefs, read, page):
        number = page_number(url, parameter)
        if number > current:
            later.setdefault(number, url)
    return later


def linked_next(read: ReadPage, page: Page, parameter: str) -> str | None:
    """Return the same host's link with the next higher page number, else the pager's
    "next" link.
    """
    later = _later_pages(read, page, parameter)
    if later:
        return later[min(later)]
    hrefs = _hrefs(select(read.tree, _NEXT))
    pager = _same_site(hrefs, read, page)
    unnumbered = [url for url in pager if not page_number(url, parameter)]
    return _other_page(unnumbered, page)


def stated_next(read: ReadPage, page: Page, css: str) -> str | None:
    """Return the first link to another page of the same host that a selector matches,
    or that is in its matches.
    """
    links: list[HtmlElement] = []
    for element in select(read.tree, css):
        links += element.iter("a", "link")
    urls = _same_site(_hrefs(links), read, page)
    return _other_page(urls, page)


def _other_page(urls: Iterable[str], page: Page) -> str | None:
    own = canonical_url(page.final_url)
    for url in urls:
        if canonical_url(url) != own:
            return url
    return None


def _same_site(hrefs: Iterable[str], read: ReadPage, page: Page) -> list[str]:
    """Return the links to pages of the same host, made absolute."""
    host = host_of(page.final_url)
    base = base_of(read.tree, page)
    urls: list[str] = []
    for href in hrefs:
        url = web_url(href, base)
        if url is None:
            continue
        if host_of(url) == host:
            urls.append(url)
    return urls


def _pairs(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []
