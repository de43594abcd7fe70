"""What pages of agendas share: the notes beside the items, and the meeting that such a
page completes.

Agendas that Word made for a vendor are lines in rows of tables, and anchors distinguish
items from headings. What the anchors look like is the vendor's; here is how a row is
read, and which lines are items.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from typing import Final

from lxml import etree
from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment, Meeting
from news_assets.sources.civic.meeting_prose import participation_of
from news_assets.sources.civic.moments import (
    clock_of_text,
    day_of_text,
    moment_of_text,
)
from news_assets.sources.civic.numbering import (
    file_in,
    number_alone,
    split_number,
)
from news_assets.sources.civic.page_values import text_of, title_line
from news_assets.sources.civic.vendor_meetings import status_of
from news_assets.text.limits import clean_text

_MAX_NOTES_CHARS = 20_000
_HEAD_LINES, _NEAR_LINES, _MAX_NEAR_CHARS = 60, 3, 120
_TOP_LINES = 6  # where an agenda without its day has the hour
_NOT_BEGIN = re.compile(
    r"\b(?:comments?|deadline|by|before|until|call|e-?mail|submit|posted|office)\b",
    re.IGNORECASE,
)
_INVISIBLE = ("script", "style", "noscript", "template", "head", "title", "option")
_BLOCKS = frozenset(
    (
        "br",
        "p",
        "div",
        "td",
        "tr",
        "li",
        "h1",
        "h2",
        "h3",
        "h4",
        "table",
        "center",
        "section",
    )
)


def agenda_of(
    items: Iterable[AgendaItem], notes: str, vendor_id: str = "", agenda_id: str = ""
) -> Meeting:
    """Return what the page of an agenda adds to a listed meeting."""
    meeting = Meeting(
        vendor_id=vendor_id or f"agenda-{agenda_id}",
        agenda_id=agenda_id,
        items=tuple(items),
        is_partial=True,
    )
    return with_notes(meeting, notes)


def with_notes(meeting: Meeting, notes: str) -> Meeting:
    """Return a meeting with what its agenda says beside the items, and what that says
    about taking part.
    """
    notes = notes[:_MAX_NOTES_CHARS]
    facts = [replace(fact, text="agenda") for fact in participation_of(notes)]
    return replace(
        meeting, agenda_notes=notes, participation=(*meeting.participation, *facts)
    )


def page_of_item(item: AgendaItem, vendor_id: str = "") -> Meeting:
    """Return what the page of one item adds to its meeting, by the meeting's id if the
    page states it.
    """
    return Meeting(
        vendor_id=vendor_id,
        items=(item,),
        is_partial=True,
    )


def notes_beside(tree: HtmlElement, items: Collection[HtmlElement]) -> str:
    """Return the visible text of a page outside its items, a block a line."""
    notes = "\n".join(visible_lines(tree, items))
    return notes[:_MAX_NOTES_CHARS]


class Headings:
    """The headings above the items of an outline, by their depth."""

    def __init__(self) -> None:
        self._titles: dict[int, str] = {}

    def enter(self, depth: int, title: str) -> str:
        """Add a line at this depth; return the title of the line above it, empty
        without one.
        """
        above = {}
        section = ""
        for other, its_title in sorted(self._titles.items()):
            if other < depth:
                above[other] = its_title
                section = its_title
        above[depth] = title
        self._titles = above
        return section


def visible_lines(
    tree: HtmlElement, without: Collection[HtmlElement] = ()
) -> list[str]:
    """Return the visible lines of a page, but for what stands in some of its elements."""
    skipped = set(without)
    parts: list[str] = []
    hidden: HtmlElement | None = None
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        is_start = event == "start"
        if hidden is not None:
            if not is_start and element is hidden:
                hidden = None
                parts.append("\n" + (element.tail or ""))
            continue
        if is_start and (element in skipped or element.tag in _INVISIBLE):
            hidden = element
            continue
        parts.append("\n" if element.tag in _BLOCKS else " ")
        parts.append((element.text if is_start else element.tail) or "")
    return _filled_lines(clean_text("".join(parts)))


def _filled_lines(text: str) -> list[str]:
    """Return the lines with words, each with single spaces."""
    found: list[str] = []
    for line in text.split("\n"):
        if line.strip():
            found.append(" ".join(line.split()))
    return found


def clock_in_notes(notes: str, day: date) -> time | None:
    """Return the hour that an agenda states beside its day, in that line or in those
    below.
    """
    lines = [line for line in notes.splitlines() if line][:_HEAD_LINES]
    days = [day_of_text(line) for line in lines]
    if day in days:
        place = days.index(day)
        moment = moment_of_text(lines[place])
        if moment and moment.clock:
            return moment.clock
        below = lines[place + 1 :]
        return _first_clock(below[:_NEAR_LINES])
    if any(days):
        return None
    return _first_clock(lines[:_TOP_LINES])


def _first_clock(lines: Iterable[str]) -> time | None:
    """Return the first hour that is not one for comments or calls."""
    for line in lines:
        if len(line) > _MAX_NEAR_CHARS:
            continue
        if _NOT_BEGIN.search(line):
            continue
        clock = clock_of_text(line)
        if clock is not None:
            return clock
    return None


# --- agendas made by Word -------------------------------------------------------------

# characters of a line that is a number alone: "File No. VAC-26-09"
_AROUND_FILE: Final = 12
_TOP_OF_AGENDA_LINES: Final = 40  # where an agenda says that its meeting is cancelled
_MAX_TOP_CHARS: Final = 80


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
        and omitted.
        """
        if file is not None and self._files:
            self._files[-1][file] = None

    def with_files(self) -> list[Line]:
        """Return the lines with their documents."""
        lines = []
        for line, files in zip(self._lines, self._files, strict=True):
            lines.append(replace(line, attachments=tuple(files)))
        return lines


def is_leaf(row: HtmlElement) -> bool:
    """Whether a row of a table has no rows within."""
    return row.find(".//tr") is None


def texts_of_row(
    row: HtmlElement, without: Sequence[HtmlElement] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return a row's number and the lines of its text, but for what stands in some
    elements.
    """
    filled = [cell for cell in row.findall("td") if text_of(cell)]
    if not filled:
        return "", ()
    number = ""
    if len(filled) > 1:
        number = number_alone(text_of(filled[0]))
    text_cell = filled[1] if number else filled[0]
    texts = tuple(map(title_line, visible_lines(text_cell, without)))
    if number or not texts:
        return number, texts
    number, title = split_number(texts[0])
    return number, (title, *texts[1:])


def items_of(lines: Sequence[Line]) -> list[AgendaItem]:
    """Return the items; a numbered heading with nothing below is one, the others are
    sections.
    """
    items: list[AgendaItem] = []
    section = ""
    for line, after in zip(lines, [*lines[1:], None], strict=False):
        if not line.texts:
            continue
        if not line.is_heading:
            items.append(_item(line, len(items) + 1, section))
        elif _stands_alone(line, after):
            items.append(_item(line, len(items) + 1, ""))
        else:
            section = line.texts[0]
    return items


def _stands_alone(heading: Line, after: Line | None) -> bool:
    """Whether no line is below a numbered heading, by its number or because items
    follow.
    """
    if not heading.number:
        return False
    if after is None:
        return True
    if not after.is_heading:
        return False
    return not after.number.startswith(f"{heading.number}.")


def _item(line: Line, sequence: int, section: str) -> AgendaItem:
    title = line.texts[0]
    file = file_in(title)
    if file is None and line.attachments:
        file = file_in(line.attachments[0].name)
    elif file and len(line.texts) > 1 and len(title) <= len(file) + _AROUND_FILE:
        title = line.texts[1]
    return AgendaItem(
        sequence=sequence,
        vendor_id=line.own_id,
        number=line.number,
        title=title,
        section=section,
        matter_file=file,
        attachments=line.attachments,
    )


def is_cancelled_at_top(notes: str, now: datetime) -> bool:
    """Whether the head of an agenda says that its meeting does not take place."""
    top = notes.splitlines()[:_TOP_OF_AGENDA_LINES]
    short = [line for line in top if len(line) <= _MAX_TOP_CHARS]
    status = status_of(short, "", None, None, now, is_final=False)
    return status == "cancelled"
