"""Repairs a feed's XML so that feedparser reads it in bounded time.

feedparser takes linear time for well-formed XML, but its lenient parser takes quadratic
time for anything else, as do depth and attributes: 10 s for 300 kB of a truncated feed,
over a minute for 900 kB of `<a `. So a truncated document is closed after its last
whole entry, and a large broken one goes through lxml's recovery. External entities and
DTDs are never loaded.

Charsets: the HTTP header precedes the XML declaration (RFC 7303, section 3.2), but the
bytes overrule both: a byte order mark wins, and non-ASCII text that is valid UTF-8 is
UTF-8.
"""

import codecs
import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

from news_assets.errors import SourceError
from news_assets.records.reading import Page
from news_assets.text.html import codec_of

if TYPE_CHECKING:
    from lxml import etree

MAX_DEPTH = 256  # libxml2's own limit; no feed nests as deep, XHTML content included
MAX_ATTRIBUTES = 256  # in one tag; feedparser takes quadratic time: 13 s for 20,000
# as in a feed of 5,000 entries; feedparser reads about 20,000 a second
MAX_ELEMENTS = 100_000
# of a document for feedparser's lenient parser: at most 1.5 s
_MAX_BROKEN_BYTES = 65_536

_TAIL_BYTES = 8192
_CLOSING = re.compile(rb"</(?:[\w.-]+:)?(?:rss|feed|rdf|channel)\s*>", re.IGNORECASE)
_ENTRY_END = re.compile(rb"</(?:[\w.-]+:)?(?:item|entry)\s*>", re.IGNORECASE)
_ROOT = re.compile(rb"<((?:[\w.-]+:)?(?:rss|feed|rdf))[\s>]", re.IGNORECASE)
_EXTERNAL_DOCTYPE = re.compile(r"<!DOCTYPE\s[^\[<>]*>", re.IGNORECASE)
_HIGH_REFERENCE = re.compile(r"&#(?:[xX]([0-9a-fA-F]{4,})|(\d{5,}));")
_NAMED_ENTITY = re.compile(
    rb"&(?!(?:amp|lt|gt|quot|apos);)([a-zA-Z][a-zA-Z0-9]{1,30});"
)
_USED_PREFIX = re.compile(rb"(?:</?|\s)([A-Za-z_][\w.-]{0,40}):(?=[A-Za-z_])")
_DECLARED_PREFIX = re.compile(rb"\sxmlns:([\w.-]{1,40})\s*=")
_ROOT_NAME = re.compile(rb"<[A-Za-z_][\w.:-]*")
_NAMESPACES: Final = {
    b"atom": b"http://www.w3.org/2005/Atom",
    b"content": b"http://purl.org/rss/1.0/modules/content/",
    b"dc": b"http://purl.org/dc/elements/1.1/",
    b"dcterms": b"http://purl.org/dc/terms/",
    b"feedburner": b"http://rssnamespace.org/feedburner/ext/1.0",
    b"itunes": b"http://www.itunes.com/dtds/podcast-1.0.dtd",
    b"media": b"http://search.yahoo.com/mrss/",
    b"rdf": b"http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    b"sy": b"http://purl.org/rss/1.0/modules/syndication/",
}
_LAST_CODE_POINT: Final = 0x10FFFF
_NO_CHARACTER: Final = "&#xFFFD;"


def repaired_xml(page: Page) -> tuple[bytes, tuple[str, ...], bool]:
    """Return the page's document as UTF-8, its problems, and whether it was whole.

    Raises:
        SourceError: It exceeds the limits of depth or attributes, or nothing can be
            recovered.
    """
    text, encoding_problem = decoded(page.body, page.encoding, page.content_type)
    # With an external DOCTYPE expat silently drops `&eacute;`; without it, the entity
    # is an error.
    text = _EXTERNAL_DOCTYPE.sub("", text, count=1)
    body = _HIGH_REFERENCE.sub(_valid_reference, text).encode("utf-8", "replace")
    body, cut_problem = _closed(body)
    scan = _scan(body, page.url)
    if scan.length is not None:
        body, _ = _closed(body[: scan.length])
        cut_problem = f"document cut at {MAX_ELEMENTS} elements"
        scan = _scan(body, page.url)
    if scan.error.startswith("unbound prefix"):
        body = _with_prefixes_declared(body)
        scan = _scan(body, page.url)
    if scan.error and len(body) > _MAX_BROKEN_BYTES:
        body = _recovered(body, page.url)
    form_problem = f"not well-formed: {scan.error}" if scan.error else None
    problems = (encoding_problem, cut_problem or form_problem)
    return body, tuple(filter(None, problems)), cut_problem is None


def _valid_reference(match: re.Match[str]) -> str:
    """Return a character reference, or that of U+FFFD if it names a surrogate or
    nothing.
    """
    digits = match[1] or match[2]
    if len(digits) >= 10:  # beyond any character; a long number is slow to read
        return _NO_CHARACTER
    code = int(digits, 16 if match[1] else 10)
    if code > _LAST_CODE_POINT:
        return _NO_CHARACTER
    if 0xD800 <= code <= 0xDFFF:
        return _NO_CHARACTER
    return match[0]


def _closed(body: bytes) -> tuple[bytes, str | None]:
    """Cut a truncated document after its last whole entry and close its root; return a
    whole one unchanged.
    """
    root = _ROOT.search(body)
    tail = body[-_TAIL_BYTES:]
    if root is None or _CLOSING.search(tail):
        return body, None
    end = max((match.end() for match in _ENTRY_END.finditer(body)), default=None)
    if end is None:
        return body, "truncated document"
    channel = b"</channel>" if root[1].lower() == b"rss" else b""
    return body[:end] + channel + b"</" + root[1] + b">", "truncated document"


@dataclass(slots=True)
class _Scan:
    """What expat found: the first error of form, and the byte offset at which the
    element limit is reached.
    """

    error: str = ""
    length: int | None = None


def _scan(body: bytes, url: str) -> _Scan:
    """Check a document's form in one pass. Raises SourceError where it exceeds the
    limits of depth or attributes.
    """
    scan = _Scan()
    # namespace-aware, as feedparser's strict parser is
    parser = expat.ParserCreate("utf-8", " ")
    depth = count = 0

    def start(_: str, attributes: list[str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > MAX_DEPTH or len(attributes) > 2 * MAX_ATTRIBUTES:
            what = "tags nested" if depth > MAX_DEPTH else "attributes in one tag"
            raise SourceError(f"{url}: XML with more than {MAX_DEPTH} {what}")
        if count == MAX_ELEMENTS:
            scan.length = parser.CurrentByteIndex

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.ordered_attributes = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        scan.error = str(error)
    return scan


def _with_prefixes_declared(body: bytes) -> bytes:
    """Declare on the root element the prefixes that are used without any declaration."""
    used = _USED_PREFIX.findall(body)
    declared = _DECLARED_PREFIX.findall(body)
    declarations = b""
    for prefix in sorted(set(used) - {*declared, b"xml", b"xmlns"}):
        namespace = _NAMESPACES.get(prefix, b"urn:undeclared:" + prefix)
        declarations += b' xmlns:%s="%s"' % (prefix, namespace)
    return _ROOT_NAME.sub(lambda match: match[0] + declarations, body, count=1)


def _recovered(body: bytes, url: str) -> bytes:
    from lxml import etree

    characters = _NAMED_ENTITY.sub(_character, body)
    try:
        root = etree.fromstring(characters, recovering_parser())
    except etree.LxmlError as error:
        raise SourceError(f"{url}: XML that cannot be read: {error}") from error
    sound = b""
    if root is not None:
        sound = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    scan = _scan(sound, url)
    if scan.error or scan.length is not None:
        reason = scan.error or "too many elements"
        raise SourceError(f"{url}: XML that cannot be read: {reason}")
    return sound


def recovering_parser() -> "etree.XMLParser":
    """Return an lxml parser that reads on after an error and loads nothing external."""
    from lxml import etree

    return etree.XMLParser(
        recover=True,
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
    )


def _character(match: re.Match[bytes]) -> bytes:
    """Return the character of an HTML entity, because lxml's recovery drops entities
    unknown to XML.
    """
    entity = match[0].decode()
    character = html.unescape(entity)
    if character == entity:
        return match[0]
    return "".join(f"&#{ord(one)};" for one in character).encode()


_DECLARATION = re.compile(
    rb"""^[^<]{0,200}<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})"""
)
_HTTP = re.compile(r"""charset\s*+=\s*+["']?\s*+([\w.:-]{1,40})""", re.IGNORECASE)


# --- charsets -------------------------------------------------------------------------

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose BOM is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0<", "utf-16-be"),
    (b"<\0", "utf-16-le"),
)


def decoded(
    body: bytes, http_charset: str | None, content_type: str
) -> tuple[str, str | None]:
    """Return the text of an XML document, and a problem if its declared charset was
    wrong. Never raises.
    """
    name, problem = _charset_of(body, http_charset, content_type)
    text = body.decode(name, "replace")
    if problem is None and "\ufffd" in text and not _decodes(body, name):
        problem = f"some bytes are not valid {name} and were replaced"
    return text, problem


def _charset_of(
    body: bytes, http_charset: str | None, content_type: str
) -> tuple[str, str | None]:
    """Return Python's name of the charset, and a problem if it is not the one declared
    first.
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name, None
    declared = _declared(body, http_charset, content_type)
    known = list(filter(None, map(codec_of, declared)))
    if body.isascii():
        in_ascii = [name for name in known if name.startswith("iso2022")]
        return next(iter(in_ascii), "utf-8"), None
    name = _fitting(body, known)
    if not declared or known[:1] == [name]:
        return name, None
    shown = "windows-1252" if name == "cp1252" else name
    return name, f"encoding declared {declared[0]}, read as {shown}"


def _fitting(body: bytes, known: list[str]) -> str:
    """Return the first charset that the bytes decode in: UTF-8, the declared ones,
    windows-1252.
    """
    if _decodes(body, "utf-8"):
        return "utf-8"
    is_declared_utf8 = not known or "utf-8" in known
    if is_declared_utf8 and _is_mostly_utf8(body):
        return "utf-8"
    for name in known:
        if name != "utf-8" and _decodes(body, name):
            return name
    return "cp1252"


def _declared(body: bytes, http_charset: str | None, content_type: str) -> list[str]:
    """Return the charsets named by HTTP and by the document, in this order."""
    names: list[str] = []
    in_header = _HTTP.search(content_type)
    if http_charset:
        names.append(http_charset)
    elif in_header:
        names.append(in_header[1])
    in_document = _DECLARATION.match(body)
    if in_document:
        names.append(in_document[1].decode())
    return list(filter(None, names))


def _decodes(body: bytes, name: str) -> bool:
    try:
        body.decode(name)
    except (
        UnicodeError,
        LookupError,
    ):  # LookupError: hex and zip are codecs too, but not of text
        return False
    return True


def _is_mostly_utf8(body: bytes) -> bool:
    """Return whether more non-ASCII characters are valid UTF-8 than broken: damaged,
    but not another charset.
    """
    beyond_ascii = re.sub(rb"[\x00-\x7f]+", b" ", body).decode("utf-8", "replace")
    return len(beyond_ascii.replace(" ", "")) > 2 * beyond_ascii.count("\ufffd")
