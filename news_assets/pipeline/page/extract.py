"""Reads the article on an HTML page: text, metadata and links, from one parse. A desk file
may name selectors for sites that no general method reads well.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import lru_cache, partial
from html import escape
from itertools import count

from lxml.etree import _Element, tostring
from lxml.html import HtmlElement

from news_assets.pipeline.page.body_text import (
    Mode,
    best_reading,
    join_containers,
    long_texts,
    trimmed,
)
from news_assets.pipeline.page.markdown import (
    Block,
    article_blocks,
    markdown_of,
    markdown_of_fragment,
)
from news_assets.pipeline.page.page_metadata import (
    LIBRARY_ERRORS,
    PageMetadata,
    read_metadata,
)
from news_assets.pipeline.page.refusals import refusal_of
from news_assets.pipeline.page.stated import base_url, out_links
from news_assets.records.desks import PageRule
from news_assets.records.reading import ExtractedArticle, Page
from news_assets.sources.html_document import select, words_of
from news_assets.text.dates import parse_date
from news_assets.text.html import decode
from news_assets.text.limits import clean_text, line, lines, most
from news_assets.text.prose import language_of
from news_assets.text.urls import served_url

# longer texts on a page with a paywall in its markup are whole more often than not
_PAYWALLED_CHARS = 1000
# without scripts and styles; the largest article pages seen have 0.9 million
MAX_HTML_CHARS = 2_000_000
# four times the largest article page seen; trafilatura takes 0.1 ms and more for each
MAX_ELEMENTS = 20_000
_MAX_DEPTH = 400  # of nested elements; lxml recurses in C, which is safe below this
# pages; trafilatura's caches are bounded, but together they grow to some 60 MB
_RESET_AFTER = 2000

_BULK = (
    ("<script", "</script"),
    ("<style", "</style"),
    ("<svg", "</svg"),
    ("<!--", "-->"),
)
_PAYWALL = re.compile(r"(?<![a-z])paywall(?![a-z])", re.IGNORECASE)
_page_count = count(1)


def extract(page: Page, timezone: str, language: str | None = None) -> ExtractedArticle:
    """Return the article on an HTML page; see `PageReader`."""
    failed = ExtractedArticle(
        url=page.url, canonical_url=served_url(page.final_url), outcome="failed"
    )
    if next(_page_count) % _RESET_AFTER == 0:
        from trafilatura.meta import reset_caches

        reset_caches()
    try:
        elements = _page_elements(page)
        if not elements:
            return replace(failed, reason="not HTML: no element in it")
        return _bounded(_article_of(elements[0], page, timezone, language))
    except LIBRARY_ERRORS as error:
        reason = f"could not be read: {type(error).__name__}: {str(error)[:120]}"
        return replace(failed, reason=reason.rstrip(": "))


_RULE_WITHOUT_TEXT = "`{}` of the desk file matches no text: read without it"
_PAYWALLED = "behind a paywall: the text may be its beginning"


def _article_of(
    tree: HtmlElement, page: Page, timezone: str, language: str | None
) -> ExtractedArticle:
    rule = page.rule or PageRule()
    _drop_removed(tree, rule)
    metadata = read_metadata(
        tree, page.final_url, timezone, page.fetched_at, page.listed_title
    )
    if published_at := _time_by_rule(tree, rule, timezone):
        metadata = replace(
            metadata, published_at=published_at, published_origin="markup"
        )
    ruled = _text_by_rule(tree, rule)
    text = ruled or _text_of(tree, metadata, page.final_url)
    article = _with_metadata(page.url, metadata, text, language)
    # what the desk file's selectors match is taken as an article
    refusal = None if ruled else refusal_of(tree, metadata, text, page)
    if refusal is not None:
        outcome, reason = refusal
        return replace(article, outcome=outcome, reason=reason, text=None)
    links = out_links(tree, text, base_url(tree, page.final_url), page.final_url)
    notes: list[str] = []
    if rule.content and not ruled:
        notes.append(_RULE_WITHOUT_TEXT.format(rule.content))
    if metadata.is_paywalled or _has_paywall(tree, text):
        notes.append(_PAYWALLED)
    return replace(article, out_links=links, reason="; ".join(notes) or None)


def _with_metadata(
    url: str, metadata: PageMetadata, text: str, language: str | None
) -> ExtractedArticle:
    """Return the article at `url`; `language` is the usual one of the agency."""
    return ExtractedArticle(
        url=url,
        canonical_url=metadata.canonical_url,
        outcome="ok",
        title=metadata.title,
        subtitle=metadata.subtitle,
        authors=metadata.authors,
        section=metadata.section,
        category=metadata.category,
        tags=metadata.tags,
        article_type=metadata.article_type,
        language=_language_of(text, metadata.language, language),
        published_at=metadata.published_at,
        published_origin=metadata.published_origin,
        updated_at=metadata.updated_at,
        image_url=metadata.image_url,
        video_url=metadata.video_url,
        text=text or None,
    )


def _has_paywall(tree: HtmlElement, text: str) -> bool:
    """Whether a paywall is in the markup of a page with a short text."""
    if len(text) > _PAYWALLED_CHARS:
        return False
    return any(
        _PAYWALL.search(f"{element.get('class')} {element.get('id')}")
        for element in tree.iter("div", "section")
    )


def _bounded(article: ExtractedArticle) -> ExtractedArticle:
    """Return the article with clean values, cut to their limits; an address that is too
    long is left out.
    """
    return replace(
        article,
        title=line(article.title, "title"),
        subtitle=line(article.subtitle, "title"),
        authors=lines(article.authors, "authors"),
        section=line(article.section),
        category=line(article.category),
        tags=lines(article.tags, "categories"),
        article_type=line(article.article_type),
        image_url=_short(article.image_url),
        video_url=_short(article.video_url),
        out_links=tuple(filter(_short, article.out_links)),
        text=clean_text(article.text[: most("text")]) if article.text else None,
        reason=line(article.reason, "title"),
    )


def _short(url: str | None) -> str | None:
    if url and len(url) <= most("address"):
        return url
    return None


def _language_of(text: str, stated: str | None, usual: str | None) -> str | None:
    """Detect the language of the text; the agency's usual language adds the region that
    the page leaves out.
    """
    hint = stated
    if usual and stated in (None, usual.split("-")[0]):
        hint = usual
    return language_of(text, hint)


# --- the tree -------------------------------------------------------------------------


def _page_elements(page: Page) -> list[HtmlElement]:
    """Return the elements of the parsed page in order, root first; empty where it has
    none or is nested too deeply.

    A page that is too large is cut. Hold the list while the page is read: lxml makes
    the object of an element each time that it is visited, unless there is one.
    """
    from trafilatura.utils import load_html

    _silence_libraries()
    html = clean_text(decode(page.body, page.encoding))
    if len(html) > MAX_HTML_CHARS:
        html = _without_bulk(html)[:MAX_HTML_CHARS]
    tree = load_html(html)
    elements = [] if tree is None else list(tree.iter())
    if tree is None or _is_too_deep(tree):
        return []
    return _cut(elements)


def page_tree(page: Page) -> HtmlElement | None:
    """Return the root of the parsed page; None where `_page_elements` has none."""
    return next(iter(_page_elements(page)), None)


@lru_cache(maxsize=1)
def _silence_libraries() -> None:
    """Keep the libraries' messages about single pages out of the log; outcome and
    reason report them.
    """
    for name in ("trafilatura", "htmldate", "courlan", "charset_normalizer"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _without_bulk(html: str) -> str:
    """Drop scripts, styles, drawings and comments, but not JSON-LD. Linear in time,
    also for unclosed tags.
    """
    for start, end in _BULK:
        lower = html.lower()
        kept: list[str] = []
        position = 0
        while (found := lower.find(start, position)) >= 0 and (
            close := lower.find(end, found)
        ) >= 0:
            is_data = "ld+json" in lower[found : found + 200]
            kept.append(html[position : close if is_data else found])
            position = close
        html = "".join((*kept, html[position:]))
    return html


def _cut(elements: list[HtmlElement]) -> list[HtmlElement]:
    """Drop what comes after the first MAX_ELEMENTS elements from the page."""
    for element in elements[MAX_ELEMENTS:]:
        if (parent := element.getparent()) is not None:
            parent.remove(element)
    return elements[:MAX_ELEMENTS]


def _is_too_deep(tree: HtmlElement) -> bool:
    level: list[_Element] = [tree]
    for _ in range(_MAX_DEPTH):
        level = [child for element in level for child in element if len(child)]
        if not level:
            return False
    return True


# --- the text -------------------------------------------------------------------------


def _text_of(tree: HtmlElement, metadata: PageMetadata, url: str) -> str:
    """Return the article's text as Markdown; its containers are joined in the tree."""
    join_containers(tree)
    blocks = best_reading(partial(read_blocks, tree, url), long_texts(tree))
    return markdown_of(trimmed(blocks, metadata.titles, metadata.stated_body))


def read_blocks(tree: HtmlElement, url: str, mode: Mode) -> list[Block]:
    """Return trafilatura's reading of a page in one of its modes."""
    from trafilatura import bare_extraction

    is_recall = mode == "recall"
    document = bare_extraction(
        tree,
        url=url,
        fast=is_recall,
        favor_recall=is_recall,
        include_comments=False,
        output_format="txt",  # of what is not used; the default one takes longer
    )
    if document is None or isinstance(document, dict):
        return []
    return article_blocks(document.body)


# --- by the selectors of a desk file --------------------------------------------------

_MAX_TIMES = 10  # elements of a page that are looked at for its time


def rule_on(rules: Sequence[PageRule], day: date) -> PageRule | None:
    """Return the newest rule that holds for articles of a day."""
    newest = None
    begun = date.min
    for rule in rules:
        since = rule.since or date.min
        if since > day:
            continue
        if newest is None or since > begun:
            newest, begun = rule, since
    return newest


def _drop_removed(tree: HtmlElement, rule: PageRule) -> None:
    """Drop what `remove` matches from the tree, in place."""
    for element in select(tree, rule.remove) if rule.remove else ():
        if element.getparent() is not None:
            element.drop_tree()


def _text_by_rule(tree: HtmlElement, rule: PageRule) -> str:
    """Return what `content` matches as Markdown, in the page's order; empty where it
    matches no text.
    """
    if not rule.content:
        return ""
    found = dict.fromkeys(select(tree, rule.content))
    outermost = [one for one in found if found.keys().isdisjoint(one.iterancestors())]
    texts = map(markdown_of_fragment, map(_inner_html, outermost))
    return "\n\n".join(filter(None, texts))


def _inner_html(element: HtmlElement) -> str:
    """Return what is in an element; the text of a table's cell is no table."""
    children = [tostring(child, encoding="unicode") for child in element]
    return escape(element.text or "") + "".join(children)


def _time_by_rule(tree: HtmlElement, rule: PageRule, timezone: str) -> datetime | None:
    """Return the first time in what `date` matches: of an attribute `datetime` or
    `content`, else of the text.
    """
    for element in select(tree, rule.date)[:_MAX_TIMES] if rule.date else ():
        stated = element.get("datetime") or element.get("content") or words_of(element)
        if found := parse_date(stated, timezone):
            return found
    return None
