"""What the minutes of a meeting say was decided on each item of its agenda.

An item is found by its file number, or by a line that begins with its number and has
words of its title. What follows, up to the next item, is searched for decisions: lines
such as "RESULT: ADOPTED [4 TO 1]" and "AYES: Ruiz, Chen", and sentences such as "Motion
by Chen, seconded by Ruiz, carried 5-0". Work is linear in the text.

Some pages state the decision beside labels: RESULT, MOVER, AYES, "For (5)".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from news_assets.records.meetings import Outcome, Vote
from news_assets.text.fingerprint import normal_words

MAX_CHARS: Final = 1_000_000  # of minutes
_MAX_DECISION_CHARS: Final = 600
_MAX_LINE_CHARS = 600
_TITLE_LINES = 4  # titles are broken over some lines
# share of the title's words that the lines after its number have
_MIN_TITLE_WORDS = 0.5
_TITLE_WORDS = 12

_LABELLED = re.compile(
    r"\W{0,4}(?:result|action(?: taken)?|motion|mover|moved by|seconder|second(?:ed)?(?:"
    r" by)?|vote|ayes?|noes|nays?"
    r"|abstain(?:ed)?|abstentions?|absent|recused|disposition)\b[^\w\n]{0,3}[:|]",
    re.IGNORECASE,
)
_MOTION = re.compile(
    r"\b(?:motion|moved|seconded|vote|voted|roll call)\b", re.IGNORECASE
)
_DECIDED = re.compile(
    r"\b(?:carried|passed|failed|approved|adopted|denied|defeated|rejected|tabled|continued|postponed|withdrawn"
    r"|referred|unanimous(?:ly)?|enacted|received and filed)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.;!])\s{1,3}(?=[A-Z(])")
_NUMBER = re.compile(
    r"[\s#*|>-]{0,8}(?:item\s{1,2})?(?P<number>[A-Za-z0-9][A-Za-z0-9.()-]{0,11}?)[.):]{0,2}\s",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemName:
    """How an item of an agenda is found in minutes."""

    item_id: str
    number: str
    title: str
    matter_file: str | None


class _Start(NamedTuple):
    """The line that an item begins at."""

    line: int
    item_id: str


def decisions_of(text: str, items: Sequence[ItemName]) -> dict[str, str]:
    """Return what the minutes say was decided, by item_id; items without a decision are
    omitted.
    """
    lines = [line[:_MAX_LINE_CHARS] for line in text[:MAX_CHARS].splitlines()]
    starts = [*_starts(lines, items), _Start(len(lines), "")]
    found: dict[str, str] = {}
    for start, following in pairwise(starts):
        decision = _decision(lines[start.line : following.line])
        if decision:
            found[start.item_id] = decision
    return found


def _starts(lines: Sequence[str], items: Sequence[ItemName]) -> list[_Start]:
    """Return where items begin, in the order of the lines: each at most once, at the
    first line that fits it.
    """
    by_number = {_plain_number(item.number): item for item in items if item.number}
    by_file = {_key(item.matter_file): item for item in items if item.matter_file}
    longest = max(map(len, by_file), default=0)
    found: dict[str, _Start] = {}
    for at, line in enumerate(lines):
        item = _by_file(line, by_file, longest) or _by_number(lines, at, by_number)
        if item is not None:
            found.setdefault(item.item_id, _Start(at, item.item_id))
    return list(found.values())


def _by_file(line: str, by_file: dict[str, ItemName], longest: int) -> ItemName | None:
    """Return the item whose file number is in a line: one to four words of it, without
    spaces and signs.
    """
    if not longest or not any(char.isdigit() for char in line):
        return None
    words = normal_words(line)
    for first in range(len(words)):
        key = ""
        for word in words[first : first + 4]:
            key += word
            if len(key) > longest:
                break
            if key in by_file:
                return by_file[key]
    return None


def _by_number(
    lines: Sequence[str], at: int, by_number: dict[str, ItemName]
) -> ItemName | None:
    """Return the item with the number that a line begins with, if its title follows."""
    match = _NUMBER.match(lines[at] + " ")
    if match is None:
        return None
    item = by_number.get(_plain_number(match["number"]))
    if item is None:
        return None
    title = set(normal_words(item.title)[:_TITLE_WORDS])
    following = set(normal_words(" ".join(lines[at : at + _TITLE_LINES])))
    if len(title & following) < _MIN_TITLE_WORDS * max(1, len(title)):
        return None
    return item


def _plain_number(number: str) -> str:
    return number.strip(".():- ").lower()


def _key(matter_file: str | None) -> str:
    return "".join(normal_words(matter_file or ""))


def _decision(lines: Sequence[str]) -> str:
    """Return the decisions of the lines of an item, as one text."""
    found: list[str] = []
    for line in lines:
        if _LABELLED.match(line):
            found.append(" ".join(line.replace("|", " ").replace("*", "").split()))
        else:
            parts = _SENTENCE_END.split(line)
            found += [part for part in parts if _is_decision(part)]
    sentences = [" ".join(part.split()) for part in dict.fromkeys(found)]
    return " ".join(sentences)[:_MAX_DECISION_CHARS].rstrip()


def _is_decision(sentence: str) -> bool:
    return bool(_MOTION.search(sentence) and _DECIDED.search(sentence))


# --- decisions beside labels ----------------------------------------------------------

_TALLY = re.compile(r"\s{0,2}[\[(](?P<tally>[^\])]{1,40})[\])]")
_COUNT = re.compile(r"\s{0,2}[\[(]\d{1,3}[\])]")
_LABEL = re.compile(
    r"\A(?:moved|seconded)(?:\sby)?\s{0,2}:?\s{0,2}|\Amotion\s{1,2}", re.IGNORECASE
)
_NAMES = re.compile(r"\s{0,3}(?:,\s{0,3}and\s|,|;|\sand\s)\s{0,3}")
_VALUES: Final = {
    "ayes": "Aye",
    "aye": "Aye",
    "yes": "Yes",
    "for": "For",
    "in favor": "For",
    "in favour": "For",
    "nays": "Nay",
    "nay": "Nay",
    "noes": "No",
    "no": "No",
    "against": "Against",
    "opposed": "Against",
    "abstain": "Abstain",
    "abstained": "Abstain",
    "abstentions": "Abstain",
    "absent": "Absent",
    "excused": "Excused",
    "recused": "Recused",
    "recuse": "Recused",
}


def decision_of(facts: Mapping[str, str]) -> tuple[Outcome, tuple[Vote, ...]]:
    """Return the outcome and votes of labels and their values: {"result": "ADOPTED [4
    TO 1]", "ayes": "Ruiz, Chen"}.
    """
    named: dict[str, str] = {}
    for name, value in facts.items():
        named[_COUNT.sub("", name).strip(": ").lower()] = value
    result = _LABEL.sub("", named.get("result", ""))
    tally = _TALLY.search(result)
    outcome = Outcome(
        result=_TALLY.sub("", result).strip(),
        tally=tally["tally"] if tally else "",
        mover=_LABEL.sub("", named.get("mover", "")),
        seconder=_LABEL.sub("", named.get("seconder", "")),
    )
    return outcome, _votes(named)


def _votes(named: Mapping[str, str]) -> tuple[Vote, ...]:
    """Return the votes of labels such as "ayes", each with the names of members."""
    votes: list[Vote] = []
    for name, names in named.items():
        if name not in _VALUES:
            continue
        for part in _NAMES.split(names):
            person = part.strip(" .")
            if person:
                votes.append(Vote(person=person, value=_VALUES[name]))
    return tuple(votes)
