"""The table of adapters: kind of a source -> how it is asked and read. A new one is one module and one line here."""

from typing import Final

from news_assets.errors import SourceError
from news_assets.records import Listing, Page, Source
from news_assets.sources import ebc, g1, wordpress
from news_assets.sources.adapter import Adapter
from news_assets.sources.feeds import feed, json_feed
from news_assets.sources.plone import listing as plone_listing
from news_assets.sources.plone import search as plone_search
from news_assets.sources.sitemap import sitemap

KINDS: Final[dict[str, Adapter]] = {
    "ebc": Adapter(parse=ebc.parse, day_url=ebc.day_url),
    "feed": Adapter(parse=feed.parse),
    "g1": Adapter(parse=g1.parse),
    "json_feed": Adapter(parse=json_feed.parse),
    "plone_listing": Adapter(parse=plone_listing.parse, day_url=plone_listing.day_url),
    "plone_search": Adapter(parse=plone_search.parse, first_url=plone_search.first_url, day_url=plone_search.day_url),
    "sitemap": Adapter(parse=sitemap.parse, day_url=sitemap.day_url),
    "wordpress": Adapter(parse=wordpress.parse, first_url=wordpress.first_url, day_url=wordpress.day_url),
}


def parse(page: Page, source: Source) -> Listing:
    """Read one page of a source. Raises SourceError, also for a kind that is not in the table."""
    return adapter_of(source).parse(page, source)


def adapter_of(source: Source) -> Adapter:
    """Return the adapter of a source. Raises SourceError for a kind that is not in the table."""
    adapter = KINDS.get(source.kind)
    if adapter is None:
        raise SourceError(
            f"{source.source_id}: unknown kind of source {source.kind!r}; known: {', '.join(sorted(KINDS))}"
        )
    return adapter
