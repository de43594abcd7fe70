"""What texts say about taking part in a meeting, and what minutes say was decided.
Patterns are bounded, so that the work is linear in the text.

Facts about taking part are addresses, numbers, links, ids and deadlines, each with its
span. Only what is written is given; nothing is concluded from what is missing.

In minutes, an item is found by its file number, or by a line that begins with its number and has
words of its title. What follows, up to the next item, is searched for decisions: lines
such as "RESULT: ADOPTED [4 TO 1]" and "AYES: Ruiz, Chen", and sentences such as "Motion
by Chen, seconded by Ruiz, carried 5-0".

Some pages state the decision beside labels: RESULT, MOVER, AYES, "For (5)".
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final, NamedTuple

from news_assets.records.meetings import (
    ItemOutcome,
    ParticipationFact,
    ParticipationKind,
    Vote,
)
from news_assets.text.fingerprint import normal_words

# --- how to take part -----------------------------------------------------------------

_MAX_CHARS = 200_000  # of a text: instructions stand on the first pages of an agenda
_MAX_FACTS = 500  # of one kind in one text; a directory of the staff has some 100
_BEFORE, _AFTER = 140, 60  # characters around an address that say its purpose

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_PHONE = re.compile(
    r"(?<![\d.-])(?:\+?1[\s.-]{1,2})?(?:\(\d{3}\)\s{0,2}|\d{3}[\s.-]{1,2})\d{3}[\s.-]{1,2}\d{4}(?![\d-])"
)
_LINK = re.compile(
    r"(?<![\w@.-])(?:https?://)?(?P<host>(?:[a-z0-9-]{1,60}\.){1,5}[a-z]{2,6})(?P<path>/[^\s<>\"'()\[\]]{0,500})?",
    re.IGNORECASE,
)
_MEETING_HOSTS: Final = (
    *(
        "zoom.us",
        "zoomgov.com",
        "teams.microsoft.com",
        "teams.live.com",
        "webex.com",
        "meet.google.com",
    ),
    *(
        "gotomeeting.com",
        "gotomeet.me",
        "meet.goto.com",
        "bluejeans.com",
        "gotowebinar.com",
    ),
)
_STREAM_HOSTS: Final = (
    "youtube.com",
    "youtu.be",
    "facebook.com",
    "vimeo.com",
    "swagit.com",
    "granicus.com",
)
_SEPARATOR = r"\s{0,2}(?:is|no\.|#|:|-)?\s{0,2}(?:is|#|:)?\s{0,2}"
_MEETING_ID = re.compile(
    rf"\b(?:meeting|webinar|conference|event|access)\s(?:id|number|code)\b{_SEPARATOR}(?P<value>\d(?:[\s-]?\d){{7,13}})(?!\d)",
    re.IGNORECASE,
)
_PASSCODE = re.compile(
    rf"\b(?:passcode|password|pass\scode|pin)\b{_SEPARATOR}(?P<value>\d{{2,4}}(?:\s\d{{2,4}}){{1,2}}(?!\d)|[\w!@#$%&*+-]{{3,20}})",
    re.IGNORECASE,
)
_HYBRID = re.compile(
    r"\bhybrid\b(?=.{0,40}\b(?:meeting|format|session|in[- ]person|virtual|zoom)\b)",
    re.IGNORECASE,
)
_REMOTE = (
    r"(?:virtual(?:ly)?|remote(?:ly)?|online|(?:via|by|on|through|using)\s(?:microsoft\s|google\s)?"
    r"(?:zoom|teams|webex|meet\b|(?:tele)?phone|teleconference|video\s?conference))"
)
_BOTH = re.compile(
    rf"\bin[- ]person\b[^.\n]{{0,120}}\b(?:and|or)\b[^.\n]{{0,40}}\b{_REMOTE}"
    rf"|\b{_REMOTE}\b[^.\n]{{0,60}}\b(?:and|or)\b[^.\n]{{0,30}}\bin[- ]person\b",
    re.IGNORECASE,
)
_VIRTUAL = re.compile(
    r"\bvirtual(?:ly)?\s(?:only|meeting|via|through)\b|\bonline\s(?:only|meeting|via)\b"
    r"|\b(?:held|conducted|meet)\s[^.\n]{0,20}\b(?:virtually|remotely|online|via\s(?:zoom|videoconference|teleconference))\b",
    re.IGNORECASE,
)
_FORMATS = (("hybrid", _HYBRID), ("hybrid", _BOTH), ("virtual", _VIRTUAL))
_WHEN = (
    r"(?:\d{1,2}(?::\d\d)?\s?[ap]\.?\s?m\b\.?|noon\b|\d{1,3}\s(?:hours|days|minutes)\s(?:before|prior)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\s\d"
    r"|\d{1,2}/\d{1,2}|the\s(?:start|beginning|close)\sof)"
)
_DEADLINE = re.compile(
    rf"\b(?:comments?|testimony|e-?comments?|speaker\scards?|(?:sign|register)\s(?:up\s)?to\sspeak)\b(?:[^.\n]|\.(?!\s)){{0,120}}?"
    rf"(?P<value>\b(?:no\slater\sthan|not\slater\sthan|by|before|until|prior\sto|deadline)\s(?:is\s|of\s)?{_WHEN}[^.\n;]{{0,60}})",
    re.IGNORECASE,
)
# where to, after a deadline
_CONTACT = re.compile(r",?\s{1,2}(?:at|to|via|by)\s\S{1,64}@.{0,60}\Z")
_INSTRUCTION = re.compile(
    r"\bto\s(?:provide|submit|make|give|offer)\s[^.\n]{0,40}\bcomments?\b[^\n]{0,200}?(?:[.!?](?=\s|$)|\n|$)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?]\s|\n\n")
_CLAUSE_END = re.compile(r"[.!?;,]\s|\n|$")

_PURPOSES = (
    ("fax", re.compile(r"\bfax\b", re.IGNORECASE)),
    ("tty", re.compile(r"\b(?:tty|tdd)\b", re.IGNORECASE)),
    (
        "accommodation",
        re.compile(
            r"\b(?:accommodation|accessib|disabilit|ADA\b|interpret|translat)",
            re.IGNORECASE,
        ),
    ),
    (
        "comment",
        re.compile(
            r"\b(?:comments?|testimony|speak|correspondence|input)\b", re.IGNORECASE
        ),
    ),
    (
        "dial_in",
        re.compile(
            r"\b(?:dial|call(?:ing)?[- ]in|by\s(?:tele)?phone|listen|join)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "information",
        re.compile(r"\b(?:information|questions?|contact|assistance)\b", re.IGNORECASE),
    ),
)


def participation_of(text: str) -> tuple[ParticipationFact, ...]:
    """Return what a text says about taking part, in its order."""
    text = text[:_MAX_CHARS]
    found: list[ParticipationFact] = []
    for read in _READERS:
        found += islice(read(text), _MAX_FACTS)
    return tuple(sorted(found, key=lambda fact: (fact.start, fact.end)))


def _emails(text: str) -> Iterator[ParticipationFact]:
    for match in _EMAIL.finditer(text):
        value = match[0].rstrip(".-")
        purpose = _purpose(text, match)
        yield _fact("email", value, match.start(), purpose=purpose)


def _phones(text: str) -> Iterator[ParticipationFact]:
    for match in _PHONE.finditer(text):
        number = f"+1{_digits(match[0])[-10:]}"
        purpose = _purpose(text, match)
        yield _fact("phone", number, *match.span(), purpose=purpose)


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _links(text: str) -> Iterator[ParticipationFact]:
    for match in _LINK.finditer(text):
        kind = _kind_of_link(match)
        if kind is None:
            continue
        written = match[0].rstrip(".,;:!?*")
        value = written if "://" in written else f"https://{written}"
        yield _fact(kind, value, match.start(), match.start() + len(written))


def _kind_of_link(match: re.Match[str]) -> ParticipationKind | None:
    """Return what a link is for; a meeting's link has a path."""
    host = match["host"].lower()
    if _is_at(host, _MEETING_HOSTS):
        return "meeting_link" if match["path"] else None
    if _is_at(host, _STREAM_HOSTS):
        return "stream_link"
    return None


def _is_at(host: str, hosts: tuple[str, ...]) -> bool:
    for one in hosts:
        if host == one:
            return True
        if host.endswith(f".{one}"):
            return True
    return False


def _meeting_ids(text: str) -> Iterator[ParticipationFact]:
    for match in _MEETING_ID.finditer(text):
        value = _digits(match["value"])
        yield _fact("meeting_id", value, *match.span("value"))


def _passcodes(text: str) -> Iterator[ParticipationFact]:
    """Yield passcodes; a word without a digit or sign is none: "the password is
    required".
    """
    for match in _PASSCODE.finditer(text):
        value = match["value"].rstrip("-")
        if not value.isalpha():
            yield _fact("passcode", value, match.start("value"))


def _formats(text: str) -> Iterator[ParticipationFact]:
    """Yield how the meeting is held; one that is also held in person is hybrid."""
    for value, pattern in _FORMATS:
        match = pattern.search(text)
        if match:
            yield _fact("format", value, *match.span())
            return


def _deadlines(text: str) -> Iterator[ParticipationFact]:
    for match in _DEADLINE.finditer(text):
        value = _CONTACT.sub("", match["value"])
        yield _fact("deadline", value.rstrip(" ,"), match.start("value"))


def _instructions(text: str) -> Iterator[ParticipationFact]:
    for match in _INSTRUCTION.finditer(text):
        value = match[0].strip()
        yield _fact("instruction", value, match.start())


_READERS: Final[tuple[Callable[[str], Iterator[ParticipationFact]], ...]] = (
    _emails,
    _phones,
    _links,
    _meeting_ids,
    _passcodes,
    _formats,
    _deadlines,
    _instructions,
)


def _fact(
    kind: ParticipationKind,
    value: str,
    start: int,
    end: int | None = None,
    purpose: str = "",
) -> ParticipationFact:
    """Return a fact; without `end` it is as long as its value."""
    if end is None:
        end = start + len(value)
    return ParticipationFact(
        kind=kind, value=value, start=start, end=end, purpose=purpose
    )


def _purpose(text: str, match: re.Match[str]) -> str:
    """Return what the words before an address in its sentence say it is for; else the
    words after it.
    """
    start = max(match.start() - _BEFORE, 0)
    before = _SENTENCE_END.split(text[start : match.start()])[-1]
    after = _CLAUSE_END.split(text[match.end() : match.end() + _AFTER])[0]
    for words in (before, after):
        found: list[tuple[int, str]] = []
        for name, pattern in _PURPOSES:
            found += [(one.start(), name) for one in pattern.finditer(words)]
        if found:
            _, name = max(found)
            return name
    return ""


# --- decisions in minutes -------------------------------------------------------------

_MAX_MINUTES_CHARS: Final = 1_000_000  # of minutes
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
_END_OF_SENTENCE = re.compile(r"(?<=[.;!])\s{1,3}(?=[A-Z(])")
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
    lines = [line[:_MAX_LINE_CHARS] for line in text[:_MAX_MINUTES_CHARS].splitlines()]
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
    by_number: dict[str, ItemName] = {}
    by_file: dict[str, ItemName] = {}
    for item in items:
        if item.number:
            by_number[_plain_number(item.number)] = item
        if item.matter_file:
            by_file[_key(item.matter_file)] = item
    longest = max(map(len, by_file), default=0)
    found: dict[str, _Start] = {}
    for at, line in enumerate(lines):
        named = _by_file(line, by_file, longest) or _by_number(lines, at, by_number)
        if named is not None:
            found.setdefault(named.item_id, _Start(at, named.item_id))
    return list(found.values())


def _by_file(line: str, by_file: dict[str, ItemName], longest: int) -> ItemName | None:
    """Return the item whose file number is in a line: one to four words of it, without
    spaces and signs.
    """
    if not longest:
        return None
    if not any(char.isdigit() for char in line):
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
            parts = _END_OF_SENTENCE.split(line)
            found += [part for part in parts if _is_decision(part)]
    sentences = [" ".join(part.split()) for part in dict.fromkeys(found)]
    return " ".join(sentences)[:_MAX_DECISION_CHARS].rstrip()


def _is_decision(sentence: str) -> bool:
    if not _MOTION.search(sentence):
        return False
    return _DECIDED.search(sentence) is not None


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


def decision_of(facts: Mapping[str, str]) -> tuple[ItemOutcome, tuple[Vote, ...]]:
    """Return the outcome and votes of labels and their values: {"result": "ADOPTED [4
    TO 1]", "ayes": "Ruiz, Chen"}.
    """
    named: dict[str, str] = {}
    for name, value in facts.items():
        named[_COUNT.sub("", name).strip(": ").lower()] = value
    result = _LABEL.sub("", named.get("result", ""))
    tally = _TALLY.search(result)
    outcome = ItemOutcome(
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
