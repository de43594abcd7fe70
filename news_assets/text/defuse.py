"""Text from outside, made safe for where it is shown: a terminal, a spreadsheet, a
Markdown viewer, XML or JSON.

Every output of the package passes one of these functions. They keep the meaning
readable and never fail.
"""

import re
from typing import Final

# Characters that a terminal obeys or that hide the order of a text: C0 and C1 controls,
# DEL, line and paragraph separators, bidirectional controls (CVE-2021-42574), the byte
# order mark, tags, and halves of surrogate pairs.
_HIDDEN: Final = (
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
    *range(0xE0000, 0xE0080),
)
# One visible character for each, so that positions in a text stay the same: U+241B for
# Escape.
_VISIBLE: Final = (
    dict.fromkeys(_HIDDEN, "\ufffd")
    | {code: chr(0x2400 + code) for code in range(0x20)}
    | {0x7F: "\u2421"}
)
_ONE_LINE: Final = _VISIBLE | dict.fromkeys(map(ord, "\t\n\r\x85\u2028\u2029"), " ")
# What XML 1.0 cannot hold, and with it XLSX.
_XML: Final = {
    code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"
} | dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")

_ESCAPED_IN_JSON: Final = re.compile("[" + "".join(map(chr, _HIDDEN)) + "]")
# What a spreadsheet reads as a formula
# (https://owasp.org/www-community/attacks/CSV_Injection), also in full width, and after
# blanks or invisible characters, which some programs skip.
_FORMULA: Final = re.compile(
    r"[\t\r\n]|[\s\x00-\x1f\u00ad\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠﹢﹣﹦﹫−]"
)
_MARKDOWN: Final = re.compile(r"([\\`*\[\]<!|])")


def terminal_line(text: str) -> str:
    """Return a text as one line for a terminal: blanks for line breaks and tabs,
    visible signs for other controls.

    Each character is replaced by one character.
    """
    return text.translate(_ONE_LINE)


def spreadsheet_cell(value: str) -> str:
    """Return a text as a cell of a CSV or XLSX file: with `'` before what would be read
    as a formula.

    Numbers are not texts: pass them to the file as they are, so that -1 stays a number.
    Controls that XLSX cannot hold become visible signs.
    """
    text = value.translate(_XML)
    if _FORMULA.match(value):
        return f"'{text}"
    return text


def xml_text(text: str) -> str:
    """Return a text with visible signs for the characters that XML 1.0 cannot hold."""
    return text.translate(_XML)


def markdown_text(text: str) -> str:
    """Return a text as one line of Markdown without links, images, tags and further
    cells.
    """
    return _MARKDOWN.sub(r"\\\1", terminal_line(text))


def json_line(json: str) -> str:
    r"""Return a JSON text with controls, separators and lone surrogates as `\u` escapes:
    the same value when parsed.
    """
    if json.isprintable():  # has none of them; to look for them takes 8 ms in 100 kB
        return json
    return _ESCAPED_IN_JSON.sub(lambda match: _u_escape(match[0]), json)


def _u_escape(text: str) -> str:
    """Return the characters as JSON escapes, those beyond U+FFFF as surrogate pairs."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2)
    )


def escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    r"""Handle characters that a stream's encoding lacks as `\u` escapes, which are valid
    in JSON.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _u_escape(error.object[error.start : error.end]), error.end
