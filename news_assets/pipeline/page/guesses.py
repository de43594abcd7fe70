"""Guesses of title and day by trafilatura and htmldate, for pages that state none.

Each is made alone, because each searches the whole page.
"""

from lxml.etree import LxmlError
from lxml.html import HtmlElement

# Raised by trafilatura, lxml and htmldate on unforeseen markup.
LIBRARY_ERRORS = (
    LxmlError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_MAX_META_CHARS = 1000  # of one tag
_MAX_SCRIPT_CHARS = 20_000  # of all JSON-LD; a longer script is left out


def guessed_title(tree: HtmlElement) -> str | None:
    """Return the title by trafilatura's rules."""
    from trafilatura.metadata import extract_title

    try:
        return extract_title(tree)
    except LIBRARY_ERRORS:
        return None


def guessed_day(tree: HtmlElement, url: str) -> str | None:
    """Return the day of publication (ISO) by htmldate. Long meta tags and JSON-LD are
    cut.
    """
    from htmldate import find_date

    _shorten(tree)
    # The extensive search is off: its first use compiles the patterns of 205 locales in
    # four seconds.
    try:
        return find_date(tree, url=url, original_date=True, extensive_search=False)
    except (
        LIBRARY_ERRORS
    ):  # a date that no clock shows, or other markup that it does not foresee
        return None


def _shorten(tree: HtmlElement) -> None:
    """Cut what htmldate searches with patterns that take quadratic time: meta tags, and
    JSON-LD that was read.
    """
    for tag in tree.iter("meta"):
        if len(content := tag.get("content") or "") > _MAX_META_CHARS:
            tag.set("content", content[:_MAX_META_CHARS])
    remaining = _MAX_SCRIPT_CHARS
    for script in tree.iter("script"):
        if "ld+json" in (script.get("type") or "").lower():
            remaining -= len(script.text or "")
            script.text = script.text if remaining >= 0 else None
