"""`filter_by`: a parser that evaluates to the numbers of matching documents."""

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.indexes import TextIndex
from news_assets_tests.typesense_server.collections.schema import NUMBERS, Field
from news_assets_tests.typesense_server.errors import ApiError

MAX_OPERATIONS = 100
TOO_MANY = (
    f"`filter_by` has too many operations. Maximum allowed: {MAX_OPERATIONS}. Use `--filter-by-max-ops` command line "
    "argument to customize this value."
)
_LEXEME = re.compile(
    r"\s*(&&|\|\||[()]|(?:`[^`]*`|\[(?:`[^`]*`|[^`\]])*\]|(?!&&|\|\|)[^()`\[])+)"
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_COMPARISON = re.compile(r"\s*(<=|>=|!=|<|>)\s*(.*)", re.S)
_UNPARSABLE = "Could not parse the filter query"


def passing(collection: Collection, text: str) -> set[int]:
    """Return the numbers of the documents that match; all for an empty filter.

    Raises:
        ApiError: 400, as the server words it.
    """
    if not text.strip():
        return set(collection.documents)
    lexemes = _lexemes(text)
    if sum(lexeme in ("&&", "||") for lexeme in lexemes) >= MAX_OPERATIONS:
        raise ApiError(400, TOO_MANY)
    if lexemes.count("(") != lexemes.count(")"):
        raise ApiError(400, f"{_UNPARSABLE}: unbalanced parentheses.")
    reader = _Reader(collection, lexemes)
    found = reader.either()
    if reader.rest:
        raise ApiError(400, f"{_UNPARSABLE}.")
    return found


def _lexemes(text: str) -> list[str]:
    lexemes, position = [], 0
    while position < len(text.rstrip()):
        match = _LEXEME.match(text, position)
        if match is None:
            raise ApiError(400, f"{_UNPARSABLE}.")
        lexemes.append(match.group(1).strip())
        position = match.end()
    return lexemes


class _Reader:
    """A recursive descent parser of `a && (b || c)`; `&&` binds tighter."""

    def __init__(self, collection: Collection, lexemes: list[str]) -> None:
        self.collection = collection
        self.rest = lexemes[::-1]

    def either(self) -> set[int]:
        """Return the union of the operands of `||`."""
        found = self._both()
        while self._takes("||"):
            found |= self._both("||")
        return found

    def _both(self, after: str = "") -> set[int]:
        found = self._one(after)
        while self._takes("&&"):
            found &= self._one("&&")
        return found

    def _one(self, after: str) -> set[int]:
        if not self.rest or self.rest[-1] in ("&&", "||", ")"):
            raise ApiError(
                400, f"{_UNPARSABLE}: unbalanced `{after or self.rest[-1]}` operands."
            )
        if self._takes("("):
            found = self.either()
            self._takes(")")
            return found
        return _clause(self.collection, self.rest.pop())

    def _takes(self, lexeme: str) -> bool:
        if self.rest and self.rest[-1] == lexeme:
            self.rest.pop()
            return True
        return False


def _clause(collection: Collection, text: str) -> set[int]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon:
        raise ApiError(400, f"{_UNPARSABLE}.")
    if name == "id":
        return _by_id(collection, value)
    field = collection.fields.get(name)
    if field is None or not field.index:
        raise ApiError(
            400, f"Could not find a filter field named `{name}` in the schema."
        )
    if field.num_dim:
        raise ApiError(400, f"Cannot filter on vector field `{name}`.")
    if field.kind in NUMBERS:
        return _by_number(collection, field, value)
    return (
        _by_bool(collection, field, value)
        if field.kind == "bool"
        else _by_text(collection, field, value)
    )


def _by_id(collection: Collection, value: str) -> set[int]:
    mark, rest = _operator(value)
    found = {
        collection.numbers[one] for one in _values(rest) if one in collection.numbers
    }
    return set(collection.documents) - found if mark.startswith("!") else found


def _operator(value: str) -> tuple[str, str]:
    mark = next((mark for mark in ("!=", "=", "!") if value.startswith(mark)), "")
    return mark, value[len(mark) :].strip()


def _values(value: str) -> list[str]:
    if not (value.startswith("[") and value.endswith("]")):
        return [value.strip("`")]
    parts = re.findall(r"(?:`[^`]*`|[^,`])+", value[1:-1])
    return [part.strip().strip("`") for part in parts]


def _by_text(collection: Collection, field: Field, value: str) -> set[int]:
    index = collection.text_index(field.name)
    mark, rest = _operator(value)
    values = _values(rest)
    if any(not one for one in values):
        raise ApiError(
            400,
            f"Error with filter field `{field.name}`: Filter value cannot be empty.",
        )
    matches = [
        _equal_to(index, one) if mark.endswith("=") else _holding(index, one)
        for one in values
    ]
    found: set[int] = set().union(*matches)
    return set(collection.documents) - found if mark.startswith("!") else found


def _equal_to(index: TextIndex, value: str) -> set[int]:
    tokens = index.analysis.tokens(value)
    return {
        number for number in index.holding(tokens) if tokens in index.elements[number]
    }


def _holding(index: TextIndex, value: str) -> set[int]:
    tokens = index.analysis.tokens(value)
    if not value.endswith("*") or not tokens:
        return index.holding(tokens)
    starts: set[int] = set().union(
        *(index.postings[word] for word in index.starting_with(tokens[-1]))
    )
    return starts & index.holding(tokens[:-1]) if len(tokens) > 1 else starts


def _by_bool(collection: Collection, field: Field, value: str) -> set[int]:
    mark, rest = _operator(value)
    wanted = [one.lower() for one in _values(rest)]
    if not set(wanted) <= {"true", "false"}:
        raise ApiError(
            400, f"Value of filter field `{field.name}` must be `true` or `false`."
        )
    found = {
        number
        for number, one in _stored(collection, field)
        if any(one is (text == "true") for text in wanted)
    }
    return set(collection.documents) - found if mark.startswith("!") else found


def _stored(collection: Collection, field: Field) -> Iterator[tuple[int, Any]]:
    for number, document in collection.documents.items():
        value = document.get(field.name)
        if value is not None:
            yield from (
                (number, _wrapped(field, one))
                for one in (value if field.is_array else [value])
            )


def _wrapped(field: Field, value: Any) -> Any:
    """Return the value as indexed: an int32 wraps around, although the document keeps
    the whole number.
    """
    return (
        (value + (1 << 31)) % (1 << 32) - (1 << 31) if field.kind == "int32" else value
    )


def _by_number(collection: Collection, field: Field, value: str) -> set[int]:
    if value.startswith("="):
        value = value[1:].strip()
    tests = [_number_test(field, one) for one in _values(value)]
    if value.startswith("!="):
        equal = {
            number for number, one in _stored(collection, field) if not tests[0](one)
        }
        return set(collection.documents) - equal
    return {
        number
        for number, one in _stored(collection, field)
        if any(test(one) for test in tests)
    }


def _number_test(field: Field, text: str) -> Callable[[Any], bool]:
    if match := _COMPARISON.match(text):
        compare, limit = _COMPARISONS[match.group(1)], _number(field, match.group(2))
        return lambda value: compare(value, limit)
    if ".." in text:
        low, high = (_number(field, part) for part in text.split("..", 1))
        return lambda value: low <= value <= high
    if not _is_number(text):
        raise ApiError(
            400,
            f"Error with filter field `{field.name}`: Numerical field has an invalid comparator.",
        )
    wanted = _number(field, text)
    return lambda value: bool(value == wanted)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*-?\d+(\.\d+)?(e[+-]?\d+)?\s*", text) is not None


def _number(field: Field, text: str) -> float:
    kind = "a float" if field.kind == "float" else f"an {field.kind}"
    if not _is_number(text) or (
        field.kind != "float" and not re.fullmatch(r"\s*-?\d+\s*", text)
    ):
        raise ApiError(400, f"Error with filter field `{field.name}`: Not {kind}.")
    return float(text) if field.kind == "float" else int(text)
