"""The lists as tables for spreadsheets and programs: CSV and XLSX with all rows of a list, not
only those of a page.

Rows are read and written in batches, so that memory holds one batch of a CSV, and an XLSX is a
file on disk before it is sent.
"""

import csv
import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import Any, Final

from starlette.responses import StreamingResponse

from news_assets.search import SearchHit
from news_assets.store.queries.listed_articles import ListedArticle
from news_assets.text.dates import zone_info
from news_assets.text.defuse import cell_of, write_xlsx
from news_assets.web.api_operations import Operation
from news_assets.web.archive import Archive
from news_assets.web.forms import MEDIA_TYPES
from news_assets.web.parameters import Parameters, SearchAddress

MAX_ROWS: Final = 100_000
_READ_AT_ONCE: Final = (
    500  # articles of the lake; the days of a batch lie close together
)
_SENT_BYTES: Final = 1 << 18
_ARTICLE_COLUMNS: Final = (
    "title",
    "publisher",
    "published_at",
    "first_seen_at",
    "day",
    "theme",
    "url",
    "summary",
    "page",
    "copies",
    "copied_by",
    "language",
    "desk",
    "agency",
    "article_id",
)
# The publishers of each group of copies, by the original. Read once for all rows.
_COPIES: Final = """
    WITH copied AS (
        SELECT duplicate_of AS original, article_id, agency, outcome FROM raw_articles
        WHERE duplicate_of IS NOT NULL
    ), published AS (
        SELECT original, agency FROM copied WHERE outcome = 'ok'
        UNION ALL
        SELECT article_id, agency FROM raw_articles
        WHERE outcome = 'ok' AND article_id IN (SELECT original FROM copied)
    )
    SELECT original, list(agency ORDER BY agency) AS agencies FROM published GROUP BY original
"""

_Row = dict[str, Any]
_Batches = Iterator[Sequence[_Row]]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spreadsheet:
    """A list as a table. `batches` reads all rows that some parameters list; the pages
    of its items are below the address that is the last argument.
    """

    columns: Sequence[str]
    batches: Callable[[Archive, Any, str], _Batches]


def sheet_of(
    operation: Operation,
    added: Mapping[str, Callable[[Archive, Any, str], Any]],
    without: Sequence[str] = (),
) -> Spreadsheet:
    """Return the table of a list that is read at once: the fields of its items but
    some, and the columns that are `added`.
    """
    own = [one.name for one in fields(operation.item) if one.name not in without]

    def batches(archive: Archive, parameters: Parameters, base: str) -> _Batches:
        whole = {"limit": MAX_ROWS + 1, "cursor": ""}
        answer = operation.read(archive, parameters.model_copy(update=whole))
        rows = []
        for item in answer.items:
            row = {name: getattr(item, name) for name in own}
            for name, read in added.items():
                row[name] = read(archive, item, base)
            rows.append(row)
        yield rows

    return Spreadsheet(columns=(*own, *added), batches=batches)


def publisher(archive: Archive, item: Any, base: str) -> str:
    """Return the name of an item's agency."""
    return archive.agency_name(item.agency)


# --- articles -------------------------------------------------------------------------


def articles_sheet(*, with_texts: bool) -> Spreadsheet:
    """Return the table of a search; texts only on request, because they are long."""

    def batches(archive: Archive, address: SearchAddress, base: str) -> _Batches:
        copies = _Copies(archive)
        for hits in archive.all_hits(address):
            for first in range(0, len(hits), _READ_AT_ONCE):
                some = hits[first : first + _READ_AT_ONCE]
                yield _article_rows(archive, some, copies, base, with_texts)

    text = ("text",) if with_texts else ()
    return Spreadsheet(columns=(*_ARTICLE_COLUMNS, *text), batches=batches)


class _Copies:
    """Who else published a text, by the id of the article that they copied."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._agencies = dict(archive.lake.query(_COPIES).iter_rows())

    def publishers_beside(self, row: ListedArticle) -> list[str]:
        """Return the names of the other publishers of an article's text."""
        others = list(self._agencies.get(row.duplicate_of or row.article_id, ()))
        if row.agency in others:
            others.remove(row.agency)
        return [self._archive.agency_name(key) for key in others]


def _article_rows(
    archive: Archive,
    hits: Sequence[SearchHit],
    copies: _Copies,
    base: str,
    with_texts: bool,
) -> list[_Row]:
    listed = archive.listed(hits)
    texts = archive.texts(hits) if with_texts else {}
    rows = []
    for hit in hits:
        row = {
            "title": hit.title,
            "publisher": archive.agency_name(hit.agency),
            "published_at": None,
            "first_seen_at": None,
            "day": hit.day,
            "theme": "",
            "url": hit.url,
            "summary": None,
            "page": f"{base}/articles/{hit.article_id}",
            "copies": 0,
            "copied_by": "",
            "language": hit.language,
            "desk": hit.desk,
            "agency": hit.agency,
            "article_id": hit.article_id,
            "text": texts.get(hit.article_id),
        }
        # the lake may lack an article that the index still has
        if (stored := listed.get(hit.article_id)) is not None:
            row |= _stored_values(archive, stored, copies)
        rows.append(row)
    return rows


def _stored_values(archive: Archive, stored: ListedArticle, copies: _Copies) -> _Row:
    """Return what the lake has of an article, with times in the zone of its publisher."""
    others = copies.publishers_beside(stored)
    zone = zone_info(archive.zone_of(stored.desk, stored.agency))
    published_at = stored.published_at
    return {
        "published_at": published_at and published_at.astimezone(zone),
        "first_seen_at": stored.first_seen_at.astimezone(zone),
        "theme": " › ".join(stored.theme_labels or ()),
        "summary": stored.summary,
        "copies": len(others),
        "copied_by": "; ".join(others),
    }


# --- files ----------------------------------------------------------------------------


def spreadsheet(
    form: str, name: str, columns: Sequence[str], batches: _Batches
) -> StreamingResponse:
    """Return all rows, up to MAX_ROWS, as a CSV or XLSX file of this name; where rows
    are missing, the last one says so.

    The first batch is read here, so that an error is an answer of its own.
    """
    rows = _limited(columns, batches)
    begun = chain(list(islice(rows, 1)), rows)
    body = _csv_parts(columns, begun) if form == ".csv" else _xlsx_parts(columns, begun)
    headers = {
        "Content-Disposition": f'attachment; filename="{name}{form}"',
        "Cache-Control": "private, no-cache",
    }
    return StreamingResponse(body, headers=headers, media_type=MEDIA_TYPES[form])


def _limited(columns: Sequence[str], batches: _Batches) -> _Batches:
    count = 0
    for batch in batches:
        left_over = MAX_ROWS - count
        if len(batch) <= left_over:
            count += len(batch)
            yield batch
            continue
        _log.debug("a table ends after %d rows; the list goes on", MAX_ROWS)
        note = dict.fromkeys(columns)
        note[columns[0]] = f"[cut after {MAX_ROWS:,} rows: narrow the list]"
        yield [*batch[:left_over], note]
        return


def _csv_parts(columns: Sequence[str], batches: _Batches) -> Iterator[str]:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for batch in batches:
        for row in batch:
            writer.writerow([cell_of(row[name]) for name in columns])
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _xlsx_parts(columns: Sequence[str], batches: _Batches) -> Iterator[bytes]:
    with TemporaryFile() as file:
        write_xlsx(file, columns, chain.from_iterable(batches))
        file.seek(0)
        while part := file.read(_SENT_BYTES):
            yield part
