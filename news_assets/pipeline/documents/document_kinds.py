"""Determines what a document is by its bytes, opens archives within limits, and decides
which documents are not worth reading. What a server or a name states decides only
between texts.
"""

import re
from collections.abc import Sequence
from io import BytesIO
from typing import Final
from zipfile import BadZipFile, ZipFile

from news_assets.errors import ReadingError
from news_assets.records.reading import DocumentKind

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
    if b"\0" in head:
        return "unknown"
    if not start:
        return "unknown"
    stated = content_type.partition(";")[0].strip().lower()
    if _HTML.search(head):
        return "html"
    if stated in ("text/html", "application/xhtml+xml"):
        return "html"
    return "text" if stated.startswith("text/") else "unknown"


def name_of(body: bytes) -> str:
    """Return in words what a document of unknown kind is."""
    if not body.strip():
        return "an empty file"
    for start, name in _OTHERS:
        if body.startswith(start):
            return name
    return "of no kind that is read"


def _kind_of_archive(body: bytes) -> DocumentKind:
    """Return the kind of a zip archive by the names in it; its reader holds it to the
    limits.
    """
    try:
        archive = open_zip(body)
    except ReadingError:
        return "unknown"
    names = set(archive.namelist())
    for name, kind in _MEMBERS:
        if name in names:
            return kind
    if "mimetype" not in names:
        return "unknown"
    if archive.getinfo("mimetype").file_size >= _MIMETYPE_BYTES:
        return "unknown"
    if archive.read("mimetype").startswith(_ODT):
        return "odt"
    return "unknown"


# --- documents that are not worth reading ---------------------------------------------

_SEPARATORS = re.compile(r"[\W_]+")
_NAME_CHARS = 300
_COMMENTS = re.compile(
    r"""\b(?:
      (?:public|written|e|electronic|citizens?|community|email|emailed)
        \x20?comments?\b(?!\x20(?:period|on|card|form)\b)
    | (?:comment|support|opposition|protest)\x20letters
    | letters?\x20of\x20(?:support|opposition|protest)
    | comments?\x20(?:letters?|received|submitted|packet|compilation) | public\x20correspondence
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_BOILERPLATE = re.compile(
    r"""\b(?:
      how\x20to\x20(?:participate|watch|attend|join|view|submit|address)
    | participation\x20(?:instructions|guide(?:lines)?)
    | (?:meeting|zoom|webex|teleconference)\x20(?:instructions|guidelines)
    | speaker\x20(?:card|slip|form|request\x20form)
    | public\x20comment\x20(?:card|form|instructions)
    | parking\x20(?:map|information|instructions) | land\x20acknowledge?ment
    | (?:ada|accessibility)\x20(?:notice|statement) | rules\x20of\x20decorum
    | parcel\x20(?:table|list|numbers) | (?:form\x20)?w\x20?9(?:\x20form)?
    | ceqa\x20(?:forms?|checklist|exemption)
    | notice\x20of\x20exemption | master\x20(?:services?\x20|purchas(?:e|ing)\x20)?agreement
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
# A name with one of these is that of business about comments: "Public Comment Policy
# Ordinance".
_BUSINESS = re.compile(
    r"\b(?:ordinance|resolution|policy|amend(?:ment|ing)|staff\x20report|contract)\b",
    re.IGNORECASE,
)
_MAIL_HEADERS = tuple(
    re.compile(rf"^[ \t]*{name}[ \t]*:", re.IGNORECASE | re.MULTILINE)
    for name in ("from", "to", "subject")
)
_MIN_MAILS = 8  # of a bundle; a staff report may have a few as evidence
_MAILS_RATIO = 0.4  # of its pages: long messages take several


def skip_by_name(name: str) -> str | None:
    """Return why a document is not read at all, by its name or address; None for one
    that is read.
    """
    words = _SEPARATORS.sub(" ", name[-_NAME_CHARS:])
    if _BUSINESS.search(words):
        return None
    if _BOILERPLATE.search(words):
        return "boilerplate, by its name"
    return "public comments, by its name" if _COMMENTS.search(words) else None


def skip_by_text(texts: Sequence[str]) -> str | None:
    """Return why a document's text is not kept: most of its pages are messages of
    citizens; None for others.
    """
    mails = sum(
        1 for text in texts if all(header.search(text) for header in _MAIL_HEADERS)
    )
    if mails < _MIN_MAILS:
        return None
    if mails < _MAILS_RATIO * len(texts):
        return None
    return f"public comments: {mails} of {len(texts)} pages are messages"


# --- zip archives ---------------------------------------------------------------------

_MAX_MEMBERS = 20_000  # a presentation with a thousand slides has some 5,000
_MAX_UNPACKED_BYTES = 150 << 20  # with pictures, which are read too
MAX_XML_BYTES = 24 << 20  # of one part; its tree takes some ten times as much memory


def open_zip(body: bytes) -> ZipFile:
    """Return the archive, whatever it holds.

    Raises:
        ReadingError: It is not a zip archive.
    """
    try:
        return ZipFile(BytesIO(body))
    except (
        BadZipFile,
        NotImplementedError,
        UnicodeDecodeError,
    ) as error:  # of a later zip, a name that is no UTF-8
        raise ReadingError(f"not a zip archive that can be read: {error}") from error


def open_archive(body: bytes) -> ZipFile:
    """Return the archive if what it says to hold is within the limits, which `zipfile`
    does not exceed in reading.

    Raises:
        ReadingError: It is not a zip archive, or holds too much.
    """
    archive = open_zip(body)
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise ReadingError(
            f"holds {len(members):,} files; more than {_MAX_MEMBERS:,} are not unpacked"
        )
    unpacked = sum(member.file_size for member in members)
    if unpacked > _MAX_UNPACKED_BYTES:
        raise ReadingError(
            f"unpacks to {unpacked >> 20:,} MB; more than {_MAX_UNPACKED_BYTES >> 20} are not"
            " unpacked"
        )
    for member in members:
        if not member.filename.endswith((".xml", ".rels")):
            continue
        if member.file_size > MAX_XML_BYTES:
            raise ReadingError(
                f"{member.filename[:80]} has {member.file_size >> 20:,} MB; more are not read"
            )
    return archive
