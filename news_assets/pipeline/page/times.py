"""When a page says its article was published and changed, and which part of the page says so.

A parsed page, its JSON-LD article and its meta tags enter; aware UTC times to the minute leave, the time of publication
with its origin. The chain: JSON-LD, meta tags, marked elements, the dates by the headline, the address, and at last
what another reader of pages guessed, which is marked as a guess. The listing stands between page and address: that is
settled in `article_rows.py`. How a written date is understood is in `text/dates.py`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from lxml.html import HtmlElement

from news_assets.pipeline.page.json_ld import Node, as_list, texts_of
from news_assets.pipeline.page.visible_dates import WrittenDate, dates_anywhere, dates_by_headline
from news_assets.records import PublishedOrigin
from news_assets.text.dates import day_in_address, day_of, parse_date

_PUBLISHED = (
    "article:published_time", "og:article:published_time", "datepublished", "og:published_time", "rnews:datepublished",
    "parsely-pub-date", "sailthru.date", "article.published", "cxenseparse:recs:publishtime", "published-date",
    "publish-date", "publish_date", "publishdate", "pubdate", "article_date_original", "originalpublicationdate",
    "dcterms.issued", "dc.date.issued", "dc.date.created", "dcterms.created", "dc.date", "dcterms.date", "date",
)  # fmt: skip
_UPDATED = (
    "article:modified_time", "og:updated_time", "datemodified", "og:article:modified_time", "rnews:datemodified",
    "dcterms.modified", "dc.date.modified", "article.updated", "last-modified", "lastmod", "revised",
)  # fmt: skip
# Templates fill these with the time at which they were rendered.
_OFTEN_RENDERED = frozenset({"date", "dc.date", "dcterms.date", "last-modified", "lastmod", "revised"})
RENDERED_WITHIN = timedelta(minutes=2)  # of the moment the page was fetched
MAX_AHEAD = timedelta(hours=1)  # clocks of servers differ; what lies further ahead is no time of publication yet

_CLOCK = re.compile(r"\d\s?[:hH]\s?\d|\d\s?h\b|\d\s?[ap]\.?m\b|T\d\d|^\s*\d{10,13}\s*$", re.IGNORECASE)
_VISIBLE = re.compile(r"\b\d{1,2}[/.-]\d{1,2}[/.-]\d{4}\W{1,3}(?:\w{1,4}\W{1,2})?\d{1,2}\s?[:h]\s?\d{2}\b")
_VISIBLE_CHARS = 20_000  # of text in which a written date is looked for
_SHORT_CHARS = 120
# Plone, as gov.br and other public bodies run it: "publicado 27/02/2026 14h30", "última modificação 28/02/2026 9h12"
_PLONE_PUBLISHED, _PLONE_UPDATED = "documentPublished", "documentModified"


class Dated(NamedTuple):
    """A time and where it comes from."""

    at: datetime
    origin: PublishedOrigin


class _Statement(NamedTuple):
    origin: PublishedOrigin
    text: str
    may_be_rendered: bool = False


@dataclass(frozen=True)
class DatedPage:
    """The parts of one page that may date it. `timezone` (IANA) is where times without a zone are read in."""

    tree: HtmlElement
    article: Node
    meta: dict[str, list[str]]
    headline: str | None
    url: str
    timezone: str
    fetched_at: datetime

    @cached_property
    def bylines(self) -> list[WrittenDate]:
        """The dates by the headline, read once for both times."""
        return dates_by_headline(self.tree, self.headline)


def published_time(page: DatedPage) -> Dated | None:
    """Return when it was published as the page states it, else the day in its address."""
    return _first_time(page, _published(page)) or _from_address(page)


def guessed_time(page: DatedPage, day: str | None) -> Dated | None:
    """Return a guess where nothing is stated: the day (ISO) another reader found, else a time that lies ahead."""
    guesses = [*_on_day(_visible(page.tree), day, page.timezone), day] if day else []
    found = _first_time(page, (_Statement("guess", text) for text in guesses))
    return found or _first_time(page, (_Statement("guess", stated.text) for stated in _published(page)), ahead=True)


def updated_time(page: DatedPage, published_at: datetime | None) -> datetime | None:
    """Return when it was last changed; None where the page states none, or one before it was published."""
    updated = _first_time(page, _updated(page))
    return None if updated is None or (published_at and updated.at < published_at) else updated.at


# --- statements, in the order in which they are believed -------------------------------------------------------------


def _published(page: DatedPage) -> Iterator[_Statement]:
    for text in (*_linked(page.article, "datePublished"), *_linked(page.article, "dateCreated")):
        yield _Statement("json_ld", text)
    yield from _in_meta(page.meta, _PUBLISHED)
    for text in _marked(page.tree, "datePublished", _PLONE_PUBLISHED):
        yield _Statement("markup", text)
    for kind in ("published", "plain"):
        yield from (_Statement("text", date.text) for date in page.bylines if date.kind == kind)
    yield from (_Statement("text", text) for text in _agreed(dates_anywhere(page.tree), page.timezone))


def _updated(page: DatedPage) -> Iterator[_Statement]:
    for text in _linked(page.article, "dateModified"):
        yield _Statement("json_ld", text)
    yield from _in_meta(page.meta, _UPDATED)
    for text in _marked(page.tree, "dateModified", _PLONE_UPDATED):
        yield _Statement("markup", text)
    yield from (_Statement("text", date.text) for date in page.bylines if date.kind == "updated")


def _linked(article: Node, name: str) -> list[str]:
    numbers = [str(value) for value in as_list(article.get(name)) if type(value) in (int, float)]  # seconds since 1970
    return [*texts_of(article.get(name)), *numbers]


def _in_meta(meta: dict[str, list[str]], names: Iterable[str]) -> Iterator[_Statement]:
    for name in names:
        yield from (_Statement("meta", text, name in _OFTEN_RENDERED) for text in meta.get(name, ()))


def _agreed(dates: list[WrittenDate], timezone: str) -> list[str]:
    """Return the texts where all name one day: several are of several articles."""
    days = {day_of(at, timezone) for date in dates if (at := parse_date(date.text, timezone))}
    return [date.text for date in dates] if len(days) == 1 else []


def _from_address(page: DatedPage) -> Dated | None:
    """Return the day in the address, with a clock that the page shows on that day."""
    day = day_in_address(page.url)
    if day is None:
        return None
    texts = [*_on_day(_visible(page.tree), day.isoformat(), page.timezone), day.isoformat()]
    return _first_time(page, (_Statement("url", text) for text in texts))


# --- choosing --------------------------------------------------------------------------------------------------------


def _first_time(page: DatedPage, statements: Iterable[_Statement], *, ahead: bool = False) -> Dated | None:
    """Return the first time that can be read; where it is only a day, a later one of the same day with a clock.

    What cannot be the past of the page is passed over, unless it is what is asked for (`ahead`).
    """
    first: Dated | None = None
    for statement in statements:
        at = parse_date(statement.text, page.timezone)
        has_clock = bool(_CLOCK.search(statement.text))
        if at is None or (not ahead and _is_ahead(page, at, has_clock and statement.may_be_rendered)):
            continue
        if has_clock and (first is None or day_of(at, page.timezone) == day_of(first.at, page.timezone)):
            return Dated(at.replace(second=0, microsecond=0), statement.origin)
        first = first or Dated(at, statement.origin)
    return first


def _is_ahead(page: DatedPage, at: datetime, may_be_rendered: bool) -> bool:
    return at > page.fetched_at + MAX_AHEAD or (may_be_rendered and abs(at - page.fetched_at) <= RENDERED_WITHIN)


def _marked(tree: HtmlElement, itemprop: str, plone_class: str) -> Iterator[str]:
    """Yield the times in elements that are marked as this time: microdata, `<time pubdate>`, Plone's byline."""
    for element in tree.xpath(f".//*[@itemprop='{itemprop}']"):
        yield element.get("content") or element.get("datetime") or _text(element)
    if itemprop == "datePublished":
        for element in tree.xpath(".//time[@pubdate]"):
            yield element.get("datetime") or _text(element)
    for element in tree.xpath(f".//*[contains(@class, '{plone_class}')]"):
        value = element.find(".//*[@class='value']")
        yield _text(element if value is None else value)


def _visible(tree: HtmlElement) -> Iterator[str]:
    """Yield times of `<time>` elements, then dates with a clock as they stand in the text."""
    for element in tree.iter("time"):
        yield element.get("datetime") or _text(element)
        yield _text(element)
    body = tree.find("body")
    text = "" if body is None else _text(body, _VISIBLE_CHARS)
    yield from (match[0] for match in _VISIBLE.finditer(text))


def _on_day(texts: Iterable[str], day: str, timezone: str) -> list[str]:
    """Return the texts that name a moment of the day (ISO)."""
    found = ((text, parse_date(text, timezone)) for text in texts)
    return [text for text, at in found if at and day_of(at, timezone).isoformat() == day]


def _text(element: HtmlElement, limit: int = _SHORT_CHARS) -> str:
    """Return the beginning of an element's text, without scripts."""
    parts = element.xpath(".//text()[not(parent::script or parent::style)]")
    return " ".join(" ".join(parts).split())[:limit]
