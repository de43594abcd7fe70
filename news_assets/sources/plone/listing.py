"""News listings of classic Plone, as most sites of gov.br show them: one HTML page in, a Listing out.

Addresses such as www.gov.br/mec/pt-br/assuntos/noticias; the markups, and where they were read of, are in
`plone_templates.py`. Such a listing pages by `?b_start:int=30`, counted in items, and cannot be asked for one day: a
past day is reached page by page. Sites that moved to Plone 6 answer in another way: `plone_search.py`.
"""

from dataclasses import replace
from datetime import date
from typing import Final

from news_assets.records import Listing, Page, Source
from news_assets.sources.html.document import select, words_of
from news_assets.sources.html.listing import ReadPage, changed, linked_next, page_number, read_page, with_page_number
from news_assets.sources.platforms import PLONE, platform_of
from news_assets.sources.plone.templates import TEMPLATES

_STARTS: Final = ("b_start:int", "b_start")  # Zope reads both
_PAGER = ".listingBar, .paginacao, .pagination"
_NEXT_WORDS = ("próxim", "next")


def parse(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the page that continues it.

    Times are read in `source.timezone`; a time of change is never taken for one of publication. Many sites state no
    time in the listing, or only the day: the article's page knows more. A page behind the last one is an empty listing.

    Raises:
        ListingChangedError: A page without any news in it, with what it looks like and the templates that were tried.
        SourceError: Nothing at all.
    """
    read = read_page(page, source, TEMPLATES)
    if read.listing.entries:
        return _continued(read, page)
    if _start_of(page) and platform_of(page) == PLONE:
        return read.listing
    raise changed(page, source, TEMPLATES)


def day_url(source: Source, day: date) -> str:
    """Return where the listing of a past day begins: at the first page, since Plone's listing knows no days."""
    return source.url


def _start_of(page: Page) -> int:
    return max(page_number(page.final_url, name) for name in _STARTS)


def _continued(read: ReadPage, page: Page) -> Listing:
    url = next(filter(None, (linked_next(read, page, name) for name in _STARTS)), None)
    if url is None and _announces_next(read):
        url = with_page_number(page.final_url, _STARTS[0], _start_of(page) + read.item_count)
    return replace(read.listing, next_urls=(url,) if url else ())


def _announces_next(read: ReadPage) -> bool:
    """Whether the pager speaks of a next page without a link that can be read."""
    words = (words_of(pager).lower() for pager in select(read.tree, _PAGER))
    return any(word in said for said in words for word in _NEXT_WORDS)
