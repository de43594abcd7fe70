"""Lists of sources as people keep them: CSV with named columns, or an address a line; text in, offers out.

Which of the two a text is, or whether it is OPML, is seen from the text itself.
"""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from news_assets.desks.import_rows import Offer, Offers, Refusal, one_line, quoted, web_address
from news_assets.desks.opml import parse_opml
from news_assets.errors import NewsAssetsError
from news_assets.sources.feeds.charsets import decoded
from news_assets.text.language import language_tag

_COLUMNS: Final = {
    "url": ("url", "xmlurl", "feed", "feed_url", "feedurl", "rss", "news_url", "address", "link", "endereco"),
    "name": ("name", "title", "nome", "titulo"),
    "agency": ("agency", "agency_key", "key", "agencia"),
    "type": ("type", "category", "folder", "tipo"),
    "kind": ("kind",),
    "language": ("language", "lang", "idioma"),
    "timezone": ("timezone", "time_zone", "tz", "fuso"),
    "pace": ("pace",),
}
_DELIMITERS: Final = ",;\t|"  # Excel writes ; where the comma is the decimal sign
_MAX_HEADER_CHARS: Final = 10_000  # what is longer is no header, and more than csv takes in one cell
_COMMENT: Final = re.compile(r"\s+#.*$")


def parse_source_file(body: bytes) -> Offers:
    """Return the sources of a file: OPML, CSV or an address a line.

    Raises:
        NewsAssetsError: Not one source in it; says what a file may be.
    """
    text, problem = decoded(body, None, "")
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("<"):
        found = parse_opml(text)
    else:
        header = _header_of(text)
        found = _parse_csv(text, *header) if header else _parse_lines(text)
    if problem is not None:
        found = Offers(found.offers, (Refusal(1, problem), *found.refused))
    if not found.offers:
        first = f" (line {found.refused[0].line}: {found.refused[0].why})" if found.refused else ""
        raise NewsAssetsError(f"not one source in it{first}; a list is OPML, CSV with a column `url`, or addresses")
    return found


def _header_of(text: str) -> tuple[list[str], str] | None:
    """Return the columns' names and the delimiter of a CSV text; None where the first line names no column `url`."""
    first = next((line for line in text.splitlines() if line.strip()), "")[:_MAX_HEADER_CHARS]
    delimiter = max(_DELIMITERS, key=first.count)
    cells = next(csv.reader([first], delimiter=delimiter), [])
    meant = [_meant(cell) for cell in cells]
    return (meant, delimiter) if "url" in meant else None


def _meant(cell: str) -> str:
    name = cell.strip().lower().replace(" ", "_").replace("-", "_")
    return next((column for column, names in _COLUMNS.items() if name in names), name)


def _parse_csv(text: str, header: list[str], delimiter: str) -> Offers:
    rows = _rows(text, delimiter)
    next(rows, None)
    read = [row if isinstance(row, Refusal) else _offer_of(*row, header) for row in rows]
    offers = tuple(one for one in read if isinstance(one, Offer))
    return Offers(offers, tuple(one for one in read if isinstance(one, Refusal)))


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]] | Refusal]:
    """Yield each row with the line it begins on, or why it cannot be read; blank ones and comments are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Refusal(line, f"no CSV: {error}")
        else:
            if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#"):
                yield line, row


def _offer_of(line: int, row: list[str], header: list[str]) -> Offer | Refusal:
    cells: dict[str, str] = {}
    for column, cell in zip(header, row, strict=False):  # rows may be shorter
        cells.setdefault(column, cell)
    written = cells.get("url", "").strip()
    url = web_address(written)
    if url is None:
        return Refusal(line, f"{quoted(written)} is no web address" if written else "no address")
    language = one_line(cells.get("language"))
    return Offer(
        line=line,
        url=url,
        name=one_line(cells.get("name")),
        agency=one_line(cells.get("agency")),
        type=one_line(cells.get("type")),
        kind=one_line(cells.get("kind")),
        language=language_tag(language) or language,
        timezone=one_line(cells.get("timezone")),
        pace=one_line(cells.get("pace")),
    )


def _parse_lines(text: str) -> Offers:
    offers, refused = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        content = _COMMENT.sub("", line).strip()
        if not content or content.startswith("#"):
            continue
        address, _, name = content.partition(" ")
        url = web_address(address)
        if url is None:
            refused.append(Refusal(number, f"{quoted(content)} is no web address"))
        else:
            offers.append(Offer(line=number, url=url, name=one_line(name)))
    return Offers(tuple(offers), tuple(refused))
