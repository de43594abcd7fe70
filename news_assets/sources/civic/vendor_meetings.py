"""Makes meetings from what a vendor states: times placed in the zone, the status, and
the roles of links. A stored meeting becomes a listed one again when its items are
requested without a new listing.

The status follows from the vendor's words and the time. Only set forms at the start or
the end of a text say that a meeting does not take place, because the same words name
business: "Hearing on the cancellation of the lease". With a new date in the same
sentence it is moved, not cancelled.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from news_assets.records.desks import Selectors
from news_assets.records.meetings import (
    Link,
    Location,
    Meeting,
    MeetingStatus,
    StoredMeeting,
    same_values,
)
from news_assets.sources.civic.meeting_prose import participation_of
from news_assets.sources.civic.moments import Moment
from news_assets.text.dates import zone_info

# A text has the name before the address where a street number follows a separator:
# "Town Hall - 12 Oak St".
_NAME_AND_ADDRESS = re.compile(
    r"(?P<name>[^\n]{1,200}?)\s{0,3}(?:\n|,|;|\s[-–—]{1,2}\s)\s{0,3}(?P<address>\d{1,6}\s?\S.*)",
    re.DOTALL,
)
_STREET = re.compile(r"\b\d{1,6}\s{1,3}(?:[NSEW]\.?\s)?[A-Z0-9][\w'’.-]{0,30}")
_ROOM = re.compile(r"\b(?:room|suite|floor|rm|ste|fl)\.?\s{1,3}#?\d", re.IGNORECASE)
_STATE_AND_ZIP = re.compile(r"\b[A-Z]{2}\.?,?\s{1,3}\d{5}\b")

_ROLES = {
    "agenda": (r"agenda", r"packet|minutes|cover|summary"),
    "packet": (r"packet|merged|package", r"minutes"),
    "minutes": (r"minutes", r"agenda|video"),
    "video": (r"video|media|youtube|recording|webcast", r"download|mp4"),
}
_ROLE_PATTERNS = {
    role: (re.compile(wanted, re.IGNORECASE), re.compile(unwanted, re.IGNORECASE))
    for role, (wanted, unwanted) in _ROLES.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseContext:
    """What an answer is read with: the agency's zone (IANA), the present, and the
    selectors of a page of links.
    """

    timezone: str
    now: datetime
    selectors: Selectors | None = None


def meeting_of(
    stated: Meeting,
    context: ParseContext,
    *,
    start: Moment | None = None,
    end: Moment | None = None,
    status_words: Sequence[str] = (),
    is_final: bool = False,
) -> Meeting:
    """Return a meeting with what follows from what its vendor states of it.

    A meeting without an hour has passed when its day is over.

    Args:
        stated: The meeting without times, status and addresses of documents.
        context: The agency's zone and the present.
        start: Day and hour; without an hour the vendor states none.
        end: Day and hour of the end.
        status_words: The vendor's own status and the like.
        is_final: Whether that says that the meeting is certain.
    """
    starts_at = start.placed(context.timezone) if start else None
    all_day = start is not None and start.clock is None
    ends_at = _end_after(start, end, context.timezone)
    over = ends_at
    if starts_at and all_day:
        over = starts_at + timedelta(days=1)
    titles = [link.title for link in stated.links]
    names = [stated.title, stated.body, *status_words, *titles]
    status = status_of(names, stated.comment, starts_at, over, context.now, is_final)
    return replace(
        stated,
        title=stated.title or stated.body,
        starts_at=starts_at,
        ends_at=ends_at,
        all_day=all_day,
        status=status,
        agenda_url=_first(stated.links, "agenda"),
        packet_url=_first(stated.links, "packet"),
        minutes_url=_first(stated.links, "minutes"),
        video_url=_first(stated.links, "video"),
        participation=participation_of(stated.comment),
    )


def _end_after(
    start: Moment | None, end: Moment | None, timezone: str
) -> datetime | None:
    """Return the end in the zone; None without both hours, or not after the begin."""
    if start is None:
        return None
    if end is None:
        return None
    if start.clock is None:
        return None
    if end.clock is None:
        return None
    ends_at = end.placed(timezone)
    return ends_at if ends_at > start.placed(timezone) else None


def _first(links: Sequence[Link], role: str) -> str | None:
    """Return the first link with a role, by its title."""
    wanted, unwanted = _ROLE_PATTERNS[role]
    for link in links:
        if unwanted.search(link.title):
            continue
        if wanted.search(link.title):
            return link.href
    return None


def role_of(link: Link) -> str:
    """Return what a link is by its title: agenda, packet, minutes or video; else the
    title.
    """
    for role in _ROLES:
        if _first((link,), role):
            return role
    return link.title.lower()


def location_of(text: str) -> Location:
    """Return name and address of a place written as one text; a text that cannot be
    divided is one of the two.
    """
    lines = [" ".join(part.split()) for part in text[:1000].split("\n")]
    words = "\n".join(filter(None, lines)).strip(" ,;")
    match = _NAME_AND_ADDRESS.fullmatch(words)
    if match:
        name, address = match["name"], match["address"]
    elif _STREET.search(_ROOM.sub("", words)) and _STATE_AND_ZIP.search(words):
        name, address = "", words
    else:
        name, _, address = words.partition("\n")
    return Location(name=_one_line(name), address=_one_line(address))


def _one_line(text: str) -> str:
    return " ".join(text.split()).strip(" ,;")


# --- meetings from stored rows --------------------------------------------------------

_STATUSES: dict[str, MeetingStatus] = {
    "confirmed": "confirmed",
    "cancelled": "cancelled",
    "passed": "passed",
}


def listed_again(row: StoredMeeting, timezone: str) -> Meeting:
    """Return a stored meeting as its source last listed it, with what its own pages
    added.
    """
    links = [Link(**link) for link in json.loads(row.links_json)]
    return Meeting(
        **same_values(row),
        starts_at=_local(row.starts_at, timezone),
        ends_at=_local(row.ends_at, timezone),
        all_day=row.is_all_day,
        status=_STATUSES.get(row.status, "tentative"),
        location=Location(name=row.location_name, address=row.location_address),
        links=tuple(links),
        participation=participation_of(row.comment),
    )


def _local(at: datetime | None, timezone: str) -> datetime | None:
    if at is None:
        return None
    return at.astimezone(zone_info(timezone))


# --- status ---------------------------------------------------------------------------

# of a text; what is said of the meeting itself stands at the beginning
_MAX_CHARS = 2000

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
    if any(map(says_cancelled, names)):
        return "cancelled"
    if _is_off_in_prose(prose[:_MAX_CHARS]):
        return "cancelled"
    if over is not None and over <= now:
        return "passed"
    return "confirmed" if is_final else "tentative"


def says_cancelled(text: str) -> bool:
    """Whether a title, or the vendor's own status, says that the meeting does not take
    place on its day.
    """
    words = " ".join(text[:_MAX_CHARS].split())
    if _NEW_DATE.search(words):
        return False
    if _HELD.search(words):
        return False
    return any(form.search(words) for form in _CANCELLED_FORMS)


def _is_off_in_prose(prose: str) -> bool:
    match = _OFF_IN_PROSE.search(prose)
    if match is None:
        return False
    if _HELD.search(match[0]):
        return False
    return _NEW_DATE.search(prose) is None
