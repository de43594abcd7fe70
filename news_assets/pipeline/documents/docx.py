"""Reads Word documents: headings, lists, tables, struck-out text, and tracked changes
with what they deleted.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from news_assets.pipeline.documents.document_kinds import open_archive
from news_assets.pipeline.page.markdown import (
    ADDED,
    STRUCK,
    Mark,
    marked,
    table,
)
from news_assets.records.reading import ReadDocument
from news_assets.text.limits import clean_text

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element


# --- numbers of lists, which Word counts when it shows them ---------------------------

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LEVEL = re.compile(r"%([1-9])")
_ROMAN: Final = (
    *((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX")),
    *((5, "V"), (4, "IV"), (1, "I")),
)
_MAX_LEVELS: Final = 9
_MAX_TEXT_CHARS, _MAX_DIGITS = 40, 6  # of what a file says about a level
_MAX_COUNTED: Final = 500  # longer lists go on with digits


@dataclass(frozen=True, slots=True)
class _Level:
    """How a level of a list is counted: the form of its numbers, the text around them,
    the first one.
    """

    form: str
    text: str
    start: int


@dataclass(slots=True)
class _ListNumbers:
    """Counts the paragraphs of lists in their order."""

    levels: dict[tuple[str, int], _Level]
    of_style: dict[str, tuple[str, int]]
    counts: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    @classmethod
    def of(cls, document: "Document") -> "_ListNumbers":
        """Return the counters of a document; one without lists numbers nothing."""
        styles: dict[str, tuple[str, int]] = {}
        for style in document.styles.element.style_lst:
            if (found := _list_of(style)) is not None:
                styles[style.styleId] = found
        return cls(_levels(document), styles)

    def _place_of(self, paragraph: "_Element") -> tuple[str, int] | None:
        """Return list and depth of a paragraph: its own, else what its style states."""
        place = _list_of(paragraph)
        if place is not None:
            return place
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        if style is None:
            return None
        return self.of_style.get(style.get(f"{_W}val") or "")

    def next_of(self, paragraph: "_Element") -> str:
        """Return the number of a paragraph, such as "IV." or "4.A"; empty where it has
        none.
        """
        place = self._place_of(paragraph)
        if place is None:
            return ""
        level = self.levels.get(place)
        if level is None:
            return ""
        key, depth = place
        counted = self.counts[key]
        counted[depth] = counted.get(depth, level.start - 1) + 1
        for below in [one for one in counted if one > depth]:
            del counted[below]
        return _LEVEL.sub(
            lambda match: self._number(key, int(match[1]) - 1), level.text
        )

    def _number(self, key: str, depth: int) -> str:
        level = self.levels.get((key, depth))
        if level is None:
            return ""
        number = self.counts[key].get(depth, 1)
        return _written(number, level.form)


def _list_of(owner: "_Element") -> tuple[str, int] | None:
    """Return the list and level that a paragraph or style names."""
    numbered = owner.find(f"{_W}pPr/{_W}numPr")
    if numbered is None:
        return None
    if (key := _value(numbered, "numId")) in ("", "0"):
        return None
    depth = _value(numbered, "ilvl")[:_MAX_DIGITS]
    return key, int(depth) if depth.isdigit() else 0


def _levels(document: "Document") -> dict[tuple[str, int], _Level]:
    try:
        root = document.part.numbering_part.element
    except (KeyError, NotImplementedError):  # the document has no lists
        return {}
    abstract = {
        one.get(f"{_W}abstractNumId"): one for one in root.iter(f"{_W}abstractNum")
    }
    levels: dict[tuple[str, int], _Level] = {}
    for number in root.iter(f"{_W}num"):
        key = number.get(f"{_W}numId") or ""
        definition = abstract.get(_value(number, "abstractNumId"))
        if definition is None:
            continue
        for depth, level in enumerate(definition.iter(f"{_W}lvl")):
            if depth < _MAX_LEVELS:
                levels[key, depth] = _level(level)
    return levels


def _level(element: Any) -> _Level:
    start = _value(element, "start")[:_MAX_DIGITS]
    form = _value(element, "numFmt")
    text = (
        ""
        if form in ("bullet", "none")
        else _value(element, "lvlText")[:_MAX_TEXT_CHARS]
    )
    return _Level(form=form, text=text, start=int(start) if start.isdigit() else 1)


def _value(owner: "_Element", name: str) -> str:
    found = owner.find(f"{_W}{name}")
    if found is not None:
        return found.get(f"{_W}val") or ""
    return ""


def _written(number: int, form: str) -> str:
    """Return a number in the form of a list."""
    if not 0 < number <= _MAX_COUNTED:
        return str(number)
    if form.endswith("Letter"):
        letter = chr(ord("A") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        if form.startswith("lower"):
            return letter.lower()
        return letter
    if form.endswith("Roman"):
        roman = _roman(number)
        if form.startswith("lower"):
            return roman.lower()
        return roman
    return str(number)


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


# What a reader of the newest format takes is in `Choice`; `Fallback` repeats it for
# older ones.
_REPEATED: Final = (
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
)
_MARKS: Final[dict[str, Mark]] = {
    f"{_W}ins": ADDED,
    f"{_W}moveTo": ADDED,
    f"{_W}del": STRUCK,
    f"{_W}moveFrom": STRUCK,
}
_SIGNS: Final = {
    f"{_W}tab": " ",
    f"{_W}br": "\n",
    f"{_W}cr": "\n",
    f"{_W}noBreakHyphen": "-",
}
_TEXTS: Final = (f"{_W}t", f"{_W}delText")
_WRAPPERS: Final = (
    f"{_W}sdt",
    f"{_W}sdtContent",
    f"{_W}customXml",
    f"{_W}ins",
    f"{_W}del",
)


def read_docx(body: bytes) -> ReadDocument:
    """Return the text of a Word document.

    Raises:
        ReadingError: It is no archive within the limits.
        Exception: Those of python-docx and lxml, for broken files.
    """
    import docx

    open_archive(body).close()
    document = docx.Document(BytesIO(body))
    text = "\n\n".join(
        filter(None, _blocks(document.element.body, _beginnings(document)))
    )
    return ReadDocument(
        kind="docx",
        outcome="ok",
        title=document.core_properties.title or None,
        texts=(clean_text(text),),
    )


def numbered_paragraphs(body: bytes) -> list[str]:
    """Return the paragraphs and table rows of a Word document with their numbers, an
    empty line after each.

    Raises:
        ReadingError: It is no archive within the limits.
        Exception: Those of python-docx and lxml, for broken files.
    """
    import docx

    open_archive(body).close()
    document = docx.Document(BytesIO(body))
    counters = _ListNumbers.of(document)
    lines: list[str] = []
    for text in _lines(document.element.body, counters):
        lines += [" ".join(text.split()), ""]
    return lines


def _lines(parent: "_Element", numbers: _ListNumbers) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_W}p":
            yield f"{numbers.next_of(child)} {_plain(child)}".strip()
        elif child.tag == f"{_W}tr":
            yield "  ".join(
                filter(None, (_cell(cell, numbers) for cell in child.iter(f"{_W}tc")))
            )
        elif child.tag in (*_WRAPPERS, f"{_W}tbl"):
            yield from _lines(child, numbers)


def _cell(cell: "_Element", numbers: _ListNumbers) -> str:
    return " ".join(_lines(cell, numbers)).strip()


def _plain(paragraph: "_Element") -> str:
    """Return the text of a paragraph without what is struck out."""
    return "".join(
        text for text, mark in _pieces(paragraph, "") if mark != STRUCK
    ).strip()


def _beginnings(document: "Document") -> dict[str, str]:
    """Return how paragraphs of a style begin, by its id; the names of built-in styles
    are English in every file.
    """
    beginnings = {}
    for style in document.styles.element.style_lst:
        name = (style.name_val or "").lower()
        if name == "title":
            beginnings[style.styleId] = "# "
        elif name.startswith("heading ") and name[8:].isdecimal():
            beginnings[style.styleId] = "#" * min(int(name[8:]) + 1, 6) + " "
        elif name.startswith(("list bullet", "list number")):
            beginnings[style.styleId] = "- "
    return beginnings


def _blocks(parent: "_Element", beginnings: dict[str, str]) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_W}p":
            yield _paragraph(child, beginnings)
        elif child.tag == f"{_W}tbl":
            yield _table(child)
        elif child.tag in _WRAPPERS:
            yield from _blocks(child, beginnings)


def _paragraph(paragraph: "_Element", beginnings: dict[str, str]) -> str:
    text = marked(_pieces(paragraph, "")).strip()
    if not text:
        return ""
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    beginning = ""
    if style is not None:
        beginning = beginnings.get(style.get(f"{_W}val") or "", "")
    if beginning.startswith("#"):
        return beginning + " ".join(text.split())
    is_item = beginning or paragraph.find(f"{_W}pPr/{_W}numPr") is not None
    return f"- {text}" if is_item else text


def _pieces(element: "_Element", mark: Mark) -> Iterator[tuple[str, Mark]]:
    """Yield the texts of an element in order, each with its mark."""
    for child in element:
        if child.tag in _TEXTS:
            yield child.text or "", mark
        elif child.tag in _SIGNS:
            yield _SIGNS[str(child.tag)], mark
        elif child.tag == f"{_W}r" and _is_struck(child):
            yield from _pieces(child, STRUCK)
        elif child.tag not in (_REPEATED, f"{_W}pPr", f"{_W}rPr"):
            yield from _pieces(child, _MARKS.get(str(child.tag), mark))
            if child.tag == f"{_W}p":  # of a text box or a cell
                yield "\n", mark


def _is_struck(run: "_Element") -> bool:
    found = [run.find(f"{_W}rPr/{_W}{name}") for name in ("strike", "dstrike")]
    return any(
        one is not None and one.get(f"{_W}val") not in ("0", "false", "off")
        for one in found
    )


def _table(element: "_Element") -> str:
    return table(
        [marked(_pieces(cell, "")) for cell in row.iter(f"{_W}tc")]
        for row in element.iter(f"{_W}tr")
    )
