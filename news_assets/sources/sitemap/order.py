"""Orders the children of a sitemap index by how likely they are to list new articles,
or those of a given day.

Names tell more than `lastmod`: `news-sitemap.xml` has the last two days,
`sitemap-2026-11.xml` and `2026/11/21_1.xml` a month and a day, `author-sitemap.xml` no
articles. A period in the name takes precedence over `lastmod`, which many sites set to
the time at which they rewrote all files.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from urllib.parse import urlsplit

_NEWS = re.compile(
    r"(?<![a-z])(?:google)?(?:news|noticias?|latest|recent|ultimas)(?![a-z])",
    re.IGNORECASE,
)
_NO_ARTICLES = re.compile(
    r"(?:^|[-_/])(?:authors?|autores|users?|categor(?:y|ies|ias?)|(?:post_)?tags?|taxonom(?:y|ies)|pages|paginas|images?"
    r"|imagens|videos?)(?=[-_.\d]|$)|(?:^|/)page-sitemap|posts-page(?=-)",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(?:[-_/.]?(0[1-9]|1[0-2])(?:[-_/.]?(0[1-9]|[12]\d|3[01]))?)?(?!\d)"
    r"|(?:yyyy|year)=(\d{4})(?:&(?:mm|month)=(\d\d?))?(?:&(?:dd|day)=(\d\d?))?",
    re.IGNORECASE,
)
_SLACK = timedelta(days=1)  # a day overlaps two days in another time zone
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Child:
    """One sitemap in an index."""

    url: str
    lastmod: datetime | None = None


def in_order(children: Iterable[Child], day: date | None = None) -> tuple[str, ...]:
    """Return each address once: news sitemaps first, those without articles last, the
    others latest first.

    With a day: only the children that can have articles of it, closest first. Those
    last changed before the day, or named after another period, are left out.
    """
    unique = list({child.url: child for child in children}.values())
    if day is not None:
        return tuple(child.url for child in _of_day(unique, day))
    return tuple(child.url for child in sorted(unique, key=_newest_first))


def _newest_first(child: Child) -> tuple[int, float, float]:
    period = _period_of(child.url)
    changed = child.lastmod or _NEVER
    at = datetime.combine(period[1], time.max, UTC) if period else changed
    return _rank_of(child.url), -at.timestamp(), -changed.timestamp()


def _of_day(children: Sequence[Child], day: date) -> list[Child]:
    possible = [child for child in children if _may_hold(child, day)]
    return sorted(possible, key=lambda child: _closest_first(child, day))


def _may_hold(child: Child, day: date) -> bool:
    period = _period_of(child.url)
    if period is not None and not period[0] - _SLACK <= day <= period[1] + _SLACK:
        return False
    return child.lastmod is None or child.lastmod.date() >= day - _SLACK


def _closest_first(child: Child, day: date) -> tuple[int, int, float]:
    period = _period_of(child.url)
    misses = 0 if period and period[0] <= day <= period[1] else 1 if period else 2
    rank = 2 if _rank_of(child.url) == 2 else 0
    return rank, misses, child.lastmod.timestamp() if child.lastmod else float("inf")


def _rank_of(url: str) -> int:
    name = _name_of(url)
    if _NO_ARTICLES.search(name):
        return 2
    return 0 if _NEWS.search(name) else 1


def _period_of(url: str) -> tuple[date, date] | None:
    """Return the first and last day of the period in an address; None if it names none
    or an invalid one.
    """
    match = next(reversed(list(_PERIOD.finditer(_name_of(url)))), None)
    if match is None:
        return None
    year, month, day = (
        int(match[number] or match[number + 3] or 0) for number in (1, 2, 3)
    )
    try:
        first = date(year, month or 1, day or 1)
    except ValueError:
        return None
    if day:
        return first, first
    after = date(year + 1, 1, 1) if month in (0, 12) else date(year, month + 1, 1)
    return first, after - timedelta(days=1)


def _name_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
