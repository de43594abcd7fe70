"""Text from outside, made safe for where it is shown: a terminal, a spreadsheet, a
Markdown viewer, XML or JSON; and rows as files: JSON, CSV and XLSX, without cells that a
spreadsheet would read as formulas.

Every output of the package passes one of these functions. They keep the meaning
readable and never fail.
"""

import base64
import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

# Characters that a terminal obeys or that hide the order of a text: C0 and C1 controls,
# DEL, line and paragraph separators, bidirectional controls (CVE-2021-42574), the byte
# order mark, tags, and halves of surrogate pairs.
_HIDDEN: Final = (
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
    *range(0xE0000, 0xE0080),
)
# One visible character for each, so that positions in a text stay the same: U+241B for
# Escape.
_VISIBLE: Final = (
    dict.fromkeys(_HIDDEN, "\ufffd")
    | {code: chr(0x2400 + code) for code in range(0x20)}
    | {0x7F: "\u2421"}
)
_ONE_LINE: Final = _VISIBLE | dict.fromkeys(map(ord, "\t\n\r\x85\u2028\u2029"), " ")
# What XML 1.0 cannot hold, and with it XLSX.
_XML: Final = {
    code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"
} | dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")

_ESCAPED_IN_JSON: Final = re.compile("[" + "".join(map(chr, _HIDDEN)) + "]")
# What a spreadsheet reads as a formula
# (https://owasp.org/www-community/attacks/CSV_Injection), also in full width, and after
# blanks or invisible characters, which some programs skip.
_FORMULA: Final = re.compile(
    r"[\t\r\n]|[\s\x00-\x1f\u00ad\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠﹢﹣﹦﹫−]"
)
_MARKDOWN: Final = re.compile(r"([\\`*\[\]<!|])")


def terminal_line(text: str) -> str:
    """Return a text as one line for a terminal: blanks for line breaks and tabs,
    visible signs for other controls.

    Each character is replaced by one character.
    """
    return text.translate(_ONE_LINE)


def spreadsheet_cell(value: str) -> str:
    """Return a text as a cell of a CSV or XLSX file: with `'` before what would be read
    as a formula.

    Numbers are not texts: pass them to the file as they are, so that -1 stays a number.
    Controls that XLSX cannot hold become visible signs.
    """
    text = value.translate(_XML)
    if _FORMULA.match(value):
        return f"'{text}"
    return text


def xml_text(text: str) -> str:
    """Return a text with visible signs for the characters that XML 1.0 cannot hold."""
    return text.translate(_XML)


def markdown_text(text: str) -> str:
    """Return a text as one line of Markdown without links, images, tags and further
    cells.
    """
    return _MARKDOWN.sub(r"\\\1", terminal_line(text))


def json_line(json: str) -> str:
    r"""Return a JSON text with controls, separators and lone surrogates as `\u` escapes:
    the same value when parsed.
    """
    if json.isprintable():  # has none of them; to look for them takes 8 ms in 100 kB
        return json
    return _ESCAPED_IN_JSON.sub(lambda match: _u_escape(match[0]), json)


def _u_escape(text: str) -> str:
    """Return the characters as JSON escapes, those beyond U+FFFF as surrogate pairs."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2)
    )


def escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    r"""Handle characters that a stream's encoding lacks as `\u` escapes, which are valid
    in JSON.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _u_escape(error.object[error.start : error.end]), error.end


# --- rows as files: JSON, CSV and XLSX ------------------------------------------------


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
