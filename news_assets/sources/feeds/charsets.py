"""Charset detection for XML documents.

The HTTP header precedes the XML declaration (RFC 7303, section 3.2), but the bytes
overrule both: a byte order mark wins, and non-ASCII text that is valid UTF-8 is UTF-8.
"""

import codecs
import re
from typing import Final

from news_assets.text.charset import codec_of

_DECLARATION = re.compile(
    rb"""^[^<]{0,200}<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})"""
)
_HTTP = re.compile(r"""charset\s*+=\s*+["']?\s*+([\w.:-]{1,40})""", re.IGNORECASE)
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
    by_bom = next((name for bom, name in _BOMS if body.startswith(bom)), None)
    if by_bom is not None:
        return by_bom, None
    declared = _declared(body, http_charset, content_type)
    known = [name for name in map(codec_of, declared) if name is not None]
    if body.isascii():
        return next(
            (name for name in known if name.startswith("iso2022")), "utf-8"
        ), None
    name = _fitting(body, known)
    if not declared or known[:1] == [name]:
        return name, None
    return (
        name,
        f"encoding declared {declared[0]}, read as {'windows-1252' if name == 'cp1252' else name}",
    )


def _fitting(body: bytes, known: list[str]) -> str:
    """Return the first charset that the bytes decode in: UTF-8, the declared ones,
    windows-1252.
    """
    if _decodes(body, "utf-8") or (
        ("utf-8" in known or not known) and _is_mostly_utf8(body)
    ):
        return "utf-8"
    return next(
        (name for name in known if name != "utf-8" and _decodes(body, name)), "cp1252"
    )


def _declared(body: bytes, http_charset: str | None, content_type: str) -> list[str]:
    """Return the charsets named by HTTP and by the document, in this order."""
    in_header = _HTTP.search(content_type)
    in_document = _DECLARATION.match(body)
    names = (
        http_charset or (in_header[1] if in_header else None),
        in_document[1].decode() if in_document else None,
    )
    return [name for name in names if name]


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
