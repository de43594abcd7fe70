"""Dates and hours as vendors write them: local, month first, often without an hour.

Unlike `text/dates.py`, which reads times of publication into UTC, this keeps the local
wall clock and knows whether an hour was stated. A `Z` or offset is not read: of vendors
that write one, the hour is local all the same (CivicClerk), or they state true UTC in a
field of its own, which `utc_time` reads.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from news_assets.text.dates import FIRST_YEAR, LAST_YEAR, zone_info

_MAX_CHARS = 300  # longer is prose, in which an hour need not be the meeting's

_MONTHS = {
    name: number
    for number, name in enumerate(
        (
            "jan",
            "feb",
            "mar",
            "apr",
            "may",
            "jun",
            "jul",
            "aug",
            "sep",
            "oct",
            "nov",
            "dec",
        ),
        start=1,
    )
}
_MONTH = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>(?:19|20)\d\d|\d\d)(?!\d)",
        rf"\b{_MONTH}\s{{0,3}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s?,?\s{{0,3}}(?P<year>(?:19|20)\d\d)(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s-]{{1,3}}{_MONTH}[\s,-]{{1,3}}(?P<year>(?:19|20)\d\d)(?!\d)",
    )
)
_HALF = r"\s{0,3}(?P<half>[ap])\.?\s?m\b"
_RANGE = re.compile(
    r"(?<![\d:/.-])(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s{0,3}(?:-|–|—|to|until)\s{0,3}"
    r"(?P<end>\d{1,2})(?::\d\d)?" + _HALF,
    re.IGNORECASE,
)
_TWELVE = re.compile(
    r"(?<![\d:/.-])(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?::\d\d)?" + _HALF,
    re.IGNORECASE,
)
_TWENTY_FOUR = re.compile(
    r"(?<![\d:/.-])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?(?![\d:])"
)
_HOURS = re.compile(
    r"(?<![\d:/.-])(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)\s?(?:hours|hrs?)\b",
    re.IGNORECASE,
)
_NOON = re.compile(r"\bnoon\b", re.IGNORECASE)
# An hour after such words is that of another meeting: "immediately following the 5:00
# PM session".
_RELATIVE = re.compile(
    r"\b(?:follow(?:s|ing)|after|immediately|upon|conclusion|adjournment of)\b",
    re.IGNORECASE,
)
_WALL_CLOCK = re.compile(r"[T ](\d\d):(\d\d)")
_UTC = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class Moment:
    """A local day, and the hour if one is stated."""

    day: date
    clock: time | None = None

    def placed(self, timezone: str) -> datetime:
        """Return the time in a zone (IANA); midnight without an hour."""
        clock = self.clock or time()
        return datetime.combine(self.day, clock, zone_info(timezone))

    def later(self, length: timedelta) -> "Moment | None":
        """Return the moment so much later on the wall clock; None without an hour."""
        if self.clock is None:
            return None
        at = datetime.combine(self.day, self.clock) + length
        return Moment(at.date(), at.time())


def day_of_text(text: str | None) -> date | None:
    """Return the first date in a text: 2026-02-19, 2/19/2026, 2/19/26, "Feb 19, 2026",
    "19 February 2026".
    """
    for match in sorted(_dates_in(_short(text)), key=re.Match.start):
        day = _day_of_match(match)
        if day is not None:
            return day
    return None


def _dates_in(words: str) -> list[re.Match[str]]:
    """Return the first match of each way to write a date."""
    found = []
    for pattern in _DATES:
        match = pattern.search(words)
        if match is not None:
            found.append(match)
    return found


def _day_of_match(match: re.Match[str]) -> date | None:
    """Return the date; None for one that does not exist or is out of range."""
    parts = match.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 2000
    month = _MONTHS[parts["name"].lower()] if parts.get("name") else int(parts["month"])
    try:
        day = date(year, month, int(parts["day"]))
    except ValueError:
        return None
    if not FIRST_YEAR <= day.year < LAST_YEAR:
        return None
    return day


def clock_of_text(text: str | None) -> time | None:
    """Return the hour that a text states: "1:00 PM", "13:00", "1830 hours", "4:30 -
    6:00 pm", "noon"; None without one.

    An hour that belongs to another meeting is not taken: "immediately following the
    5:00 PM session".
    """
    words = _short(text)
    span = _RANGE.search(words)
    if span is not None:
        return _start_of_range(span)
    for pattern in (_TWELVE, _TWENTY_FOUR, _HOURS):
        match = pattern.search(words)
        if match is None:
            continue
        if _is_relative(match):
            return None
        half = match.groupdict().get("half")
        return _time(int(match["hour"]), match["minute"], half)
    if _NOON.search(words) and not _RELATIVE.search(words):
        return time(12)
    return None


def _start_of_range(span: re.Match[str]) -> time | None:
    """Return the first hour of "4:30 - 6:00 pm", whose half of the day is that of the
    end unless the hours go down.
    """
    if _is_relative(span):
        return None
    start = int(span["hour"])
    end = int(span["end"])
    half = span["half"]
    if start % 12 > end % 12:
        half = "a" if half in "pP" else "p"
    return _time(start, span["minute"], half)


def _is_relative(match: re.Match[str]) -> bool:
    before = match.string[: match.start()]
    return _RELATIVE.search(before) is not None


def _time(hour: int, minute: str | None, half: str | None) -> time | None:
    if half:
        if not 1 <= hour <= 12:
            return None
        hour %= 12
        if half in "pP":
            hour += 12
    try:
        return time(hour, int(minute or 0))
    except ValueError:
        return None


def moment_of_text(text: str | None) -> Moment | None:
    """Return the day and hour of one text, such as "Sep 6, 2022 6:30 PM"; None without
    a date.

    The hour is looked for after the date, then before it, so that neither `2022-09-06`
    nor a hidden number is taken for one.
    """
    words = _short(text)
    day = day_of_text(words)
    if day is None:
        return None
    date_match = min(_dates_in(words), key=re.Match.start)
    clock = clock_of_text(words[date_match.end() :].lstrip("T"))
    if clock is None:
        clock = clock_of_text(words[: date_match.start()])
    return Moment(day, clock)


def moment_of_texts(day_text: str | None, clock_text: str | None) -> Moment | None:
    """Return the moment of a day and an hour stated apart; None without a day."""
    day = day_of_text(day_text)
    if day is None:
        return None
    return Moment(day, clock_of_text(clock_text))


def wall_clock(text: str | None) -> Moment | None:
    """Return an ISO 8601 time as a local one, whatever zone it claims:
    `2025-12-08T09:30:00Z` is half past nine.
    """
    words = _short(text)
    day = day_of_text(words)
    if day is None:
        return None
    match = _WALL_CLOCK.search(words)
    if match is None:
        return Moment(day)
    return Moment(day, _time(int(match[1]), match[2], None))


def utc_time(text: str | None) -> datetime | None:
    """Return a time that is UTC by its field's name, with fractions of any length and
    no Z; None if it is not one.
    """
    match = _UTC.match(_short(text))
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _short(text: str | None) -> str:
    """Return the beginning of a text on one line."""
    if not text:
        return ""
    words = text[: 2 * _MAX_CHARS].split()
    return " ".join(words)[:_MAX_CHARS]
