"""Numbers in what vendors write; pure.

Numbers of agenda items: "4.A", "(III.B.2)", "10a)".

Public numbers of matters: "ORD-2026-101: An Ordinance to …", "File ID: RES 2026-7".
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from news_assets.records.meetings import AgendaItem, Meeting

_PART: Final = r"(?:\d{1,3}[A-Za-z]?|[IVXLC]{1,7}|[ivx]{1,5}|[A-Za-z])"
NUMBER: Final = rf"{_PART}(?:[.-]{_PART}){{0,4}}"
_NUMBER_ALONE = re.compile(rf"\(?(?P<number>{NUMBER})\s?[.):]{{0,2}}")
_LEADING = re.compile(rf"\(?(?P<number>{NUMBER})[.):]{{1,2}}\s{{1,3}}(?=\S)")


def number_alone(text: str) -> str:
    """Return the number that a text consists of, without the signs around it; empty for
    another text.
    """
    match = _NUMBER_ALONE.fullmatch(text)
    if not match:
        return ""
    return match["number"]


def split_number(text: str) -> tuple[str, str]:
    """Return the number that a text begins with and the rest; an empty number where it
    begins with none.

    A sign and a space follow a number: "4.A. Budget", but not "4 parcels" or "1.5
    million".
    """
    match = _LEADING.match(text)
    if match:
        return match["number"], text[match.end() :]
    return "", text


# --- numbers of matters ---------------------------------------------------------------

# What numbers begin with, and the kind of matter that it stands for; None where it
# stands for none.
_KINDS: Final[dict[str, str | None]] = {
    "agr": "Agreement",
    "ann": "Annexation",
    "app": "Application",
    "appt": "Appointment",
    "bill": "Bill",
    "cb": "Council Bill",
    "cl": "Claim",
    "coa": "Certificate of Appropriateness",
    "com": "Communication",
    "comm": "Communication",
    "con": "Contract",
    "cup": "Conditional Use Permit",
    "file": None,
    "gpa": "General Plan Amendment",
    "item": None,
    "lb": "Legislative Bill",
    "lic": "License",
    "ll": "Local Law",
    "min": "Minutes",
    "mot": "Motion",
    "motion": "Motion",
    "o": "Ordinance",
    "ord": "Ordinance",
    "ordinance": "Ordinance",
    "pet": "Petition",
    "petition": "Petition",
    "ph": "Public Hearing",
    "proc": "Proclamation",
    "pud": "Planned Unit Development",
    "r": "Resolution",
    "rep": "Report",
    "res": "Resolution",
    "reso": "Resolution",
    "resolution": "Resolution",
    "rpt": "Report",
    "rz": "Rezoning",
    "sp": "Site Plan",
    "sub": "Subdivision",
    "subd": "Subdivision",
    "sup": "Special Use Permit",
    "ta": "Text Amendment",
    "var": "Variance",
    "za": "Zoning Amendment",
    "zma": "Zoning Map Amendment",
    "zta": "Zoning Text Amendment",
}
_SHORT: Final = {
    "ordinance": "ord",
    "resolution": "res",
    "reso": "res",
    "motion": "mot",
}
# years and roads
_NO_KINDS: Final = frozenset(("fy", "sr", "us", "hwy", "rt", "cr", "covid"))
_YEARLY = r"\d{2,4}-(?:[A-Z]{1,3}-)?\d{1,6}(?:-\d{1,4})?[A-Z]?"
_NUMBER = (
    r"(?:(?P<kind>[A-Za-z]{1,12})\.?[\s#-]{0,3}(?:[Nn]o\.?\s{0,2}|[Nn]umber\s)?#?)?"
    rf"(?P<number>{_YEARLY}|\d{{4,7}})\b"
)
_AT_START = re.compile(
    rf"\A\W{{0,3}}(?P<file>{_NUMBER})\]?(?P<mark>\s{{0,2}}[:.)–-])?\s{{1,3}}(?=\S)"
)
_ALONE = re.compile(rf"\A\W{{0,2}}(?P<file>{_NUMBER})\W{{0,2}}\Z")
_STATED = re.compile(
    r"\b(?:file|item|legislation|record|matter)\s{0,2}(?P<named>id|no\.?|number|#)?\s{0,2}[:#]?"
    rf"\s{{1,3}}(?P<file>{_NUMBER})",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
# no years, no houses
_UNMISTAKABLE = re.compile(r"(?:20)?\d\d-(?!(?:19|20)\d\d\Z)\d{4,6}")
# after the year of a number without letters: "2026-27" is a budget's year
_BARE_DIGITS = 3
_LONG_DIGITS = 5  # of a number without a year that stands without a mark: "CB 120999"
_CANONICAL = re.compile(rf"\A{_NUMBER}\Z")
_KIND_IN_TITLE = re.compile(
    r"\A\W{0,3}(?:(?:an?|the|proposed|to|adopt|adoption\sof|approve|approval\sof|consider"
    r"|consideration\sof|introduce|introduction\sof|first\sreading(?:\sof)?"
    r"|second\sreading(?:\sof)?|public\shearing(?:\son)?)[\s:–-]{1,3}){0,4}"
    r"(?P<kind>ordinance|resolution|local\slaw|council\sbill|proclamation)\b",
    re.IGNORECASE,
)


def with_matter_numbers(meeting: Meeting) -> Meeting:
    """Return a meeting whose items have the number of their matter apart from the
    title.
    """
    items = map(_numbered, meeting.items)
    return replace(meeting, items=tuple(items))


def _numbered(item: AgendaItem) -> AgendaItem:
    match = _AT_START.match(item.title[:200])
    if match is None:
        return _typed(item)
    if not _is_number(match, has_mark=bool(match["mark"])):
        return _typed(item)
    stated = item.matter_file or match["file"]
    if canonical_file(stated) != canonical_file(match["file"]):
        return _typed(item)
    title = item.title[match.end() :]
    return _typed(replace(item, title=title, matter_file=stated))


def _typed(item: AgendaItem) -> AgendaItem:
    """Return an item whose kind of matter is known by its number or title, unless it is
    stated.
    """
    if item.matter_type:
        return item
    kind = _kind_of(item.matter_file) or _kind_in_title(item.title)
    return replace(item, matter_type=kind)


def _kind_in_title(title: str) -> str | None:
    match = _KIND_IN_TITLE.match(title[:200])
    if not match:
        return None
    return " ".join(match["kind"].split()).title()


def _is_number(match: re.Match[str], *, has_mark: bool) -> bool:
    """Whether digits are those of a matter: by the letters before them, or by their
    form.
    """
    kind, number = match["kind"], match["number"]
    if not kind:
        return _is_bare_number(number, has_mark=has_mark)
    is_known = kind.lower() in _KINDS
    if "-" in number:
        if is_known:
            return True
        return _may_be_kind(kind, has_mark=has_mark)
    # Without a dash it may be a sum, a house or a year.
    if not is_known:
        return False
    if _YEAR.fullmatch(number):
        return False
    if has_mark:
        return True
    return len(number) >= _LONG_DIGITS


def _is_bare_number(number: str, *, has_mark: bool) -> bool:
    if _UNMISTAKABLE.fullmatch(number):
        return True
    _, dash, last = number.rpartition("-")
    if not has_mark:
        return False
    if dash == "":
        return False
    return len(last) >= _BARE_DIGITS


def _may_be_kind(letters: str, *, has_mark: bool) -> bool:
    """Whether unknown letters may stand for a kind of matter: a few capitals."""
    if not letters.isupper():
        return False
    if len(letters) > 6:
        return False
    if letters.lower() in _NO_KINDS:
        return False
    if has_mark:
        return True
    return len(letters) > 1


def file_in(text: str) -> str | None:
    """Return the number that a text states as that of its matter, or consists of; None
    without one.
    """
    words = " ".join(text[:2000].split())
    match = _STATED.search(words)
    if match is not None and match["kind"]:
        if _is_number(match, has_mark=True):
            return match["file"]
        return None
    if match is not None and _is_marked(match):
        return match["file"]
    match = _ALONE.match(words)
    if match is None:
        return None
    if _is_number(match, has_mark="-" in match["number"]):
        return match["file"]
    return None


def _is_marked(match: re.Match[str]) -> bool:
    """Return whether a number has a name before it or a dash in it."""
    if match["named"]:
        return True
    return "-" in match["number"]


def first_file(texts: Iterable[str]) -> str | None:
    """Return the number that the first of these texts with one states; None without."""
    for text in texts:
        file = file_in(text)
        if file:
            return file
    return None


def _kind_of(file: str | None) -> str | None:
    """Return the kind of matter that the letters of a number stand for; None if they
    stand for none.
    """
    match = _CANONICAL.match(" ".join((file or "").split()))
    if not match:
        return None
    return _KINDS.get((match["kind"] or "").lower())


def canonical_file(file: str) -> str:
    """Return a public number in one form: "Ord. No. 2026-101" and "ORD-2026-101" are
    `ORD 2026-101`.
    """
    words = " ".join(file.split())
    match = _CANONICAL.match(words)
    if match is None:
        return words
    if not match["kind"]:
        return words
    kind = match["kind"].lower()
    return f"{_SHORT.get(kind, kind)} {match['number']}".upper()
