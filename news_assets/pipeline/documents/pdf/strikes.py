"""Marks text that is struck out in a PDF, which tells it by a line that is drawn
through the letters.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from news_assets.pipeline.documents.markdown_parts import STRUCK

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

Span = tuple[int, int]  # from a character to before another

_MAX_PATHS = 1000  # of a page; maps and plans have more, and no struck-out text
_MAX_HEIGHT_PT, _MIN_WIDTH_PT = 2.5, 4.0  # of a line
# of a letter's height, where a line strikes it out; an underline is lower
_MIDDLE = (
    0.2,
    0.8,
)
_MIN_STRUCK = 0.6  # of the letters under a line
# from the ends of a line, where its first and last letters are looked for
_STEPS_PT = (
    1.0,
    3.0,
    6.0,
)
_MAX_CHARS = 400  # under one line


def struck_spans(page: "PdfPage", text_page: "PdfTextPage") -> list[Span]:
    """Return what is struck out on a page, in the order of its text."""
    from pypdfium2 import PdfiumError

    try:
        return _merged(sorted(_spans(page, text_page)))
    except PdfiumError:  # a broken drawing does not cost the text
        return []


def marked_text(text_page: "PdfTextPage", span: Span, struck: Iterable[Span]) -> str:
    """Return the text of some characters of a page, with marks around what is struck
    out.

    Raises:
        PdfiumError: The page is broken.
    """
    parts, begin = [], span[0]
    for start, end in struck:
        start, end = max(start, span[0]), min(end, span[1])
        if start < end:
            parts += [
                _text(text_page, begin, start),
                _struck(_text(text_page, start, end)),
            ]
            begin = end
    return "".join([*parts, _text(text_page, begin, span[1])])


def _text(text_page: "PdfTextPage", start: int, end: int) -> str:
    return str(text_page.get_text_range(start, end - start)) if end > start else ""


def _struck(text: str) -> str:
    core = text.strip()
    if not core:
        return text
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}{STRUCK}{core}{STRUCK}{text[start + len(core) :]}"


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _spans(page: "PdfPage", text_page: "PdfTextPage") -> Iterator[Span]:
    for left, y, right in _lines_through(page, text_page):
        first = _char_near(text_page, [left + step for step in _STEPS_PT], y)
        last = _char_near(text_page, [right - step for step in _STEPS_PT], y)
        if first is None or last is None or not 0 <= last - first < _MAX_CHARS:
            continue
        if struck := _struck_letters(text_page, range(first, last + 1), left, right, y):
            yield struck[0], struck[-1] + 1


def _lines_through(
    page: "PdfPage", text_page: "PdfTextPage"
) -> Iterator[tuple[float, float, float]]:
    """Yield left end, height and right end of the lines on a page that go through text;
    most lines are of tables.
    """
    from pypdfium2 import raw

    texts = [text_page.get_rect(index) for index in range(text_page.count_rects())]
    paths = page.get_objects(filter=(raw.FPDF_PAGEOBJ_PATH,), max_depth=2)
    at_height: dict[float, list[tuple[float, float]]] = {}
    for path in islice(paths, _MAX_PATHS):
        left, bottom, right, top = path.get_bounds()
        if top - bottom > _MAX_HEIGHT_PT or right - left < _MIN_WIDTH_PT:
            continue
        y = round((bottom + top) / 2, 1)
        if y not in at_height:
            crossed = [box for box in texts if box[1] < y < box[3]]
            at_height[y] = [(start, end) for start, _, end, _ in crossed]
        if any(start < right and left < end for start, end in at_height[y]):
            yield left, y, right


def _char_near(text_page: "PdfTextPage", places: list[float], y: float) -> int | None:
    """Return the character at the first of these places that has one; spaces have none."""
    found = (text_page.get_index(x, y, 1, 1) for x in places)
    return next((index for index in found if index is not None), None)


def _struck_letters(
    text_page: "PdfTextPage", indexes: range, left: float, right: float, y: float
) -> list[int]:
    """Return the letters under a line if it goes through the middle of most of them."""
    letters: list[int] = []
    struck_count = 0
    for index in indexes:
        start, bottom, end, top = text_page.get_charbox(index)
        if not left <= (start + end) / 2 <= right:
            continue
        if not text_page.get_text_range(index, 1).isalnum():
            continue
        letters.append(index)
        height = (y - bottom) / (top - bottom) if top > bottom else 0.0
        struck_count += _MIDDLE[0] <= height <= _MIDDLE[1]
    return letters if struck_count >= _MIN_STRUCK * len(letters) else []
