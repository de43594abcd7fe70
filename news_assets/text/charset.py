"""Decodes HTML pages in their real charset, and replaces what the lake cannot store.

The order is the browsers': byte order mark, HTTP header, `<meta>`, detection. But bytes
that are valid UTF-8 are UTF-8, because declared charsets are often wrong and text in
other charsets is almost never valid UTF-8. XML declarations are read by
`sources/xml_documents.py`.
"""

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_META = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*+=\s*+["']?\s*+([\w:.-]{2,40})""", re.IGNORECASE
)
_META_BYTES = 4096  # browsers read 1024; some pages put scripts before it
_GUESS_BYTES = 20_000
# What browsers use for these labels (WHATWG Encoding, names and labels): a superset of
# the declared charset.
_READ_AS = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
    "utf-7": "cp1252",
}
# encoded as escapes in ASCII, so valid UTF-8 but not readable as such
_ESCAPING = (
    "iso2022",
    "hz",
)
# not base64, rot13
_CHARSETS = re.compile(
    r"ascii|big5|cp\d|euc|gb|hz|iso|johab|koi8|mac|ptcp154|shift|tis|utf-[78]"
)
_MAX_BROKEN = 0.02  # of the non-ASCII characters of a text that still counts as UTF-8


def decode(body: bytes, stated: str | None = None) -> str:
    """Return the text of a page. `stated` is the charset of the HTTP header; never
    raises.
    """
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return body.decode(codec, "replace")
    declared = _declared(body, stated)
    for name in declared:
        if name.startswith(_ESCAPING):
            return body.decode(name, "replace")
    text = _as_utf8(body, is_declared="utf-8" in declared)
    if text is not None:
        return text
    for name in filter(None, (*declared, _guess(body), "cp1252")):
        text = _strictly(body, name)
        if text is not None:
            return text
    return body.decode("cp1252", "replace")


def _declared(body: bytes, stated: str | None) -> list[str]:
    """Return the codecs that the header and the page name, as far as they are known."""
    names: list[str] = []
    for label in filter(None, (stated, _meta_charset(body))):
        name = codec_of(label)
        if name is not None:
            names.append(name)
    return names


def _meta_charset(body: bytes) -> str | None:
    match = _META.search(body, 0, _META_BYTES)
    if match is None:
        return None
    return match[1].decode("ascii", "replace")


def codec_of(label: str) -> str | None:
    """Return Python's name of the charset that browsers use for a label; None for an
    unknown label.
    """
    try:
        name = codecs.lookup(label.strip(" \"'")).name
    except (LookupError, ValueError):
        return None
    if not _CHARSETS.match(name):
        return None
    return _READ_AS.get(name, name)


def _as_utf8(body: bytes, *, is_declared: bool) -> str | None:
    """Return the text if it is UTF-8, also truncated or broken in a few places."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for character in text if character > "\x7f") - broken
    if broken <= _MAX_BROKEN * whole + is_declared:
        return text
    return None


def _strictly(body: bytes, name: str) -> str | None:
    try:
        return body.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None


def _guess(body: bytes) -> str | None:
    """Return a detected charset of a non-Latin script; detection cannot tell Latin
    charsets apart.
    """
    from charset_normalizer import from_bytes

    middle = max((len(body) - _GUESS_BYTES) // 2, 0)
    best = from_bytes(body[middle : middle + _GUESS_BYTES]).best()
    if best is None:
        return None
    letter_count = other_count = 0
    for character in str(best):
        if character > "\x7f" and character.isalpha():
            letter_count += 1
            other_count += character > "\u024f"
    if 2 * other_count <= letter_count:
        return None
    return best.encoding


def storable(text: str) -> str:
    """Return the text as the lake stores it; lookups by a text have to look for this.

    What it cannot store becomes U+FFFD, so that one such title does not fail a whole
    batch: NUL, which Postgres refuses even in column statistics, and lone surrogates,
    which have no UTF-8 form.
    """
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        # the round trip through UTF-16 joins the two surrogates of a pair and replaces
        # lone ones
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
