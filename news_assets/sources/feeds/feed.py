"""Feeds of any format, distinguished by the document's content rather than by its name
or Content-Type.
"""

import re

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import Listing, Page
from news_assets.sources.feeds.json_feed import read_json
from news_assets.sources.feeds.syndication import read_xml
from news_assets.sources.json_document import decoded_json
from news_assets.sources.platforms import file_of, found_instead
from news_assets.sources.storable_entries import storable

ROOT = re.compile(r"<(?:[\w.-]+:)?(?:rss|feed|RDF)[\s>]")
_HEAD_BYTES = 65_536
_PROLOGUE = re.compile(rb"<!--.*?(?:-->|$)|<\?.*?(?:\?>|$)", re.DOTALL)
_HTML = re.compile(
    rb"\s*(?:<!doctype\s+html|<(?:html|head|body|script|meta|div)[\s>/])", re.IGNORECASE
)


def parse(page: Page, source: Source) -> Listing:
    """Return the entries that can be stored, newest first, each with an http(s) address
    and an id of its own.

    Times without a zone are read in `source.timezone`. `published_at` is the time of
    change if a feed states only that. What cannot be read is reported in `problems`; a
    truncated feed yields its whole entries.

    Raises:
        ListingChangedError: An HTML page, a log-in form, other JSON or XML, or a binary
            file.
        SourceError: The document is empty or unreadable.
    """
    return storable(read(page, source))


def read(page: Page, source: Source) -> Listing:
    """Return every entry in the document's order; `url` is empty if an entry has no
    address. Raises as `parse`.
    """
    head = page.body[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head:
        raise SourceError(f"{page.url}: an empty document")
    if head[:1] in (b"{", b"["):
        return read_json(decoded_json(page, source, "a feed"), page, source)
    if file_of(page) or b"<" not in page.body or _HTML.match(_PROLOGUE.sub(b"", head)):
        raise ListingChangedError(
            f"{page.url}: not a feed: {found_instead(page, source.kind)}"
        )
    return read_xml(page, source)
