"""Reads the items of an agenda from its PDF, or from the PDF of a packet, and what it says beside them.

Items are stated by bookmarks, or by numbered lines whose numbers follow one another.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from news_assets.errors import ReadingError
from news_assets.records.meetings import AgendaItem, Meeting
from news_assets.sources.civic.reading.agenda import agenda_of
from news_assets.sources.civic.reading.matter_numbers import with_matter_numbers
from news_assets.text.limits import clean_text

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

AGENDA_PAGES: Final = 12  # at the start of a document, where items and notes are looked for
MIN_ITEMS: Final = 2  # fewer numbered lines or bookmarks are chance
_SHORT_PAGES = 2  # of a document in which a single numbered line is an item
_MAX_BOOKMARKS = 2000
_MAX_JUMP = 2  # of numbers: an item may have been withdrawn
_WRAPPED = 0.7  # of the longest line's length; a shorter line ends its paragraph
_MAX_LINES_OF_TITLE = 5
_NUMBER = r"\(?(?P<number>(?:\d{1,2}|[A-Z]|[IVX]{1,5})(?:[.-](?:\d{1,3}|[A-Za-z])){0,3})(?P<mark>[.):]{0,2})"
_LINE = re.compile(rf"\A\s{{0,40}}{_NUMBER}\s{{1,12}}(?P<title>\S.{{2,500}})\Z")
_ROMAN = {"II": 2, "III": 3, "IV": 4, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "XI": 11, "XII": 12}
_ROMAN_LETTERS = {"I": 1, "V": 5, "X": 10}
_WORD = re.compile(r"[^\W\d_]{3,}")
_HOUR = re.compile(r"\A(?:\d{0,2}\s?)?[ap]\.?m\b", re.IGNORECASE)
_FRONT = re.compile(
    r"\A\W{0,3}(?:(?:meeting\s)?agenda|cover(?:\s(?:page|sheet))?|table\sof\scontents|contents)\W{0,3}\Z",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    """A numbered line, and the place of its first and its last line."""

    number: str
    title: str
    first: int
    last: int


def read_agenda(body: bytes, url: str) -> Meeting:
    """Return the items and notes of an agenda as what completes a meeting.

    If it is a packet, of which bookmarks tell the pages of items, `url` is the packet's address.

    Raises:
        ReadingError: It is not a PDF that can be opened.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)  # of bookmarks that lead to each other
    try:
        pdf = PdfDocument(body)
        marked = _bookmarked(pdf)
        pages = min(len(pdf), AGENDA_PAGES, _first_page(marked))
        lines = [line for page in range(pages) for line in _lines(pdf, page)]
    except PdfiumError as error:
        raise ReadingError(f"broken PDF: {error}") from error
    least = 1 if len(pdf) <= _SHORT_PAGES else MIN_ITEMS
    numbered = numbered_lines(lines, least)
    within = {place for line in numbered for place in range(line.first, line.last + 1)}
    notes = _paragraphs([line for place, line in enumerate(lines) if place not in within])
    items = [item for item, _ in marked] or _items(numbered)
    agenda = with_matter_numbers(agenda_of(items, notes))
    return replace(agenda, packet_url=url) if marked else agenda


def _paragraphs(lines: Sequence[str]) -> str:
    """Return lines with those together that are wrapped: a full line is continued on the next."""
    full = _WRAPPED * max(map(len, lines), default=0)
    text = before = ""
    for line in lines:
        is_continued = len(before) >= full and line
        text += f" {line}" if is_continued else f"\n{line}"
        before = line
    return text.strip()


def _lines(pdf: "PdfDocument", page: int) -> list[str]:
    """Return the lines of a page, and an empty one, because titles do not go on over pages."""
    text = clean_text(str(pdf[page].get_textpage().get_text_range()))
    return [*(" ".join(line.split()) for line in text.splitlines()), ""]


# --- bookmarks --------------------------------------------------------------------------------------------------------


def _bookmarked(pdf: "PdfDocument") -> list[tuple[AgendaItem, int]]:
    """Return the items that bookmarks name with the number of their first page; none for bookmarks of another kind."""
    found: list[tuple[int, str, int]] = []
    for bookmark in pdf.get_toc():
        target = bookmark.get_dest()
        index = target.get_index() if target else None
        title = clean_text(bookmark.get_title() or "").strip()
        if index is not None and title and len(found) < _MAX_BOOKMARKS:
            found.append((bookmark.level, title, index + 1))
    items: list[tuple[AgendaItem, int]] = []
    headings: dict[int, str] = {}
    for place, (level, title, page) in enumerate(found):
        match = _LINE.match(title)
        name = match["title"] if match else title
        headings = {above: heading for above, heading in headings.items() if above < level}
        section = headings[max(headings)] if headings else ""
        headings[level] = name
        is_heading = place + 1 < len(found) and found[place + 1][0] > level
        if match is None or is_heading or _FRONT.match(name):
            continue
        item = AgendaItem(sequence=len(items) + 1, number=match["number"], title=name, section=section)
        items.append((item, page))
    return items if len(items) >= MIN_ITEMS else []


def _first_page(marked: Sequence[tuple[AgendaItem, int]]) -> int:
    """Return how many pages stand before the first item's own, at least one."""
    return max(1, min((page for _, page in marked), default=AGENDA_PAGES + 1) - 1)


# --- numbered lines ---------------------------------------------------------------------------------------------------


def _items(lines: Sequence[_Line]) -> list[AgendaItem]:
    return [AgendaItem(sequence=place, number=line.number, title=line.title) for place, line in enumerate(lines, 1)]


def numbered_lines(lines: Sequence[str], least: int = MIN_ITEMS) -> list[_Line]:
    """Return the numbered lines of an agenda with the lines that they are continued on; none if fewer than `least`.

    Numbers without a mark behind them count from MIN_ITEMS on only.
    """
    matches = [(place, match) for place, line in enumerate(lines) if (match := _LINE.match(line)) and _is_title(match)]
    marked = [(place, match) for place, match in matches if match["mark"] or len(_parts(match["number"])) > 1]
    for candidates, enough in ((marked, least), (matches, MIN_ITEMS)):
        chosen = list(_in_order(candidates))
        if len(chosen) >= enough:
            return _continued(chosen, lines)
    return []


def _is_title(match: re.Match[str]) -> bool:
    return _WORD.search(match["title"]) is not None and not _HOUR.match(match["title"])


def _in_order(candidates: Sequence[tuple[int, re.Match[str]]]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the lines whose number follows the one before it of the same style, or begins a list."""
    last: dict[str, tuple[int, ...]] = {}
    is_roman = any(match["number"] in _ROMAN for _, match in candidates)
    for place, match in candidates:
        number = match["number"]
        parts = _parts(number)
        style = "digits" if number[0].isdigit() else "letters"
        if is_roman and set(number) <= set("IVX"):
            style, parts = "roman", (_ROMAN_LETTERS.get(number, parts[0]),)
        if _follows(last.get(style), parts):
            last[style] = parts
            yield place, match


def _follows(last: tuple[int, ...] | None, parts: tuple[int, ...]) -> bool:
    if last is None or len(parts) == 1 == parts[0]:
        return parts[0] == 1
    return parts > last and parts[0] - last[0] <= _MAX_JUMP


def _parts(number: str) -> tuple[int, ...]:
    """Return a number as one that can be compared: 4.A is (4, 1)."""
    return tuple(int(part) if part.isdigit() else _ordinal(part) for part in re.split(r"[.-]", number))


def _ordinal(letters: str) -> int:
    return _ROMAN.get(letters, ord(letters[0].upper()) - ord("A") + 1)


def _continued(chosen: Sequence[tuple[int, re.Match[str]]], lines: Sequence[str]) -> list[_Line]:
    """Return the chosen lines, each with those that it is wrapped on."""
    full = _WRAPPED * max(len(line) for line in lines)
    starts = {place for place, _ in chosen}
    found: list[_Line] = []
    for first, match in chosen:
        last, title = first, match["title"]
        while last + 1 < len(lines) and last - first < _MAX_LINES_OF_TITLE:
            following = lines[last + 1]
            if len(lines[last]) < full or not following or last + 1 in starts:
                break
            title, last = f"{title} {following}", last + 1
        found.append(_Line(match["number"], title, first, last))
    return found
