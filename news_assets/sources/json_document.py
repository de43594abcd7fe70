"""JSON documents of feeds and APIs: decoding with errors that name the page, and
lenient access to their values.
"""

from typing import Any

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import Page
from news_assets.sources.platforms import found_instead
from news_assets.text.outside_json import loads

_MAX_ERROR_CHARS = 120


def decoded_json(page: Page, source: Source, expected: str) -> Any:
    """Return the document of a page that has to be JSON; `expected` names it in errors,
    such as "a JSON Feed".

    Raises:
        ListingChangedError: The page is not JSON, or is nested too deeply.
        SourceError: The page is empty, or its JSON is broken.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    try:
        return loads(page.body)
    except RecursionError as error:
        raise ListingChangedError(f"{page.url}: JSON nested too deeply") from error
    except ValueError as error:  # also UnicodeDecodeError
        if page.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            raise ListingChangedError(
                f"{page.url}: not {expected}: {found_instead(page, source.kind)}"
            ) from error
        raise SourceError(
            f"{page.url}: JSON that cannot be read: {str(error)[:_MAX_ERROR_CHARS]}"
        ) from error


def string_of(owner: Any, name: str) -> str:
    """Return a trimmed string value of an object; empty if `owner` is not an object or
    the value not a string.
    """
    value = owner.get(name) if isinstance(owner, dict) else None
    if not isinstance(value, str):
        return ""
    return value.strip()
