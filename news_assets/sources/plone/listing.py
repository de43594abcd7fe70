"""News listings of classic Plone, as on most gov.br sites:
www.gov.br/mec/pt-br/assuntos/noticias.

The listing is paged by `?b_start:int=30`, counted in items, and cannot be queried by
day, so a past day is reached page by page. The markups are in `templates.py`; sites on
Plone 6 are read by `search.py`.
"""

from dataclasses import replace
from typing import Final

from news_assets.records.desks import Source
from news_assets.records.reading import Listing, Page
from news_assets.sources.html.document import select, words_of
from news_assets.sources.html.listing import (
    ReadPage,
    changed,
    linked_next,
    page_number,
    read_page,
    with_page_number,
)
from news_assets.sources.platforms import PLONE, platform_of
from news_assets.sources.plone.templates import TEMPLATES

_STARTS: Final = ("b_start:int", "b_start")  # Zope accepts both
_PAGER = ".listingBar, .paginacao, .pagination"
_NEXT_WORDS = ("próxim", "next")


def parse(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the next page.

    Times are read in `source.timezone`; a time of change is never used as time of
    publication. Many sites list no time or only the day. A page after the last one
    gives an empty listing.

    Raises:
        ListingChangedError: No template finds an entry; the message says what the page
            is and which were tried.
        SourceError: The document is empty.
    """
    read = read_page(page, source, TEMPLATES)
    if read.listing.entries:
        return _continued(read, page)
    if _start_of(page) and platform_of(page) == PLONE:
        return read.listing
    raise changed(page, source, TEMPLATES)


def _start_of(page: Page) -> int:
    return max(page_number(page.final_url, name) for name in _STARTS)


def _continued(read: ReadPage, page: Page) -> Listing:
    url = next(filter(None, (linked_next(read, page, name) for name in _STARTS)), None)
    if url is None and _has_next_label(read):
        url = with_page_number(
            page.final_url, _STARTS[0], _start_of(page) + read.item_count
        )
    return replace(read.listing, next_urls=(url,) if url else ())


def _has_next_label(read: ReadPage) -> bool:
    """Return whether the pager is labelled "next", for pagers whose links cannot be
    read.
    """
    labels = (words_of(pager).lower() for pager in select(read.tree, _PAGER))
    return any(word in label for label in labels for word in _NEXT_WORDS)
