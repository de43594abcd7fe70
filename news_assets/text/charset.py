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
    declared = [
        name
        for label in (stated, _meta_charset(body))
        if label and (name := codec_of(label))
    ]
    if escaping := next(
        (name for name in declared if name.startswith(_ESCAPING)), None
    ):
        return body.decode(escaping, "replace")
    if (text := _as_utf8(body, is_declared="utf-8" in declared)) is not None:
        return text
    for name in filter(None, (*declared, _guess(body), "cp1252")):
        if name != "utf-8" and (text := _strictly(body, name)) is not None:
            return text
    return body.decode("cp1252", "replace")


def _meta_charset(body: bytes) -> str | None:
    match = _META.search(body, 0, _META_BYTES)
    return match[1].decode("ascii", "replace") if match else None


def codec_of(label: str) -> str | None:
    """Return Python's name of the charset that browsers use for a label; None for an
    unknown label.
    """
    try:
        name = codecs.lookup(label.strip(" \"'")).name
    except (LookupError, ValueError):
        return None
    return _READ_AS.get(name, name) if _CHARSETS.match(name) else None


def _as_utf8(body: bytes, *, is_declared: bool) -> str | None:
    """Return the text if it is UTF-8, also truncated or broken in a few places."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for character in text if character > "\x7f") - broken
    allowed = _MAX_BROKEN * whole + (1 if is_declared else 0)
    return text if broken <= allowed else None


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
    letters = [
        character
        for character in str(best or "")
        if character > "\x7f" and character.isalpha()
    ]
    is_other_script = 2 * sum(character > "\u024f" for character in letters) > len(
        letters
    )
    return best.encoding if best and is_other_script else None


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
