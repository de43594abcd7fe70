"""Rows of an imported list of sources, and the normal forms of their addresses."""

import re
from dataclasses import dataclass

from news_assets.errors import without_credentials
from news_assets.text.urls import canonical_url, host_of

# feed:https://example.org/rss
_FEED_SCHEME = re.compile(r"feed:(?://)?(?=https?:)", re.IGNORECASE)
_FEED_HOST = re.compile(r"feed://", re.IGNORECASE)  # feed://example.org/rss means http
_BARE_HOST = re.compile(
    r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,63}(?::\d{1,5})?(?:[/?]\S*)?", re.IGNORECASE
)
_SHOWN_CHARS = 100
_SCHEME_AND_WWW = re.compile(r"https?://(?:www\.)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """One source of a list; None for what the list does not state. `line` counts from
    1.
    """

    line: int
    url: str
    name: str | None = None
    agency: str | None = None
    type: str | None = None
    kind: str | None = None
    language: str | None = None
    timezone: str | None = None
    pace: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """A line that cannot be imported, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportRows:
    """The sources of a list in its order, and the lines that could not be read."""

    rows: tuple[ImportRow, ...]
    refused: tuple[Refusal, ...] = ()


def web_address(text: str) -> str | None:
    """Return the http(s) address of a text, also of `feed://...` and of a bare host;
    None if it is not an address.
    """
    address = _FEED_HOST.sub("http://", _FEED_SCHEME.sub("", text.strip()))
    if _BARE_HOST.fullmatch(address):
        address = f"https://{address}"
    if not address.lower().startswith("http") or re.search(r"\s", address):
        return None
    is_address = canonical_url(address).startswith(("http://", "https://")) and host_of(
        address
    )
    if is_address:
        return address
    return None


def same_source_key(url: str) -> str:
    """Return a key that is equal for http and https, with or without `www.`, and with
    or without a final slash.
    """
    path, separator, query = _SCHEME_AND_WWW.sub(
        "", canonical_url(url), count=1
    ).partition("?")
    return path.rstrip("/") + separator + query


def one_line(text: str | None) -> str | None:
    """Return a name without line breaks and control characters; None if nothing
    remains.
    """
    words = "".join(
        character if character.isprintable() else " " for character in text or ""
    ).split()
    return " ".join(words) or None


def quoted(text: str) -> str:
    """Return a text from a file as quoted in a message: on one line, cut to 100
    characters, without passwords.
    """
    words = one_line(without_credentials(text[:1000])) or ""
    if len(words) <= _SHOWN_CHARS:
        return f"`{words}`"
    return f"`{words[:_SHOWN_CHARS]}…`"
