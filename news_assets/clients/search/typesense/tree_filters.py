"""A tree of operators as a filter of the server, and which of the documents that pass it
match.

The server's filters know words, beginnings of words, AND, OR and NOT, but no places. So
phrases, beginnings and NEAR pass with their words alone, and the texts of the best
`HITS_PER_SEARCH` documents decide.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from news_assets.clients.search.typesense.documents import (
    day_number,
    day_of,
    value_key,
)
from news_assets.clients.search.typesense.server import quoted
from news_assets.errors import QueryError
from news_assets.ports.search_index import SearchDocument
from news_assets.text.query_parser import TOO_LONG
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
    Word,
    matches,
    searchable_of,
)
from news_assets.text.words import shared_stem

# fields that decide whether a document matches
READ_FIELDS = (
    "id,title,text,summary,section,tags,keywords,language,day,authors,agency,agency_name,"
    "theme_path,theme_labels"
)
_MAX_OPERATIONS = 90  # of a filter; the server takes 100, some for other filters

_EVERYTHING = "day:>0"


@dataclass(frozen=True, slots=True)
class TreeFilter:
    """Makes filters of trees. `languages` are those of the stems."""

    languages: tuple[str, ...]
    today: date

    def of(self, tree: Node) -> str:
        """Return a filter that every match passes; only matches, if `is_exact`.

        Raises:
            QueryError: The filter has more operations than the server takes.
        """
        found = self._filter(tree, wanted=True)
        if found.count("&&") + found.count("||") > _MAX_OPERATIONS:
            raise QueryError(TOO_LONG, 1)
        return found

    def _filter(self, node: Node, *, wanted: bool) -> str:
        """Return what passes every document for which a node is true, or false."""
        match node:
            case Not(part):
                return self._filter(part, wanted=not wanted)
            case And(parts) | Or(parts):
                is_every = isinstance(node, And) == wanted
                filters = [self._filter(part, wanted=wanted) for part in parts]
                return _every(filters) if is_every else _either(filters)
            case Word(text, in_title):
                return self._word(text, in_title=in_title, wanted=wanted)
            case FieldValue():
                return _value(node, wanted=wanted)
            case Days():
                return self._days(node, wanted=wanted)
        return self._text(node) if wanted else _EVERYTHING

    def _word(self, text: str, *, in_title: bool, wanted: bool) -> str:
        stem = quoted(shared_stem(text, self.languages))
        fields = ["title_stems"] if in_title else ["title_stems", "stems"]
        if wanted:
            return _either([f"{field}:{stem}" for field in fields])
        return _every([f"{field}:!{stem}" for field in fields])

    def _text(self, node: Node) -> str:
        """Return the filter for the words of a phrase, of NEAR, or a beginning."""
        match node:
            case Phrase(words, in_title):
                parts = tuple(Word(word, in_title) for word in words)
                return self._filter(And(parts), wanted=True)
            case Near(left, right):
                return self._filter(And((left, right)), wanted=True)
            case Prefix(start, in_title):
                fields = ["title"] if in_title else ["title", "text", "stems"]
                return _either([f"{field}:{start}*" for field in fields])
        return _EVERYTHING

    def _days(self, days: Days, *, wanted: bool) -> str:
        first = days.first_day(self.today)
        last = days.last
        low = None if first is None else day_number(first)
        high = None if last is None else day_number(last)
        signs = (">=", "<=") if wanted else ("<", ">")
        filters = []
        for sign, number in zip(signs, (low, high), strict=True):
            if number is not None:
                filters.append(f"day:{sign}{number}")
        return _every(filters) if wanted else _either(filters)


def _value(node: FieldValue, *, wanted: bool) -> str:
    sign = ":=" if wanted else ":!="
    whole = f"value_keys{sign}{value_key(node.field, node.value)}"
    keys = [value_key(node.field, word) for word in node.words]
    if not keys:
        return whole
    words = [f"value_keys{sign}{key}" for key in keys]
    if wanted:
        return _either([whole, _every(words)])
    return _every([whole, _either(words)])


def _every(filters: Iterable[str]) -> str:
    return _joined(filters, " && ")


def _either(filters: Iterable[str]) -> str:
    return _joined(filters, " || ")


def _joined(filters: Iterable[str], operator: str) -> str:
    distinct = list(dict.fromkeys(filters))
    if len(distinct) == 1:
        return distinct[0]
    return f"({operator.join(distinct)})"


def is_exact(node: Node) -> bool:
    """Return whether the filter of a tree decides alone."""
    match node:
        case Not(part):
            return is_exact(part)
        case And(parts) | Or(parts):
            return all(map(is_exact, parts))
        case _:
            return isinstance(node, Word | FieldValue | Days)


def is_match(tree: Node, stored: Mapping[str, Any], today: date) -> bool:
    """Return whether a stored document, with its `READ_FIELDS`, matches."""
    document = SearchDocument(
        article_id=stored["id"],
        desk="",
        agency=stored["agency"],
        agency_name=stored.get("agency_name", ""),
        day=day_of(stored["day"]),
        url="",
        title=stored["title"],
        text=stored["text"],
        summary=stored.get("summary"),
        section=stored.get("section"),
        authors=tuple(stored.get("authors", ())),
        tags=tuple(stored.get("tags", ())),
        keywords=tuple(stored.get("keywords", ())),
        theme_path=tuple(stored.get("theme_path", ())),
        theme_labels=tuple(stored.get("theme_labels", ())),
        language=stored.get("language"),
    )
    return matches(tree, searchable_of(document), today)
