"""Renders a scanned page as a grey image for text recognition."""

from news_assets.errors import ReadingError

DPI = 300  # what text recognition is trained on
# tesseract takes 12 bytes for each; larger pages, such as plans, have a lower
# resolution
MAX_PIXELS = 30_000_000


def page_image(body: bytes, number: int) -> bytes:
    """Return a page of a PDF, counted from 1, as a binary PGM file. Raises
    ReadingError.
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
    rows = memoryview(bitmap.buffer).cast("B")
    pixels = b"".join(
        rows[start : start + bitmap.width]
        for start in range(0, len(rows), bitmap.stride)
    )
    return b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + pixels
