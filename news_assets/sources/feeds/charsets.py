"""Which charset a document is really in: bytes and what is said of them in, a charset name out.

What HTTP says comes before what the document says (RFC 7303, section 3.2), but neither is believed against the bytes:
a byte order mark wins, and text that is valid UTF-8 beyond ASCII is UTF-8. Reading a document belongs to the adapters.
"""

import codecs
import re
from typing import Final

from news_assets.text.charset import codec_of

_DECLARED = re.compile(rb"""^[^<]{0,200}<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})""")
_HTTP = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0<", "utf-16-be"),
    (b"<\0", "utf-16-le"),
)


def decoded(body: bytes, http_charset: str | None, content_type: str) -> tuple[str, str | None]:
    """Return the text of an XML document and, where its charset was not what was said, a reason. Never raises."""
    name, problem = charset_of(body, http_charset, content_type)
    text = body.decode(name, "replace")
    if problem is None and "\ufffd" in text and not _decodes(body, name):
        problem = f"some bytes are no {name} and were replaced"
    return text, problem


def charset_of(body: bytes, http_charset: str | None, content_type: str) -> tuple[str, str | None]:
    """Return Python's name of the charset, and a reason where it is not the one that was said first."""
    marked = next((name for mark, name in _MARKS if body.startswith(mark)), None)
    if marked is not None:
        return marked, None
    said = _said(body, http_charset, content_type)
    known = [name for name in map(codec_of, said) if name is not None]
    if body.isascii():
        return next((name for name in known if name.startswith("iso2022")), "utf-8"), None
    name = _fitting(body, known)
    return name, _differing(said[0], name) if said and known[:1] != [name] else None


def _fitting(body: bytes, known: list[str]) -> str:
    """Return the first charset that the bytes can be read in: UTF-8, then what was said, then windows-1252."""
    if _decodes(body, "utf-8") or (("utf-8" in known or not known) and _is_mostly_utf8(body)):
        return "utf-8"
    return next((name for name in known if name != "utf-8" and _decodes(body, name)), "cp1252")


def _said(body: bytes, http_charset: str | None, content_type: str) -> list[str]:
    """Return the charsets that HTTP and the document name, in this order."""
    in_header = _HTTP.search(content_type)
    in_document = _DECLARED.match(body)
    names = (http_charset or (in_header[1] if in_header else None), in_document[1].decode() if in_document else None)
    return [name for name in names if name]


def _decodes(body: bytes, name: str) -> bool:
    try:
        body.decode(name)
    except (UnicodeError, LookupError):  # LookupError: hex and zip are codecs too, but not of text
        return False
    return True


def _is_mostly_utf8(body: bytes) -> bool:
    """Whether more characters beyond ASCII are valid UTF-8 than broken: damaged, and not another charset."""
    beyond_ascii = re.sub(rb"[\x00-\x7f]+", b" ", body).decode("utf-8", "replace")
    return len(beyond_ascii.replace(" ", "")) > 2 * beyond_ascii.count("\ufffd")


def _differing(said: str, used: str) -> str:
    return f"encoding declared {said}, read as {'windows-1252' if used == 'cp1252' else used}"
