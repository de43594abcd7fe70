"""When a page says its article was published and changed.

A parsed page, its JSON-LD article and its meta tags enter; aware UTC times to the minute leave. How a written date is
understood is settled in `text/dates.py`.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from lxml.html import HtmlElement

from news_assets.pipeline.linked_data import Node, texts_of
from news_assets.text.dates import day_of, parse_date

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
_CLOCK = re.compile(r"\d\s?[:hH]\s?\d|T\d\d|^\s*\d{10,13}\s*$")
_VISIBLE = re.compile(r"\b\d{1,2}[/.-]\d{1,2}[/.-]\d{4}\W{1,3}(?:\w{1,4}\W{1,2})?\d{1,2}\s?[:h]\s?\d{2}\b")
_VISIBLE_CHARS = 20_000  # of text in which a written date is looked for
_SHORT_CHARS = 120
# Plone, as gov.br and other public bodies run it: "publicado 27/02/2026 14h30", "última modificação 28/02/2026 9h12"
_PLONE_PUBLISHED, _PLONE_UPDATED = "documentPublished", "documentModified"


def published_time(
    tree: HtmlElement, article: Node, meta: dict[str, list[str]], day: str | None, timezone: str
) -> datetime | None:
    """Return when it was published. `day` is the day another reader found; it only counts where nothing is stated."""
    stated = [*texts_of(article.get("datePublished")), *texts_of(article.get("dateCreated"))]
    stated += [value for name in _PUBLISHED for value in meta.get(name, ())]
    stated += _marked(tree, "datePublished", _PLONE_PUBLISHED)
    if day:
        stated += _on_day(_visible(tree), day, timezone)
        stated.append(day)
    return _first_time(stated, timezone)


def updated_time(
    tree: HtmlElement, article: Node, meta: dict[str, list[str]], published_at: datetime | None, timezone: str
) -> datetime | None:
    """Return when it was last changed; None where the page states none, or one before it was published."""
    stated = texts_of(article.get("dateModified"))
    stated += [value for name in _UPDATED for value in meta.get(name, ())]
    stated += _marked(tree, "dateModified", _PLONE_UPDATED)
    updated_at = _first_time(stated, timezone)
    return None if updated_at and published_at and updated_at < published_at else updated_at


def _first_time(texts: Iterable[str], timezone: str) -> datetime | None:
    """Return the first time that can be read; where it is only a day, a later one of the same day with a clock."""
    first: datetime | None = None
    for text in texts:
        at = parse_date(text, timezone)
        if at is None:
            continue
        if _CLOCK.search(text) and (first is None or day_of(at, timezone) == day_of(first, timezone)):
            return at.replace(second=0, microsecond=0)
        first = first or at
    return first


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
