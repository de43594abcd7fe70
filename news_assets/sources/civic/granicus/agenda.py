"""The agenda that AgendaViewer shows: HTML of the client's own design, of AgendaOnline, or made by Word.

Day and hour stand at the top. An item is a row whose first cell is its number; documents are links to MetaViewer and
the like, in the row or below it.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import time
from itertools import pairwise

from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment, Link, Meeting
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import Moment, clock_of_text, day_of_text, moment_of_text
from news_assets.sources.civic.reading.pages import clean, href_of, parameter
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import title_of, words_of

_HEAD_LINES = 80  # where day, hour and place are stated; the agenda itself follows
_NEAR_LINES = 4  # behind the day
_NUMBER = re.compile(r"(?:\d{1,3}|[A-Za-z]|[IVXivx]{1,5})(?:[.-](?:\d{1,3}|[A-Za-z]))?\s?[.):]?")
_NAMES_MEETING = re.compile(r"\b(?:meeting|commission|council|committee|board|hearing|session)\b", re.IGNORECASE)
_NO_TITLE = re.compile(r"\W{0,3}(?:agenda|agenda viewer|meeting agenda|untitled.{0,20})?\W{0,3}", re.IGNORECASE)
_TIME = re.compile(r"\W{0,2}time\b", re.IGNORECASE)
_PLACE = re.compile(r"\W{0,2}(?:place|location)\s{0,3}:\s{0,3}(.{0,300})", re.IGNORECASE)
_DOCUMENT = re.compile(r"MetaViewer|DocumentViewer|/attachments?/|ViewFile|\.pdf(?:$|\?)", re.IGNORECASE)
_MAX_TITLE_CHARS = 150
_BLOCKS = ("br", "p", "div", "td", "tr", "li", "h1", "h2", "h3", "h4", "table", "center")


def parse_agenda(tree: HtmlElement, base: str, page: Page, reading: Reading) -> Meeting:
    """Return the meeting of an agenda: its title, day and hour, as far as they are stated, and its items."""
    lines = _lines(tree)
    at = next((number for number, one in enumerate(lines) if day_of_text(one[:300])), None)
    title = _title(tree, lines[:at] if at is not None else lines[:10])
    return meeting_of(
        Stated(
            vendor_id=_id_of(page),
            title=title,
            start=_start(lines, at, title),
            location=location_of(_place(lines)),
            url=page.final_url,
            links=[Link(title="Agenda", href=page.url)],
            items=tuple(_items(tree, base)),
        ),
        reading,
    )


def _id_of(page: Page) -> str:
    for name in ("clip_id", "event_id", "meetingid"):
        if found := parameter(page.url, name) or parameter(page.final_url, name):
            return f"{name.removesuffix('_id').removesuffix('id')}-{found}"
    return ""


def _lines(tree: HtmlElement) -> list[str]:
    """Return the first visible lines."""
    parts: list[str] = []
    for element in tree.iter():
        if element.tag in ("script", "style", "title", "head"):
            parts.append("\n" + (element.tail or ""))
            continue
        parts.append(("\n" if element.tag in _BLOCKS else " ") + (element.text or "" if element.tag != "br" else ""))
        if element.tag == "br":
            parts.append(element.tail or "")
        elif element.tail:
            parts.append(" " + element.tail)
    lines = (" ".join(one.split()) for one in "".join(parts).split("\n"))
    return [one for one in lines if one][:_HEAD_LINES]


def _title(tree: HtmlElement, before: Sequence[str]) -> str:
    stated = clean(title_of(tree) or "")
    if stated and not _NO_TITLE.fullmatch(stated):
        return stated
    fitting = [one for one in before if len(one) <= _MAX_TITLE_CHARS and _NAMES_MEETING.search(one)]
    return clean(fitting[-1]) if fitting else stated


def _start(lines: Sequence[str], at: int | None, title: str) -> Moment | None:
    """Return day and hour; the hour from the title, else beside the day, else behind the word "time"."""
    if at is None:
        return None
    moment = moment_of_text(lines[at][:300])
    if moment is None:
        return None
    near = [one for one in lines[at + 1 : at + 1 + _NEAR_LINES] if len(one) <= _MAX_TITLE_CHARS]
    marked = [other for one, other in pairwise(lines) if _TIME.match(one)]
    clocks: Iterator[time | None] = iter(
        [clock_of_text(title), moment.clock, *map(clock_of_text, marked), *map(clock_of_text, near)]
    )
    return Moment(moment.day, next((clock for clock in clocks if clock), None))


def _place(lines: Sequence[str]) -> str:
    for one, other in pairwise([*lines, ""]):
        if match := _PLACE.match(one):
            return match[1] or other
    return ""


def _items(tree: HtmlElement, base: str) -> Iterator[AgendaItem]:
    """Yield the numbered rows with the documents that follow each."""
    rows: list[tuple[HtmlElement, str, str]] = []
    documents: dict[int, dict[str, Attachment]] = {}
    for element in tree.iter("tr", "a"):
        if element.tag == "tr":
            if element.find(".//tr") is None and (found := _numbered(element)):
                rows.append((element, *found))
        elif rows and (href := href_of(element, base)) and _DOCUMENT.search(href[:2000]):
            name = clean(words_of(element))
            documents.setdefault(len(rows), {}).setdefault(href, Attachment(name=name, url=href))
    for number, (row, written, title) in enumerate(rows, start=1):
        own = documents.get(number, {})
        yield AgendaItem(
            sequence=number,
            vendor_id=_own_id(row, base),
            number=written.rstrip(".): "),
            title=title,
            attachments=tuple(own.values()),
        )


def _numbered(row: HtmlElement) -> tuple[str, str] | None:
    """Return number and title of a row; None for a row of layout. What follows the title's first line is its text."""
    filled = [cell for cell in row.findall("td") if clean(words_of(cell))]
    if len(filled) < 2 or not _NUMBER.fullmatch(number := clean(words_of(filled[0]))):
        return None
    lines = _lines(filled[1])
    return (number, clean(lines[0])) if lines else None


def _own_id(row: HtmlElement, base: str) -> str:
    """Return the id of the item itself, to which its link to the recording leads; else the name of its anchor."""
    anchors = list(row.iter("a"))
    ids = (parameter(href_of(anchor, base), "meta_id") for anchor in anchors)
    return next(filter(None, ids), "") or next((name for anchor in anchors if (name := anchor.get("name"))), "")
