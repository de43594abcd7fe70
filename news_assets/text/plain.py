"""Plain text from Markdown, as the search index stores it."""

import re

_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_LINE_PREFIX = re.compile(r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+|[-*+][ \t]+|>[ \t]?)?")
_RULE = re.compile(r"(?:```|~~~).*|(?:[-*_][ \t]*+){3,}+|(?=.*---)[|: \t-]++")
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$")
_LINE_STARTS = frozenset("`~-*_|:#>+")
# The text between two marks has no such mark in it, but underscores within words: no
# character is searched twice.
_EMPHASIS = re.compile(
    r"(?<![\w*`])(?:(\*{1,3})(?=\S)([^*\n]++)(?<=\S)\1|(_{1,3})(?=\S)((?:[^_\n]|(?<=\w)_++(?=\w))++)(?<=\S)\3"
    r"|(`++)(?=\S)([^`\n]++)(?<=\S)\5|(~~)(?=\S)([^~\n]++)(?<=\S)\7)(?![\w*])"
)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def strip_markdown(text: str) -> str:
    """Return the text without the Markdown syntax of headings, lists, quotes, tables,
    links and emphasis.
    """
    if "](" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    text = "\n".join(map(_plain_line, text.split("\n")))
    return _BLANK_LINES.sub("\n\n", strip_emphasis(text)).strip()


def strip_emphasis(text: str) -> str:
    """Return the text without the marks of emphasis and code within lines, two levels
    deep.
    """
    if any(mark in text for mark in "*_`~"):  # most texts have none
        text = _EMPHASIS.sub(r"\2\4\6\8", _EMPHASIS.sub(r"\2\4\6\8", text))
    return text


def _plain_line(line: str) -> str:
    bare = line.lstrip(" \t")
    if bare[:1] not in _LINE_STARTS:
        return bare
    if _RULE.fullmatch(bare.rstrip(" \t")):
        return ""
    return _LINE_PREFIX.sub(
        "", _TABLE_ROW.sub(lambda row: row[1].replace("|", " "), line)
    )
