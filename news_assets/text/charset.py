"""Bytes of a page in, its text out, whatever charset they claim to be in.

The order is the browsers': byte order mark, HTTP header, `<meta>`, guess; but bytes that are valid UTF-8 are UTF-8,
because servers state a charset out of habit and no other text looks like it. XML declarations belong
to the feed parser.
"""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{2,40})""", re.IGNORECASE)
_META_BYTES = 4096  # browsers read 1024; some pages put scripts before it
_GUESS_BYTES = 20_000
# What browsers read for these labels (WHATWG Encoding, names and labels): the larger set that holds the stated one.
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
_ESCAPING = ("iso2022", "hz")  # their text is valid ASCII, and so UTF-8, without being readable as such
_CHARSETS = re.compile(r"ascii|big5|cp\d|euc|gb|hz|iso|johab|koi8|mac|ptcp154|shift|tis|utf-[78]")  # not base64, rot13
_MAX_BROKEN = 0.02  # share of broken characters among the non-ASCII ones in a text that is UTF-8 all the same


def decode(body: bytes, stated: str | None = None) -> str:
    """Return the text of a page. `stated` is the charset of the HTTP header; never raises."""
    for mark, marked in _BOMS:
        if body.startswith(mark):
            return body.decode(marked, "replace")
    claims = [name for claim in (stated, _meta_charset(body)) if claim and (name := codec_of(claim))]
    if escaping := next((name for name in claims if name.startswith(_ESCAPING)), None):
        return body.decode(escaping, "replace")
    if (text := _as_utf8(body, is_claimed="utf-8" in claims)) is not None:
        return text
    for name in filter(None, (*claims, _guess(body), "cp1252")):
        if name != "utf-8" and (text := _strictly(body, name)) is not None:
            return text
    return body.decode("cp1252", "replace")


def _meta_charset(body: bytes) -> str | None:
    match = _META.search(body, 0, _META_BYTES)
    return match[1].decode("ascii", "replace") if match else None


def codec_of(label: str) -> str | None:
    """Return Python's name for what browsers read under a charset label; None for a label that names no charset."""
    try:
        name = codecs.lookup(label.strip(" \"'")).name
    except (LookupError, ValueError):
        return None
    return _READ_AS.get(name, name) if _CHARSETS.match(name) else None


def _as_utf8(body: bytes, *, is_claimed: bool) -> str | None:
    """Return the text if it is UTF-8, be it cut or broken in a few places."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for character in text if character > "\x7f") - broken
    allowed = _MAX_BROKEN * whole + (1 if is_claimed else 0)
    return text if broken <= allowed else None


def _strictly(body: bytes, name: str) -> str | None:
    try:
        return body.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None


def _guess(body: bytes) -> str | None:
    """Return a charset of another script if the bytes look like one; Latin ones cannot be told apart by a guess."""
    from charset_normalizer import from_bytes

    middle = max((len(body) - _GUESS_BYTES) // 2, 0)
    best = from_bytes(body[middle : middle + _GUESS_BYTES]).best()
    letters = [character for character in str(best or "") if character > "\x7f" and character.isalpha()]
    is_other_script = 2 * sum(character > "\u024f" for character in letters) > len(letters)
    return best.encoding if best and is_other_script else None
