"""The tree of a search with operators: what parts it has, and which of its words rank and
mark a hit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

ValueField = Literal["author", "publisher", "theme"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word in any inflection, lower-cased."""

    text: str
    in_title: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words next to each other, as written but for accents and case; folded."""

    words: tuple[str, ...]
    in_title: bool = False


@dataclass(frozen=True, slots=True)
class Prefix:
    """Words that begin with some letters, folded. `column` is where it stands."""

    start: str
    in_title: bool = False
    column: int = 1


@dataclass(frozen=True, slots=True)
class Near:
    """Two words or phrases that are at most `distance` words apart, in any order;
    neighbours are 1 apart.
    """

    left: "Node"
    right: "Node"
    distance: int


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value of the document's author, publisher or theme: a whole key or code
    (`value`), or words of a name; folded.
    """

    field: ValueField
    value: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Days:
    """Days of publication, inclusive; None is open. `recent` is a number of days that
    end today, in place of the first.
    """

    first: date | None = None
    last: date | None = None
    recent: int | None = None

    def first_day(self, today: date) -> date | None:
        """Return the first day; None if every earlier day passes."""
        if self.recent is None:
            return self.first
        return today - timedelta(days=self.recent - 1)


@dataclass(frozen=True, slots=True)
class Not:
    """What does not match a part."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class And:
    """What matches every part."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """What matches a part."""

    parts: tuple["Node", ...]


Written = Word | Phrase | Prefix  # what stands in a text
Node = Written | Near | FieldValue | Days | Not | And | Or


def written_parts(node: Node) -> Iterator[Written]:
    """Yield the words, phrases and prefixes that a hit may have, in their order; not
    those it must not have.
    """
    match node:
        case Word() | Phrase() | Prefix():
            yield node
        case Near(left, right):
            yield from written_parts(left)
            yield from written_parts(right)
        case And(parts) | Or(parts):
            for part in parts:
                yield from written_parts(part)


def words_of_part(part: Written) -> tuple[str, ...]:
    """Return the words of a part; of a prefix its letters."""
    match part:
        case Word(text):
            return (text,)
        case Phrase(words):
            return words
        case Prefix(start):
            return (start,)
