"""The agenda that AgendaViewer shows: HTML of the client's own design, of AgendaOnline,
or made by Word.

Day and hour stand at the top. An item is a row whose first cell is its number;
documents are links to MetaViewer and the like, in the row or below it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import time
from itertools import pairwise
from typing import NamedTuple

from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment, Link, Meeting
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.agenda_pages import (
    notes_beside,
    visible_lines,
    with_notes,
)
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    moment_of_text,
)
from news_assets.sources.civic.reading.numbering import (
    file_in,
    number_alone,
    split_number,
)
from news_assets.sources.civic.reading.page_values import (
    clean,
    href_of,
    parameter,
    text_of,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import select, title_of, words_of

_HEAD_LINES = 80  # where day, hour and place are stated; the agenda itself follows
_NEAR_LINES = 4  # behind the day
_LOADED = re.compile(r"loadAgendaItem\(\s?'?(\w{1,40})")
_FILE_LINES = 6  # of an item, where its file's number is looked for
_MAX_BOLD_PARTS = 5
_NAMES_MEETING = re.compile(
    r"\b(?:meeting|commission|council|committee|board|hearing|session)\b", re.IGNORECASE
)
_NO_TITLE = re.compile(
    r"\W{0,3}(?:agenda|agenda viewer|meeting agenda|untitled.{0,20})?\W{0,3}",
    re.IGNORECASE,
)
_TIME = re.compile(r"\W{0,2}time\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\W{0,2}(?:place|location)\s{0,3}:\s{0,3}(.{0,300})", re.IGNORECASE
)
_DOCUMENT = re.compile(
    r"MetaViewer|DocumentViewer|/attachments?/|ViewFile|\.(?:pdf|docx?|pptx?|xlsx?)(?:$|\?)",
    re.IGNORECASE,
)
_MAX_TITLE_CHARS = 150


def parse_agenda(tree: HtmlElement, base: str, page: Page, reading: Reading) -> Meeting:
    """Return the meeting of an agenda: its title, day and hour, as far as they are
    stated, and its items.
    """
    lines = visible_lines(tree)[:_HEAD_LINES]
    at = next(
        (number for number, one in enumerate(lines) if day_of_text(one[:300])), None
    )
    title = _title(tree, lines[:at] if at is not None else lines[:10])
    elements, items = _agenda_items(tree, base)
    meeting = meeting_of(
        Stated(
            vendor_id=_id_of(page),
            title=title,
            start=_start(lines, at, title),
            location=location_of(_place(lines)),
            url=page.final_url,
            links=[Link(title="Agenda", href=page.url)],
            items=items,
        ),
        reading,
    )
    return with_notes(meeting, notes_beside(tree, elements))


def _id_of(page: Page) -> str:
    for name in ("clip_id", "event_id", "meetingid"):
        if found := parameter(page.url, name) or parameter(page.final_url, name):
            return f"{name.removesuffix('_id').removesuffix('id')}-{found}"
    return ""


def _title(tree: HtmlElement, before: Sequence[str]) -> str:
    stated = clean(title_of(tree) or "")
    if stated and not _NO_TITLE.fullmatch(stated):
        return stated
    fitting = [
        one
        for one in before
        if len(one) <= _MAX_TITLE_CHARS and _NAMES_MEETING.search(one)
    ]
    if fitting:
        return clean(fitting[-1])
    return stated


def _start(lines: Sequence[str], at: int | None, title: str) -> Moment | None:
    """Return day and hour; the hour from the title, else beside the day, else behind
    the word "time".
    """
    if at is None:
        return None
    moment = moment_of_text(lines[at][:300])
    if moment is None:
        return None
    near = [
        one
        for one in lines[at + 1 : at + 1 + _NEAR_LINES]
        if len(one) <= _MAX_TITLE_CHARS
    ]
    marked = [other for one, other in pairwise(lines) if _TIME.match(one)]
    clocks: Iterator[time | None] = iter(
        [
            clock_of_text(title),
            moment.clock,
            *map(clock_of_text, marked),
            *map(clock_of_text, near),
        ]
    )
    return Moment(moment.day, next((clock for clock in clocks if clock), None))


def _place(lines: Sequence[str]) -> str:
    for one, other in pairwise([*lines, ""]):
        if match := _PLACE.match(one):
            return match[1] or other
    return ""


class _Entry(NamedTuple):
    """One line of an agenda, its element, and whether it is a heading."""

    element: HtmlElement
    number: str
    title: str
    file: str | None = None
    is_heading: bool = False


def _agenda_items(
    tree: HtmlElement, base: str
) -> tuple[list[HtmlElement], list[AgendaItem]]:
    """Return the elements and the items of the first form that the agenda has."""
    for entries_of in (_accessible, _grid, _numbered_rows):
        if entries := entries_of(tree):
            return [entry.element for entry in entries], _items(tree, entries, base)
    return [], []


def _items(tree: HtmlElement, entries: Sequence[_Entry], base: str) -> list[AgendaItem]:
    """Return the items with the documents that follow each, up to the next."""
    by_element = {entry.element: entry for entry in entries}
    items: list[AgendaItem] = []
    heading: _Entry | None = None
    for element in tree.iter("tr", "div", "a", "strong", "b", "h2", "h3"):
        entry = by_element.get(element)
        if entry is not None and entry.is_heading:
            heading = entry
        elif entry is not None:
            items.append(_item(entry, len(items) + 1, heading, base))
        elif element.tag == "a" and items:
            items[-1] = _with_document(items[-1], element, base)
    return items


def _item(
    entry: _Entry, sequence: int, heading: _Entry | None, base: str
) -> AgendaItem:
    """Return an item; the number of its heading is left out of its own: 4.B below A for
    A.4.B.
    """
    above = f"{heading.number}." if heading and heading.number else ""
    return AgendaItem(
        sequence=sequence,
        vendor_id=_own_id(entry.element, base),
        number=entry.number.removeprefix(above),
        title=entry.title,
        section=heading.title if heading else "",
        matter_file=entry.file,
    )


def _with_document(item: AgendaItem, anchor: HtmlElement, base: str) -> AgendaItem:
    href, name = href_of(anchor, base), text_of(anchor)
    if (
        not href
        or not _DOCUMENT.search(href[:2000])
        or any(one.url == href for one in item.attachments)
    ):
        return item
    return replace(
        item, attachments=(*item.attachments, Attachment(name=name, url=href))
    )


def _accessible(tree: HtmlElement) -> list[_Entry]:
    """Return the items of AgendaOnline's page for screen readers:
    `div.accessible-item`.
    """
    entries: list[_Entry] = []
    for element in select(tree, ".accessible-item"):
        stated = words_at(element, ".accessible-item-text")
        text = text_of(element)
        number, title = split_number(text)
        if title := stated or title:
            entries.append(_Entry(element, number, title))
    return entries


def _grid(tree: HtmlElement) -> list[_Entry]:
    """Return the lines of an agenda in a CSS grid: headings in `h2`, items in `h3`, the
    number in a span first.
    """
    entries: list[_Entry] = []
    for element in select(
        tree, "div[style*=grid-row-start], div[style*=grid-column-start]"
    ):
        heads = select(element, "h2, h3, h4")
        if not heads:
            continue
        spans = [text_of(span) for span in select(heads[0], "span")]
        parts = [span for span in spans if span] or [text_of(heads[0])]
        number = parts[0].strip("(). :") if len(parts) > 1 else ""
        title = " ".join(parts[1:]) if number else parts[0]
        entries.append(_Entry(element, number, title, is_heading=heads[0].tag == "h2"))
    return entries


def _numbered_rows(tree: HtmlElement) -> list[_Entry]:
    """Return the rows whose first cell is a number, and the headings in bold between
    them.
    """
    entries: list[_Entry] = []
    for element in tree.iter("tr", "div", "p", "h2", "h3"):
        if element.tag == "tr":
            if element.find(".//tr") is None and (entry := _numbered(element)):
                entries.append(entry)
        elif heading := _bold(element):
            entries.append(_Entry(element, "", heading, is_heading=True))
    if any(not entry.is_heading for entry in entries):
        return entries
    return []


def _bold(element: HtmlElement) -> str:
    """Return the text of a block that is all bold, as headings are; empty for another."""
    if element.find(".//a") is not None or element.find(".//tr") is not None:
        return ""
    text = text_of(element) if len(element) <= _MAX_BOLD_PARTS else ""
    bold = ""
    if text:
        bold = clean(" ".join(words_of(one) for one in element.iter("strong", "b")))
    if bold and bold == text and len(bold) <= _MAX_TITLE_CHARS:
        return bold.rstrip(". :")
    return ""


def _numbered(row: HtmlElement) -> _Entry | None:
    """Return the entry of a row; None for a row of layout. What follows the title's
    first line is its text.
    """
    filled = [cell for cell in row.findall("td") if text_of(cell)]
    if len(filled) < 2 or not (number := number_alone(text_of(filled[0]))):
        return None
    lines = visible_lines(filled[1])
    if not lines:
        return None
    file = next(
        (found for line in lines[1:_FILE_LINES] if (found := file_in(line))), None
    )
    return _Entry(row, number, clean(lines[0]), file)


def _own_id(row: HtmlElement, base: str) -> str:
    """Return the id of the item itself, to which its link to the recording leads; else
    the name of its anchor.
    """
    anchors = list(row.iter("a"))
    loaded = (_LOADED.search((anchor.get("onclick", ""))[:500]) for anchor in anchors)
    if match := next(filter(None, loaded), None):
        return match[1]
    ids = (parameter(href_of(anchor, base), "meta_id") for anchor in anchors)
    return next(filter(None, ids), "") or next(
        (name for anchor in anchors if (name := anchor.get("name"))), ""
    )
