"""Determines when a page's article was published and updated, in UTC to the minute, and
from which part of the page.

Sources, surest first: JSON-LD, meta tags, microdata and Plone's byline, dates near the
headline, the URL, a guess. The listing's time ranks above the URL; `articles/rows.py`
decides that.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from lxml.html import HtmlElement

from news_assets.pipeline.page.stated import MetaTags, Node, as_list, texts_of
from news_assets.pipeline.page.visible_dates import (
    Kind,
    VisibleDate,
    bare_dates,
    dates_near_headline,
    named_dates,
    worded_dates,
)
from news_assets.records.reading import PublishedOrigin
from news_assets.text.dates import day_in_address, day_of, parse_date

_PUBLISHED = (
    "article:published_time", "og:article:published_time", "datepublished", "og:published_time",
    "rnews:datepublished",
    "parsely-pub-date", "sailthru.date", "article.published", "cxenseparse:recs:publishtime",
    "published-date",
    "publish-date", "publish_date", "publishdate", "pubdate", "article_date_original",
    "originalpublicationdate",
    "dcterms.issued", "dc.date.issued", "dc.date.created", "dcterms.created", "dc.date",
    "dcterms.date", "date",
)  # fmt: skip
_UPDATED = (
    "article:modified_time", "og:updated_time", "datemodified", "og:article:modified_time",
    "rnews:datemodified",
    "dcterms.modified", "dc.date.modified", "article.updated", "last-modified", "lastmod",
    "revised",
)  # fmt: skip
# Some templates fill these with the time of rendering.
_OFTEN_RENDERED = frozenset(
    {"date", "dc.date", "dcterms.date", "last-modified", "lastmod", "revised"}
)
_RENDERED_WITHIN = timedelta(minutes=2)  # of fetching: taken for the time of rendering
# servers' clocks differ; later times are not times of publication
_MAX_AHEAD = timedelta(hours=1)

_CLOCK = re.compile(
    r"\d\s?[:hH]\s?\d|\d\s?h\b|\d\s?[ap]\.?m\b|T\d\d|^\s*\d{10,13}\s*$", re.IGNORECASE
)
_VISIBLE = re.compile(
    r"\b\d{1,2}[/.-]\d{1,2}[/.-]\d{4}\W{1,3}(?:\w{1,4}\W{1,2})?\d{1,2}\s?[:h]\s?\d{2}\b"
)
# of dates near the headline, in the order in which they count
_KINDS_NEAR_HEADLINE: tuple[Kind, ...] = ("published", "plain")
_VISIBLE_CHARS = 20_000  # of text that is searched for dates
_SHORT_CHARS = 120
# Plone, as gov.br and other public bodies run it: "publicado 27/02/2026 14h30", "última
# modificação 28/02/2026 9h12"
_PLONE_PUBLISHED, _PLONE_UPDATED = "documentPublished", "documentModified"


class _Dated(NamedTuple):
    """A time with its origin."""

    at: datetime
    origin: PublishedOrigin


class _Candidate(NamedTuple):
    origin: PublishedOrigin
    text: str
    may_be_rendered: bool = False


@dataclass(frozen=True)
class DatedPage:
    """The parts of one page that may date it; `timezone` (IANA) applies to times
    without a zone.
    """

    tree: HtmlElement
    article: Node
    meta: MetaTags
    headline: str | None
    url: str
    timezone: str
    fetched_at: datetime

    @cached_property
    def worded(self) -> list[VisibleDate]:
        """The dates of the whole page that say what they are, used for both times."""
        return worded_dates(self.tree)

    @cached_property
    def bylines(self) -> list[VisibleDate]:
        """The dates near the headline, used for both times."""
        return dates_near_headline(self.tree, self.headline)


def published_time(page: DatedPage) -> _Dated | None:
    """Return the time of publication that the page states, else the day in its URL."""
    return _first_time(page, _published(page)) or _from_url(page)


def guessed_time(page: DatedPage, day: str | None) -> _Dated | None:
    """Return a guess where nothing is stated.

    That is the update, htmldate's `day` (ISO), the only day worded as one of updates,
    the only day of elements named as dates, the only day shown on the page, or a time
    in the future. What a year alone gives is the first of January.
    """
    if updated := updated_time(page, None):
        return _Dated(updated, "guess")
    guesses: list[str] = []
    if day and not day.endswith("-01-01"):
        guesses += [*_on_day(_visible(page.tree), day, page.timezone), day]
    worded = _of_kind(page.worded, "updated")
    for dates in (worded, named_dates(page.tree), bare_dates(page.tree)):
        guesses += _agreed(dates, page.timezone)
    found = _first_time(page, [_Candidate("guess", text) for text in guesses])
    if found is not None:
        return found
    stated = [_Candidate("guess", one.text) for one in _published(page)]
    return _first_time(page, stated, ahead=True)


def updated_time(page: DatedPage, published_at: datetime | None) -> datetime | None:
    """Return when it was last updated; None where the page states no time, or one
    before publication.
    """
    updated = _first_time(page, _updated(page))
    if updated is None:
        return None
    if published_at is not None and updated.at < published_at:
        return None
    return updated.at


# --- candidates, surest first ---------------------------------------------------------


def _published(page: DatedPage) -> Iterator[_Candidate]:
    for name in ("datePublished", "dateCreated"):
        for text in _in_json_ld(page.article, name):
            yield _Candidate("json_ld", text)
    yield from _in_meta(page.meta, _PUBLISHED)
    for text in _in_markup(page.tree, "datePublished", _PLONE_PUBLISHED):
        yield _Candidate("markup", text)
    for kind in _KINDS_NEAR_HEADLINE:
        for date in _of_kind(page.bylines, kind):
            yield _Candidate("text", date.text)
    for text in _agreed(_of_kind(page.worded, "published"), page.timezone):
        yield _Candidate("text", text)


def _updated(page: DatedPage) -> Iterator[_Candidate]:
    for text in _in_json_ld(page.article, "dateModified"):
        yield _Candidate("json_ld", text)
    yield from _in_meta(page.meta, _UPDATED)
    for text in _in_markup(page.tree, "dateModified", _PLONE_UPDATED):
        yield _Candidate("markup", text)
    for date in _of_kind(page.bylines, "updated"):
        yield _Candidate("text", date.text)


def _in_json_ld(article: Node, name: str) -> list[str]:
    texts = texts_of(article.get(name))
    for value in as_list(article.get(name)):
        if type(value) in (int, float):  # seconds since 1970
            texts.append(str(value))
    return texts


def _in_meta(meta: MetaTags, names: Iterable[str]) -> list[_Candidate]:
    found: list[_Candidate] = []
    for name in names:
        may_be_rendered = name in _OFTEN_RENDERED
        for text in meta.get(name, ()):
            found.append(_Candidate("meta", text, may_be_rendered))
    return found


def _of_kind(dates: list[VisibleDate], kind: Kind) -> list[VisibleDate]:
    return [date for date in dates if date.kind == kind]


def _agreed(dates: list[VisibleDate], timezone: str) -> list[str]:
    """Return the texts if all are of one day; dates of several days belong to several
    articles.
    """
    days = {
        day_of(at, timezone)
        for date in dates
        if (at := parse_date(date.text, timezone))
    }
    if len(days) == 1:
        return [date.text for date in dates]
    return []


def _from_url(page: DatedPage) -> _Dated | None:
    """Return the day in the URL, with the time of day that the page shows for it."""
    day = day_in_address(page.url)
    if day is None:
        return None
    texts = [
        *_on_day(_visible(page.tree), day.isoformat(), page.timezone),
        day.isoformat(),
    ]
    return _first_time(page, (_Candidate("url", text) for text in texts))


def _in_markup(tree: HtmlElement, itemprop: str, plone_class: str) -> Iterator[str]:
    """Yield the times in microdata, `<time pubdate>` and Plone's byline."""
    for element in tree.xpath(f".//*[@itemprop='{itemprop}']"):
        yield element.get("content") or _time_of(element)
    if itemprop == "datePublished":
        for element in tree.xpath(".//time[@pubdate]"):
            yield _time_of(element)
    for element in tree.xpath(f".//*[contains(@class, '{plone_class}')]"):
        value = element.find(".//*[@class='value']")
        yield _text(element if value is None else value)


def _visible(tree: HtmlElement) -> Iterator[str]:
    """Yield the times in `<time>` elements, then dates with a time of day in the text."""
    for element in tree.iter("time"):
        yield _time_of(element)
        yield _text(element)
    body = tree.find("body")
    text = "" if body is None else _text(body, _VISIBLE_CHARS)
    for match in _VISIBLE.finditer(text):
        yield match[0]


def _on_day(texts: Iterable[str], day: str, timezone: str) -> list[str]:
    """Return the texts that are times on this day (ISO)."""
    found: list[str] = []
    for text in texts:
        at = parse_date(text, timezone)
        if at is None:
            continue
        if day_of(at, timezone).isoformat() == day:
            found.append(text)
    return found


def _time_of(element: HtmlElement) -> str:
    return element.get("datetime") or _text(element)


def _text(element: HtmlElement, limit: int = _SHORT_CHARS) -> str:
    """Return the beginning of an element's text, without scripts."""
    parts = element.xpath(".//text()[not(parent::script or parent::style)]")
    return " ".join(" ".join(parts).split())[:limit]


# --- choosing -------------------------------------------------------------------------


def _first_time(
    page: DatedPage, candidates: Iterable[_Candidate], *, ahead: bool = False
) -> _Dated | None:
    """Return the first valid time; if it is a bare day, the first one with a time of
    day on the same day.

    Times in the future and times of the page's rendering are ignored, unless `ahead`
    allows them.
    """
    first: _Dated | None = None
    for candidate in candidates:
        at = parse_date(candidate.text, page.timezone)
        if at is None:
            continue
        has_clock = bool(_CLOCK.search(candidate.text))
        if not ahead and _is_implausible(
            page, at, has_clock and candidate.may_be_rendered
        ):
            continue
        if has_clock and _is_same_day(page, at, first):
            return _Dated(at.replace(second=0, microsecond=0), candidate.origin)
        first = first or _Dated(at, candidate.origin)
    return first


def _is_same_day(page: DatedPage, at: datetime, first: _Dated | None) -> bool:
    if first is None:
        return True
    return day_of(at, page.timezone) == day_of(first.at, page.timezone)


def _is_implausible(page: DatedPage, at: datetime, may_be_rendered: bool) -> bool:
    if at > page.fetched_at + _MAX_AHEAD:
        return True
    if not may_be_rendered:
        return False
    return abs(at - page.fetched_at) <= _RENDERED_WITHIN
