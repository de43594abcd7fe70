"""Numbers of agenda items as they are written: "4.A", "(III.B.2)", "10a)"; pure."""

import re
from typing import Final

_PART: Final = r"(?:\d{1,3}[A-Za-z]?|[IVXLC]{1,7}|[ivx]{1,5}|[A-Za-z])"
NUMBER: Final = rf"{_PART}(?:[.-]{_PART}){{0,4}}"
_ALONE = re.compile(rf"\(?(?P<number>{NUMBER})\s?[.):]{{0,2}}")
_LEADING = re.compile(rf"\(?(?P<number>{NUMBER})[.):]{{1,2}}\s{{1,3}}(?=\S)")


def number_alone(text: str) -> str:
    """Return the number that a text consists of, without the signs around it; empty for
    another text.
    """
    match = _ALONE.fullmatch(text)
    return match["number"] if match else ""


def split_number(text: str) -> tuple[str, str]:
    """Return the number that a text begins with and the rest; an empty number where it
    begins with none.

    A sign and a space stand behind a number: "4.A. Budget", but not "4 parcels" or "1.5
    million".
    """
    match = _LEADING.match(text)
    return (match["number"], text[match.end() :]) if match else ("", text)
