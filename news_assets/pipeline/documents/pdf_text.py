"""Reads the text of PDFs by page with PDFium, and with pypdf where PDFium cannot open
them. Text that is struck out gets marks: a PDF shows it by a line through the letters.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.pdf_tables import tables_on
from news_assets.pipeline.page.markdown import STRUCK, lines_of, table
from news_assets.records.reading import MAX_PAGES, DocumentOutcome, ReadDocument
from news_assets.text.limits import clean_text

if TYPE_CHECKING:
    import pypdfium2
    from pypdfium2 import PdfPage, PdfTextPage

_SCANNED_CHARS = 50  # pages with less text and with an image are scans
MAX_TEXT_CHARS = 5_000_000  # of one document; a thousand dense pages have 4 million
_MAX_IMAGE_DEPTH = 3  # of forms within forms, where images are looked for


def read_pdf(body: bytes) -> ReadDocument:
    """Return the text of a PDF by page, and which pages are scans.

    Raises:
        ReadingError: Neither library can open it.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        pdf = PdfDocument(body)
    except PdfiumError as error:
        if "password" in str(error).lower():
            return ReadDocument(
                kind="pdf", outcome="skipped", reason="needs a password"
            )
        return read_by_pypdf(body, str(error))
    try:
        if (count := len(pdf)) > MAX_PAGES:
            return _too_long(count)
        if count == 0:
            return read_by_pypdf(body, "no page")
        title = pdf.get_metadata_dict(skip_empty=True).get("Title")
        return _document(title, count, lambda index: _page(pdf, index), (PdfiumError,))
    finally:
        pdf.close()


def _page(pdf: "pypdfium2.PdfDocument", index: int) -> tuple[str, bool]:
    """Return a page's text, and whether it is a scan. Raises PdfiumError."""
    from pypdfium2 import raw

    page = pdf[index]
    try:
        text_page = page.get_textpage()
        try:
            text = lines_of(_text(page, text_page))
        finally:
            text_page.close()
        if len(text) >= _SCANNED_CHARS:
            return text, False
        images = page.get_objects(
            filter=(raw.FPDF_PAGEOBJ_IMAGE,), max_depth=_MAX_IMAGE_DEPTH
        )
        return text, next(iter(images), None) is not None
    finally:
        page.close()


def _text(page: "pypdfium2.PdfPage", text_page: "pypdfium2.PdfTextPage") -> str:
    """Return the text of a page with its tables as Markdown, and marks around what is
    struck out.
    """
    struck = _struck_spans(page, text_page)

    def cell_text(spans: Iterable[_Span]) -> str:
        written = [_marked_text(text_page, span, struck) for span in spans]
        return lines_of("\n".join(written))

    parts: list[str] = []
    begin = 0
    for found in tables_on(page, text_page):
        first, end = found.span
        rows = [list(map(cell_text, row)) for row in found.rows]
        parts.append(_marked_text(text_page, (begin, first), struck))
        parts.append(table(rows))
        begin = end
    rest = begin, text_page.count_chars()
    parts.append(_marked_text(text_page, rest, struck))
    return "\n\n".join(parts)


def read_by_pypdf(body: bytes, why: str) -> ReadDocument:
    """Return the text of a PDF that PDFium did not read, for the reason `why`.

    Raises:
        ReadingError: pypdf cannot open it either.
    """
    from io import BytesIO

    import pypdf
    from pypdf import filters
    from pypdf.errors import PyPdfError

    # it repeats parts of broken files
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    # a program that pypdf would start on the images of the file
    filters.JBIG2DEC_BINARY = None
    errors = (
        PyPdfError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    )
    try:
        reader = pypdf.PdfReader(BytesIO(body))
        if (count := len(reader.pages)) > MAX_PAGES:
            return _too_long(count)
        title = reader.metadata.title if reader.metadata else None
    except errors as error:
        raise ReadingError(f"broken PDF: {why.rstrip('.')}; {error}") from error
    if count == 0:
        raise ReadingError(f"broken PDF: {why.rstrip('.')}")
    return _document(
        title, count, lambda index: _pypdf_page(reader.pages[index]), errors
    )


def _pypdf_page(page: Any) -> tuple[str, bool]:
    text = lines_of(page.extract_text())
    return text, len(text) < _SCANNED_CHARS and _has_image(page)


def _has_image(page: Any) -> bool:
    objects = (page.get("/Resources") or {}).get("/XObject") or {}
    return any(objects[name].get("/Subtype") == "/Image" for name in objects)


def _document(
    title: str | None,
    count: int,
    page: Callable[[int], tuple[str, bool]],
    errors: tuple[type[Exception], ...],
) -> ReadDocument:
    """Return the document of these pages; a broken page and what exceeds MAX_TEXT_CHARS
    is omitted, and stated as reason.
    """
    texts: list[str] = []
    scanned: list[int] = []
    broken: list[int] = []
    chars = 0
    for index in range(count):
        try:
            text, is_scan = page(index)
        except errors:
            text, is_scan = "", False
            broken.append(index + 1)
        chars += len(text)
        if chars > MAX_TEXT_CHARS:
            break
        texts.append(clean_text(text))
        if is_scan:
            scanned.append(index + 1)
    reason = "; ".join(_notes(count, len(texts), scanned, broken))
    found = ReadDocument(
        kind="pdf",
        outcome="ok",
        reason=reason or None,
        title=title,
        pages=count,
        texts=tuple(texts),
        scanned_pages=tuple(scanned),
    )
    if any(texts):
        return found
    reason = reason or "no text and no image on its pages"
    outcome: DocumentOutcome = "failed" if len(broken) == count else "skipped"
    return replace(found, outcome=outcome, reason=reason)


def _notes(
    count: int, read: int, scanned: list[int], broken: list[int]
) -> Iterator[str]:
    if read < count:
        yield f"cut after page {read} of {count}, at {MAX_TEXT_CHARS:,} characters"
    if scanned:
        yield f"scanned: {pages_of(scanned, count)}"
    if broken:
        yield f"broken: {pages_of(broken, count)}"


def pages_of(numbers: list[int] | tuple[int, ...], count: int) -> str:
    """Return "page 2", "pages 1, 2, 5 and 7 more", or "all 12 pages"."""
    if len(numbers) == count > 1:
        return f"all {count} pages"
    if len(numbers) == 1:
        return f"page {numbers[0]}"
    shown = ", ".join(map(str, numbers[:10]))
    if len(numbers) > 10:
        return f"pages {shown} and {len(numbers) - 10} more"
    return f"pages {shown}"


def _too_long(count: int) -> ReadDocument:
    reason = f"{count:,} pages; documents of more than {MAX_PAGES:,} are not read"
    return ReadDocument(kind="pdf", outcome="skipped", reason=reason, pages=count)


# --- scanned pages as images for text recognition -------------------------------------

DPI = 300  # what text recognition is trained on
# tesseract takes 12 bytes for each; larger pages, such as plans, have a lower
# resolution
MAX_PIXELS = 30_000_000


def page_image(body: bytes, number: int) -> bytes:
    """Return a page of a PDF, counted from 1, as a binary PGM file.

    Raises:
        ReadingError: It could not be rendered.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        pdf = PdfDocument(body)
        page = pdf[number - 1]
        width, height = page.get_size()
        scale = min(DPI / 72, (MAX_PIXELS / max(width * height, 1)) ** 0.5)
        bitmap = page.render(scale=scale, grayscale=True)
    except (PdfiumError, ValueError) as error:
        raise ReadingError(f"page {number} could not be rendered: {error}") from error
    return _as_pgm(bitmap)


def _as_pgm(bitmap: "pypdfium2.PdfBitmap") -> bytes:
    """Return a grey picture as a binary PGM file, which has no gaps between its rows."""
    rows = memoryview(bitmap.buffer).cast("B")
    file = bytearray(b"P5 %d %d 255\n" % (bitmap.width, bitmap.height))
    for start in range(0, len(rows), bitmap.stride):
        file += rows[start : start + bitmap.width]
    return bytes(file)


# --- struck-out text ------------------------------------------------------------------

_Span = tuple[int, int]  # from a character to before another

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


def _struck_spans(page: "PdfPage", text_page: "PdfTextPage") -> list[_Span]:
    """Return what is struck out on a page, in the order of its text."""
    from pypdfium2 import PdfiumError

    try:
        return _merged(sorted(_spans(page, text_page)))
    except PdfiumError:  # a broken drawing does not cost the text
        return []


def _marked_text(text_page: "PdfTextPage", span: _Span, struck: Iterable[_Span]) -> str:
    """Return the text of some characters of a page, with marks around what is struck
    out.

    Raises:
        PdfiumError: The page is broken.
    """
    begin, last = span
    parts: list[str] = []
    for struck_start, struck_end in struck:
        start = max(struck_start, span[0])
        end = min(struck_end, last)
        if start < end:
            parts.append(_range_text(text_page, begin, start))
            parts.append(_struck(_range_text(text_page, start, end)))
            begin = end
    parts.append(_range_text(text_page, begin, last))
    return "".join(parts)


def _range_text(text_page: "PdfTextPage", start: int, end: int) -> str:
    if end <= start:
        return ""
    return str(text_page.get_text_range(start, end - start))


def _struck(text: str) -> str:
    core = text.strip()
    if not core:
        return text
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}{STRUCK}{core}{STRUCK}{text[start + len(core) :]}"


def _merged(spans: list[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _spans(page: "PdfPage", text_page: "PdfTextPage") -> Iterator[_Span]:
    for left, y, right in _lines_through(page, text_page):
        first = _char_near(text_page, [left + step for step in _STEPS_PT], y)
        last = _char_near(text_page, [right - step for step in _STEPS_PT], y)
        if first is None:
            continue
        if last is None:
            continue
        if not 0 <= last - first < _MAX_CHARS:
            continue
        struck = _struck_letters(text_page, range(first, last + 1), left, right, y)
        if struck:
            yield struck[0], struck[-1] + 1


def _flat_lines(page: "PdfPage") -> Iterator[tuple[float, float, float]]:
    """Yield left end, height and right end of the horizontal lines on a page."""
    from pypdfium2 import raw

    paths = page.get_objects(filter=(raw.FPDF_PAGEOBJ_PATH,), max_depth=2)
    for path in islice(paths, _MAX_PATHS):
        left, bottom, right, top = path.get_bounds()
        if top - bottom > _MAX_HEIGHT_PT:
            continue
        if right - left < _MIN_WIDTH_PT:
            continue
        yield left, round((bottom + top) / 2, 1), right


def _lines_through(
    page: "PdfPage", text_page: "PdfTextPage"
) -> Iterator[tuple[float, float, float]]:
    """Yield left end, height and right end of the lines on a page that go through text;
    most lines are of tables.
    """
    texts = [text_page.get_rect(index) for index in range(text_page.count_rects())]
    at_height: dict[float, list[tuple[float, ...]]] = {}
    for left, y, right in _flat_lines(page):
        if y not in at_height:
            at_height[y] = [box for box in texts if box[1] < y < box[3]]
        for start, _, end, _ in at_height[y]:
            if start < right and left < end:
                yield left, y, right
                break


def _char_near(text_page: "PdfTextPage", places: list[float], y: float) -> int | None:
    """Return the character at the first of these places that has one; spaces have none."""
    for x in places:
        index: int | None = text_page.get_index(x, y, 1, 1)
        if index is not None:
            return index
    return None


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
        if top > bottom and _MIDDLE[0] <= (y - bottom) / (top - bottom) <= _MIDDLE[1]:
            struck_count += 1
    if struck_count < _MIN_STRUCK * len(letters):
        return []
    return letters
