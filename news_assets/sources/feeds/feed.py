"""A feed of any format: one page in, a Listing out. What the document is, its content says, not its name or its header.

Pure: no network, no files, no clock, whatever the document asks for. Policy (what is new, when to ask again) belongs to
the pipeline; each format has a module of its own.
"""

import re

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records import Listing, Page, Source
from news_assets.sources.entries import storable
from news_assets.sources.feeds.json_feed import decoded_json, read_json
from news_assets.sources.feeds.syndication import read_xml
from news_assets.sources.platforms import file_of, found_instead

_HEAD_BYTES = 65_536
_PROLOGUE = re.compile(rb"<!--.*?(?:-->|$)|<\?.*?(?:\?>|$)", re.DOTALL)
_HTML = re.compile(rb"\s*(?:<!doctype\s+html|<(?:html|head|body|script|meta|div)[\s>/])", re.IGNORECASE)


def parse(page: Page, source: Source) -> Listing:
    """Return the entries that can be stored, newest first, each with an http(s) address and an id of its own.

    Times are read in `source.timezone` where they name no zone. `published_at` is the time of change where a feed
    gives only that one. Whatever could not be read has its reason in `problems`; a truncated feed yields what is there.

    Raises:
        ListingChangedError: A page, a log-in form, other JSON or XML, or a file in place of a feed.
        SourceError: Nothing, or nothing that can be read.
    """
    return storable(read(page, source))


def read(page: Page, source: Source) -> Listing:
    """Return every entry as the document states it, in its order; `url` is empty where an entry has no address.

    Raises:
        ListingChangedError: A page, a log-in form, other JSON or XML, or a file in place of a feed.
        SourceError: Nothing, or nothing that can be read.
    """
    head = page.body[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head:
        raise SourceError(f"{page.url}: an empty document")
    if head[:1] in (b"{", b"["):
        return read_json(decoded_json(page, "feed"), page, source)
    if file_of(page) or b"<" not in page.body or _HTML.match(_PROLOGUE.sub(b"", head)):
        raise ListingChangedError(f"{page.url}: no feed: {found_instead(page, source.kind)}")
    return read_xml(page, source)
