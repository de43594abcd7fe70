"""The step of a matter's way that an appearance is: introduced, referred, heard, voted,
or still to come; pure.
"""

import re
from typing import Final, Literal

from news_assets.records.meetings import StoredItem

Step = Literal["introduced", "referred", "heard", "voted", "scheduled", "cancelled"]

# The first that fits: "referred to committee; motion carried" is no vote on the matter
# itself.
_BY_WORDS: Final[tuple[tuple[Step, re.Pattern[str]], ...]] = (
    (
        "referred",
        re.compile(
            r"\b(?:re-?)?referr(?:ed|al)\b|\bassigned\b|\bsent to\b", re.IGNORECASE
        ),
    ),
    (
        "introduced",
        re.compile(r"\bintroduc|\bfirst reading\b|\b1st reading\b", re.IGNORECASE),
    ),
    (
        "heard",
        re.compile(
            r"\b(?:heard|held|continued|tabled|deferred|postponed|discussed|laid over|received and"
            r" filed)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "voted",
        re.compile(
            r"\b(?:adopt|approv|pass|enact|fail|den(?:y|ied)|defeat|reject|carried|award|confirm|vote)",
            re.IGNORECASE,
        ),
    ),
)
_HEARING: Final = re.compile(r"\bhearing", re.IGNORECASE)


def step_of(item: StoredItem, meeting_status: str, *, is_first: bool) -> Step:
    """Return the step that an appearance is; one without a stated decision is a first
    or a further reading.
    """
    if meeting_status == "cancelled":
        return "cancelled"
    if meeting_status != "passed" and not item.action and not item.decision:
        return "scheduled"
    decided = f"{item.action} {item.decision}"
    for step, words in _BY_WORDS:
        if words.search(decided):
            return step
    if item.result or item.votes_json != "[]":
        return "voted"
    if _HEARING.search(f"{item.section} {item.title}"):
        return "heard"
    return "introduced" if is_first else "heard"
