"""The interface of a source kind: the address a poll starts at, and how a page becomes
a Listing.

How many pages are fetched, and where paging stops, is decided in
`pipeline/poll/poll.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from news_assets.records.desks import Source
from news_assets.records.reading import Listing, Page

Parse = Callable[[Page, Source], Listing]


def _own_url(source: Source) -> str:
    return source.url


def newest_page(source: Source, day: date) -> str:
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
