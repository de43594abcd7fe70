"""What an adapter is: which address a source is asked at, and how an answer becomes a Listing.

An adapter knows one kind of source and nothing else: no network, no clock, no memory of what was seen before. How many
pages are asked, and where paging stops, is decided in `pipeline/poll/poll.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from news_assets.records import Listing, Page, Source

Parse = Callable[[Page, Source], Listing]


def _as_written(source: Source) -> str:
    return source.url


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One kind of source.

    `parse` reads one page and names those that continue it (`Listing.next_urls`). `first_url` is the address a poll
    begins at, `day_url` the one where a listing of a past day begins; None where the source cannot list its past.
    """

    parse: Parse
    first_url: Callable[[Source], str] = _as_written
    day_url: Callable[[Source, date], str] | None = None
