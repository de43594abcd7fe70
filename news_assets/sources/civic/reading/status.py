"""The status of a meeting, from the vendor's words and the time.

Only set forms at the start or the end of a text say that a meeting does not take place,
because the same words name business: "Hearing on the cancellation of the lease". With a
new date in the same sentence it is moved, not cancelled.
"""

import re
from datetime import datetime

from news_assets.records.meetings import MeetingStatus

# of a text; what is said of the meeting itself stands at the beginning
MAX_CHARS = 2000

_OFF = (
    r"(?:cancel+ed|cancel+ation|postponed|deferred|vacated|called\soff|no\s(?:quorum|meetings?)"
    r"|will\snot\s(?:meet|be\sheld)|not\smeeting|(?:for|due\sto)?\s?lack\sof\s(?:a\s)?quorum"
    r"|adjourned\s(?:for|due\sto)\slack\sof\s(?:a\s)?quorum"
    r"|annul[eé]e?s?|report[eé]e?s?|cancelad[ao]s?|suspendid[ao]s?|aplazad[ao]s?|pospuest[ao]s?|adiad[ao]s?)"
)
_WHAT = (
    r"(?:(?:the|this|regular|special|meeting|session|hearing|workshop"
    r"|reunión|réunion|sesión|séance)\s){0,4}"
)
_SAID = r"(?:(?:is|are|was|were|has|have|been|hereby|notice\sof|aviso\sde|avis\sd['’])\s?){0,3}"
_WHY = (
    r"(?:due|for|because|owing|per|by|in\sobservance|until\sfurther"
    r"|to\sa\s(?:later|future)|indefinitely|no\s|lack)"
)
_AT_START = re.compile(
    rf"\A\W{{0,6}}{_SAID}{_WHAT}{_OFF}\b(?:\W{{0,3}}\Z|\s{{0,2}}[-–—:;!*/|)\].,]|\s(?:notice|{_WHY}))",
    re.IGNORECASE,
)
_OF_BODY = re.compile(
    r"\A\W{0,6}(?:cancel+ed|postponed)\s(?:[\w'’&.]{1,20}\s){0,4}?"
    r"(?:meeting|council|board|commission|committee|session|workshop)\b",
    re.IGNORECASE,
)
_LOUD_AT_START = re.compile(
    r"\A\W{0,6}(?:CANCEL+ED|ANNULÉE?|CANCELAD[AO]|POSTPONED|DEFERRED|VACATED)\W{0,3}\s"
)
_AT_END = re.compile(
    rf"(?:[-–—:;*(\[/|,.!]\s{{0,2}}|\b(?:meeting|session|hearing|workshop|board|council|commission|committee)\s)"
    rf"\W{{0,3}}{_SAID}{_OFF}(?:\W{{0,4}}\Z|\s{{0,2}}[-–—:;*(),.]|\s{_WHY})",
    re.IGNORECASE,
)
_LOUD_AT_END = re.compile(
    r"\s(?:CANCEL+ED|ANNULÉE?|CANCELAD[AO]|POSTPONED|DEFERRED|VACATED)\W{0,4}\Z"
)
_ONLY_END = re.compile(
    r"(?<!not)(?<!to be)(?<!previously)(?<!formerly)\scancel+ed\W{0,4}\Z", re.IGNORECASE
)
_NOTICE = re.compile(
    r"\b(?:notice\sof\s(?:the\s)?(?:meeting\s)?cancel+ation|(?:meeting\s)?cancel+ation\s(?:notice|memo|letter)"
    r"|meeting\scancel+ation|notice\sof\spostponement)\b",
    re.IGNORECASE,
)
_RESCHEDULED = re.compile(
    r"(?:\A\W{0,6}|[-–—:;*(\[/|]\s{0,2}|\b(?:is|has\sbeen)\s)rescheduled\b(?:\W{0,4}\Z|\s{0,2}[-–—:](?!.{0,60}\bfrom\b))",
    re.IGNORECASE,
)
_RECESS = re.compile(
    r"\A\W{0,3}(?:no\smeeting\W{1,3})?(?:(?!from\b|after\b|following\b)[\w'’]{1,20}\s){0,3}recess\b\W{0,4}(?:\Z|\W\s?no\smeeting)"
    r"|[-–—:(]\s?(?:(?:in|on|summer|winter|spring|holiday|annual|council)\s)?recess\W{0,3}\Z",
    re.IGNORECASE,
)
_HELD = re.compile(
    r"\b(?:not\s(?:been\s)?|previously\s|formerly\s|un|no\slonger\s|originally\s)(?:cancel+ed|postponed|rescheduled)\b"
    r"|\bsupersedes\b|\bcancel+ation\swithdrawn\b|\bto\sbe\s(?:cancel+ed|vacated|deferred)\b",
    re.IGNORECASE,
)
_OF_MEETING = re.compile(
    r"\A\W{0,6}(?:notice\sof\s)?cancel+ation\sof\s(?:[\w'’.,]{1,20}\s){0,6}(?:meeting|session|hearing|workshop)s?\b",
    re.IGNORECASE,
)
_NOT_HELD = re.compile(
    r"\b(?:council|board|commission|committee|authority|meeting)"
    r"(?:\s(?!that\b|which\b|who\b)[\w'’]{1,20}){0,4}\swill\snot\s(?:meet|be\sheld)\b"
    r"|\A\W{0,6}no\smeetings?\s(?:in|on|this|for|until)\b"
    r"|\A(?:sesi[óo]n|reuni[óo]n|s[ée]ance|r[ée]union|reuni[ãa]o|sess[ãa]o)\s.{1,60}\s"
    r"(?:cancelada|suspendida|aplazada|adiada|annul[ée]e)\W{0,4}\Z",
    re.IGNORECASE,
)
_NEW_DATE = re.compile(
    r"\b(?:re-?scheduled|moved|postponed|deferred|changed|continued|cancel+ed|adjourned|report[eé]e?|aplazad[ao]|adiad[ao])\b"
    r"[^.\n]{0,40}?\b(?:to|until|till|for|on|now|au|al|a|para)\s{1,2}(?:the\s|le\s|el\s|o\s)?"
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s\d"
    r"|\d{1,2}[/.-]\d{1,2}|\d{4}-\d\d|\d{1,2}(?:er|st|nd|rd|th)?\s(?:de\s)?[a-zéû]{3,10}\b|tomorrow|next\s(?:week|month))",
    re.IGNORECASE,
)
# In prose only what is said of the meeting itself counts: a comment may be about
# another one.
_OFF_IN_PROSE = re.compile(
    r"\b(?:meeting|hearing|session|workshop)s?\b[^.\n]{0,40}\b(?:cancel+ed|postponed|vacated|called\soff)\b"
    r"|\A\W{0,5}(?:notice\sof\s)?(?:cancel+ed|cancel+ation|postponed)\b",
    re.IGNORECASE,
)

_CANCELLED_FORMS = (
    _NOTICE,
    _RESCHEDULED,
    _RECESS,
    _NOT_HELD,
    _OF_MEETING,
    _AT_START,
    _OF_BODY,
    _LOUD_AT_START,
    _AT_END,
    _LOUD_AT_END,
    _ONLY_END,
)


def status_of(
    names: list[str],
    prose: str,
    starts_at: datetime | None,
    ends_at: datetime | None,
    now: datetime,
    is_final: bool,
) -> MeetingStatus:
    """Return a meeting's status: a meeting is confirmed if the vendor calls it or its
    agenda final, not because an agenda is there. It has passed once it has ended, or
    has begun if no end is stated.

    Args:
        names: Titles of the meeting and of its documents, and the vendor's own status.
        prose: What the vendor says of the meeting in sentences.
        starts_at: When it begins; None if unknown.
        ends_at: When it ends, or the end of its day if its hour is unknown.
        now: The present.
        is_final: Whether the vendor calls the meeting or its agenda final.
    """
    over = ends_at or starts_at
    if any(map(says_cancelled, names)) or _is_off_in_prose(prose[:MAX_CHARS]):
        return "cancelled"
    if over is not None and over <= now:
        return "passed"
    return "confirmed" if is_final else "tentative"


def says_cancelled(text: str) -> bool:
    """Whether a title, or the vendor's own status, says that the meeting does not take
    place on its day.
    """
    words = " ".join(text[:MAX_CHARS].split())
    if _NEW_DATE.search(words) or _HELD.search(words):
        return False
    return any(form.search(words) for form in _CANCELLED_FORMS)


def _is_off_in_prose(prose: str) -> bool:
    match = _OFF_IN_PROSE.search(prose)
    if match is None or _HELD.search(match[0]):
        return False
    return _NEW_DATE.search(prose) is None
