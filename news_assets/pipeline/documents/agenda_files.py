"""Reads the items of an agenda from a document, and what it says beside them.

Items are stated by the bookmarks of a PDF, or by numbered lines whose numbers follow
one another.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.agenda_lines import (
    MIN_ITEMS,
    items_of,
    numbered_lines,
    paragraphs_of,
    split_line,
)
from news_assets.pipeline.documents.document_kinds import kind_of
from news_assets.pipeline.documents.docx import numbered_paragraphs
from news_assets.records.meetings import AgendaItem, Meeting
from news_assets.sources.civic.reading.agenda_pages import agenda_of
from news_assets.sources.civic.reading.numbering import with_matter_numbers
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
    least = 1 if front.pages <= _SHORT_PAGES else MIN_ITEMS
    agenda = _agenda(front.lines, front.bookmarked, least=least)
    return replace(agenda, packet_url=url) if front.bookmarked else agenda


def _agenda(
    lines: Sequence[str], bookmarked: Sequence[AgendaItem], *, least: int
) -> Meeting:
    numbered = numbered_lines(lines, least)
    within = set[int]()
    for line in numbered:
        within.update(range(line.first, line.last + 1))
    others = [line for place, line in enumerate(lines) if place not in within]
    items = bookmarked or items_of(numbered)
    return with_matter_numbers(agenda_of(items, paragraphs_of(others)))


# --- the first pages of a PDF, and items named by bookmarks ---------------------------

# at the start of a document, where items and notes are looked for
AGENDA_PAGES: Final = 12
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
        for page in range(min(len(pdf), AGENDA_PAGES, _first_page(marked))):
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
    text = clean_text(written)
    return [*(" ".join(line.split()) for line in text.splitlines()), ""]


def _bookmarked(pdf: "PdfDocument") -> list[tuple[AgendaItem, int]]:
    """Return the items that bookmarks name with the number of their first page.

    None for bookmarks of another kind.
    """
    found = _bookmarks(pdf)
    items: list[tuple[AgendaItem, int]] = []
    headings: list[tuple[int, str]] = []  # level and title of those above
    for one, following in zip_longest(found, found[1:]):
        number, name = split_line(one.title) or ("", one.title)
        while headings and headings[-1][0] >= one.level:
            headings.pop()
        section = headings[-1][1] if headings else ""
        headings.append((one.level, name))
        is_heading = following is not None and following.level > one.level
        if not number or is_heading or _FRONT.match(name):
            continue
        item = AgendaItem(
            sequence=len(items) + 1, number=number, title=name, section=section
        )
        items.append((item, one.page))
    return items if len(items) >= MIN_ITEMS else []


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
        if index is not None and title and len(found) < _MAX_BOOKMARKS:
            found.append(_Bookmark(bookmark.level, title, index + 1))
    return found


def _first_page(marked: Sequence[tuple[AgendaItem, int]]) -> int:
    """Return how many pages stand before the first item's own, at least one."""
    return max(1, min((page for _, page in marked), default=AGENDA_PAGES + 1) - 1)
