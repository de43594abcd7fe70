"""Reads the text of a search: `parse_operators` gives the tree of one with operators, and
`parse_query` the words, phrases and exclusions of one without. Each mistake is named with
its column.

    either  = every {"OR" every}
    every   = near {["AND"] near}
    near    = one {"NEAR/5" one}
    one     = ["-" | "NOT"] [field ":"] (word | word "*" | "quoted words" | "(" either ")")

The operators are in capitals; a field and its value, a minus and what it excludes are
not separated by a space. A text without operators has "quoted phrases" and a leading
minus at most. The time is linear in the length of the text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import NamedTuple, cast, get_args

from news_assets.errors import QueryError
from news_assets.text.query_tree import (
    And,
    Days,
    FieldValue,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Prefix,
    ValueField,
    Word,
    words_of_part,
    written_parts,
)
from news_assets.text.words import fold, stopwords, words

MAX_QUERY_CHARS = 4_000
MAX_WORDS = 32  # enough for a pasted article to find itself
_MAX_PARTS = 64  # words, phrases and fields of a text with operators
MAX_DEPTH = 16  # of brackets
_MAX_DISTANCE = 100  # words
_MIN_PREFIX_CHARS = 3
_MAX_DAYS = 36_500

_VALUE_FIELDS = get_args(ValueField)
_FIELDS = ("title", *_VALUE_FIELDS, "date")

_UNCLOSED_BRACKET = "the bracket is never closed; add a )"
_UNOPENED_BRACKET = "no bracket was opened before this one; leave it out"
_UNCLOSED_QUOTE = 'the quotation mark is never closed; add a "'
_UNKNOWN_FIELD = "there is no field {name}; the fields are {fields}"
_NESTED_FIELD = "{name} is within another field; take it out of the brackets"
_NO_NUMBER = "NEAR needs a number of words from 1 to 100, as in NEAR/5"
_NO_TEXT = "NEAR stands between words or phrases"
_NOTHING_BEFORE = "{operator} has nothing before it"
_NOTHING_AFTER = "{operator} has nothing after it"
_NO_DATE = (
    "{value} is no date; write date:7d, date:2026-11-01 or date:2026-11-01..2026-11-07"
)
_SHORT_PREFIX = "write at least 3 letters before the *"
WIDE_PREFIX = "more than {count} words begin with {start}; write more letters"
_TOO_MANY_PARTS = "a search with operators has at most {count} words"
_TOO_DEEP = "brackets are at most {count} deep"
TOO_LONG = "the search server takes no more operators in one search; leave some out"
PROBLEMS = (
    _UNCLOSED_BRACKET,
    _UNOPENED_BRACKET,
    _UNCLOSED_QUOTE,
    _UNKNOWN_FIELD,
    _NESTED_FIELD,
    _NO_NUMBER,
    _NO_TEXT,
    _NOTHING_BEFORE,
    _NOTHING_AFTER,
    _NO_DATE,
    _SHORT_PREFIX,
    WIDE_PREFIX,
    _TOO_MANY_PARTS,
    _TOO_DEEP,
    TOO_LONG,
)


def parse_operators(text: str) -> Node | None:
    """Return the tree of a text with operators; None for a text without them, and for
    one of more than `MAX_QUERY_CHARS`, which is a pasted text.

    Raises:
        QueryError: The first mistake.
    """
    if len(text) > MAX_QUERY_CHARS:
        return None
    reader = _Reader(_lexemes(text))
    found = reader.whole()
    return found if reader.has_operators else None


def plain_words(text: str) -> str:
    """Return the text that the meaning of a search is in: of one with operators the
    words that a hit may have. Raises QueryError.
    """
    tree = parse_operators(text)
    if tree is None:
        return text
    found: list[str] = []
    for part in written_parts(tree):
        found += words_of_part(part)
    return " ".join(found)


def has_meaning(text: str) -> bool:
    """Return whether a search can be by meaning: it has words. Raises QueryError."""
    return bool(plain_words(text).strip())


# --- lexemes --------------------------------------------------------------------------


# a headline may end a quotation by a typographic mark
_LEXEME = re.compile(r'"[^"]*"|"[^"”]*”|["()]|[^\s()"]+')
_FIELD = re.compile(r"([^\W\d_]+):(?!/)(.*)")
_NEAR = re.compile(r"NEAR(?:/(.*))?")
_PREFIX = re.compile(r"[^\W\d_][^\W_]*\*")


class _Lexeme(NamedTuple):
    """A word with the signs around it, a quotation, or a bracket. `is_glued`: no space
    is before it, and no bracket that opens.
    """

    text: str
    column: int
    is_glued: bool


_END = _Lexeme("", 0, is_glued=False)
# what ends a row of parts, before which no part begins
_ENDS_EITHER = ("OR", ")", "")
_BEGINS_NO_PART = ("OR", "AND", ")", "")


def _lexemes(text: str) -> list[_Lexeme]:
    """Return the lexemes of a text; a minus before another lexeme is one of its own."""
    found: list[_Lexeme] = []
    end = 0
    for match in _LEXEME.finditer(text):
        written = match[0]
        at = match.start()
        is_glued = at == end > 0 and found[-1].text != "("
        if not is_glued and len(written) > 1 and written[0] == "-":
            found.append(_Lexeme("-", at + 1, is_glued=False))
            written = written[1:]
            at = at + 1
            is_glued = True
        found.append(_Lexeme(written, at + 1, is_glued))
        end = match.end()
    return found


# --- the grammar ----------------------------------------------------------------------


class _Reader:
    """A recursive descent over lexemes. `has_operators` is known at the end."""

    def __init__(self, lexemes: Sequence[_Lexeme]) -> None:
        self._lexemes = lexemes
        self._at = 0
        self._field = ""  # whose value is being read
        self._part_count = 0
        self._depth = 0
        self.has_operators = False

    def whole(self) -> Node | None:
        """Return the tree; None without words."""
        found = self._either()
        if self._at < len(self._lexemes):
            raise QueryError(_UNOPENED_BRACKET, self._next().column)
        if self._part_count > _MAX_PARTS and self.has_operators:
            last = self._lexemes[-1].column
            raise QueryError(_TOO_MANY_PARTS, last, count=_MAX_PARTS)
        return found

    def _next(self) -> _Lexeme:
        if self._at < len(self._lexemes):
            return self._lexemes[self._at]
        return _END

    def _take(self) -> _Lexeme:
        self._at += 1
        return self._lexemes[self._at - 1]

    def _either(self) -> Node | None:
        sides = [self._every()]
        while self._next().text == "OR":
            operator = self._operator(has_left=sides[-1] is not None)
            sides.append(self._needed(self._every(), operator))
        return _joined(Or, sides)

    def _operator(self, *, has_left: bool) -> _Lexeme:
        taken = self._take()
        self.has_operators = True
        if not has_left:
            raise QueryError(_NOTHING_BEFORE, taken.column, operator=taken.text)
        return taken

    def _needed(self, found: Node | None, before: _Lexeme) -> Node:
        if found is None:
            raise QueryError(_NOTHING_AFTER, before.column, operator=before.text)
        return found

    def _every(self) -> Node | None:
        parts: list[Node | None] = []
        while self._next().text not in _ENDS_EITHER:
            if self._next().text == "AND":
                operator = self._operator(has_left=any(parts))
                parts.append(self._needed(self._near(), operator))
            else:
                parts.append(self._near())
        return _joined(And, parts)

    def _near(self) -> Node | None:
        """Return one part, or the pairs of neighbours in a row of NEAR."""
        if self._next().text in _BEGINS_NO_PART:
            return None
        left = None if _is_near(self._next()) else self._one()
        pairs: list[Node | None] = []
        while _is_near(self._next()):
            operator = self._operator(has_left=left is not None)
            distance = _distance(operator)
            right = None if _is_near(self._next()) else self._side_of_near()
            right = self._needed(right, operator)
            pairs.append(Near(_text(left, operator), _text(right, operator), distance))
            left = right
        return _joined(And, pairs) if pairs else left

    def _side_of_near(self) -> Node | None:
        if self._next().text in _BEGINS_NO_PART:
            return None
        return self._one()

    def _one(self) -> Node | None:
        taken = self._take()
        if taken.text == '"':
            raise QueryError(_UNCLOSED_QUOTE, taken.column)
        if taken.text == "(":
            return self._group(taken)
        if taken.text == "NOT":
            return self._excluded(taken)
        if taken.text == "-" and self._next().is_glued:
            return self._excluded(taken)
        name, value = _field_of(taken)
        if name:
            return self._of_field(name, value, taken)
        return self._leaf(taken)

    def _group(self, opened: _Lexeme) -> Node | None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise QueryError(_TOO_DEEP, opened.column, count=MAX_DEPTH)
        found = self._either()
        if self._next().text != ")":
            raise QueryError(_UNCLOSED_BRACKET, opened.column)
        self._take()
        self._depth -= 1
        return found

    def _excluded(self, sign: _Lexeme) -> Node | None:
        """Return what a minus or NOT excludes; a word or phrase outside of brackets is
        excluded in a text without operators too.
        """
        following = self._next()
        is_word = sign.text == "NOT"
        if any((is_word, following.text == "(", self._depth)):
            self.has_operators = True
        part = None
        if following.text not in (*_BEGINS_NO_PART, "NOT"):
            part = self._one()
        if part is not None:
            return Not(part)
        if is_word:
            raise QueryError(_NOTHING_AFTER, sign.column, operator=sign.text)
        return None

    def _is_value_open(self) -> bool:
        """Return whether a phrase or a group follows, which may be a field's value."""
        following = self._next()
        if following.text == "(":
            return True
        return following.is_glued and following.text[:1] in ('"', "(")

    def _of_field(self, name: str, value: str, taken: _Lexeme) -> Node | None:
        is_open = not value and self._is_value_open()
        is_known = name.lower() in _FIELDS
        has_value = value != "" or is_open
        could_be_field = is_known or name.islower()
        if not all((has_value, could_be_field)):
            return self._leaf(taken)  # a word with a colon
        self.has_operators = True
        if not is_known:
            listed = ", ".join(f"{one}:" for one in _FIELDS)
            raise QueryError(
                _UNKNOWN_FIELD, taken.column, name=f"{name}:", fields=listed
            )
        if self._field:
            raise QueryError(_NESTED_FIELD, taken.column, name=f"{name}:")
        self._field = name.lower()
        column = taken.column + len(name) + 1
        after = _Lexeme(value, column, is_glued=True)
        found = self._one() if is_open else self._leaf(after)
        self._field = ""
        return self._needed(found, _Lexeme(f"{name}:", taken.column, is_glued=False))

    def _leaf(self, taken: _Lexeme) -> Node | None:
        """Return a word, a phrase, a prefix, or the value of a field; None without any."""
        written = taken.text.strip('"”')
        found = words(written)
        self._part_count += len(found)
        if self._field == "date":
            return _days(written, taken.column)
        if self._field in _VALUE_FIELDS:
            return _field_value(cast("ValueField", self._field), written, found)
        in_title = self._field == "title"
        if taken.text[0] == '"' and len(found) > 1:
            return Phrase(tuple(map(fold, found)), in_title)
        if _PREFIX.fullmatch(written):
            self.has_operators = True
            return _prefix(written[:-1], taken.column, in_title=in_title)
        if len(found) > 1:  # a compound
            return Phrase(tuple(map(fold, found)), in_title)
        if found:
            return Word(found[0], in_title)
        return None


def _joined(kind: type[And | Or], found: Sequence[Node | None]) -> Node | None:
    """Return the parts as one node, without brackets that change nothing."""
    parts: list[Node] = []
    for one in found:
        if isinstance(one, kind):
            parts += one.parts
        elif one is not None:
            parts.append(one)
    if len(parts) > 1:
        return kind(tuple(parts))
    return parts[0] if parts else None


def _is_near(lexeme: _Lexeme) -> bool:
    return _NEAR.fullmatch(lexeme.text) is not None


def _distance(operator: _Lexeme) -> int:
    number = operator.text.partition("/")[2]
    if re.fullmatch(r"[0-9]{1,3}", number):
        distance = int(number)
        if 1 <= distance <= _MAX_DISTANCE:
            return distance
    raise QueryError(_NO_NUMBER, operator.column)


def _text(side: Node | None, operator: _Lexeme) -> Node:
    """Return a side of NEAR: a word, a phrase, or several of them with OR. Raises
    QueryError for anything else.
    """
    match side:
        case Word() | Phrase() | Prefix():
            return side
        case Or(parts):
            return Or(tuple(_text(part, operator) for part in parts))
    raise QueryError(_NO_TEXT, operator.column)


def _field_of(lexeme: _Lexeme) -> tuple[str, str]:
    """Return the name of a field and its value; nothing for a word."""
    match = _FIELD.fullmatch(lexeme.text)
    if match:
        return (match[1], match[2])
    return ("", "")


def _field_value(
    field: ValueField, written: str, found: Sequence[str]
) -> FieldValue | None:
    value = fold(" ".join(written.lower().split()))
    if value:
        return FieldValue(field, value, tuple(map(fold, found)))
    return None


def _prefix(start: str, column: int, *, in_title: bool) -> Prefix:
    folded = fold(start.lower())
    if len(folded) < _MIN_PREFIX_CHARS:
        raise QueryError(_SHORT_PREFIX, column)
    return Prefix(folded, in_title, column)


def _days(written: str, column: int) -> Days | None:
    """Return the days of `7d`, `2026-11-01` or `2026-11-01..2026-11-07`, of which one
    end may be missing.
    """
    recent = re.fullmatch(r"([0-9]{1,5})d", written)
    if recent and 1 <= int(recent[1]) <= _MAX_DAYS:
        return Days(recent=int(recent[1]))
    first, dots, last = written.partition("..")
    try:
        days = Days(_day(first), _day(last if dots else first))
    except ValueError:
        raise QueryError(_NO_DATE, column, value=written) from None
    if days == Days():
        raise QueryError(_NO_DATE, column, value=written)
    return days


def _day(written: str) -> date | None:
    if not written:
        return None
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", written):
        raise ValueError(written)
    return date.fromisoformat(written)


# --- a text without operators ---------------------------------------------------------


_TOKEN = re.compile(r'(?<!\S)(-)?(?:"([^"]*)"|([^\s"]+))|"([^"]*)"|([^\s"]+)')


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """Words that should occur, phrases that must, and words that must not; all
    lower-cased.
    """

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()


def parse_query(text: str, languages: tuple[str, ...]) -> ParsedQuery:
    """Return the query without the stop words of these languages, unless it has no
    other words.
    """
    found: list[str] = []
    phrases: list[tuple[str, ...]] = []
    excluded: list[str] = []
    for match in _TOKEN.finditer(text[:MAX_QUERY_CHARS]):
        minus, *spellings = match.groups(default="")
        token = words("".join(spellings))  # exactly one spelling is not empty
        if minus:
            excluded += token
            continue
        found += token
        if '"' in match[0] and len(token) > 1:
            phrases.append(tuple(map(fold, token)))
    content = _without_stopwords(found, languages)
    return ParsedQuery(
        tuple(content[:MAX_WORDS]),
        tuple(phrases[:MAX_WORDS]),
        tuple(excluded[:MAX_WORDS]),
    )


def _without_stopwords(found: list[str], languages: tuple[str, ...]) -> list[str]:
    distinct = list(dict.fromkeys(found))
    ignored = _folded_stopwords(languages)
    return [word for word in distinct if fold(word) not in ignored] or distinct


@lru_cache
def _folded_stopwords(languages: tuple[str, ...]) -> frozenset[str]:
    folded: set[str] = set()
    for language in languages:
        folded.update(map(fold, stopwords(language)))
    return frozenset(folded)


def phrase_pattern(phrases: tuple[tuple[str, ...], ...]) -> list[re.Pattern[str]]:
    """Return a pattern per phrase, for folded and lower-cased text."""
    found: list[re.Pattern[str]] = []
    for phrase in phrases:
        found.append(
            re.compile(r"(?<!\w)" + r"[\W_]+".join(map(re.escape, phrase)) + r"(?!\w)")
        )
    return found
