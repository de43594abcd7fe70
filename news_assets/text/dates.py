"""Dates as sources write them in, aware UTC out.

Pure and never raises: what cannot be understood is None, because a wrong day is worse than none. Two traps are settled
here. `08/09/2026` is the 8th of September everywhere but in the United States, so the source's zone decides. A text
without a zone is in the source's own zone, never in UTC. Which date of a page is the right one is not decided here.
"""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MAX_CHARS = 120  # longer is a sentence, not a date
FIRST_YEAR, LAST_YEAR = 1900, 2100  # years 0, 1 and 9999 are what software writes for "none"
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# First letters of month names in de, en, es, fr, it, pt, nl; without accents.
_MONTHS = {
    **dict.fromkeys(("ene", "gen", "jan"), 1),
    **dict.fromkeys(("feb", "fev"), 2),
    **dict.fromkeys(("maa", "mae", "mar", "mrt"), 3),
    **dict.fromkeys(("abr", "apr", "avr"), 4),
    **dict.fromkeys(("mag", "mai", "may", "mei"), 5),
    **dict.fromkeys(("giu", "jun", "juin"), 6),
    **dict.fromkeys(("jul", "juil", "lug"), 7),
    **dict.fromkeys(("ago", "aou", "aug"), 8),
    **dict.fromkeys(("sep", "set"), 9),
    **dict.fromkeys(("oct", "okt", "ott", "out"), 10),
    "nov": 11,
    **dict.fromkeys(("dec", "dez", "dic"), 12),
}

# Hours from UTC. Where a name is used twice (CST, IST, AMT) the source's own zone is asked first.
_ZONES = {
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

_TIME = (
    r"(?:(?P<hour>\d{1,2})\s?(?:[:h](?P<minute>\d{1,2})?)"
    r"(?:(?:[:m]|min\.?|')(?P<second>\d{2})?(?:[.,]\d+)?)?"
    r"\s?(?P<half>[ap]\.?m\b\.?)?)"
)
_ZONE = (
    r"(?P<zone>z\b|(?:etc/)?(?:gmt|utc?)?\s?[+-](?=\d)\d{1,2}:?\d{0,2}(?!\d)"
    r"|[a-z]{2,5}(?![a-z/])|[a-z]+/[a-z_]+(?:/[a-z_]+)?)"
)
_REST = rf"(?:(?:[\s,t|–-]|\b(?:[aà]s?|at|um|kl\.?|o|os)\b)*{_TIME}\s*\(?{_ZONE}?)?(?:\W.*)?$"
_YEAR = r"(?P<year>\d{4}|\d\d)(?!\d)"
_DAY = r"(?<!\d)(?P<day>\d{1,2})(?:[ºoª.°]|st|nd|rd|th)?"
_MONTH = r"(?P<month>[a-zà-ÿ]{3,10})\.?"

_FORMS = tuple(
    re.compile(form + _REST, re.IGNORECASE | re.DOTALL)
    for form in (
        r"^\D{0,60}?(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d)",
        rf"^\D{{0,60}}?{_DAY}[\s/.-]+(?:de\s+|of\s+)?{_MONTH},?[\s/.-]+(?:del?\s+)?{_YEAR}",
        rf"^(?:.{{0,40}}[\s,])??{_MONTH}\s+{_DAY},?\s+{_YEAR}(?!:)",
        rf"^\D{{0,60}}?(?<!\d)(?P<first>\d{{1,2}})(?P<mark>[/.-])(?P<other>\d{{1,2}})(?P=mark){_YEAR}",
    )
)
_COMPACT = re.compile(r"\d{8}(?:T\S+)?|\d{4}-?W\d\d\S*", re.IGNORECASE)
_EPOCH = re.compile(r"\d{10}(?:\d{3})?(?:\.\d+)?")
_OFFSET = re.compile(r"(?:etc/)?(?:gmt|utc?)?\s?([+-])(\d{1,2}):?(\d{2})?|.*?([+-])(\d{1,2}):?(\d)", re.IGNORECASE)
_US_ZONES = re.compile(
    r"US/|Pacific/Honolulu|America/(?:New_York|Chicago|Denver|Los_Angeles|Phoenix|Anchorage|Boise|Detroit|Juneau|Nome|Sitka"
    r"|Adak|Menominee|Metlakatla|Yakutat|Indiana/|Kentucky/|North_Dakota/)"
)


def parse_date(text: str | None, timezone: str) -> datetime | None:
    """Return the moment a text names, aware UTC; None where it names none or only a part of a date.

    Reads RFC 822 and 2822 (a wrong weekday, two-digit years, missing seconds and zone names included), ISO 8601 and
    W3CDTF, "08/09/2026 14h30", "8 de setembro de 2026", month names of seven languages, and seconds or milliseconds
    since 1970. A text without a zone is read in `timezone` (IANA); a date without a time is 00:00 there. Words before
    and after are passed over: "Publicado em 08/09/2026 14h30 - Atualizado ...". The Unix epoch itself is None.
    Parts of seconds are cut off, since sources disagree about them for one and the same article.
    """
    words = " ".join((text or "")[: 5 * MAX_CHARS].split())  # five times: indented markup around a date
    if not words or len(words) > MAX_CHARS:
        return None
    try:
        found = next(filter(None, (read(words, timezone) for read in _READERS)), None)
        return _plausible(found) if found is not None else None
    except (ValueError, OverflowError):
        return None  # the 31st of February, hour 25, a year that UTC moves out of range


def day_of(at: datetime, timezone: str) -> date:
    """Return the day a moment falls on in a zone (IANA)."""
    return at.astimezone(_zone_info(timezone)).date()


@lru_cache(maxsize=256)
def _zone_info(name: str) -> ZoneInfo:
    """Return the zone; UTC for a name that is none, since desk files are checked where they are loaded."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def _plausible(at: datetime) -> datetime | None:
    utc = at.astimezone(UTC).replace(microsecond=0)
    return utc if FIRST_YEAR <= utc.year < LAST_YEAR and utc != _UNIX_EPOCH else None


# --- readers: text and the source's zone in, aware datetime out, None where the form is another ----------------------


def _read_form(words: str, source_zone: str) -> datetime | None:
    match = next(filter(None, (form.match(words) for form in _FORMS)), None)
    if match is None:
        return None
    parts = match.groupdict()
    year, month, day = _day_parts(parts, source_zone)
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    if parts["half"]:
        hour = hour % 12 + (12 if parts["half"][0] in "pP" else 0)
    if (hour, minute, second) == (24, 0, 0):
        return _placed(datetime(year, month, day), parts["zone"], source_zone) + timedelta(days=1)  # noqa: DTZ001
    local = datetime(year, month, day, hour, minute, min(second, 59))  # noqa: DTZ001 - placed next
    return _placed(local, parts["zone"], source_zone)


def _day_parts(parts: dict[str, str | None], source_zone: str) -> tuple[int, int, int]:
    """Return year, month, day. Raises ValueError where the month is no month."""
    year = int(parts["year"] or 0)
    if len(parts["year"] or "") == 2:
        year += 1900 if year >= 70 else 2000
    if "first" in parts:
        first, other = int(parts["first"] or 0), int(parts["other"] or 0)
        is_month_first = other > 12 or (first <= 12 and _US_ZONES.match(source_zone) is not None)
        return (year, first, other) if is_month_first else (year, other, first)
    month = parts["month"] or ""
    return year, int(month) if month.isdigit() else _month_of(month), int(parts["day"] or 0)


def _month_of(name: str) -> int:
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    month = _MONTHS.get(plain[:4]) or _MONTHS.get(plain[:3])
    if month is None:
        raise ValueError(name)
    return month


def _placed(local: datetime, zone: str | None, source_zone: str) -> datetime:
    """Put a local time into the zone that stands behind it, else into the source's."""
    own = local.replace(tzinfo=_zone_info(source_zone))
    name = (zone or "").strip().lower()
    if not name or name == (own.tzname() or "").lower():
        return own
    if (offset := _OFFSET.fullmatch(name)) is not None:
        sign, hours, minutes = (offset[1], offset[2], offset[3]) if offset[1] else (offset[4], offset[5], offset[6])
        delta = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return local.replace(tzinfo=timezone(-delta if sign == "-" else delta))
    if "/" in name:
        return local.replace(tzinfo=_zone_info(zone or ""))
    return local.replace(tzinfo=timezone(timedelta(hours=_ZONES[name]))) if name in _ZONES else own


def _read_epoch(words: str, _: str) -> datetime | None:
    if not _EPOCH.fullmatch(words):
        return None
    seconds = float(words)
    return datetime.fromtimestamp(seconds / 1000 if seconds >= 1e11 else seconds, UTC)


def _read_compact(words: str, source_zone: str) -> datetime | None:
    """Read what is left of ISO 8601: 20260908T143000Z, 2026-W37-2."""
    if not _COMPACT.fullmatch(words):
        return None
    at = datetime.fromisoformat(words)
    return at if at.tzinfo else _placed(at, None, source_zone)


def _read_leniently(words: str, source_zone: str) -> datetime | None:
    """Let dateutil try; what it completes from today's date is no date."""
    from dateutil import parser

    is_month_first = _US_ZONES.match(source_zone) is not None
    tries = [
        parser.parse(words, dayfirst=not is_month_first, ignoretz=False, default=default, tzinfos=_ZONE_SECONDS)
        for default in (datetime(2001, 1, 1), datetime(2002, 2, 2))  # noqa: DTZ001 - told apart, then placed
    ]
    if tries[0] != tries[1]:
        return None
    return tries[0] if tries[0].tzinfo else _placed(tries[0], None, source_zone)


_ZONE_SECONDS = {name.upper(): int(hours * 3600) for name, hours in _ZONES.items()}
_READERS: tuple[Callable[[str, str], datetime | None], ...] = (_read_form, _read_epoch, _read_compact, _read_leniently)
