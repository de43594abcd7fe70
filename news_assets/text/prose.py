"""Plain text of an article's Markdown: as a whole for the search index, or split into
paragraphs and sentences, verbatim except for the markup; and the language of a text, as
a tag of BCP 47.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_LINE_PREFIX = re.compile(r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+|[-*+][ \t]+|>[ \t]?)?")
_RULE = re.compile(r"(?:```|~~~).*|(?>(?:[-*_][ \t]*+){3,})|(?=.*---)[|: \t-]++")
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$")
_LINE_STARTS = frozenset("`~-*_|:#>+")
# The text between two marks has no such mark in it, but underscores within words: no
# character is searched twice.
_EMPHASIS = re.compile(
    r"(?<![\w*`])(?:(\*{1,3})(?=\S)([^*\n]++)(?<=\S)\1|(_{1,3})(?=\S)((?>(?:[^_\n]|(?<=\w)_++(?=\w))+))(?<=\S)\3"
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


# --- paragraphs and sentences ---------------------------------------------------------


_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_ANY_IMAGE = re.compile(r"!\[[^\]\n]{0,500}\](?:\([^)\n]{0,2000}\)?)?")
_ANY_LINK = re.compile(
    r"\[([^\[\]\n]{0,1000})\]\((?:[^()\n]|\([^()\n]{0,200}\)){0,2000}\)?"
)
_ADDRESS = re.compile(
    r"<?(?:https?://|www\.)[^\s<>]+>?|\b[\w.+-]{1,64}@[\w.-]{1,255}\b", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])")
_UNDERLINED = re.compile(r"^[^\n]{1,300}\n[ \t]*(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)
_ANY_RULE = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$", re.MULTILINE)
_ANY_PREFIX = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|(?:>[ \t]?)+|[-*+•–][ \t]+|\d{1,3}[.)][ \t]+)",
    re.MULTILINE,
)
_NO_PROSE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\||[-*+•][ \t]|\d{1,3}[.)][ \t])")
_SHARING = re.compile(
    r"^[^\w\n]*(?:compartilh(?:e|ar)|share)\b(?:[ \t]*:|["
    r" \t]+(?:por|no|on|via|this|em|com)\b)?[^.\n]{0,60}$",
    re.M | re.I,
)
_BOLD_LINE = re.compile(r"[ \t]*(\*\*|__)[^*_\n]{1,120}\1:?[ \t]*$")

# A dot after one of these ends a sentence only at the end of the line: Portuguese,
# English, Spanish.
_ABBREVIATION_LIST = """al art arts av cap capt cel cf cia cmdr col corp deps dept des
dr dra drs drª ed eng exa exmo
    fev fig figs gen gov hon inc incl jr km lt ltd ltda maj messrs mr mrs ms mt nº nos
    obs pág págs pe pp prof profa
    profª reps rev sen sens sgt sr sra sras srs srª st sta ste sto tel tte ud uds univ vs"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())
# Abbreviations only before a number.
_BEFORE_NUMBERS = frozenset(("no", "n", "p", "par", "vol", "op", "fl", "fls", "sec"))
_STOP = re.compile(r"""(?<![.!?…])[.!?…]{1,9}["'”’»)\]]{0,4}(?=\s)""")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]+$")
_NEAR_CHARS = 24  # examined on either side of a stop
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def prose(text: str) -> str:
    """Return a text without markup, images, addresses, code and rules; the text of
    links is kept.
    """
    bare = _FENCE.sub("", text)
    bare = _ANY_RULE.sub("", bare)
    bare = _ANY_PREFIX.sub("", _unmarked(bare))
    bare = _SHARING.sub("", bare)
    return bare.replace("|", " ")


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of running text, each on one line, without headings,
    tables, list items and code.
    """
    found: list[str] = []
    is_open = False
    for line in _FENCE.sub("\n", _UNDERLINED.sub("\n", text)).splitlines():
        bare = _prose_of_line(line)
        if is_open and bare[:1].islower():
            found[-1] = f"{found[-1]} {bare}"  # a line wrapped within a sentence
        elif bare:
            found.append(bare)
        is_open = bare != "" and bare[-1] not in '.!?…:"”»'
    return found


def _prose_of_line(line: str) -> str:
    """Return a line without markup; empty if it is none of running text."""
    if _NO_PROSE.match(line):
        return ""
    if _BOLD_LINE.match(line):
        return ""
    bare = " ".join(_unmarked(line).split())
    return _SHARING.sub("", bare.lstrip("> "))


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of one paragraph, verbatim. Dr., art. 5º, U.S. and R$ 1.5 do
    not end one.
    """
    found, start = [], 0
    for stop in _STOP.finditer(paragraph):
        if _ends_sentence(paragraph, stop):
            found.append(paragraph[start : stop.end()].strip())
            start = stop.end()
    found.append(paragraph[start:].strip())
    return [sentence for sentence in found if sentence]


def _unmarked(text: str) -> str:
    if "[" in text:
        text = _ANY_LINK.sub(r"\1", _ANY_IMAGE.sub("", text))
    if "<" in text:
        text = _TAG.sub(" ", text)
    text = strip_emphasis(_ADDRESS.sub("", text))
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    return text


def _ends_sentence(paragraph: str, stop: re.Match[str]) -> bool:
    start, end = stop.span()
    after = paragraph[end : end + _NEAR_CHARS].lstrip("\"'“‘«([¿¡—–- \t")
    following = after[:1]
    if following.islower():
        return False
    if stop[0] != ".":
        return True
    last = _LAST_WORD.search(paragraph[max(0, start - _NEAR_CHARS) : start])
    if last is None:
        return True
    word = last[0].casefold()
    if word in _BEFORE_NUMBERS:
        return not following.isdigit()
    if word in _ABBREVIATIONS:
        return False
    return not _INITIALS.fullmatch(last[0])


# --- language -------------------------------------------------------------------------

_READ_CHARS = 1000  # measured on 813 news texts: no errors from 200 characters on
# below, one text in twenty is detected as a related language (gl for pt)
_MIN_CHARS = 60
_SURE = 0.5  # with a hint; below this certainty the hint is right more often
_SURE_ALONE = 0.25  # without one
_HINT = re.compile(
    r"\s*([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?(?![A-Za-z\d])"
)
_NO_LANGUAGE = {"mul", "und", "zxx"}
_SAME = {
    "bb": "nb",
    "no": "nb",
    "nn": "nb",
    "iw": "he",
    "in": "id",
    "wuu": "zh",
    "yue": "zh",
    "pcm": "en",
}
# Close relatives of a widely written language, which were always wrong for long news
# texts.


def language_of(text: str, hint: str | None = None) -> str | None:
    """Return the language as BCP 47, such as `pt-BR`; None if it is unknown.

    A hint (the page's `lang`, the desk's language) wins for short and uncertain texts,
    and its region is kept if the detected language agrees with it.
    """
    stated = language_tag(hint)
    sample = " ".join(text[: 4 * _READ_CHARS].split())[:_READ_CHARS]
    if not sample:
        return stated
    if stated and len(sample) < _MIN_CHARS:
        return stated
    found, certainty = _identifier().classify(sample)
    sure = _SURE if stated else _SURE_ALONE
    if found in _NO_LANGUAGE:
        return stated
    if certainty < sure:
        return stated
    if stated and _primary(stated) == _primary(found):
        return stated
    return str(found)


def language_tag(stated: str | None) -> str | None:
    """Return a language tag normalised to BCP 47: `pt_br` and `pt-BR.UTF-8` give
    `pt-BR`; None if it is not one.
    """
    match = _HINT.match(stated or "")
    if match is None:
        return None
    if match[1].lower() in _NO_LANGUAGE:
        return None
    language, script, region = (part or "" for part in match.groups())
    parts = (language.lower(), script.title(), region.upper())
    return "-".join(filter(None, parts))


def _primary(tag: str) -> str:
    name = tag.partition("-")[0]
    return _SAME.get(name, name)


@lru_cache(maxsize=1)
def _identifier() -> "LanguageIdentifier":
    """Load the model: 0.5 s and 30 MB, once."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
