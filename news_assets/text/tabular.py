"""Rows as files: JSON, CSV and XLSX, without cells that a spreadsheet would read as
formulas.
"""

import base64
import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

from news_assets.text.defuse import json_line, spreadsheet_cell

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet


def json_of(value: object) -> str:
    """Return one line of JSON; times in ISO 8601 with offset, bytes in base64, controls
    as escapes.
    """
    return json_line(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    raise TypeError(f"no JSON form for {type(value).__name__}")


def cell_of(value: object) -> str | float | None:
    """Return a value as a cell: numbers unchanged, texts without formulas, others as in
    JSON.
    """
    if value is None:
        return value
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return spreadsheet_cell(value)
    return spreadsheet_cell(json_of(value).strip('"'))


_SHEET_ROWS: Final = 1_048_576  # of XLSX, with the header
CELL_CHARS: Final = 32_767
_CUT: Final = " [cut: a cell holds no more]"
_EXACT: Final = 2**53  # larger whole numbers lose digits in a spreadsheet
_FIRST_YEAR: Final = 1900  # of a spreadsheet's calendar
_DATE: Final = "yyyy-mm-dd"
_ISO_CHARS: Final = len("2026-01-31T12:00:00")


class _TextFile(Protocol):
    def write(self, text: str, /) -> object: ...


def write_csv(
    file: _TextFile, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write a header and rows."""
    writer = csv.writer(file)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell_of(row[name]) for name in columns])


def write_xlsx(
    file: IO[bytes], columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> int:
    """Write a header and rows as a workbook, with further sheets for more than
    1,048,575 rows.

    Days and times are those of the spreadsheet; a time names its distance to UTC. Rows
    are written as they come: memory holds one.

    Returns:
        The number of texts longer than a cell holds (32,767 characters), which are cut
        and end in a note.
    """
    from xlsxwriter import Workbook

    cut = 0
    with Workbook(file, {"constant_memory": True}) as workbook:
        sheet = _Sheet(workbook, columns)
        for row in rows:
            if sheet.is_full:
                cut += sheet.cut
                sheet = _Sheet(workbook, columns)
            sheet.add([row[name] for name in columns])
        return cut + sheet.cut


class _Sheet:
    """One sheet of a workbook with a header that stays in view."""

    def __init__(self, workbook: "Workbook", columns: Sequence[str]) -> None:
        self._sheet: Worksheet = workbook.add_worksheet()
        self._workbook = workbook
        self._day: Format = workbook.add_format({"num_format": _DATE})
        self._times: dict[str, Format] = {}
        self._sheet.set_column(0, len(columns), 20)
        self._sheet.freeze_panes(1, 0)
        bold = workbook.add_format({"bold": True})
        for number, name in enumerate(columns):
            self._sheet.write_string(0, number, name, bold)
        self._next_row = 1
        self.cut = 0

    @property
    def is_full(self) -> bool:
        """Whether no further row fits."""
        return self._next_row == _SHEET_ROWS

    def add(self, values: Sequence[object]) -> None:
        """Write the next row."""
        for number, value in enumerate(values):
            self._write(number, value)
        self._next_row += 1

    def _write(self, column: int, value: object) -> None:
        place = (self._next_row, column)
        match value:
            case None:
                pass
            case bool():
                self._sheet.write_boolean(*place, value)
            case int() | float() if math.isfinite(value) and abs(value) <= _EXACT:
                self._sheet.write_number(*place, value)
            case datetime() if value.tzinfo and value.year >= _FIRST_YEAR:
                local = value.replace(tzinfo=None)
                self._sheet.write_datetime(*place, local, self._time_format(value))
            case date() if (
                not isinstance(value, datetime) and value.year >= _FIRST_YEAR
            ):
                self._sheet.write_datetime(*place, value, self._day)
            case _:
                self._sheet.write_string(*place, self._fitting(str(cell_of(value))))

    def _time_format(self, at: datetime) -> "Format":
        offset = at.isoformat(timespec="seconds")[_ISO_CHARS:]
        zone = f"UTC{offset}" if at.utcoffset() else "UTC"
        if zone not in self._times:
            form = {"num_format": f'yyyy-mm-dd hh:mm:ss" {zone}"'}
            self._times[zone] = self._workbook.add_format(form)
        return self._times[zone]

    def _fitting(self, text: str) -> str:
        if len(text) <= CELL_CHARS:
            return text
        self.cut += 1
        return text[: CELL_CHARS - len(_CUT)] + _CUT
