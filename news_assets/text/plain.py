"""Plain text from Markdown, as the search index stores it."""

import re

_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_LINE_PREFIX = re.compile(r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+|[-*+][ \t]+|>[ \t]?)?")
_RULE = re.compile(r"^[ \t]*(?:```.*|~~~.*|[-*_](?:[ \t]*[-*_]){2,}|\|?[ \t:|-]*-{3,}[ \t:|-]*)[ \t]*$")
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$")
_LINE_STARTS = frozenset("`~-*_|:#>+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}|`+|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def strip_markdown(text: str) -> str:
    """Return the text without the Markdown syntax of headings, lists, quotes, tables, links and emphasis."""
    if "](" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    text = "\n".join(map(_plain_line, text.split("\n")))
    if any(character in text for character in "*_`~"):  # most texts have none; _EMPHASIS takes 2/3 of the time
        text = _EMPHASIS.sub(r"\2", text)
    return _BLANK_LINES.sub("\n\n", text).strip()


def _plain_line(line: str) -> str:
    bare = line.lstrip(" \t")
    if bare[:1] not in _LINE_STARTS:
        return bare
    line = _TABLE_ROW.sub(lambda row: row[1].replace("|", " "), _RULE.sub("", line))
    return _LINE_PREFIX.sub("", line)
