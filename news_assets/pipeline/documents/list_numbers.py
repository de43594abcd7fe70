"""Numbers of the lists of a Word document, which are not part of its text but counted
when it is shown.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element

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
class ListNumbers:
    """Counts the paragraphs of lists in their order."""

    levels: dict[tuple[str, int], _Level]
    of_style: dict[str, tuple[str, int]]
    counts: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    @classmethod
    def of(cls, document: "Document") -> "ListNumbers":
        """Return the counters of a document; one without lists numbers nothing."""
        styles: dict[str, tuple[str, int]] = {}
        for style in document.styles.element.style_lst:
            if (found := _list_of(style)) is not None:
                styles[style.styleId] = found
        return cls(_levels(document), styles)

    def next_of(self, paragraph: "_Element") -> str:
        """Return the number of a paragraph, such as "IV." or "4.A"; empty where it has
        none.
        """
        place = _list_of(paragraph)
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        if place is None and style is not None:
            place = self.of_style.get(style.get(f"{_W}val") or "")
        level = self.levels.get(place) if place else None
        if place is None or level is None:
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
        return _written(self.counts[key].get(depth, 1), level.form) if level else ""


def _list_of(owner: "_Element") -> tuple[str, int] | None:
    """Return the list and level that a paragraph or style names."""
    numbered = owner.find(f"{_W}pPr/{_W}numPr")
    if numbered is None or (key := _value(numbered, "numId")) in ("", "0"):
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
        for depth, level in enumerate(
            () if definition is None else definition.iter(f"{_W}lvl")
        ):
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
    return (found.get(f"{_W}val") or "") if found is not None else ""


def _written(number: int, form: str) -> str:
    """Return a number in the form of a list."""
    if not 0 < number <= _MAX_COUNTED:
        return str(number)
    if form.endswith("Letter"):
        letter = chr(ord("A") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.lower() if form.startswith("lower") else letter
    if form.endswith("Roman"):
        roman = _roman(number)
        return roman.lower() if form.startswith("lower") else roman
    return str(number)


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written
