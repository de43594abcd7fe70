"""How long values from outside may be, and which characters they may have: applied
once, where they enter.

Entries of listings pass `sources/storable_entries.py`, articles of pages
`pipeline/page/extract.py`. What leaves these two is stored and looked up as it is; the
store's own guard against NUL and lone surrogates finds nothing to replace.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class _Limit:
    """The most characters or parts of one kind of value, and why."""

    most: int
    reason: str


LIMITS: Final = {
    "address": _Limit(
        8000,
        "RFC 9110, section 4.1: what every server and client has to support at least",
    ),
    "entry_id": _Limit(1000, "a key of the lake; ids are addresses, UUIDs and numbers"),
    "title": _Limit(1000, "longest seen: 400"),
    "name": _Limit(200, "a person, section, category or tag; longest seen: 90"),
    "summary": _Limit(20_000, "feeds without a full text have whole articles here"),
    "markup": _Limit(
        2_000_000,
        "HTML of a full text; the largest article pages seen have 0.9 million",
    ),
    "text": _Limit(1_000_000, "of an article; novels are shorter"),
    "authors": _Limit(50, "of one article"),
    "categories": _Limit(100, "of one article"),
    "entries": _Limit(10_000, "of one document: a poll stores them in one transaction"),
}

# Controls but tab and line breaks, lone surrogates, which have no UTF-8 form,
# noncharacters, which lxml refuses, and marks without width.
_CONTROLS: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff"
)
_CONTROL = re.compile(f"[{_CONTROLS}]")
# They reverse or hide what follows: overrides, embeddings and isolates of direction.
_CONTROL_OR_DIRECTION = re.compile(f"[{_CONTROLS}\u202a-\u202e\u2066-\u2069]")
_NO_ID = re.compile(f"[{_CONTROLS}\t\n\r]")
_NOT_IN_ADDRESS = re.compile(f"[{_CONTROLS}\t\n\r \u202a-\u202e\u2066-\u2069]")


def most(name: str) -> int:
    """Return the limit of a kind of value."""
    return LIMITS[name].most


def clean_text(text: str) -> str:
    """Return a text of several lines without control characters and lone surrogates."""
    return _CONTROL.sub("", text)


def clean_line(text: str) -> str:
    """Return a title or name on one line, without characters that are invisible or
    change its direction.
    """
    return " ".join(_CONTROL_OR_DIRECTION.sub("", text).split())


def line(text: str | None, name: str = "name") -> str | None:
    """Return a clean title or name, cut to its limit; None if nothing is left."""
    if not text:
        return None
    limit = most(name)
    return clean_line(text[: 2 * limit])[:limit].rstrip() or None


def lines(texts: Iterable[str], name: str) -> tuple[str, ...]:
    """Return clean names, each once, up to the limit of their number."""
    found = dict.fromkeys(filter(None, map(line, texts)))
    return tuple(found)[: most(name)]


def address(url: str) -> str:
    """Return an address with spaces, controls and signs of direction percent-encoded,
    as browsers send it.
    """
    return _NOT_IN_ADDRESS.sub(
        lambda match: quote(
            match[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        ),
        url,
    )


def identifier(text: str) -> str:
    """Return an id that can be stored; one that is too long, or has control characters,
    ends in its own hash.
    """
    if len(text) <= most("entry_id") and not _NO_ID.search(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_NO_ID.sub('', text[: most('entry_id') - len(digest) - 1])}#{digest}"


# --- JSON -----------------------------------------------------------------------------


# larger numbers have no float, and Python reads integers of up to 4,300 digits only
_MAX_DIGITS = 300


def loads(document: str | bytes, *, strict: bool = True) -> Any:
    """Return the value of a JSON text; an integer of more than 300 digits is a text.

    Args:
        document: The text, or its bytes in UTF-8, UTF-16 or UTF-32.
        strict: Whether control characters within texts are errors.

    Raises:
        ValueError: It is not JSON, or bytes in another charset.
        RecursionError: It is nested too deeply.
    """
    return json.loads(document, strict=strict, parse_int=_integer)


def _integer(digits: str) -> int | str:
    if len(digits) > _MAX_DIGITS:
        return digits
    return int(digits)


def storable(text: str) -> str:
    """Return the text as the lake stores it; lookups by a text have to look for this.

    What it cannot store becomes U+FFFD, so that one such title does not fail a whole
    batch: NUL, which Postgres refuses even in column statistics, and lone surrogates,
    which have no UTF-8 form.
    """
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        # the round trip through UTF-16 joins the two surrogates of a pair and replaces
        # lone ones
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
