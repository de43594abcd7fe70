"""What pages of agendas share: the notes beside the items, and the meeting that such a
page completes.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import date, time

from lxml import etree
from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Meeting
from news_assets.sources.civic.reading.moments import (
    clock_of_text,
    day_of_text,
    moment_of_text,
)
from news_assets.sources.civic.reading.participation import participation_of
from news_assets.text.limits import clean_text

MAX_NOTES_CHARS = 20_000
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
    notes = notes[:MAX_NOTES_CHARS]
    facts = tuple(replace(fact, text="agenda") for fact in participation_of(notes))
    return replace(
        meeting, agenda_notes=notes, participation=(*meeting.participation, *facts)
    )


def notes_beside(tree: HtmlElement, items: Collection[HtmlElement]) -> str:
    """Return the visible text of a page outside its items, a block a line."""
    return "\n".join(visible_lines(tree, items))[:MAX_NOTES_CHARS]


def visible_lines(
    tree: HtmlElement, without: Collection[HtmlElement] = ()
) -> list[str]:
    """Return the visible lines of a page, but for what stands in some of its elements."""
    left_out = set(without)
    parts: list[str] = []
    hidden: HtmlElement | None = None
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        is_start = event == "start"
        if (
            is_start
            and hidden is None
            and (element in left_out or element.tag in _INVISIBLE)
        ):
            hidden = element
        if hidden is None:
            parts.append("\n" if element.tag in _BLOCKS else " ")
            parts.append((element.text if is_start else element.tail) or "")
        elif not is_start and element is hidden:
            hidden = None
            parts.append("\n" + (element.tail or ""))
    lines = (" ".join(line.split()) for line in clean_text("".join(parts)).split("\n"))
    return [line for line in lines if line]


def clock_in_notes(notes: str, day: date) -> time | None:
    """Return the hour that an agenda states beside its day, in that line or in those
    below.
    """
    lines = [line for line in notes.splitlines() if line][:_HEAD_LINES]
    days = [day_of_text(line) for line in lines]
    if day in days:
        place = days.index(day)
        moment = moment_of_text(lines[place])
        stated = [moment.clock] if moment else []
        return _first_clock(stated, lines[place + 1 : place + 1 + _NEAR_LINES])
    return None if any(days) else _first_clock([], lines[:_TOP_LINES])


def _first_clock(stated: Iterable[time | None], near: Iterable[str]) -> time | None:
    """Return the first hour that is not one for comments or calls."""
    short = (
        line
        for line in near
        if len(line) <= _MAX_NEAR_CHARS and not _NOT_BEGIN.search(line)
    )
    return next(
        (clock for clock in (*stated, *map(clock_of_text, short)) if clock), None
    )
