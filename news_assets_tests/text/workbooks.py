"""The cells of an XLSX file, as a spreadsheet reads them."""

import zipfile
from pathlib import Path
from typing import IO

from lxml import etree

_CELLS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheets_of(file: Path | IO[bytes]) -> list[list[list[tuple[str, str]]]]:
    """Return for each sheet its rows of (type, text); types are those of the file:
    `inlineStr`, `n`, `b`.
    """
    with zipfile.ZipFile(file) as parts:
        names = sorted(
            name for name in parts.namelist() if name.startswith("xl/worksheets/sheet")
        )
        return [_rows(parts.read(name)) for name in names]


def _rows(sheet: bytes) -> list[list[tuple[str, str]]]:
    root = etree.fromstring(sheet)
    assert list(root.iter(f"{_CELLS}f")) == [], "a formula"
    return [
        [
            (cell.get("t", "n"), "".join(map(str, cell.itertext())))
            for cell in row.iter(f"{_CELLS}c")
        ]
        for row in root.iter(f"{_CELLS}row")
    ]
