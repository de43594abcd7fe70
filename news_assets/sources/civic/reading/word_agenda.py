"""Agendas that Word made for a vendor: lines are rows of tables, and anchors tell items
from headings.

What the anchors look like is the vendor's; here is how a row is read, and which lines
are items.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment
from news_assets.sources.civic.reading.agenda import visible_lines
from news_assets.sources.civic.reading.matter_numbers import file_in
from news_assets.sources.civic.reading.pages import clean
from news_assets.sources.civic.reading.status import status_of
from news_assets.sources.html.document import words_of

_NUMBER = re.compile(
    r"\(?(?:\d{1,3}|[A-Za-z]|[IVXivx]{1,5})(?:[.-](?:\d{1,3}|[A-Za-z]{1,2})){0,4}\s?[.):]{0,2}"
)
_LEADING = re.compile(
    r"(?P<number>\(?(?:\d{1,3}(?:\.\d{1,3}){0,3}[A-Z]?\d{0,2}|[A-Z]|[IVX]{1,5})[.):]{1,2})\s"
)
_AROUND_FILE: Final = (
    12  # characters of a line that is a number alone: "File No. VAC-26-09"
)
_HEAD_LINES: Final = 40  # where an agenda says that its meeting is cancelled
_MAX_HEAD_CHARS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of an agenda: its row, the vendor's id, the number, and its paragraphs,
    the title first.
    """

    row: HtmlElement
    own_id: str
    number: str
    texts: tuple[str, ...]
    is_heading: bool = False
    attachments: tuple[Attachment, ...] = ()


class Lines:
    """The lines of an agenda in their order, each with the documents that follow it."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._files: list[dict[Attachment, None]] = []

    def add(self, line: Line) -> None:
        """Add a line."""
        self._lines.append(line)
        self._files.append({})

    def add_file(self, file: Attachment | None) -> None:
        """Add a document to the last line; one before any line is of the whole meeting,
        and left out.
        """
        if file is not None and self._files:
            self._files[-1][file] = None

    def with_files(self) -> list[Line]:
        """Return the lines."""
        pairs = zip(self._lines, self._files, strict=True)
        return [replace(line, attachments=tuple(files)) for line, files in pairs]


def is_leaf(row: HtmlElement) -> bool:
    """Whether a row of a table has no rows within."""
    return row.find(".//tr") is None


def texts_of_row(
    row: HtmlElement, without: Sequence[HtmlElement] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return a row's number and the lines of its text, but for what stands in some
    elements.
    """
    filled = [cell for cell in row.findall("td") if clean(words_of(cell))]
    number = ""
    if len(filled) > 1 and _NUMBER.fullmatch(text := clean(words_of(filled[0]))):
        number = text.strip("(). :")
        filled = filled[1:]
    texts = tuple(map(clean, visible_lines(filled[0], without))) if filled else ()
    if texts and not number:
        number, title = split_number(texts[0])
        texts = (title, *texts[1:])
    return number, texts


def split_number(title: str) -> tuple[str, str]:
    """Return the number that a title begins with, and the rest of it."""
    match = _LEADING.match(title)
    return (
        (match["number"].strip("(). :"), title[match.end() :].strip())
        if match
        else ("", title)
    )


def items_of(lines: Sequence[Line]) -> list[AgendaItem]:
    """Return the items; a numbered heading with nothing below is one, the others are
    sections.
    """
    items: list[AgendaItem] = []
    section = ""
    following = [*lines[1:], None]
    for line, after in zip(lines, following, strict=True):
        if not line.texts:
            continue
        if line.is_heading and not _stands_alone(line, after):
            section = line.texts[0]
            continue
        items.append(_item(line, len(items) + 1, "" if line.is_heading else section))
    return items


def _stands_alone(heading: Line, after: Line | None) -> bool:
    """Whether no line is below a numbered heading, by its number or because items
    follow.
    """
    if not heading.number:
        return False
    return after is None or (
        after.is_heading and not after.number.startswith(f"{heading.number}.")
    )


def _item(line: Line, sequence: int, section: str) -> AgendaItem:
    title = line.texts[0]
    file = file_in(title)
    if (
        file is not None
        and len(line.texts) > 1
        and len(title) <= len(file) + _AROUND_FILE
    ):
        title = line.texts[1]
    elif file is None and line.attachments:
        file = file_in(line.attachments[0].name)
    return AgendaItem(
        sequence=sequence,
        vendor_id=line.own_id,
        number=line.number,
        title=title,
        section=section,
        matter_file=file,
        attachments=line.attachments,
    )


def says_off(notes: str, now: datetime) -> bool:
    """Whether the head of an agenda says that its meeting does not take place."""
    head = [
        line
        for line in notes.splitlines()[:_HEAD_LINES]
        if len(line) <= _MAX_HEAD_CHARS
    ]
    return status_of(head, "", None, None, now, is_final=False) == "cancelled"
