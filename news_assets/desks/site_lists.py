"""Lists of sources from and for other programs: OPML 2.0 (https://opml.org/spec2.opml), CSV with
named columns, or one address a line, distinguished by their content.

An outline with an `xmlUrl` is a source. Its innermost folder becomes the agency's
`type`, not an agency, because feed readers group unrelated newsrooms in folders. The
export groups agencies by type, so that it imports as the same desk.
"""

import csv
import html
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from typing import Final
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from lxml import etree

from news_assets.desks.import_plan import ImportRow, ImportRows, Refusal, web_address
from news_assets.desks.yaml_nodes import one_line, quoted
from news_assets.errors import NewsAssetsError
from news_assets.records.desks import Agency, Desk, Source
from news_assets.sources.xml_documents import MAX_ATTRIBUTES, decoded, recovering_parser
from news_assets.text.prose import language_tag

# --- OPML -----------------------------------------------------------------------------

_FEED_KINDS: Final = ("feed", "json_feed")
_LONE_AMPERSAND: Final = re.compile(
    r"&(?!#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|[A-Za-z]\w{1,30};)"
)
_HTML_ENTITY: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]\w{1,30};")
_MAX_FORM_PROBLEMS = 20  # more are not reported


# --- import ---------------------------------------------------------------------------


def parse_opml(text: str) -> ImportRows:
    """Return the sources of an OPML document; of one that is not well-formed, those
    that can be recovered.

    Raises:
        NewsAssetsError: The document is not OPML, or declares entities, which only
            attacks need.
    """
    if "<!ENTITY" in text:
        raise NewsAssetsError("the document declares entities; remove its DOCTYPE")
    parser = recovering_parser()
    root = _opml_root(text, parser)
    rows: list[ImportRow] = []
    refused = _form_problems(parser)
    for one in _rows_of(root):
        if isinstance(one, ImportRow):
            rows.append(one)
        else:
            refused.append(one)
    return ImportRows(tuple(rows), tuple(sorted(refused)))


def _opml_root(text: str, parser: etree.XMLParser) -> etree._Element:
    """Return the root of an OPML document; raises NewsAssetsError for another one."""
    sound = _with_sound_references(text).encode("utf-8", "replace")
    try:
        root = etree.fromstring(sound, parser)
    except etree.LxmlError as error:
        raise NewsAssetsError(f"not XML: {error}") from error
    found = text.strip()[:40]
    if root is not None:
        name = _local_name(root.tag)
        if name == "opml":
            return root
        found = f"<{name}>"
    raise NewsAssetsError(f"not OPML: it begins with {one_line(found)}")


def _rows_of(root: etree._Element) -> Iterator[ImportRow | Refusal]:
    """Yield a row or a refusal of each outline that is no folder, in the order of the
    document.
    """
    # The name that each outline gives to those in it.
    folders: dict[etree._Element | None, str | None] = {None: None}
    for outline in root.iter("{*}*"):
        if _local_name(outline.tag) != "outline":
            continue
        folder = folders.get(outline.getparent())
        attributes = _attributes(outline)
        if attributes is None:
            folders[outline] = folder
            reason = f"an outline with more than {MAX_ATTRIBUTES} attributes"
            yield Refusal(outline.sourceline or 1, reason)
            continue
        name = _name_in(attributes)
        folders[outline] = name or folder
        row = _row_of(outline, attributes, name, folder)
        if row is not None:
            yield row


def _with_sound_references(text: str) -> str:
    """Replace HTML entities by characters and bare ampersands by `&amp;`; XML allows
    neither.
    """
    escaped = _LONE_AMPERSAND.sub("&amp;", text)
    return _HTML_ENTITY.sub(lambda match: escape(html.unescape(match[0])), escaped)


def _form_problems(parser: etree.XMLParser) -> list[Refusal]:
    """Return the first problem of each line."""
    first: dict[int, str] = {}
    for error in parser.error_log:
        first.setdefault(error.line, error.message)
    problems: list[Refusal] = []
    for line in sorted(first):
        problems.append(Refusal(line, f"not well-formed: {one_line(first[line])}"))
    return problems[:_MAX_FORM_PROBLEMS]


def _local_name(name: object) -> str:
    return str(name).rpartition("}")[2].rpartition(":")[2].lower()


def _name_in(attributes: Mapping[str, str]) -> str | None:
    return one_line(attributes.get("text")) or one_line(attributes.get("title"))


def _attributes(outline: etree._Element) -> dict[str, str] | None:
    """Return the attributes by lower-case name: feed readers write xmlUrl, xmlURL and
    xmlurl.

    None if there are too many: lxml takes quadratic time to read them, 60 s for
    100,000.
    """
    if len(outline.attrib) > MAX_ATTRIBUTES:
        return None
    return {_local_name(name): str(value) for name, value in outline.attrib.items()}


def _row_of(
    outline: etree._Element,
    attributes: Mapping[str, str],
    name: str | None,
    folder: str | None,
) -> ImportRow | Refusal | None:
    """Return the row of an outline; None for a folder."""
    line = outline.sourceline or 1
    if not attributes.get("xmlurl", "").strip():
        if len(outline):
            return None
        if name is None:
            return None
        return Refusal(line, f"{quoted(name)} has no xmlUrl")
    url = web_address(attributes["xmlurl"])
    if url is None:
        return Refusal(line, f"{quoted(attributes['xmlurl'])} is not a web address")
    return ImportRow(
        line=line,
        url=url,
        name=name,
        type=folder or _category_of(attributes.get("category", "")),
        language=language_tag(attributes.get("language")),
    )


def _category_of(categories: str) -> str | None:
    """Return the last part of the first category: `Weather` of
    `/Boston/Weather,/Harvard`.
    """
    return one_line(categories.partition(",")[0].rstrip("/").rpartition("/")[2])


# --- export ---------------------------------------------------------------------------


def is_feed(source: Source) -> bool:
    """Return whether a feed reader can read the source; G1's addresses are feeds below
    `/rss/`, pages elsewhere.
    """
    if source.kind == "g1":
        return urlsplit(source.url).path.startswith("/rss/")
    return source.kind in _FEED_KINDS


def build_opml(desks: Sequence[Desk], now: datetime) -> bytes:
    """Return the feeds of active agencies as OPML, in folders by type; several desks
    are folders around these.
    """
    root, body = _document(f"Sources of {', '.join(desk.key for desk in desks)}")
    etree.SubElement(root[0], "dateCreated").text = format_datetime(now)
    for desk in desks:
        _add_desk(body if len(desks) == 1 else _folder(body, desk.key), desk)
    return _written(root)


def opml_of_feeds(title: str, feeds: Iterable[tuple[str, str, str]]) -> bytes:
    """Return feeds as OPML, each with its name, address and the address of its page."""
    root, body = _document(title)
    for name, url, page in feeds:
        text = one_line(name) or url
        etree.SubElement(
            body, "outline", type="rss", text=text, title=text, xmlUrl=url, htmlUrl=page
        )
    return _written(root)


def _document(title: str) -> tuple[etree._Element, etree._Element]:
    """Return the root and the body of a document."""
    root = etree.Element("opml", version="2.0")
    etree.SubElement(etree.SubElement(root, "head"), "title").text = title
    return root, etree.SubElement(root, "body")


def _written(root: etree._Element) -> bytes:
    written: bytes = etree.tostring(
        root, encoding="utf-8", xml_declaration=True, pretty_print=True
    )
    return written


def _add_desk(parent: etree._Element, desk: Desk) -> None:
    """Add the active agencies with feeds, in folders by type; last those without one."""
    by_type: dict[str | None, list[Agency]] = defaultdict(list)
    for agency in desk.agencies:
        if agency.is_active and any(map(is_feed, agency.sources)):
            by_type[agency.type].append(agency)
    for name in sorted(by_type, key=lambda one: (one is None, one or "")):
        folder = parent if name is None else _folder(parent, name)
        for agency in by_type[name]:
            _add_feeds(folder, agency)


def _folder(parent: etree._Element, name: str) -> etree._Element:
    return etree.SubElement(parent, "outline", text=one_line(name) or "")


def _add_feeds(parent: etree._Element, agency: Agency) -> None:
    name = one_line(agency.name) or agency.key
    for source in filter(is_feed, agency.sources):
        etree.SubElement(
            parent,
            "outline",
            type="rss",
            text=name,
            title=name,
            xmlUrl=source.url,
            language=source.language,
        )


# --- lists ----------------------------------------------------------------------------

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
    columns = list(map(_column_of, cells))
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
        read = line if isinstance(line, Refusal) else _row_of_cells(*line, header)
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


def _cells_of(row: list[str], header: list[str]) -> dict[str, str]:
    """Return the cells by their headings; the first of several with one heading."""
    cells: dict[str, str] = {}
    for column, cell in zip(header, row, strict=False):  # rows may be shorter
        cells.setdefault(column, cell)
    return cells


def _row_of_cells(line: int, row: list[str], header: list[str]) -> ImportRow | Refusal:
    cells = _cells_of(row, header)
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
    rows = []
    refused = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = _COMMENT.sub("", line).strip()
        if not content:
            continue
        if content.startswith("#"):
            continue
        address, _, name = content.partition(" ")
        url = web_address(address)
        if url is None:
            refused.append(Refusal(number, f"{quoted(content)} is not a web address"))
        else:
            rows.append(ImportRow(line=number, url=url, name=one_line(name)))
    return ImportRows(tuple(rows), tuple(refused))
