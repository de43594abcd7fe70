"""A feed of any format: one page in, a Listing out. What the document is, its content says, not its name or its header.

Pure: no network, no files, no clock, whatever the document asks for. Policy (what is new, when to ask again) belongs to
the pipeline; each format has a module of its own.
"""

import json
import re
from typing import Any

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records import Listing, Page, Source
from news_assets.sources.entries import storable
from news_assets.sources.json_feed import read_json
from news_assets.sources.syndication import read_xml

_HEAD_BYTES = 65_536
_BINARY = {b"%PDF": "a PDF", b"PK\x03\x04": "a ZIP archive", b"\x1f\x8b": "compressed data", b"\x89PNG": "an image",
           b"\xff\xd8\xff": "an image", b"GIF8": "an image"}  # fmt: skip
_PROLOGUE = re.compile(rb"<!--.*?(?:-->|$)|<\?.*?(?:\?>|$)", re.DOTALL)
_HTML = re.compile(rb"\s*(?:<!doctype\s+html|<(?:html|head|body|script|meta|div)[\s>/])", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>\s*([^<]{1,120})", re.IGNORECASE)
_PASSWORD = re.compile(rb"""type\s*=\s*["']?password""", re.IGNORECASE)


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
        return read_json(_decoded_json(page), page, source)
    _refuse_what_is_no_xml(head, page)
    return read_xml(page, source)


def _decoded_json(page: Page) -> Any:
    try:
        return json.loads(page.body)
    except RecursionError as error:
        raise ListingChangedError(f"{page.url}: JSON that is nested too deeply") from error
    except ValueError as error:  # also UnicodeDecodeError
        raise SourceError(f"{page.url}: JSON that cannot be read: {error}") from error


def _refuse_what_is_no_xml(head: bytes, page: Page) -> None:
    binary = next((name for magic, name in _BINARY.items() if head.startswith(magic)), None)
    if binary is not None:
        raise ListingChangedError(f"{page.url}: {binary} in place of a feed")
    if _HTML.match(_PROLOGUE.sub(b"", head)):
        kind = "a log-in page" if _PASSWORD.search(head) else "an HTML page"
        title = _TITLE.search(head)
        named = f' titled "{title[1].decode("utf-8", "replace").strip()}"' if title else ""
        raise ListingChangedError(f"{page.url}: {kind}{named} in place of a feed")
    if b"<" not in page.body:
        raise ListingChangedError(f"{page.url}: plain text in place of a feed")
