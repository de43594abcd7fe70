"""What a file offers to be read: one source a row, with the line it stands on, and why other lines offer none.

The two forms of an address are made here: the one to ask, and the one by which two spellings are the same source. Files
are read in `opml.py` and `site_list.py`; which offers are new is decided in `additions.py`.
"""

import re
from dataclasses import dataclass

from news_assets.text.urls import canonical_url, host_of

_FEED_SCHEME = re.compile(r"feed:(?://)?(?=https?:)", re.IGNORECASE)  # feed:https://example.org/rss
_FEED_HOST = re.compile(r"feed://", re.IGNORECASE)  # feed://example.org/rss, meant as http since 2003
_BARE_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,63}(?::\d{1,5})?(?:[/?]\S*)?", re.IGNORECASE)
_SHOWN_CHARS = 100
_SCHEME_AND_WWW = re.compile(r"https?://(?:www\.)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One source as a file offers it; None for what the file does not say. `line` counts from 1."""

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
    """A line that brings no source, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Offers:
    """What a file offers, in its order, and the lines of it that could not be read."""

    offers: tuple[Offer, ...]
    refused: tuple[Refusal, ...] = ()


def web_address(text: str) -> str | None:
    """Return the http(s) address that is meant: also by `feed://...` and by a bare host; None where none is."""
    address = _FEED_HOST.sub("http://", _FEED_SCHEME.sub("", text.strip()))
    if _BARE_HOST.fullmatch(address):
        address = f"https://{address}"
    if not address.lower().startswith("http") or re.search(r"\s", address):
        return None
    is_address = canonical_url(address).startswith(("http://", "https://")) and host_of(address)
    return address if is_address else None


def same_source_key(url: str) -> str:
    """Return what all spellings of one source share: http or https, with and without `www.` and a slash at the end."""
    path, mark, query = _SCHEME_AND_WWW.sub("", canonical_url(url), count=1).partition("?")
    return path.rstrip("/") + mark + query


def one_line(text: str | None) -> str | None:
    """Return a name without line breaks and controls; None where nothing is left."""
    words = "".join(character if character.isprintable() else " " for character in text or "").split()
    return " ".join(words) or None


def quoted(text: str) -> str:
    """Return what a file says as a message shows it: in one line and not too long."""
    words = one_line(text[:1000]) or ""
    return f"`{words}`" if len(words) <= _SHOWN_CHARS else f"`{words[:_SHOWN_CHARS]}…`"
