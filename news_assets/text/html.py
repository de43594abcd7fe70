"""Decodes HTML pages in their real charset, and converts markup of feeds and pages to
plain text or to safe HTML.

The order of charsets is the browsers': byte order mark, HTTP header, `<meta>`,
detection. But bytes that are valid UTF-8 are UTF-8, because declared charsets are often
wrong and text in other charsets is almost never valid UTF-8. XML declarations are read
by `sources/xml_documents.py`.
"""

import codecs
import html
import re
from functools import partial

import nh3

from news_assets.text.limits import clean_line, clean_text, most

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


# --- plain text and safe HTML ---------------------------------------------------------

_BLOCK = re.compile(
    r"<(?:/?(?:address|article|aside|blockquote|dd|div|dl|dt|fieldset|figcaption|figure|footer|h[1-6]|header|hr|li|main|nav"
    r"|ol|p|pre|section|table|td|th|tr|ul)|br)\b",
    re.IGNORECASE,
)
# Only tags known to HTML: `List<String>` and `a < b` are text.
_TAG = re.compile(
    r"<(?:!--|/?(?:a|abbr|acronym|address|area|article|aside|audio|b|base|big|blink|blockquote|body|br|button|canvas|center"
    r"|cite|code|col|colgroup|data|dd|del|details|dfn|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame"
    r"|frameset|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|math|meta|nav"
    r"|noscript|object|ol|optgroup|option|p|param|picture|pre|q|rp|rt|ruby|s|samp|script|section|select|small|source|span"
    r"|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul"
    r"|var|video|wbr)(?=[\s/>]))",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_DROPPED_WITH_CONTENT = {
    "iframe",
    "noscript",
    "object",
    "script",
    "style",
    "template",
    "textarea",
    "title",
}
# parsing takes quadratic time in the depth: 0.3 s for so many nested tags, 30 s for ten
# times more
_MAX_TAGS = 10_000


def plain_text(markup: str) -> str:
    """Return the text of a piece of HTML on one line: tags and entities resolved,
    scripts dropped, spaces collapsed.

    Text that was escaped twice, as feed titles often are (`&amp;lt;b&amp;gt;`,
    `Caf&amp;eacute;`), is resolved twice. A `<` that does not open a tag is kept: "3 <
    4".
    """
    text = _cut(markup)
    for _ in range(2):
        if "<" in text and _TAG.search(text):
            text = _without_tags(text)
        if "&" not in text:
            break
        escaped, text = text, html.unescape(text)
        if text == escaped:
            break
        if not (_TAG.search(text) or _ENTITY.search(text)):
            break
    return clean_line(text)


def sanitize(markup: str, base: str | None = None) -> str:
    """Return HTML that is safe to show: no scripts, handlers, styles, forms or frames.

    Only http(s) and mailto links are kept. Relative links are made absolute if `base`
    is an address, else kept as they are.
    """
    clean = partial(
        nh3.clean,
        _cut(markup),
        clean_content_tags=_DROPPED_WITH_CONTENT,
        url_schemes={"http", "https", "mailto"},
    )
    if not base:
        return clean_text(clean(url_relative="pass_through")).strip()
    try:
        safe = clean(url_relative=("rewrite_with_base", base))
    except ValueError:  # nh3 rejects a base that is not a strict URL
        safe = clean(url_relative="pass_through")
    return clean_text(safe).strip()


def _without_tags(text: str) -> str:
    """Return text without tags, entities still escaped, with a space at block
    boundaries.
    """
    spaced = _BLOCK.sub(lambda match: f" {match[0]}", text)
    return nh3.clean(spaced, tags=set(), clean_content_tags=_DROPPED_WITH_CONTENT)


def _cut(markup: str) -> str:
    """Return the markup without control characters and lone surrogates, cut at the
    limits.
    """
    text = clean_text(markup[: most("markup")])
    if text.count("<") < _MAX_TAGS:
        return text
    return "<".join(text.split("<", _MAX_TAGS)[:_MAX_TAGS])
