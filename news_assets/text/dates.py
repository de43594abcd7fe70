"""Parses dates as sources write them into aware UTC datetimes.

Anything ambiguous is None, because a wrong day is worse than none. `08/09/2026` is the
8th of September except in the United States, so the source's time zone decides. A date
without a zone is in the source's zone, never in UTC.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlsplit

from news_assets.text.zones import (
    ZONE,
    ZONE_SECONDS,
    is_month_first,
    placed,
    without_accents,
    zone_info,
)

MAX_CHARS = 120  # longer is a sentence, not a date
# years 0, 1 and 9999 are what software writes for "none"
FIRST_YEAR, LAST_YEAR = (
    1900,
    2100,
)
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# First letters of month names in de, en, es, fr, id, it, nl, pl, pt, ro, tr, without
# accents, and in ru and uk.
_MONTHS = {
    **dict.fromkeys(("ene", "gen", "ian", "jan", "oca", "sty", "янв", "січ"), 1),
    **dict.fromkeys(("feb", "fev", "lut", "sub", "фев", "лют"), 2),
    **dict.fromkeys(("maa", "mae", "mar", "mrt", "мар", "бер"), 3),
    **dict.fromkeys(("abr", "apr", "avr", "kwi", "nis", "апр", "кві"), 4),
    **dict.fromkeys(("mag", "mai", "maj", "may", "mei", "май", "мая", "тра"), 5),
    **dict.fromkeys(("cze", "giu", "haz", "iun", "jun", "juin", "июн", "чер"), 6),
    **dict.fromkeys(("iul", "jul", "juil", "lip", "lug", "tem", "июл", "лип"), 7),
    **dict.fromkeys(("ago", "agu", "aou", "aug", "sie", "авг", "сер"), 8),
    **dict.fromkeys(("eyl", "sep", "set", "wrz", "сен", "вер"), 9),
    **dict.fromkeys(("eki", "oct", "okt", "ott", "out", "paz", "окт", "жов"), 10),
    **dict.fromkeys(("gru", "дек", "гру"), 12),
    **dict.fromkeys(("kas", "lis", "noi", "nov", "ноя", "лис"), 11),
    **dict.fromkeys(("ara", "dec", "des", "dez", "dic"), 12),
}

_TIME = (
    r"(?:(?P<hour>\d{1,2})\s?(?:\.(?=\d\d\s?uhr)(?P<dotted>\d\d)|[:h](?P<minute>\s?\d\d(?!\d|/\d)|\d)?)"
    r"(?:(?:[:m]|min\.?|')(?P<second>\d{2})?(?:[.,]\d+)?)?"
    r"\s?(?P<half>[ap]\.?m\b\.?)?)"
)
_BEFORE_TIME = r"(?:[\s,t|/(·•–—-]|\b(?:a\s+las|alle(?:\s+ore)?|ore|[aà]s?|at|um|om|kl\.?|o|os)\b)*"
_REST = rf"(?:{_BEFORE_TIME}{_TIME}\s*\(?{ZONE}?)?(?:\W.*)?$"
_YEAR = r"(?P<year>\d{4}|\d\d)(?!\d)"
_DAY = r"(?<!\d)(?P<day>\d{1,2})(?:[ºoª.°]|st|nd|rd|th)?"
_MONTH = r"(?P<month>[a-zà-ÿā-ž]{3,12}|[а-яёіїєґ]{3,10})\.?"

_FORMS = tuple(
    re.compile(form + _REST, re.IGNORECASE | re.DOTALL)
    for form in (
        r"^\D{0,60}?(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})(?!\d)",
        rf"^\D{{0,60}}?{_DAY}[\s/.-]+(?:de\s+|of\s+)?{_MONTH},?[\s/.-]+(?:del?\s+)?{_YEAR}",
        rf"^(?:.{{0,40}}[\s,])??{_MONTH}\s+{_DAY},?\s+{_YEAR}(?!:)",
        rf"^\D{{0,60}}?(?<!\d)(?P<first>\d{{1,2}})(?P<sep>[/.-]|\.\s)(?P<other>\d{{1,2}})(?P=sep){_YEAR}",
        r"^\D{0,60}?(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]",
    )
)
# "14h30 de 27/02/2026", "10:56 EDT, Wednesday, April 27, 2024"
_CLOCK_FIRST = re.compile(
    rf"\D{{0,60}}?(?<!\d){_TIME}\s*\(?(?:{ZONE}(?=[\s,)]))?[\s,)|/·•–—-]+"
    r"(?:(?:do\s+dia|de|del|di|on|am|le|em|el)\s+)?(?P<date>(?:[a-zà-ÿ-]{3,13}\.?,?\s+)?\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_IN_ADDRESS = re.compile(
    r"(?<![^/_.-])(?P<year>(?:19|20)\d\d)(?P<sep>[/_.-]?)(?P<month>\d\d?|[a-z]{3,9})(?P=sep)(?P<day>\d\d?)(?![^/_.-])"
    r"(?!-\d\d-\d\d)",  # Joomla's name of a folder: the time of its making
    re.IGNORECASE,
)
# no page is older; smaller numbers in an address are not years
_FIRST_ADDRESS_YEAR = 1990
_COMPACT = re.compile(r"\d{8}(?:T\S+)?|\d{4}-?W\d\d\S*", re.IGNORECASE)
_EPOCH = re.compile(r"\d{10}(?:\d{3})?(?:\.\d+)?")


def parse_date(text: str | None, timezone: str) -> datetime | None:
    """Return the time stated by a text as aware UTC; None if it states none or only a
    part of a date.

    Reads RFC 822 and 2822 (a wrong weekday, two-digit years, missing seconds and zone
    names included), ISO 8601 and W3CDTF, "08/09/2026 14h30", "14h30 de 08/09/2026", "8
    de setembro de 2026", month names of thirteen languages, the years, months and days
    of Japanese, and seconds or milliseconds since 1970. A text without a zone is read
    in `timezone` (IANA); a date without a time is 00:00 there. Words before and after
    are ignored: "Publicado em 08/09/2026 14h30 - Atualizado ...". The Unix epoch itself
    is None. Fractions of seconds are dropped, because sources disagree about them for
    the same article.
    """
    # five times: indented markup around a date
    words = " ".join((text or "")[: 5 * MAX_CHARS].split())
    if not words or len(words) > MAX_CHARS:
        return None
    try:
        found = next(filter(None, (parse(words, timezone) for parse in _PARSERS)), None)
        return _plausible(found) if found is not None else None
    except (ValueError, OverflowError):
        return None  # the 31st of February, hour 25, a year out of range in UTC


def day_of(at: datetime, timezone: str) -> date:
    """Return the day of a time in a zone (IANA)."""
    try:
        return at.astimezone(zone_info(timezone)).date()
    except OverflowError:  # in that zone it is before the year 1 or after 9999
        return at.date()


def day_in_address(url: str) -> date | None:
    """Return the day in an address's path: /2026/03/27/, /2026/mar/27/, -2026-03-27-,
    /20260327/; else None.
    """
    try:
        path = urlsplit(url).path
    except ValueError:
        return None
    return next(filter(None, map(_day_of_match, _IN_ADDRESS.finditer(path))), None)


def _day_of_match(match: re.Match[str]) -> date | None:
    year, month, day = match["year"], match["month"], match["day"]
    if int(year) < _FIRST_ADDRESS_YEAR or (
        not match["sep"] and (len(month), len(day)) != (2, 2)
    ):
        return None
    try:
        return date(
            int(year), int(month) if month.isdigit() else _month_of(month), int(day)
        )
    except ValueError:
        return None


def _plausible(at: datetime) -> datetime | None:
    utc = at.astimezone(UTC).replace(microsecond=0)
    return utc if FIRST_YEAR <= utc.year < LAST_YEAR and utc != _UNIX_EPOCH else None


# --- one parser per format; None if the text has another format -----------------------


def _parse_clock_first(words: str, source_zone: str) -> datetime | None:
    match = _CLOCK_FIRST.match(words)
    parts = _form_parts(match["date"]) if match else None
    if match is None or parts is None or parts["hour"]:
        return None
    return _placed_time(
        {**parts, **{name: text for name, text in match.groupdict().items() if text}},
        source_zone,
    )


def _parse_form(words: str, source_zone: str) -> datetime | None:
    parts = _form_parts(words)
    return _placed_time(parts, source_zone) if parts else None


def _form_parts(words: str) -> dict[str, str | None] | None:
    match = next(filter(None, (form.match(words) for form in _FORMS)), None)
    return match.groupdict() if match else None


def _placed_time(parts: dict[str, str | None], source_zone: str) -> datetime:
    """Return the time with these parts in its zone. Raises ValueError if there is no
    such time.
    """
    year, month, day = _day_parts(parts, source_zone)
    hour, minute, second = (
        int(parts[name] or 0) for name in ("hour", "minute", "second")
    )
    minute = int(parts["dotted"] or minute)
    if parts["half"]:
        hour = hour % 12 + (12 if parts["half"][0] in "pP" else 0)
    is_end_of_day = (hour, minute, second) == (24, 0, 0)
    local = datetime(  # noqa: DTZ001
        year, month, day, 0 if is_end_of_day else hour, minute, min(second, 59)
    )
    at = placed(local, parts["zone"], source_zone, parts["city"])
    return at + timedelta(days=1) if is_end_of_day else at


def _day_parts(parts: dict[str, str | None], source_zone: str) -> tuple[int, int, int]:
    """Return year, month, day. Raises ValueError for an unknown month name."""
    year = int(parts["year"] or 0)
    if len(parts["year"] or "") == 2:
        year += 1900 if year >= 70 else 2000
    if "first" in parts:
        first, other = int(parts["first"] or 0), int(parts["other"] or 0)
        is_swapped = other > 12 or (first <= 12 and is_month_first(source_zone))
        return (year, first, other) if is_swapped else (year, other, first)
    month = parts["month"] or ""
    return (
        year,
        int(month) if month.isdigit() else _month_of(month),
        int(parts["day"] or 0),
    )


def _month_of(name: str) -> int:
    plain = without_accents(name) or name.lower()
    month = _MONTHS.get(plain[:4]) or _MONTHS.get(plain[:3])
    if month is None:
        raise ValueError(name)
    return month


def _parse_epoch(words: str, _: str) -> datetime | None:
    if not _EPOCH.fullmatch(words):
        return None
    seconds = float(words)
    return datetime.fromtimestamp(seconds / 1000 if seconds >= 1e11 else seconds, UTC)


def _parse_compact(words: str, source_zone: str) -> datetime | None:
    """Parse the other forms of ISO 8601: 20260908T143000Z, 2026-W37-2."""
    if not _COMPACT.fullmatch(words):
        return None
    at = datetime.fromisoformat(words)
    return at if at.tzinfo else placed(at, None, source_zone)


def _parse_leniently(words: str, source_zone: str) -> datetime | None:
    """Parse with dateutil; None if it fills in a missing part of the date from its
    default.
    """
    from dateutil import parser

    results = [
        parser.parse(
            words,
            dayfirst=not is_month_first(source_zone),
            default=default,
            tzinfos=_zone_offset,
        )
        for default in (
            datetime(2001, 1, 1),  # noqa: DTZ001
            datetime(2002, 2, 2),  # noqa: DTZ001
        )
    ]
    if results[0] != results[1]:
        return None
    return results[0] if results[0].tzinfo else placed(results[0], None, source_zone)


def _zone_offset(name: str | None, offset_s: int | None) -> int | None:
    """Return a zone's offset for dateutil, which warns of names that are missing in a
    plain table.
    """
    return ZONE_SECONDS.get(name or "", offset_s)


_PARSERS: tuple[Callable[[str, str], datetime | None], ...] = (
    _parse_clock_first,
    _parse_form,
    _parse_epoch,
    _parse_compact,
    _parse_leniently,
)
