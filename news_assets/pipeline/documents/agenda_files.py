"""Reads the items of an agenda from a document, and what it says beside them.

Items are stated by the bookmarks of a PDF, or by numbered lines whose numbers follow
one another. A line with a number that the numbers below it begin with is a heading: 2 above 2.A and
2.B.
"""

import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.document_kinds import kind_of
from news_assets.pipeline.documents.docx import numbered_paragraphs
from news_assets.records.meetings import AgendaItem, Meeting
from news_assets.sources.civic.agenda_pages import agenda_of
from news_assets.sources.civic.numbering import with_matter_numbers
from news_assets.text.limits import clean_text

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_SHORT_PAGES = 2  # of a document in which a single numbered line is an item


def read_agenda(body: bytes, url: str) -> Meeting | None:
    """Return the items and notes of an agenda as a partial meeting; None for other
    documents.

    Where bookmarks divide the document into items it is a packet, and `url` its
    address.

    Raises:
        ReadingError: It cannot be opened.
    """
    kind = kind_of(body)
    if kind == "docx":
        return _agenda(numbered_paragraphs(body), (), least=1)
    if kind != "pdf":
        return None
    front = _read_front(body)
    least = 1 if front.pages <= _SHORT_PAGES else _MIN_ITEMS
    agenda = _agenda(front.lines, front.bookmarked, least=least)
    if front.bookmarked:
        return replace(agenda, packet_url=url)
    return agenda


def _agenda(
    lines: Sequence[str], bookmarked: Sequence[AgendaItem], *, least: int
) -> Meeting:
    numbered = numbered_lines(lines, least)
    within = set[int]()
    for line in numbered:
        within.update(range(line.first, line.last + 1))
    others = [line for place, line in enumerate(lines) if place not in within]
    items = bookmarked or _items_of(numbered)
    return with_matter_numbers(agenda_of(items, _paragraphs_of(others)))


# --- the first pages of a PDF, and items named by bookmarks ---------------------------

# at the start of a document, where items and notes are looked for
_AGENDA_PAGES: Final = 12
_MAX_BOOKMARKS = 2000
_HYPHEN: Final = "\ufffe"  # PDFium's sign for a hyphen at the end of a line
_FRONT = re.compile(
    r"\A\W{0,3}(?:(?:meeting\s)?agenda|cover(?:\s(?:page|sheet))?|table\sof\scontents|contents)"
    r"\W{0,3}\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Front:
    """The lines of the first pages, the items that bookmarks name, and how many pages
    there are.
    """

    lines: Sequence[str]
    bookmarked: Sequence[AgendaItem]
    pages: int


def _read_front(body: bytes) -> _Front:
    """Return what stands before the documents of the items.

    Raises:
        ReadingError: It is not a PDF that can be opened.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    # of bookmarks that lead to each other
    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)
    lines: list[str] = []
    try:
        pdf = PdfDocument(body)
        marked = _bookmarked(pdf)
        for page in range(min(len(pdf), _AGENDA_PAGES, _first_page(marked))):
            lines += _lines(pdf, page)
    except PdfiumError as error:
        raise ReadingError(f"broken PDF: {error}") from error
    return _Front(lines, [item for item, _ in marked], len(pdf))


def _lines(pdf: "PdfDocument", page: int) -> list[str]:
    """Return the lines of a page, and an empty one, because titles do not go on over
    pages.

    PDFium joins lines at a hyphen. That of an agenda is mostly one of the word, or of
    an address.
    """
    written = str(pdf[page].get_textpage().get_text_range()).replace(_HYPHEN, "-\n")
    lines: list[str] = []
    for line in clean_text(written).splitlines():
        lines.append(" ".join(line.split()))
    return [*lines, ""]


def _bookmarked(pdf: "PdfDocument") -> list[tuple[AgendaItem, int]]:
    """Return the items that bookmarks name with the number of their first page.

    None for bookmarks of another kind.
    """
    found = _bookmarks(pdf)
    items: list[tuple[AgendaItem, int]] = []
    headings: list[tuple[int, str]] = []  # level and title of those above
    for one, following in zip_longest(found, found[1:]):
        number, name = _split_line(one.title) or ("", one.title)
        while headings and headings[-1][0] >= one.level:
            headings.pop()
        section = headings[-1][1] if headings else ""
        headings.append((one.level, name))
        if following is not None and following.level > one.level:  # a heading
            continue
        if not number:
            continue
        if _FRONT.match(name):
            continue
        item = AgendaItem(
            sequence=len(items) + 1, number=number, title=name, section=section
        )
        items.append((item, one.page))
    if len(items) < _MIN_ITEMS:
        return []
    return items


class _Bookmark(NamedTuple):
    """A bookmark with a title: its level from 0, and the page that it leads to."""

    level: int
    title: str
    page: int


def _bookmarks(pdf: "PdfDocument") -> list[_Bookmark]:
    found: list[_Bookmark] = []
    for bookmark in pdf.get_toc():
        target = bookmark.get_dest()
        index = target.get_index() if target else None
        title = clean_text(bookmark.get_title() or "").strip()
        if index is None:
            continue
        if not title:
            continue
        if len(found) < _MAX_BOOKMARKS:
            found.append(_Bookmark(bookmark.level, title, index + 1))
    return found


def _first_page(marked: Sequence[tuple[AgendaItem, int]]) -> int:
    """Return how many pages stand before the first item's own, at least one."""
    first = min((page for _, page in marked), default=_AGENDA_PAGES + 1)
    return max(1, first - 1)


# --- numbered lines -------------------------------------------------------------------

_MIN_ITEMS: Final = 2  # fewer numbered lines are chance
_MAX_JUMP = 2  # of numbers: an item may have been withdrawn
_WRAPPED = 0.7  # of the longest line's length; a shorter line ends its paragraph
_WIDTH = 90  # of a page, in characters
# what begins a line of its own: "Location: Hall"
_LABEL = re.compile(r"[A-Z][\w ]{1,25}:\s")
_MAX_LINES_OF_TITLE = 5
_NUMBER = (
    r"\(?(?P<number>(?:\d{1,2}[A-Za-z]?|[IVXL]{1,7}|[A-Z])"
    r"(?:[.-](?:\d{1,3}[A-Za-z]?|[ivx]{2,5}|[IVX]{2,5}|[A-Za-z])){0,4})(?P<mark>[.):]{0,2})"
)
_LINE = re.compile(rf"\A\s{{0,40}}{_NUMBER}\s{{1,12}}(?P<title>\S.{{2,500}})\Z")
_ROMAN = re.compile(r"X{0,3}(?:IX|IV|V?I{0,3})", re.IGNORECASE)
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}
_WORD = re.compile(r"[^\W\d_]{3,}")
_HOUR = re.compile(r"\A(?:\d{0,2}\s?)?[ap]\.?m\b", re.IGNORECASE)

_Parts = tuple[int, ...]
_Style = str  # of a number's first part: digits, roman or letters


class _NumberedLine(NamedTuple):
    """A numbered line: its number as written and in parts, its title, and its first and
    last line.
    """

    number: str
    title: str
    first: int
    last: int
    parts: _Parts = ()


def _split_line(line: str) -> tuple[str, str] | None:
    """Return the number and title of a numbered line; None for another line."""
    match = _LINE.match(line)
    if match is None:
        return None
    return match["number"], match["title"]


def _items_of(lines: Sequence[_NumberedLine]) -> list[AgendaItem]:
    """Return the items of numbered lines, each with the heading above it; a heading is
    no item.
    """
    items: list[AgendaItem] = []
    heading: _NumberedLine | None = None
    for line, following in zip_longest(lines, lines[1:]):
        if following is not None and _is_below(following.parts, line.parts):
            heading = line
            continue
        section = ""
        if heading is not None and _is_below(line.parts, heading.parts):
            section = heading.title
        item = AgendaItem(
            sequence=len(items) + 1,
            number=line.number,
            title=line.title,
            section=section,
        )
        items.append(item)
    return items


def _is_below(parts: _Parts, above: _Parts) -> bool:
    if not (len(parts) > len(above) > 0):
        return False
    return parts[: len(above)] == above


def numbered_lines(
    lines: Sequence[str], least: int = _MIN_ITEMS
) -> list[_NumberedLine]:
    """Return the numbered lines of an agenda with the lines that they are continued on.

    None if there are fewer than `least`. Numbers without a mark after them count from
    _MIN_ITEMS on only.
    """
    matches: list[tuple[int, re.Match[str]]] = []
    for place, line in enumerate(lines):
        match = _LINE.match(line)
        if match is None:
            continue
        if _is_title(match["title"]):
            matches.append((place, match))
    marked = [one for one in matches if _is_marked(one[1])]
    for candidates, enough in ((marked, least), (matches, _MIN_ITEMS)):
        chosen = _in_order(candidates)
        if len(chosen) >= enough:
            return _continued(chosen, lines)
    return []


def _is_title(text: str) -> bool:
    if _WORD.search(text) is None:
        return False
    return not _HOUR.match(text)


_Chosen = tuple[int, re.Match[str], _Parts]


def _is_marked(match: re.Match[str]) -> bool:
    """Whether a number has a mark after it, or several parts."""
    if match["mark"]:
        return True
    return len(_written_parts(match["number"])) > 1


def _in_order(candidates: Sequence[tuple[int, re.Match[str]]]) -> list[_Chosen]:
    """Return the lines whose number follows the one before it of the same style, or
    begins a list.

    A letter may be a Roman number: of its readings the one counts that goes on with a
    list.
    """
    last: dict[_Style, _Parts] = {}
    seen: dict[_Style, set[_Parts]] = {}
    chosen: list[_Chosen] = []
    for place, match in candidates:
        readings = _readings(match["number"])
        for style, parts in readings:
            if _goes_on(last.get(style), parts, seen.get(style, ())):
                seen[style].add(parts)
                break
        else:
            beginning = [one for one in readings if _begins(last.get(one[0]), one[1])]
            if not beginning:
                continue
            style, parts = beginning[0]
            seen[style] = {parts}
        last[style] = parts
        chosen.append((place, match, parts))
    return chosen


def _goes_on(last: _Parts | None, parts: _Parts, seen: Collection[_Parts]) -> bool:
    """Whether a number follows another one, or is added among those of the same
    heading.
    """
    if last is None:
        return False
    if parts in seen:
        return False
    if len(parts) > 1 and parts[:-1] == last[:-1]:
        return True
    if parts <= last:
        return False
    return parts[0] - last[0] <= _MAX_JUMP


def _begins(last: _Parts | None, parts: _Parts) -> bool:
    if parts[0] != 1:
        return False
    if last is None:
        return True
    return len(parts) == 1


def _readings(number: str) -> list[tuple[_Style, _Parts]]:
    """Return what a number may be: 4.A is (4, 1); C is the third letter, and a hundred
    in Roman.
    """
    values = [_values(part) for part in _written_parts(number)]
    readings: list[tuple[_Style, _Parts]] = []
    for chosen in product(*values):
        parts = tuple(value for _, value in chosen)
        readings.append((chosen[0][0], parts))
    return readings


def _written_parts(number: str) -> list[str]:
    return re.findall(r"\d+|[A-Za-z]+", number)


def _values(part: str) -> list[tuple[_Style, int]]:
    if part.isdigit():
        return [("digits", int(part))]
    values: list[tuple[_Style, int]] = []
    if _ROMAN.fullmatch(part):
        values.append(("roman", _roman_value(part.upper())))
    if len(part) == 1:
        values.append(("letters", ord(part.upper()) - ord("A") + 1))
    return values


def _roman_value(letters: str) -> int:
    values = [_ROMAN_DIGITS[letter] for letter in letters]
    total = 0
    for value, following in pairwise([*values, 0]):
        total += -value if value < following else value
    return total


def _continued(chosen: Sequence[_Chosen], lines: Sequence[str]) -> list[_NumberedLine]:
    """Return the chosen lines, each with those that it is wrapped on."""
    full = _full_length(lines)
    starts = {place for place, _, _ in chosen}
    found: list[_NumberedLine] = []
    for first, match, parts in chosen:
        last, title = first, match["title"]
        while last + 1 < len(lines) and last - first < _MAX_LINES_OF_TITLE:
            following = lines[last + 1]
            if last + 1 in starts:
                break
            if not _goes_on_in(lines[last], following, full):
                break
            title = _joined(title, following)
            last = last + 1
        found.append(_NumberedLine(match["number"], title, first, last, parts))
    return found


def _paragraphs_of(lines: Sequence[str]) -> str:
    """Return lines with those together that are wrapped, a paragraph a line."""
    full = _full_length(lines)
    paragraphs: list[str] = []
    before = ""
    for line in lines:
        if paragraphs and _goes_on_in(before, line, full):
            paragraphs[-1] = _joined(paragraphs[-1], line)
        else:
            paragraphs.append(line)
        before = line
    return "\n".join(paragraphs).strip()


def _full_length(lines: Sequence[str]) -> float:
    """Return from how many characters on a line is full; addresses may be longer than
    the page is wide.
    """
    longest = 0
    for line in lines:
        length = min(len(line), _WIDTH) if "://" in line else len(line)
        longest = max(longest, length)
    return _WRAPPED * longest


def _goes_on_in(line: str, following: str, full: float) -> bool:
    """Whether a line is wrapped: a full one, one within a word, or one that small
    letters follow.
    """
    if not line:
        return False
    if not following:
        return False
    if _LABEL.match(following):
        return False
    if len(line) >= full:
        return True
    if line.endswith("-"):
        return True
    return following[0].islower()


def _joined(text: str, following: str) -> str:
    return f"{text}{following}" if text.endswith("-") else f"{text} {following}"
