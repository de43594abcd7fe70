"""The kinds of source: the address at which a poll starts, and how a page becomes a
Listing.

A new kind is one module and one row of KINDS. How many pages are fetched, and where
paging stops, is decided in `pipeline/poll/listings.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final

from news_assets.errors import SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import Listing, Page
from news_assets.sources import g1, plone_search, sitemap, wordpress
from news_assets.sources.civic import CIVIC_LIMITS
from news_assets.sources.feed import parse as parse_feed
from news_assets.sources.feed import parse_json_feed
from news_assets.sources.html_listing_kinds import (
    parse_ebc,
    parse_plone,
    parse_selected,
)

Parse = Callable[[Page, Source], Listing]


def _own_url(source: Source) -> str:
    return source.url


def _newest_page(source: Source, day: date) -> str:
    """Return the source's own address: the `day_url` of listings that reach a past day
    only by paging back.
    """
    return source.url


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One kind of source.

    `parse` reads one page and names the pages that continue it (`Listing.next_urls`).
    `first_url` is the address a poll starts at. `day_url` is the address where the
    listing of a past day starts; None if the source cannot list its past.
    """

    parse: Parse
    first_url: Callable[[Source], str] = _own_url
    day_url: Callable[[Source, date], str] | None = None


KINDS: Final[dict[str, Adapter]] = {
    "ebc": Adapter(parse=parse_ebc, day_url=_newest_page),
    "feed": Adapter(parse=parse_feed),
    "g1": Adapter(parse=g1.parse),
    "html_listing": Adapter(parse=parse_selected, day_url=_newest_page),
    "json_feed": Adapter(parse=parse_json_feed),
    "plone_listing": Adapter(parse=parse_plone, day_url=_newest_page),
    "plone_search": Adapter(
        parse=plone_search.parse,
        first_url=plone_search.first_url,
        day_url=plone_search.day_url,
    ),
    "sitemap": Adapter(parse=sitemap.parse, day_url=sitemap.day_url),
    "wordpress": Adapter(
        parse=wordpress.parse, first_url=wordpress.first_url, day_url=wordpress.day_url
    ),
}

ALL_KINDS: Final = (*KINDS, *CIVIC_LIMITS)  # of desk files


def adapter_of(source: Source) -> Adapter:
    """Return the adapter of a source. Raises SourceError for a kind that is not in the
    table.
    """
    adapter = KINDS.get(source.kind)
    if adapter is None:
        raise SourceError(
            f"{source.source_id}: unknown kind of source {source.kind!r}; known: {', '.join(KINDS)}"
        )
    return adapter
