"""Decisions that a page states beside labels: RESULT, MOVER, AYES, "For (5)"; pure."""

import re
from collections.abc import Mapping
from typing import Final

from news_assets.records.meetings import Outcome, Vote

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
    named = {
        _COUNT.sub("", name).strip(": ").lower(): value for name, value in facts.items()
    }
    result = _LABEL.sub("", named.get("result", ""))
    tally = _TALLY.search(result)
    outcome = Outcome(
        result=_TALLY.sub("", result).strip(),
        tally=tally["tally"] if tally else "",
        mover=_LABEL.sub("", named.get("mover", "")),
        seconder=_LABEL.sub("", named.get("seconder", "")),
    )
    votes: list[Vote] = []
    for name, value in named.items():
        if name not in _VALUES:
            continue
        people = (part.strip(" .") for part in _NAMES.split(value))
        votes += [
            Vote(person=person, value=_VALUES[name]) for person in people if person
        ]
    return outcome, tuple(votes)
