"""The table of adapters: kind of source -> how it is polled and parsed. A new kind is
one module and one line here.
"""

from typing import Final

from news_assets.errors import SourceError
from news_assets.records.desks import Source
from news_assets.sources import ebc, g1, wordpress
from news_assets.sources.adapter import Adapter, newest_page
from news_assets.sources.civic.vendor_limits import CIVIC_LIMITS
from news_assets.sources.feeds import feed, json_feed
from news_assets.sources.html import by_selectors
from news_assets.sources.plone import news_pages as plone_listing
from news_assets.sources.plone import search_api as plone_search
from news_assets.sources.sitemap import sitemap

KINDS: Final[dict[str, Adapter]] = {
    "ebc": Adapter(parse=ebc.parse, day_url=newest_page),
    "feed": Adapter(parse=feed.parse),
    "g1": Adapter(parse=g1.parse),
    "html_listing": Adapter(parse=by_selectors.parse, day_url=newest_page),
    "json_feed": Adapter(parse=json_feed.parse),
    "plone_listing": Adapter(parse=plone_listing.parse, day_url=newest_page),
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
