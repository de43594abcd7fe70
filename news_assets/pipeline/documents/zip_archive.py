"""Opens the zip archives that docx, pptx and odt are, within limits."""

from io import BytesIO
from zipfile import BadZipFile, ZipFile

from news_assets.errors import ReadingError

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
        if (
            member.filename.endswith((".xml", ".rels"))
            and member.file_size > MAX_XML_BYTES
        ):
            raise ReadingError(
                f"{member.filename[:80]} has {member.file_size >> 20:,} MB; more are not read"
            )
    return archive
