"""Determines what a document is by its bytes; what a server or a name states decides
only between texts.
"""

import re
from typing import Final

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.archive import open_zip
from news_assets.records.documents import DocumentKind

_PDF_WITHIN_BYTES = 1024  # of the start: what readers of PDF accept before the header
_MEMBERS: Final[tuple[tuple[str, DocumentKind], ...]] = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
)
_ODT = b"application/vnd.oasis.opendocument.text"
_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|div|p|table|h1)\b", re.IGNORECASE
)
_SNIFFED_BYTES = 2048
_MIMETYPE_BYTES = 200  # a member of that name which is longer is another thing
_OTHERS = (
    (b"PK\x03\x04", "a zip archive without a docx, pptx or odt"),
    (b"\xd0\xcf\x11\xe0", "an Office document in the format before 2007"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\x00", "an image"),
    (b"MM\x00*", "an image"),
    (b"\x1f\x8b", "a gzip archive"),
)


def kind_of(body: bytes, content_type: str = "") -> DocumentKind:
    """Return the kind of a document; `unknown` for bytes of any other kind."""
    head = body[:_SNIFFED_BYTES]
    if b"%PDF-" in head[:_PDF_WITHIN_BYTES]:
        return "pdf"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{\\rtf"):
        return "rtf"
    if start.startswith(b"PK\x03\x04"):
        return _kind_of_archive(body)
    if b"\0" in head or not start:
        return "unknown"
    stated = content_type.partition(";")[0].strip().lower()
    if _HTML.search(head) or stated in ("text/html", "application/xhtml+xml"):
        return "html"
    return "text" if stated.startswith("text/") else "unknown"


def name_of(body: bytes) -> str:
    """Return in words what a document of unknown kind is."""
    if not body.strip():
        return "an empty file"
    return next(
        (name for start, name in _OTHERS if body.startswith(start)),
        "of no kind that is read",
    )


def _kind_of_archive(body: bytes) -> DocumentKind:
    """Return the kind of a zip archive by the names in it; its reader holds it to the
    limits.
    """
    try:
        archive = open_zip(body)
    except ReadingError:
        return "unknown"
    names = set(archive.namelist())
    if kind := next((kind for name, kind in _MEMBERS if name in names), None):
        return kind
    is_stated = (
        "mimetype" in names and archive.getinfo("mimetype").file_size < _MIMETYPE_BYTES
    )
    return (
        "odt" if is_stated and archive.read("mimetype").startswith(_ODT) else "unknown"
    )
