"""The people, bodies and places that a text names, found by rules: names are runs of words
with a capital, and what they name is decided by their words and those around them.

Names in one word are found where they are known places, short forms of a longer name of
the text, or acronyms that the text explains.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from news_assets.pipeline.enrich.name_words import (
    BODIES,
    CONNECTORS,
    ENGLISH_BODIES,
    ENGLISH_PLACE_ENDS,
    GIVEN_NAMES,
    PLACE_WORDS,
    PLACES,
    SPEECH,
    TITLES,
)
from news_assets.text.name_ids import name_id
from news_assets.text.prose import prose
from news_assets.text.words import fold, stopwords

_TEXT_CHARS: Final = 20_000  # that names are looked for in
_MAX_NAMES: Final = 20
_MAX_WORDS: Final = 8  # of a name
_MAX_PERSON_WORDS: Final = 6
_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’-]{0,40}"
_JOIN = "|".join(CONNECTORS)
_BETWEEN = rf"(?:(?:{_JOIN})(?:\ the)?|and|e(?:\ d[aeo]s?)?)"
_RUN = re.compile(
    rf"\b{_WORD}(?:\ (?:{_BETWEEN}\ )?{_WORD}){{0,{_MAX_WORDS - 1}}}",
)
_ACRONYM = re.compile(r"\s?\(([A-Z][A-Za-z-]{1,9})\)")
_BEFORE = re.compile(r"\b(\w++)\.?\s?$")
_AFTER = re.compile(r",?\s(\w+)")
_AND: Final = ("e", "and")
_OF_NO_PERSON: Final = frozenset(("for", "of", "the", *_AND))


_POSSESSIVE = re.compile(r"['’]s?$")


class _Run(NamedTuple):
    """Words with a capital, one after the other, and the words beside them."""

    words: tuple[str, ...]
    before: str
    after: str
    acronym: str


@dataclass(slots=True)
class _Name:
    """A name of the text with its shorter forms; `count` counts all of them."""

    words: tuple[str, ...]
    kind: str
    count: int = 0
    forms: dict[str, None] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def names_of(title: str, text: str, language: str | None) -> list[dict[str, Any]]:
    """Return the names of a text, most frequent first, each with `name`, `forms`, `kind`
    (person, organisation or place) and `salience`, 0 to 1.
    """
    plain = prose(text[:_TEXT_CHARS])
    stop = stopwords(language)
    runs = [one for run in _runs(plain) for one in _trimmed(run, stop)]
    names = _full_names(runs)
    singles = Counter(run.words[0] for run in runs if len(run.words) == 1)
    _add_short_forms(names, singles)
    found = sorted(_merged(names), key=lambda name: -name.count)[:_MAX_NAMES]
    most = max((name.count for name in found), default=1)
    return [
        {
            "name": name.text,
            "forms": list(name.forms),
            "kind": name.kind,
            "salience": round(_salience(name, most, title), 2),
        }
        for name in found
    ]


def _salience(name: _Name, most: int, title: str) -> float:
    in_title = any(form in title for form in (name.text, *name.forms))
    return 0.6 * name.count / most + (0.4 if in_title else 0.0)


def _runs(text: str) -> Iterator[_Run]:
    for match in _RUN.finditer(text):
        start, end = match.span()
        before = _BEFORE.search(text, max(0, start - 30), start)
        after = _AFTER.match(text, end)
        acronym = _ACRONYM.match(text, end)
        yield _Run(
            words=tuple(_POSSESSIVE.sub("", match[0]).split(" ")),
            before=_folded(before[1]) if before else "",
            after=_folded(after[1]) if after else "",
            acronym=acronym[1] if acronym else "",
        )


def _trimmed(run: _Run, stop: frozenset[str]) -> Iterator[_Run]:
    """Yield the names of a run: without stop words and titles before them, and the parts
    before and after `and` where it is no body's.
    """
    words = list(run.words)
    before = run.before
    titles = [n for n, word in enumerate(words) if _folded(word) in TITLES]
    if titles and not _is_body(words) and _folded(words[0]) not in PLACE_WORDS:
        before = _folded(words[titles[-1]])
        words = words[titles[-1] + 1 :]
    while words and _is_no_name(words[0], stop):
        before = _folded(words.pop(0))
    if not words or (all(word.isupper() for word in words[:2]) and len(words) > 1):
        return
    ands = [n for n, word in enumerate(words) if word in _AND]
    if ands and not _is_body(words):
        first = ands[0]
        yield run._replace(
            words=tuple(words[:first]), before=before, after="", acronym=""
        )
        yield from _trimmed(
            run._replace(words=tuple(words[first + 1 :]), before=""), stop
        )
        return
    yield run._replace(words=tuple(words), before=before)


def _is_no_name(word: str, stop: frozenset[str]) -> bool:
    folded = _folded(word)
    if word.lower() in stop or folded in TITLES:
        return folded not in BODIES
    return folded in CONNECTORS or folded in _AND


def _full_names(runs: Sequence[_Run]) -> dict[str, _Name]:
    """Return the names whose kind is known, by their folded text."""
    names: dict[str, _Name] = {}
    for run in runs:
        key = _folded(" ".join(run.words))
        kind = _kind(run, key)
        if key not in names and kind:
            names[key] = _Name(run.words, kind)
        if key in names:
            names[key].count += 1
            if run.acronym and names[key].kind == "organisation":
                names[key].forms[run.acronym] = None
    return names


def _kind(run: _Run, key: str) -> str:
    """Return what a run names; empty where that is not known."""
    words = [_folded(word) for word in run.words]
    if key in PLACES:
        return "place"
    if len(words) == 1:
        return ""
    if _is_body(run.words):
        return "organisation"
    if words[0] in PLACE_WORDS or words[-1] in ENGLISH_PLACE_ENDS:
        return "place"
    if _is_person(run, words):
        return "person"
    return "organisation" if _is_acronym_of(run.acronym, run.words) else ""


def _is_person(run: _Run, words: Sequence[str]) -> bool:
    if len(words) > _MAX_PERSON_WORDS or not _OF_NO_PERSON.isdisjoint(words):
        return False
    if any(map(str.isdigit, "".join(words))):
        return False
    return words[0] in GIVEN_NAMES or run.before in TITLES or run.after in SPEECH


def _is_body(words: Sequence[str]) -> bool:
    folded = [_folded(word) for word in words]
    return folded[0] in BODIES or not ENGLISH_BODIES.isdisjoint(folded[-3:])


def _is_acronym_of(acronym: str, words: Sequence[str]) -> bool:
    """Return whether an acronym has the first letters of a name in their order."""
    initials = "".join(word[0] for word in words if word[0].isupper())
    return len(acronym) > 1 and fold(acronym).upper() == fold(initials)


def _add_short_forms(names: dict[str, _Name], singles: Counter[str]) -> None:
    """Count single words that are the acronym of one name, or the last word of one
    person.
    """
    for word, count in singles.items():
        of_word = [name for name in names.values() if _may_be_called(name, word)]
        if len(of_word) == 1:
            of_word[0].forms[word] = None
            of_word[0].count += count


def _may_be_called(name: _Name, word: str) -> bool:
    if word in name.forms:
        return True
    return name.kind == "person" and word == name.words[-1]


def _merged(names: dict[str, _Name]) -> list[_Name]:
    """Return the names without persons whose words are a part of one longer name."""
    kept = list(names.values())
    for name in sorted(names.values(), key=lambda one: len(one.words)):
        longer = [one for one in kept if _is_part(name, one)]
        if len(longer) == 1:
            longer[0].count += name.count
            longer[0].forms |= {name.text: None, **name.forms}
            kept.remove(name)
    return kept


def _is_part(name: _Name, other: _Name) -> bool:
    if name.kind != "person" or other.kind != "person":
        return False
    return len(name.words) < len(other.words) and {*name.words} <= {*other.words}


def _folded(text: str) -> str:
    return fold(text).lower()


def name_ids(entities_json: str | None) -> tuple[str, ...]:
    """Return the id of each name of an enrichment, in their order."""
    if not entities_json:
        return ()
    found = json.loads(entities_json)
    return tuple(name_id(one["kind"], one["name"]) for one in found)
