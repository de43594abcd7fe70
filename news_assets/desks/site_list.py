"""Import of lists of sources: OPML, CSV with named columns, or one address a line,
distinguished apart by their content.
"""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from news_assets.desks.import_rows import (
    ImportRow,
    ImportRows,
    Refusal,
    one_line,
    quoted,
    web_address,
)
from news_assets.desks.opml import parse_opml
from news_assets.errors import NewsAssetsError
from news_assets.sources.xml_documents import decoded
from news_assets.text.language import language_tag

_COLUMNS: Final = {
    "url": (
        "url",
        "xmlurl",
        "feed",
        "feed_url",
        "feedurl",
        "rss",
        "news_url",
        "address",
        "link",
        "endereco",
    ),
    "name": ("name", "title", "nome", "titulo"),
    "agency": ("agency", "agency_key", "key", "agencia"),
    "type": ("type", "category", "folder", "tipo"),
    "kind": ("kind",),
    "language": ("language", "lang", "idioma"),
    "timezone": ("timezone", "time_zone", "tz", "fuso"),
    "pace": ("pace",),
}
_TEXTS: Final = ("name", "agency", "type", "kind", "timezone", "pace")
_DELIMITERS: Final = ",;\t|"  # Excel writes ; in locales with a decimal comma
# longer lines are not headers and may exceed csv's field limit
_MAX_HEADER_CHARS: Final = 10_000
# with the look-behind, linear in a row of blanks
_COMMENT: Final = re.compile(r"(?<!\s)\s+#.*$")


def parse_source_file(body: bytes) -> ImportRows:
    """Return the sources of a file: OPML, CSV or one address a line.

    Raises:
        NewsAssetsError: The file has no source.
    """
    text, problem = decoded(body, None, "")
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("<"):
        found = parse_opml(text)
    else:
        header = _header_of(text)
        found = _parse_csv(text, *header) if header else _parse_lines(text)
    if problem is not None:
        found = ImportRows(found.rows, (Refusal(1, problem), *found.refused))
    if not found.rows:
        first = ""
        if found.refused:
            first = f" (line {found.refused[0].line}: {found.refused[0].reason})"
        raise NewsAssetsError(
            f"no source in this file{first}; give OPML, CSV with a column `url`, or one address a"
            " line"
        )
    return found


def _header_of(text: str) -> tuple[list[str], str] | None:
    """Return the column names and the delimiter of a CSV text; None if the first line
    has no column `url`.
    """
    filled = (line for line in text.splitlines() if line.strip())
    first = next(filled, "")[:_MAX_HEADER_CHARS]
    delimiter = max(_DELIMITERS, key=first.count)
    cells = next(csv.reader([first], delimiter=delimiter), [])
    columns = [_column_of(cell) for cell in cells]
    if "url" not in columns:
        return None
    return columns, delimiter


def _column_of(cell: str) -> str:
    name = cell.strip().lower().replace(" ", "_").replace("-", "_")
    for column, names in _COLUMNS.items():
        if name in names:
            return column
    return name


def _parse_csv(text: str, header: list[str], delimiter: str) -> ImportRows:
    lines = _lines(text, delimiter)
    next(lines, None)
    rows: list[ImportRow] = []
    refused: list[Refusal] = []
    for line in lines:
        read = line if isinstance(line, Refusal) else _row_of(*line, header)
        if isinstance(read, Refusal):
            refused.append(read)
        else:
            rows.append(read)
    return ImportRows(tuple(rows), tuple(refused))


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]] | Refusal]:
    """Yield each row's first line and cells, or why it cannot be read; blank rows and
    comments are skipped.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Refusal(line, f"not CSV: {error}")
            continue
        is_comment = bool(row) and row[0].lstrip().startswith("#")
        if "".join(row).strip() and not is_comment:
            yield line, row


def _row_of(line: int, row: list[str], header: list[str]) -> ImportRow | Refusal:
    cells: dict[str, str] = {}
    for column, cell in zip(header, row, strict=False):  # rows may be shorter
        cells.setdefault(column, cell)
    written = cells.pop("url", "").strip()
    if not written:
        return Refusal(line, "no address")
    url = web_address(written)
    if url is None:
        return Refusal(line, f"{quoted(written)} is not a web address")
    stated = {name: one_line(cells.get(name)) for name in _TEXTS}
    language = one_line(cells.get("language"))
    return ImportRow(
        line=line, url=url, language=language_tag(language) or language, **stated
    )


def _parse_lines(text: str) -> ImportRows:
    rows, refused = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        content = _COMMENT.sub("", line).strip()
        if not content or content.startswith("#"):
            continue
        address, _, name = content.partition(" ")
        url = web_address(address)
        if url is None:
            refused.append(Refusal(number, f"{quoted(content)} is not a web address"))
        else:
            rows.append(ImportRow(line=number, url=url, name=one_line(name)))
    return ImportRows(tuple(rows), tuple(refused))
