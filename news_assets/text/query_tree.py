"""The tree of a search with operators: what parts it has, which of its words rank and
mark a hit, and whether a document matches it. An index may use a faster way to find
candidates. `query_parser` reads the tree from a text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Literal

from news_assets.ports.search_index import SearchDocument
from news_assets.text.words import fold, stem, words

# if fewer documents have every word, those with some of the words match as well
ENOUGH_MATCHES = 10

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


MAX_TEXT_WORDS = 20_000  # a longer text is found by its first 20,000 words


def secondary_text(document: SearchDocument) -> str:
    """Return what is searched besides title and text: summary, section, tags and
    keywords.
    """
    return f"{document.summary or ''}\n{labels(document)}"


def labels(document: SearchDocument) -> str:
    """Return section, tags and keywords, one a line."""
    return "\n".join((document.section or "", *document.tags, *document.keywords))


_FieldValues = Mapping[ValueField, frozenset[str]]
_Places = Mapping[str, list[int]]  # of the words of one text, in order
_Span = tuple[int, int]  # the places of the first and the last word


@dataclass(frozen=True)
class Searchable:
    """A document as operators see it.

    `rest` is what is searched beside title and text. `values` are those of fields, as
    `field_values` makes them.
    """

    language: str | None
    day: date
    title: str
    text: str
    rest: str = ""
    values: _FieldValues = field(default_factory=dict)

    @cached_property
    def title_places(self) -> _Places:
        """The places of each word of the title, lower-cased."""
        return _places(self.title)

    @cached_property
    def all_places(self) -> tuple[_Places, ...]:
        """The places of each word of title, text and rest."""
        return self.title_places, _places(self.text), _places(self.rest)

    @cached_property
    def title_stems(self) -> frozenset[str]:
        """The stems of the title in the language of the document."""
        return frozenset(stem(word, self.language) for word in self.title_places)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of title, text and rest in the language of the document."""
        found: set[str] = set()
        for places in self.all_places:
            found.update(stem(word, self.language) for word in places)
        return frozenset(found)

    def places(self, *, in_title: bool) -> tuple[_Places, ...]:
        """Return the places of words by text: of all texts, or of the title alone."""
        return (self.title_places,) if in_title else self.all_places


def _places(text: str) -> _Places:
    found: dict[str, list[int]] = {}
    for place, word in enumerate(words(text)[:MAX_TEXT_WORDS]):
        found.setdefault(word, []).append(place)
    return found


def searchable_of(document: SearchDocument) -> Searchable:
    """Return a document as operators see it; its text is without Markdown."""
    return Searchable(
        language=document.language,
        day=document.day,
        title=document.title,
        text=document.text,
        rest=secondary_text(document),
        values=field_values(document),
    )


def field_values(document: SearchDocument) -> _FieldValues:
    """Return what `author:`, `publisher:` and `theme:` find: each whole name, key or
    code, and the words of names; folded.
    """
    publisher = _values([document.agency_name]) | {_folded(document.agency)}
    return {
        "author": _values(document.authors),
        "publisher": publisher,
        "theme": _values([*document.theme_path, *document.theme_labels]),
    }


def _values(names: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        found.add(_folded(name))
        if any(map(str.isalpha, name)):
            found.update(map(fold, words(name)))
    return frozenset(found)


def _folded(value: str) -> str:
    return fold(" ".join(value.lower().split()))


def _has_value(wanted: FieldValue, values: frozenset[str]) -> bool:
    """Return whether the values of a field have this one, or all its words."""
    if wanted.value in values:
        return True
    if not wanted.words:
        return False
    return values.issuperset(wanted.words)


def matches(node: Node, document: Searchable, today: date) -> bool:
    """Return whether a document matches; `today` ends what `date:7d` counts."""

    def decide(part: Node) -> bool:
        match part:
            case FieldValue(field):
                return _has_value(part, document.values.get(field, frozenset()))
            case Days():
                return _is_within(part, document.day, today)
            case _:
                return has_text(part, document)

    return holds(node, decide)


def holds(node: Node, decide: Callable[[Node], bool]) -> bool:
    """Return whether a tree is true. `decide` returns it for the parts without AND, OR
    and NOT.
    """
    match node:
        case And(parts):
            return all(holds(part, decide) for part in parts)
        case Or(parts):
            return any(holds(part, decide) for part in parts)
        case Not(part):
            return not holds(part, decide)
        case _:
            return decide(node)


def _is_within(days: Days, day: date, today: date) -> bool:
    """Return whether a day is one of these."""
    first = days.first_day(today) or date.min
    last = days.last or date.max
    return first <= day <= last


def has_text(node: Node, document: Searchable) -> bool:
    """Return whether a document has a word, a phrase, a beginning, or words near each
    other.
    """
    in_title = any(part.in_title for part in written_parts(node))
    if isinstance(node, Word):
        stems = document.title_stems if in_title else document.stems
        return stem(node.text, document.language) in stems
    texts = document.places(in_title=in_title)
    return any(_spans(node, text, document.language) for text in texts)


def _spans(node: Node, text: _Places, language: str | None) -> list[_Span]:
    """Return where a part stands in a text, in order; of NEAR the spans of its left
    side.
    """
    match node:
        case Word(written):
            wanted = stem(written, language)
            return _single(text, lambda word: stem(word, language) == wanted)
        case Prefix(start):
            return _single(text, lambda word: fold(word).startswith(start))
        case Phrase(written):
            return _spans_of_phrase(written, text)
        case Or(parts):
            found: set[_Span] = set()
            for part in parts:
                found.update(_spans(part, text, language))
            return sorted(found)
        case Near(left, right, distance):
            firsts = _spans(left, text, language)
            others = _spans(right, text, language) if firsts else []
            return _near(firsts, others, distance)
    return []


def _single(text: _Places, is_wanted: Callable[[str], bool]) -> list[_Span]:
    found: list[int] = []
    for word, places in text.items():
        if is_wanted(word):
            found += places
    return [(place, place) for place in sorted(found)]


def _spans_of_phrase(phrase: tuple[str, ...], text: _Places) -> list[_Span]:
    """Return where the words stand next to each other."""
    starts = set[int]()
    for offset, written in enumerate(phrase):
        spans = _single(text, lambda word: fold(word) == written)  # noqa: B023 - runs at once
        shifted = {place - offset for place, _ in spans}
        starts = starts & shifted if offset else shifted
        if not starts:
            return []
    return [(start, start + len(phrase) - 1) for start in sorted(starts)]


def _near(lefts: list[_Span], rights: list[_Span], distance: int) -> list[_Span]:
    """Return the left spans that end, or begin, at most `distance` words from a right
    one without overlapping it.
    """
    starts = [start for start, _ in rights]
    ends = sorted(end for _, end in rights)
    found: list[_Span] = []
    for left in lefts:
        start, end = left
        after = bisect_right(starts, end)
        before = bisect_left(ends, start) - 1
        is_before = after < len(starts) and starts[after] - end <= distance
        if is_before or (before >= 0 and start - ends[before] <= distance):
            found.append(left)
    return found
