"""Writes the parts of a document as Markdown: tables, struck-out and added text, and
lines that belong together.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from typing import Final, Literal

Mark = Literal["", "~~", "++"]  # plain, struck out, added

STRUCK: Final[Mark] = "~~"
ADDED: Final[Mark] = "++"
# shorter lines are cells, names and addresses, which end where they were meant to
_FULL_LINE_CHARS = 40
_SENTENCE_ENDS = (".", ":", ";", "!", "?")
_FIGURE = re.compile(r"[$€£]?\d")
# an item's number
_LISTED = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,3}[.)]?(?:\s+[A-ZÀ-Ý(]|\Z)|\d{1,3}[.)]\s")
# PDFium writes U+FFFE, once U+0002, for a hyphen at the end of a line and for the
# line's end; others a soft hyphen.
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])[\ufffe\x02\xad]\n?(?=[^\W\d_A-Z])")
_HYPHEN = re.compile("[\ufffe\x02]")


def marked(pieces: Iterable[tuple[str, Mark]]) -> str:
    """Return pieces of text as one, with marks around those that are struck out or
    added.
    """
    parts: list[str] = []
    for mark, group in groupby(pieces, key=lambda piece: piece[1]):
        text = "".join(text for text, _ in group)
        parts.append(_with_mark(text, mark))
    return "".join(parts)


def _with_mark(text: str, mark: Mark) -> str:
    core = text.strip()
    if not mark:
        return text
    if not core:
        return text
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}{mark}{core}{mark}{text[start + len(core) :]}"


def _filled_rows(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the rows that have any text, with single spaces in their cells."""
    filled: list[list[str]] = []
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            filled.append(cells)
    return filled


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return a table; with a single column or row it is layout, and each cell is a
    paragraph.
    """
    filled = _filled_rows(rows)
    width = max(map(len, filled), default=0)
    if width < 2 or len(filled) < 2:
        return "\n\n".join(filter(None, chain.from_iterable(filled)))
    lines: list[str] = []
    for row in filled:
        missing = [""] * (width - len(row))
        lines.append(_table_line([*row, *missing]))
    lines.insert(1, f"|{' --- |' * width}")
    return "\n".join(lines)


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def lines_of(text: str) -> str:
    """Return the text of a page: words and sentences that were broken at the end of a
    line are joined.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _HYPHEN.sub("-", _BROKEN_WORD.sub("", text))
    found: list[str] = []
    for written in text.split("\n"):
        line = " ".join(written.split())
        if found and _goes_on(found[-1], line):
            found[-1] = f"{found[-1]} {line}"
        elif line or (found and found[-1]):
            found.append(line)
    return "\n".join(found).strip("\n")


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is in the middle of the sentence that the one before began."""
    if len(before) < _FULL_LINE_CHARS:
        return False
    if before.endswith(_SENTENCE_ENDS):
        return False
    if line[:1].islower():
        return True
    if _FIGURE.match(line) is None:
        return False
    return _LISTED.match(line) is None
