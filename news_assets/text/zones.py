"""Time zones as written after a time: "BRT", "-0300", "Europe/Lisbon", "horário de
Brasília".
"""

import re
import unicodedata
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
ZONE_SECONDS = {name.upper(): int(hours * 3600) for name, hours in _HOURS.items()}

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
ZONE = (
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
    name = (zone or "").strip().lower()
    if not name or name == (own.tzname() or "").lower():
        return own
    if city:
        there = _CITIES.get(without_accents(city))
        return local.replace(tzinfo=zone_info(there)) if there else own
    if (offset := _OFFSET.fullmatch(name)) is not None:
        sign, hours, minutes = (
            (offset[1], offset[2], offset[3])
            if offset[1]
            else (offset[4], offset[5], offset[6])
        )
        delta = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return local.replace(tzinfo=timezone(-delta if sign == "-" else delta))
    if "/" in name:
        return local.replace(tzinfo=zone_info(zone or ""))
    return (
        local.replace(tzinfo=timezone(timedelta(hours=_HOURS[name])))
        if name in _HOURS
        else own
    )


def without_accents(text: str) -> str:
    """Return the text in lower-case ASCII letters: "Brasília" is "brasilia"."""
    return (
        unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    )
