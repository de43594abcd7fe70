"""Public numbers of matters in what vendors write: "ORD-2026-101: An Ordinance to …", "File ID: RES 2026-7"; pure."""

import re
from dataclasses import replace
from typing import Final

from news_assets.records.meetings import AgendaItem, Meeting

# What numbers begin with, and the kind of matter that it stands for; None where it tells none.
_KINDS: Final[dict[str, str | None]] = {
    "app": "Application",
    "appt": "Appointment",
    "bill": "Bill",
    "cb": "Council Bill",
    "com": "Communication",
    "comm": "Communication",
    "con": "Contract",
    "cup": "Conditional Use Permit",
    "file": None,
    "item": None,
    "lb": "Legislative Bill",
    "min": "Minutes",
    "mot": "Motion",
    "motion": "Motion",
    "ord": "Ordinance",
    "ordinance": "Ordinance",
    "ph": "Public Hearing",
    "proc": "Proclamation",
    "res": "Resolution",
    "reso": "Resolution",
    "resolution": "Resolution",
    "sp": "Site Plan",
    "sup": "Special Use Permit",
    "var": "Variance",
    "za": "Zoning Amendment",
}
_SHORT: Final = {"ordinance": "ord", "resolution": "res", "reso": "res", "motion": "mot"}
_NO_KINDS: Final = frozenset(("fy", "sr", "us", "hwy", "rt", "cr", "covid"))  # years and roads
_NUMBER = (
    r"(?:(?P<kind>[A-Za-z]{1,12})\b\.?[\s#-]{0,3}(?:[Nn]o\.?\s{0,2}|[Nn]umber\s)?#?)?"
    r"(?P<number>\d{2,4}-\d{1,6}(?:-\d{1,4})?[A-Z]?)\b"
)
_AT_START = re.compile(rf"\A\W{{0,3}}(?P<file>{_NUMBER})\]?(?P<mark>\s{{0,2}}[:.)–-])?\s{{1,3}}(?=\S)")
_ALONE = re.compile(rf"\A\W{{0,2}}(?P<file>{_NUMBER})\W{{0,2}}\Z")
_STATED = re.compile(
    rf"\b(?:file|item|legislation|record|matter)\s{{0,2}}(?:id|no\.?|number|#)?\s{{0,2}}[:#]?\s{{1,3}}(?P<file>{_NUMBER})",
    re.IGNORECASE,
)
_BARE_DIGITS = 3  # behind the year of a number without letters: "2026-27" is a budget's year
_CANONICAL = re.compile(rf"\A{_NUMBER}\Z")


def with_matter_numbers(meeting: Meeting) -> Meeting:
    """Return a meeting whose items have the number of their matter apart from the title."""
    return replace(meeting, items=tuple(map(_numbered, meeting.items)))


def _numbered(item: AgendaItem) -> AgendaItem:
    match = _AT_START.match(item.title[:200])
    if match is None or not _is_number(match, has_mark=bool(match["mark"])):
        return item if item.matter_type else replace(item, matter_type=kind_of(item.matter_file))
    stated = item.matter_file
    if stated and canonical_file(stated) != canonical_file(match["file"]):
        return item
    return replace(
        item,
        title=item.title[match.end() :],
        matter_file=stated or match["file"],
        matter_type=item.matter_type or kind_of(match["file"]),
    )


def _is_number(match: re.Match[str], *, has_mark: bool) -> bool:
    """Whether digits are those of a matter: letters that stand for one, or a mark behind a long number."""
    kind = match["kind"]
    if kind:
        is_short = kind.isupper() and 1 < len(kind) <= 6
        return kind.lower() in _KINDS or (is_short and kind.lower() not in _NO_KINDS)
    return has_mark and len(match["number"].rpartition("-")[2]) >= _BARE_DIGITS


def file_in(text: str) -> str | None:
    """Return the number that a text states as that of its matter, or consists of; None without one."""
    words = " ".join(text[:2000].split())
    match = _ALONE.match(words) or _STATED.search(words)
    if match is None or not (match["kind"] or match.re is _STATED):
        return None
    return match["file"] if match["kind"] is None or _is_number(match, has_mark=True) else None


def kind_of(file: str | None) -> str | None:
    """Return the kind of matter that the letters of a number stand for; None if they stand for none."""
    match = _CANONICAL.match(" ".join((file or "").split()))
    return _KINDS.get((match["kind"] or "").lower()) if match else None


def canonical_file(file: str) -> str:
    """Return a public number in one form: "Ord. No. 2026-101" and "ORD-2026-101" are `ORD 2026-101`."""
    words = " ".join(file.split())
    match = _CANONICAL.match(words)
    if match is None or not match["kind"]:
        return words
    kind = match["kind"].lower()
    return f"{_SHORT.get(kind, kind)} {match['number']}".upper()
