"""Parses dates and time zones as sources write them into aware UTC datetimes.

Anything ambiguous is None, because a wrong day is worse than none. `08/09/2026` is the
8th of September except in the United States, so the source's time zone decides. A date
without a zone is in the source's zone, never in UTC. Zones after a time are read as
"BRT", "-0300", "Europe/Lisbon", "horário de Brasília".
"""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache, partial
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# --- zones ----------------------------------------------------------------------------


# Hours from UTC. For ambiguous names (CST, IST, AMT) the source's own zone takes
# precedence.
_HOURS = {
    "acdt": 10.5,
    "acst": 9.5,
    "act": -5,
    "adt": -3,
    "aedt": 11,
    "aest": 10,
    "akdt": -8,
    "akst": -9,
    "amt": -4,
    "art": -3,
    "ast": -4,
    "awst": 8,
    "bot": -4,
    "brst": -2,
    "brt": -3,
    "bst": 1,
    "cat": 2,
    "cdt": -5,
    "cest": 2,
    "cet": 1,
    "clst": -3,
    "clt": -4,
    "cot": -5,
    "cst": -6,
    "eat": 3,
    "ect": -5,
    "edt": -4,
    "eest": 3,
    "eet": 2,
    "est": -5,
    "fnt": -2,
    "gmt": 0,
    "hkt": 8,
    "hst": -10,
    "ict": 7,
    "ist": 5.5,
    "jst": 9,
    "kst": 9,
    "mdt": -6,
    "mest": 2,
    "met": 1,
    "msk": 3,
    "mst": -7,
    "nzdt": 13,
    "nzst": 12,
    "pdt": -7,
    "pet": -5,
    "pkt": 5,
    "pst": -8,
    "pyt": -4,
    "sast": 2,
    "sgt": 8,
    "ut": 0,
    "utc": 0,
    "uyt": -3,
    "vet": -4,
    "wat": 1,
    "west": 1,
    "wet": 0,
    "wib": 7,
    "z": 0,
}
_ZONE_SECONDS = {name.upper(): int(hours * 3600) for name, hours in _HOURS.items()}

# "(horário de Brasília)": the capital whose time is meant, without accents.
_CITIES = {
    "brasilia": "America/Sao_Paulo",
    "buenos aires": "America/Argentina/Buenos_Aires",
    "lisboa": "Europe/Lisbon",
    "londres": "Europe/London",
    "manaus": "America/Manaus",
    "madrid": "Europe/Madrid",
    "nova york": "America/New_York",
    "paris": "Europe/Paris",
}
_ZONE = (
    r"(?P<zone>z\b|(?:etc/)?(?:gmt|utc?)?\s?[+-](?=\d)\d{1,2}:?\d{0,2}(?!\d)"
    r"|(?:hor[aá]rio|hora|heure)\s(?:(?:oficial\s)?d[eo]\s)?(?P<city>[a-zà-ÿ]+(?:\s(?:aires|york))?)"
    r"|[a-z]{2,5}(?![a-z/])|[a-z]+/[a-z_]+(?:/[a-z_]+)?)"
)
_OFFSET = re.compile(
    r"(?:etc/)?(?:gmt|utc?)?\s?([+-])(\d{1,2}):?(\d{2})?|.*?([+-])(\d{1,2}):?(\d)",
    re.IGNORECASE,
)
_US_ZONES = re.compile(
    r"US/|Pacific/Honolulu|America/(?:New_York|Chicago|Denver|Los_Angeles|Phoenix|Anchorage|Boise|Detroit|Juneau|Nome|Sitka"
    r"|Adak|Menominee|Metlakatla|Yakutat|Indiana/|Kentucky/|North_Dakota/)"
)


@lru_cache(maxsize=256)
def zone_info(name: str) -> ZoneInfo:
    """Return the zone; UTC for an unknown name, since desk files are validated when
    loaded.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def is_month_first(source_zone: str) -> bool:
    """Return whether 08/09 is the 9th of August in the source's zone: in the United
    States only.
    """
    return _US_ZONES.match(source_zone) is not None


def placed(
    local: datetime, zone: str | None, source_zone: str, city: str | None = None
) -> datetime:
    """Return a local time in the zone written after it, else in the source's; `city` is
    the capital in a zone's name.

    Raises:
        ValueError: The offset is a day or more.
    """
    own = local.replace(tzinfo=zone_info(source_zone))
    zone = zone or ""
    own_name = own.tzname() or ""
    name = zone.strip().lower()
    if name in ("", own_name.lower()):
        return own
    if city:
        there = _CITIES.get(without_accents(city))
        if there is None:
            return own
        return local.replace(tzinfo=zone_info(there))
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        return local.replace(tzinfo=_zone_of_offset(offset))
    if "/" in name:
        return local.replace(tzinfo=zone_info(zone))
    if name not in _HOURS:
        return own
    return local.replace(tzinfo=timezone(timedelta(hours=_HOURS[name])))


def _zone_of_offset(offset: re.Match[str]) -> timezone:
    sign, hours, minutes = (*filter(None, offset.groups()), "0")[:3]
    delta = timedelta(hours=int(hours), minutes=int(minutes))
    if sign == "-":
        return timezone(-delta)
    return timezone(delta)


def without_accents(text: str) -> str:
    """Return the text in lower-case ASCII letters: "Brasília" is "brasilia"."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return decomposed.encode("ascii", "ignore").decode()


# --- dates ----------------------------------------------------------------------------


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
_REST = rf"(?:{_BEFORE_TIME}{_TIME}\s*\(?{_ZONE}?)?(?:\W.*)?$"
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
    rf"\D{{0,60}}?(?<!\d){_TIME}\s*\(?(?:{_ZONE}(?=[\s,)]))?[\s,)|/·•–—-]+"
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
    if not 0 < len(words) <= MAX_CHARS:
        return None
    try:
        for parse in _PARSERS:
            found = parse(words, timezone)
            if found is not None:
                return _plausible(found)
    except (ValueError, OverflowError):
        return None  # the 31st of February, hour 25, a year out of range in UTC
    return None


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
    for match in _IN_ADDRESS.finditer(path):
        day = _day_of_match(match)
        if day is not None:
            return day
    return None


def _day_of_match(match: re.Match[str]) -> date | None:
    year = match["year"]
    month = match["month"]
    day = match["day"]
    if int(year) < _FIRST_ADDRESS_YEAR:
        return None
    if not match["sep"] and (len(month), len(day)) != (2, 2):
        return None
    try:
        return date(int(year), _month_of(month), int(day))
    except ValueError:
        return None


def _plausible(at: datetime) -> datetime | None:
    utc = at.astimezone(UTC).replace(microsecond=0)
    if utc == _UNIX_EPOCH:
        return None
    if not FIRST_YEAR <= utc.year < LAST_YEAR:
        return None
    return utc


# --- one parser per format; None if the text has another format -----------------------


def _parse_clock_first(words: str, source_zone: str) -> datetime | None:
    match = _CLOCK_FIRST.match(words)
    if match is None:
        return None
    parts = _form_parts(match["date"])
    if parts is None:
        return None
    if parts["hour"]:
        return None
    for name, text in match.groupdict().items():
        if text:
            parts[name] = text
    return _placed_time(parts, source_zone)


def _parse_form(words: str, source_zone: str) -> datetime | None:
    parts = _form_parts(words)
    if parts is None:
        return None
    return _placed_time(parts, source_zone)


def _form_parts(words: str) -> dict[str, str | None] | None:
    for form in _FORMS:
        match = form.match(words)
        if match is not None:
            return match.groupdict()
    return None


def _hour_of(parts: dict[str, str | None]) -> int:
    """Return the hour, 0 to 24 as it is written; of a half of the day from its begin."""
    hour = _number(parts, "hour")
    half = parts["half"]
    if not half:
        return hour
    hour %= 12
    if half[0] in "pP":
        hour += 12
    return hour


def _placed_time(parts: dict[str, str | None], source_zone: str) -> datetime:
    """Return the time with these parts in its zone. Raises ValueError if there is no
    such time.
    """
    year, month, day = _day_parts(parts, source_zone)
    hour = _hour_of(parts)
    minute = _number(parts, "dotted", "minute")
    second = _number(parts, "second")
    is_end_of_day = (hour, minute, second) == (24, 0, 0)
    if is_end_of_day:
        hour = 0
    local = datetime(year, month, day, hour, minute, min(second, 59))  # noqa: DTZ001
    at = placed(local, parts["zone"], source_zone, parts["city"])
    if is_end_of_day:
        return at + timedelta(days=1)
    return at


def _day_parts(parts: dict[str, str | None], source_zone: str) -> tuple[int, int, int]:
    """Return year, month, day. Raises ValueError for an unknown month name."""
    year = _number(parts, "year")
    if len(str(parts["year"])) == 2:
        year += 1900 if year >= 70 else 2000
    if "first" not in parts:
        return year, _month_of(parts["month"] or ""), _number(parts, "day")
    first = _number(parts, "first")
    other = _number(parts, "other")
    if other > 12:
        return year, first, other
    if first <= 12 and is_month_first(source_zone):
        return year, first, other
    return year, other, first


def _number(parts: dict[str, str | None], *names: str) -> int:
    """Return the first of these parts that is written, as a number; 0 if none is."""
    for name in names:
        written = parts[name]
        if written:
            return int(written)
    return 0


def _month_of(name: str) -> int:
    """Return the number of a month, written as a number or a name."""
    if name.isdigit():
        return int(name)
    plain = without_accents(name) or name.lower()
    month = _MONTHS.get(plain[:4]) or _MONTHS.get(plain[:3])
    if month is None:
        raise ValueError(name)
    return month


def _parse_epoch(words: str, _: str) -> datetime | None:
    if not _EPOCH.fullmatch(words):
        return None
    seconds = float(words)
    if seconds >= 1e11:
        seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC)


def _parse_compact(words: str, source_zone: str) -> datetime | None:
    """Parse the other forms of ISO 8601: 20260908T143000Z, 2026-W37-2."""
    if not _COMPACT.fullmatch(words):
        return None
    return _in_zone(datetime.fromisoformat(words), source_zone)


def _in_zone(at: datetime, source_zone: str) -> datetime:
    """Return a time; one without a zone is in the source's."""
    if at.tzinfo is not None:
        return at
    return placed(at, None, source_zone)


def _parse_leniently(words: str, source_zone: str) -> datetime | None:
    """Parse with dateutil; None if it fills in a missing part of the date from its
    default.
    """
    from dateutil import parser

    read = partial(
        parser.parse,
        words,
        dayfirst=not is_month_first(source_zone),
        tzinfos=_zone_offset,
    )
    at = read(default=datetime(2001, 1, 1))  # noqa: DTZ001
    if at != read(default=datetime(2002, 2, 2)):  # noqa: DTZ001
        return None
    return _in_zone(at, source_zone)


def _zone_offset(name: str | None, offset_s: int | None) -> int | None:
    """Return a zone's offset for dateutil, which warns of names that are missing in a
    plain table.
    """
    return _ZONE_SECONDS.get(name or "", offset_s)


_PARSERS: tuple[Callable[[str, str], datetime | None], ...] = (
    _parse_clock_first,
    _parse_form,
    _parse_epoch,
    _parse_compact,
    _parse_leniently,
)
