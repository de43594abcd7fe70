"""Cuts an agenda packet, one PDF with everything, into the pages of each agenda item.

Where an item begins is stated by bookmarks, by links from the agenda at the start of
the packet, or by page numbers in that agenda. The first of these that agrees with the
agenda's titles is taken.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_int
from itertools import islice
from typing import TYPE_CHECKING, Final

from news_assets.errors import ReadingError
from news_assets.records.reading import PacketPart
from news_assets.text.fingerprint import normal_words

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

# what is said of an item, and the number of the page where it begins
_Place = tuple[str, int]

# of the words of the shorter of two titles, which the longer one has too
_MIN_SHARE: Final = 0.8
_MIN_WORDS: Final = 3  # of the shorter one, unless both are the same
_MIN_FOUND: Final = 0.5  # of the agenda's titles; fewer are chance
# at the start of a packet, where links and page numbers are looked for
_AGENDA_PAGES: Final = 40
_MAX_PLACES = 5000  # bookmarks, links or numbers of one packet
_MAX_TITLE_LINES = 4
# pages before the one that is numbered 1: covers and tables of contents
_MAX_OFFSET = 12
_PAGE_NUMBER = re.compile(
    r"(?:\b(?:pages?|pgs?|p)\b\.?|[.…_]{2})\s*(\d{1,4})(?:\s?[-–]\s?\d{1,4})?\W{0,3}$",
    re.IGNORECASE,
)
_END_CHARS = 40  # of a line, where a page number is looked for


def cut_packet(body: bytes, titles: Sequence[str]) -> tuple[PacketPart, ...]:
    """Return the pages of each agenda item that was found, in the order of the agenda;
    none where nothing agrees.

    Args:
        body: The packet, a PDF.
        titles: Titles of the agenda's items in order, with their numbers or without.

    Raises:
        ReadingError: It is not a PDF that can be opened.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    # of bookmarks that lead to each other
    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)
    try:
        pdf = PdfDocument(body)
        count = len(pdf)
        signals: tuple[Callable[[], Iterator[_Place]], ...] = (
            lambda: _bookmarks(pdf),
            lambda: _links(pdf),
            lambda: _references(pdf, titles),
        )
        for places in signals:
            found = _agreeing(titles, list(islice(places(), _MAX_PLACES)))
            if found:
                return _parts_of(found, count)
    except PdfiumError as error:
        raise ReadingError(f"broken PDF: {error}") from error
    return ()


def _agreeing(titles: Sequence[str], places: Sequence[_Place]) -> dict[int, int]:
    """Return the first page of each title, by its place in the agenda; empty where too
    few are found.

    Items begin in the order of the agenda, several perhaps on one page.
    """
    worded = [(frozenset(normal_words(written)), page) for written, page in places]
    found: dict[int, int] = {}
    last = 1
    for number, title in enumerate(titles):
        words = frozenset(normal_words(title))
        for written, page in worded:
            if page >= last and _is_same(words, written):
                found[number] = last = page
                break
    if len(found) < max(min(2, len(titles)), _MIN_FOUND * len(titles)):
        return {}
    return found


def _is_same(words: frozenset[str], written: frozenset[str]) -> bool:
    shorter = min(len(words), len(written))
    if not shorter:
        return False
    if words == written:
        return True
    if shorter < _MIN_WORDS:
        return False
    return len(words & written) >= _MIN_SHARE * shorter


def _parts_of(found: dict[int, int], count: int) -> tuple[PacketPart, ...]:
    """Return the pages of items from the first page of each: up to the page before the
    next item's.
    """
    parts: list[PacketPart] = []
    ends = [*found.values(), count + 1][1:]  # where the next item begins
    for (number, first), end in zip(found.items(), ends, strict=True):
        last = max(first, end - 1)
        parts.append(PacketPart(number, first, last))
    return tuple(parts)


# --- what states where an item begins -------------------------------------------------


def _bookmarks(pdf: "PdfDocument") -> Iterator[_Place]:
    for bookmark in pdf.get_toc():
        target = bookmark.get_dest()
        index = target.get_index() if target else None
        if index is not None:
            yield bookmark.get_title(), index + 1


def _links(pdf: "PdfDocument") -> Iterator[_Place]:
    """Yield the text and target of each link from the agenda to a later page."""
    from pypdfium2 import raw

    for index in range(min(len(pdf), _AGENDA_PAGES)):
        page = pdf[index]
        text_page = page.get_textpage()
        position = c_int(0)
        link = raw.FPDF_LINK()
        while raw.FPDFLink_Enumerate(page, byref(position), byref(link)):
            target = raw.FPDFLink_GetDest(pdf, link)
            if not target:
                action = raw.FPDFLink_GetAction(link)
                target = raw.FPDFAction_GetDest(pdf, action)
            to = raw.FPDFDest_GetDestPageIndex(pdf, target) if target else -1
            box = raw.FS_RECTF()
            if to > index and raw.FPDFLink_GetAnnotRect(link, byref(box)):
                written = text_page.get_text_bounded(
                    box.left, box.bottom, box.right, box.top
                )
                yield written, to + 1


def _references(pdf: "PdfDocument", titles: Sequence[str]) -> Iterator[_Place]:
    """Yield the lines of the agenda that end in a page number, with the page that has
    this number.

    Covers may not be numbered: the offset is the one with which the most titles are on
    the page that is stated.
    """
    count = len(pdf)
    stated: list[tuple[str, int, int]] = []
    for index in range(min(count, _AGENDA_PAGES)):
        stated += _numbered(_text(pdf, index), index)
    numbers = _agreeing(titles, [(written, number) for written, number, _ in stated])
    if not numbers:
        return
    offset = _offset(pdf, titles, numbers)
    if offset is None:
        return
    for written, number, index in stated:
        if index + 1 < number + offset <= count:
            yield written, number + offset


def _offset(
    pdf: "PdfDocument", titles: Sequence[str], numbers: dict[int, int]
) -> int | None:
    """Return how many pages come before the one with number 1; None if too few titles
    are on the stated pages with any offset.
    """
    pages: dict[int, frozenset[str]] = {}
    for number in _reached(numbers, len(pdf)):
        pages[number] = frozenset(normal_words(_text(pdf, number - 1)))
    hits = [_hits(titles, numbers, pages, one) for one in range(_MAX_OFFSET + 1)]
    offset = hits.index(max(hits))
    if hits[offset] < _MIN_FOUND * len(numbers):
        return None
    return offset


def _text(pdf: "PdfDocument", index: int) -> str:
    return str(pdf[index].get_textpage().get_text_range())


def _numbered(text: str, index: int) -> list[tuple[str, int, int]]:
    """Return each line of an agenda page that ends in a page number, with the lines
    above that may belong to it.
    """
    found: list[tuple[str, int, int]] = []
    lines = text.splitlines()
    begin = 0
    for end, line in enumerate(lines, start=1):
        match = _PAGE_NUMBER.search(line[-_END_CHARS:])
        if match:
            written = " ".join(lines[max(begin, end - _MAX_TITLE_LINES) : end])
            found.append((written[: -len(match[0])], int(match[1]), index))
            begin = end
    return found


def _reached(numbers: dict[int, int], count: int) -> set[int]:
    """Return the pages on which items may begin."""
    reached = set[int]()
    for page in numbers.values():
        reached.update(range(max(page, 1), min(page + _MAX_OFFSET, count) + 1))
    return reached


def _hits(
    titles: Sequence[str],
    numbers: dict[int, int],
    pages: dict[int, frozenset[str]],
    offset: int,
) -> int:
    """Return how many titles are on the page with their number, this many pages later."""
    hits = 0
    for item, page in numbers.items():
        words = frozenset(normal_words(titles[item]))
        on_page = pages.get(page + offset, frozenset())
        if not words:
            continue
        if not on_page:
            continue
        if len(words & on_page) >= _MIN_SHARE * len(words):
            hits += 1
    return hits
