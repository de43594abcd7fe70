"""Zip archives that cannot be opened are one error."""

from io import BytesIO
from zipfile import ZipFile

import pytest

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.document_kinds import open_zip

# of the directory, in which the version that is needed and the name follow
_ENTRY = b"PK\x01\x02"


def archive(version: int = 20, name: bytes = "ação.txt".encode()) -> bytes:
    """Return an archive of one file that needs this version (in tenths) and has this
    name, of ten bytes.
    """
    body = BytesIO()
    with ZipFile(body, "w") as opened:
        opened.writestr("ação.txt", "text")
    data = bytearray(body.getvalue())
    at = data.rindex(_ENTRY)
    data[at + 6] = version
    data[at + 46 : at + 46 + len(name)] = name
    return bytes(data)


def test_an_archive_is_opened() -> None:
    assert open_zip(archive()).namelist() == ["ação.txt"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(archive(version=127), id="made by a later version of zip"),
        pytest.param(
            archive(name=b"a\xff\xfe\xffo.txtx"), id="a name that is no UTF-8"
        ),
        pytest.param(archive()[:-10], id="cut off"),
        pytest.param(b"no archive", id="something else"),
    ],
)
def test_one_that_cannot_be_read_is_one_error(body: bytes) -> None:
    with pytest.raises(ReadingError, match="not a zip archive that can be read: "):
        open_zip(body)
