"""Parses a sitemap's XML with expat in linear time: the root's name, and the fields of
each `url` or `sitemap`.

Nothing external is loaded and no entity is resolved. After an error of form parsing
resumes at the next item, so that only the broken item is lost. lxml's recovery is not
used: it drops the text after a bare `&`, which changes the address, and takes quadratic
time for `<a <a <a` (10 s for 1.2 million). `feeds/xml_documents.py` is not used either:
it stops at 100,000 elements.

The children of an index are ordered by how likely they are to list new articles, or
those of a given day. Names say more than `lastmod`: `news-sitemap.xml` has the last two
days, `sitemap-2026-11.xml` and `2026/11/21_1.xml` a month and a day,
`author-sitemap.xml` no articles. A period in the name takes precedence over `lastmod`,
which many sites set to the time at which they rewrote all files.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from urllib.parse import urlsplit
from xml.parsers import expat

from news_assets.errors import SourceError

# "loc", "lastmod", "news:title", "image:loc", ... -> the first non-empty text
Fields = dict[str, str]

MAX_ITEMS = 50_000  # in one document, as the protocol allows
_MAX_ERRORS = 100
_MAX_FIELD_CHARS = 10_000  # longer than any address or headline
_TAIL_CHARS = 8192
_ITEM_NAMES: Final = ("url", "sitemap")
_ITEM_START = re.compile(rb"<(?:[\w.-]+:)?(?:url|sitemap)\s*>", re.IGNORECASE)
_ROOT_END = re.compile(
    r"</(?:[\w.-]+:)?(?:urlset|sitemapindex)\s*>|<(?:[\w.-]+:)?(?:urlset|sitemapindex)\b[^<>]*/>\s*$",
    re.IGNORECASE,
)
_BARE_AMPERSAND = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)",
    re.DOTALL,
)
_NAMESPACE = re.compile(r"/schemas/sitemap(?:-(news|image|video))?/")


@dataclass(frozen=True, slots=True)
class _Sitemap:
    """The items of a sitemap in order. `root` is the local name of its root element in
    lower case.
    """

    root: str
    items: tuple[Fields, ...]
    problems: tuple[str, ...] = ()
    is_whole: bool = True


def read_sitemap(text: str, url: str) -> _Sitemap:
    """Return the items of a sitemap; of a truncated document, every item before its
    end.

    Raises:
        SourceError: The document declares entities, which no sitemap needs.
    """
    if "<!ENTITY" in text:
        raise SourceError(f"{url}: XML that declares entities, which no sitemap needs")
    reader = _Reader()
    sound = _BARE_AMPERSAND.sub(_escaped, text)
    errors = _read(sound.encode("utf-8", "replace"), reader)
    is_whole = _ROOT_END.search(text[-_TAIL_CHARS:]) is not None
    count = len(reader.items)
    problems: list[str] = []
    if not is_whole:
        problems.append(f"truncated document: {count:,} addresses read")
    elif errors:
        problems.append(f"not well-formed: {errors[0]}: {count:,} addresses read")
    if count > MAX_ITEMS:
        problems.append(f"more than {MAX_ITEMS:,} addresses: the others are not read")
    items = tuple(reader.items[:MAX_ITEMS])
    return _Sitemap(reader.root, items, tuple(problems), is_whole)


def _escaped(match: re.Match[str]) -> str:
    if match[0] == "&":
        return "&amp;"
    return match[0]


def _read(body: bytes, reader: "_Reader") -> list[str]:
    """Feed the body to the reader, resuming at the next item after each error of form;
    return the errors.
    """
    errors: list[str] = []
    start, opening = 0, b""
    while len(errors) < _MAX_ERRORS:
        parser = reader.parser()
        try:
            parser.Parse(opening, False)
            parser.Parse(body[start:], True)
            break
        except expat.ExpatError as error:
            errors.append(str(error))
            error_end = start + max(parser.ErrorByteIndex - len(opening), 1)
        following = _ITEM_START.search(body, error_end)
        if following is None:
            break
        if not reader.root:
            break
        start = following.start()
        opening = b"<%s>" % reader.root.encode()
    return errors


@dataclass(slots=True)
class _Reader:
    """Collects items as expat's handlers. Names are not namespace-aware: many sitemaps
    use undeclared prefixes.
    """

    root: str = ""
    items: list[Fields] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    item: Fields | None = None
    text: list[str] = field(default_factory=list)

    def parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text.append
        self.item = None
        return parser

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.text.clear()
        if self.item is None:
            self._learn_prefixes(attributes)
            self.root = self.root or self._local(name)
            if self._local(name) in _ITEM_NAMES:
                self.item = {}

    def end(self, name: str) -> None:
        if self.item is None:
            return
        local = self._local(name)
        if local in _ITEM_NAMES:
            if len(self.items) <= MAX_ITEMS:
                self.items.append(self.item)
            self.item = None
        elif text := "".join(self.text)[:_MAX_FIELD_CHARS].strip():
            self.item.setdefault(local, text)
        self.text.clear()

    def _learn_prefixes(self, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if name.startswith("xmlns:") and (match := _NAMESPACE.search(value)):
                self.prefixes[name[6:]] = match[1] or ""

    def _local(self, name: str) -> str:
        """Return the name with its extension's usual prefix: `loc`, `news:title`."""
        if name not in self.names:
            prefix, _, local = name.rpartition(":")
            known = self.prefixes.get(prefix, prefix)
            self.names[name] = f"{known}:{local}".lstrip(":").lower()
        return self.names[name]


# --- the order of an index ------------------------------------------------------------

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
    last changed before the day, or named after another period, are omitted.
    """
    by_url = {child.url: child for child in children}
    unique = list(by_url.values())
    ordered = sorted(unique, key=_newest_first)
    if day is not None:
        ordered = _of_day(unique, day)
    return tuple(child.url for child in ordered)


def _newest_first(child: Child) -> tuple[int, float, float]:
    period = _period_of(child.url)
    changed = child.lastmod or _NEVER
    at = changed
    if period is not None:
        at = datetime.combine(period[1], time.max, UTC)
    return _rank_of(child.url), -at.timestamp(), -changed.timestamp()


def _of_day(children: Sequence[Child], day: date) -> list[Child]:
    possible = [child for child in children if _may_hold(child, day)]
    return sorted(possible, key=lambda child: _closest_first(child, day))


def _may_hold(child: Child, day: date) -> bool:
    period = _period_of(child.url)
    if period is not None:
        first, last = period
        if not first - _SLACK <= day <= last + _SLACK:
            return False
    if child.lastmod is None:
        return True
    return child.lastmod.date() >= day - _SLACK


def _closest_first(child: Child, day: date) -> tuple[int, int, float]:
    rank = 2 if _rank_of(child.url) == 2 else 0
    changed = child.lastmod.timestamp() if child.lastmod else float("inf")
    return rank, _distance(child, day), changed


def _distance(child: Child, day: date) -> int:
    """Return 0 for a child whose name has a period with this day, 1 with another one,
    2 with none.
    """
    period = _period_of(child.url)
    if period is None:
        return 2
    first, last = period
    if first <= day <= last:
        return 0
    return 1


def _rank_of(url: str) -> int:
    name = _name_of(url)
    if _NO_ARTICLES.search(name):
        return 2
    if _NEWS.search(name):
        return 0
    return 1


def _period_of(url: str) -> tuple[date, date] | None:
    """Return the first and last day of the period in an address; None if it names none
    or an invalid one.
    """
    matches = list(_PERIOD.finditer(_name_of(url)))
    if not matches:
        return None
    parts = matches[-1].groups(default="0")
    # The groups of one of the two forms matched: year, month and day.
    year, month, day = (int(parts[at]) or int(parts[at + 3]) for at in range(3))
    try:
        first = date(year, month or 1, day or 1)
    except ValueError:
        return None
    if day:
        return first, first
    return first, _day_after(year, month) - timedelta(days=1)


def _day_after(year: int, month: int) -> date:
    """Return the first day after a month, or after a year where `month` is 0."""
    if month in (0, 12):
        return date(year + 1, 1, 1)
    return date(year, month + 1, 1)


def _name_of(url: str) -> str:
    parts = urlsplit(url)
    if parts.query:
        return f"{parts.path}?{parts.query}"
    return parts.path
