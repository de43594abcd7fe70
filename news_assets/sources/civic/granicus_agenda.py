"""The agenda that AgendaViewer shows: HTML of the client's own design, of AgendaOnline,
or made by Word.

Day and hour stand at the top. An item is a row whose first cell is its number;
documents are links to MetaViewer and the like, in the row or below it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
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
from news_assets.sources.civic.reading.build import location_of, meeting_of
from news_assets.sources.civic.reading.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    moment_of_text,
)
from news_assets.sources.civic.reading.numbering import (
    first_file,
    number_alone,
    split_number,
)
from news_assets.sources.civic.reading.page_values import (
    clean,
    first_match,
    href_of,
    parameter,
    text_of,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import select, title_of, words_of

_HEAD_LINES = 80  # where day, hour and place are stated; the agenda itself follows
_NEAR_LINES = 4  # after the day
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
_GRID_LINES = "div[style*=grid-row-start], div[style*=grid-column-start]"
_MAX_TITLE_CHARS = 150


def parse_agenda(tree: HtmlElement, base: str, page: Page, reading: Reading) -> Meeting:
    """Return the meeting of an agenda: its title, day and hour, as far as they are
    stated, and its items.
    """
    lines = visible_lines(tree)[:_HEAD_LINES]
    at = _line_of_day(lines)
    before = lines[:10] if at is None else lines[:at]
    title = _title(tree, before)
    elements, items = _agenda_items(tree, base)
    meeting = meeting_of(
        Meeting(
            vendor_id=_id_of(page),
            title=title,
            location=location_of(_place(lines)),
            url=page.final_url,
            links=(Link(title="Agenda", href=page.url),),
            items=tuple(items),
        ),
        reading,
        start=_start(lines, at, title),
    )
    return with_notes(meeting, notes_beside(tree, elements))


def _line_of_day(lines: Sequence[str]) -> int | None:
    for number, one in enumerate(lines):
        if day_of_text(one[:300]):
            return number
    return None


def _id_of(page: Page) -> str:
    for name in ("clip_id", "event_id", "meetingid"):
        if found := parameter(page.url, name) or parameter(page.final_url, name):
            return f"{name.removesuffix('_id').removesuffix('id')}-{found}"
    return ""


def _title(tree: HtmlElement, before: Sequence[str]) -> str:
    stated = clean(title_of(tree) or "")
    if stated and not _NO_TITLE.fullmatch(stated):
        return stated
    for one in reversed(before):
        if len(one) <= _MAX_TITLE_CHARS and _NAMES_MEETING.search(one):
            return clean(one)
    return stated


def _start(lines: Sequence[str], at: int | None, title: str) -> Moment | None:
    """Return day and hour; the hour from the title, else beside the day, else after
    the word "time".
    """
    if at is None:
        return None
    moment = moment_of_text(lines[at][:300])
    if moment is None:
        return None
    clock = clock_of_text(title) or moment.clock
    near = [
        one for one in lines[at + 1 :][:_NEAR_LINES] if len(one) <= _MAX_TITLE_CHARS
    ]
    marked = [other for one, other in pairwise(lines) if _TIME.match(one)]
    for text in (*marked, *near):
        clock = clock or clock_of_text(text)
    return Moment(moment.day, clock)


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
    """Return an item; the number of its heading is omitted from its own: 4.B below A
    for A.4.B.
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
    href = href_of(anchor, base)
    if not href:
        return item
    if not _DOCUMENT.search(href[:2000]):
        return item
    if any(one.url == href for one in item.attachments):
        return item
    file = Attachment(name=text_of(anchor), url=href)
    return replace(item, attachments=(*item.attachments, file))


def _accessible(tree: HtmlElement) -> list[_Entry]:
    """Return the items of AgendaOnline's page for screen readers:
    `div.accessible-item`.
    """
    entries: list[_Entry] = []
    for element in select(tree, ".accessible-item"):
        number, rest = split_number(text_of(element))
        title = words_at(element, ".accessible-item-text") or rest
        if title:
            entries.append(_Entry(element, number, title))
    return entries


def _grid(tree: HtmlElement) -> list[_Entry]:
    """Return the lines of an agenda in a CSS grid: headings in `h2`, items in `h3`, the
    number in a span first.
    """
    entries: list[_Entry] = []
    for element in select(tree, _GRID_LINES):
        head = first_match(element, "h2, h3, h4")
        if head is None:
            continue
        spans = [text_of(span) for span in select(head, "span")]
        number, title = _number_and_title([span for span in spans if span])
        if not title:
            title = text_of(head)
        entries.append(_Entry(element, number, title, is_heading=head.tag == "h2"))
    return entries


def _number_and_title(parts: Sequence[str]) -> tuple[str, str]:
    """Return the number, the first of several parts, and the title."""
    if not parts:
        return "", ""
    number = parts[0].strip("(). :")
    if len(parts) == 1 or not number:
        return "", parts[0]
    return number, " ".join(parts[1:])


def _numbered_rows(tree: HtmlElement) -> list[_Entry]:
    """Return the rows whose first cell is a number, and the headings in bold between
    them; nothing if there is no such row.
    """
    entries: list[_Entry] = []
    for element in tree.iter("tr", "div", "p", "h2", "h3"):
        entry = _numbered(element) if element.tag == "tr" else _bold(element)
        if entry is not None:
            entries.append(entry)
    if all(entry.is_heading for entry in entries):
        return []
    return entries


def _bold(element: HtmlElement) -> _Entry | None:
    """Return the heading that a block is whose text is all bold; None for another."""
    if len(element) > _MAX_BOLD_PARTS:
        return None
    if element.find(".//a") is not None:
        return None
    if element.find(".//tr") is not None:
        return None
    text = text_of(element)
    if not text:
        return None
    if len(text) > _MAX_TITLE_CHARS:
        return None
    if text != clean(" ".join(words_of(one) for one in element.iter("strong", "b"))):
        return None
    title = text.rstrip(". :")
    if not title:
        return None
    return _Entry(element, "", title, is_heading=True)


def _numbered(row: HtmlElement) -> _Entry | None:
    """Return the entry of a row; None for a row of layout. What follows the title's
    first line is its text.
    """
    if row.find(".//tr") is not None:
        return None
    filled = [cell for cell in row.findall("td") if text_of(cell)]
    if len(filled) < 2:
        return None
    number = number_alone(text_of(filled[0]))
    lines = visible_lines(filled[1])
    if not number:
        return None
    if not lines:
        return None
    return _Entry(row, number, clean(lines[0]), first_file(lines[1:_FILE_LINES]))


def _own_id(row: HtmlElement, base: str) -> str:
    """Return the id of the item itself, to which its link to the recording leads; else
    the name of its anchor.
    """
    anchors = list(row.iter("a"))
    for anchor in anchors:
        loaded = _LOADED.search(anchor.get("onclick", "")[:500])
        if loaded:
            return loaded[1]
    for anchor in anchors:
        recorded = parameter(href_of(anchor, base), "meta_id")
        if recorded:
            return recorded
    for anchor in anchors:
        if anchor.get("name"):
            return str(anchor.get("name"))
    return ""
