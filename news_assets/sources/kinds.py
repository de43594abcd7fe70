"""The table of adapters: kind of a source -> how it is asked and read. A new adapter is one module and one line here."""

from typing import Final

from news_assets.errors import SourceError
from news_assets.records import Listing, Page, Source
from news_assets.sources import feed
from news_assets.sources.adapter import Adapter

KINDS: Final[dict[str, Adapter]] = {
    "feed": Adapter(parse=feed.parse),
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
