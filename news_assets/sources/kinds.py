"""The table of adapters: kind of a source -> how its pages are read. A new adapter is one module and one line here."""

from collections.abc import Callable
from typing import Final

from news_assets.errors import SourceError
from news_assets.records import Listing, Page, Source
from news_assets.sources import feed

Parse = Callable[[Page, Source], Listing]

KINDS: Final[dict[str, Parse]] = {
    "feed": feed.parse,
}


def parse(page: Page, source: Source) -> Listing:
    """Read one page of a source. Raises SourceError, also for a kind that is not in the table."""
    adapter = KINDS.get(source.kind)
    if adapter is None:
        raise SourceError(
            f"{source.source_id}: unknown kind of source {source.kind!r}; known: {', '.join(sorted(KINDS))}"
        )
    return adapter(page, source)
