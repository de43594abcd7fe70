"""What one fetched page says: a Page in, an ExtractedArticle out. Pure; no network and no clock.

One parse serves text and metadata. How the parts are read is in `page_metadata.py` and `page_text.py`, what is refused
in `page_refusals.py`; the row that is stored is made in `article_rows.py`, whose names are given out here as well.
"""

import logging
from dataclasses import replace
from functools import lru_cache
from itertools import count

from lxml.etree import LxmlError, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.articles.rows import article_row, revision_of
from news_assets.pipeline.page.links import base_address, is_home, out_links
from news_assets.pipeline.page.markdown import article_blocks, markdown_of, story_of
from news_assets.pipeline.page.metadata import PageMetadata, read_metadata
from news_assets.pipeline.page.refusals import Refusal, forwards_to, refusal_of_bytes, refusal_of_page
from news_assets.records import ExtractedArticle, Page
from news_assets.text.charset import decode
from news_assets.text.language import language_of
from news_assets.text.urls import canonical_url

__all__ = ["MIN_TEXT_CHARS", "article_row", "extract", "revision_of"]

MIN_TEXT_CHARS = 60  # a note of two short sentences is an article where the page says that it is one
MIN_UNSTATED_CHARS = 100  # where the page does not say so: shorter is a menu, a teaser or an error message
PROSE_LINE_CHARS = 150  # longer than a teaser or a menu entry
SHORT_TEXT_CHARS = 250  # below, trafilatura's slower cascade is asked as well
MAX_HTML_CHARS = 2_000_000  # without scripts and styles; the largest article pages seen have 0.9 million
MAX_ELEMENTS = 20_000  # four times the largest article page seen; trafilatura takes 0.1 ms and more for each
_MAX_DEPTH = 400  # of nested elements; lxml's own code recurses in C below it without harm
_RESET_AFTER = 2000  # pages; trafilatura's caches are bounded, but together they grow to some 60 MB

# What trafilatura, lxml and htmldate raise on pages nobody thought of; a page that does is one failed row.
_READING_ERRORS = (
    LxmlError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_BULK = (("<script", "</script"), ("<style", "</style"), ("<svg", "</svg"), ("<!--", "-->"))
_pages = count(1)


def extract(page: Page, timezone: str, language: str | None = None) -> ExtractedArticle:
    """Return what the page says of its article; `outcome` tells where there is none, with the reason. Never raises.

    `timezone` (IANA) is where times without a zone are read in, `language` what the source is written in as a rule.
    """
    nothing = ExtractedArticle(url=page.url, canonical_url=canonical_url(page.final_url), outcome="failed")
    if refusal := refusal_of_bytes(page):
        return _refused(nothing, refusal)
    _keep_memory_flat()
    try:
        return _extracted(page, timezone, language, nothing)
    except _READING_ERRORS as error:
        return replace(nothing, reason=f"could not be read: {type(error).__name__}: {str(error)[:120]}".rstrip(": "))


def _extracted(page: Page, timezone: str, language: str | None, nothing: ExtractedArticle) -> ExtractedArticle:
    tree = _tree_of(page)
    if tree is None:
        return replace(nothing, reason="not HTML: no element in it")
    metadata = read_metadata(tree, page.final_url, timezone, page.fetched_at)
    text = _text_of(tree, metadata, page.final_url)
    article = replace(
        nothing,
        outcome="ok",
        canonical_url=metadata.canonical_url,
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
    refusal = refusal_of_page(tree, metadata, text, page) or _refusal_of_text(tree, metadata, text, page)
    if refusal:
        return _refused(article, refusal)
    links = out_links(tree, text, base_address(tree, page.final_url), page.final_url)
    reason = "behind a paywall: the text may be its beginning" if metadata.is_paywalled else None
    return replace(article, out_links=links, reason=reason)


def _refused(article: ExtractedArticle, refusal: Refusal) -> ExtractedArticle:
    outcome, reason = refusal
    return replace(article, outcome=outcome, reason=reason, text=None)


def _refusal_of_text(tree: HtmlElement, metadata: PageMetadata, text: str, page: Page) -> Refusal | None:
    states = (metadata.is_stated_article, metadata.article_type, metadata.published_at)
    is_article = any(states) or tree.find(".//article") is not None
    if len(text) < (MIN_TEXT_CHARS if is_article else MIN_UNSTATED_CHARS):
        if target := forwards_to(tree):
            return "failed", f"only forwards to {target}"
        return "failed", f"too little text: {len(text)} characters"
    if is_home(page.final_url) and not is_article and not _is_prose(text):
        return "skipped", "home page, no article"
    return None


def _is_prose(text: str) -> bool:
    """Whether half the text stands in lines as long as sentences are: teasers and menus are shorter."""
    return 2 * sum(len(line) for line in text.splitlines() if len(line) > PROSE_LINE_CHARS) >= len(text)


def _language_of(text: str, stated: str | None, usual: str | None) -> str | None:
    """Let the text decide; what the source is written in as a rule gives the region that the page leaves out."""
    hint = usual if usual and (stated is None or usual.split("-")[0] == stated) else stated
    return language_of(text, hint)


# --- trafilatura -----------------------------------------------------------------------------------------------------


def _tree_of(page: Page) -> HtmlElement | None:
    """Parse the page once; what is far too large is cut, without its scripts first."""
    from trafilatura.utils import load_html

    _quiet_libraries()
    html = decode(page.body, page.encoding)
    if len(html) > MAX_HTML_CHARS:
        html = _without_bulk(html)[:MAX_HTML_CHARS]
    tree = load_html(html)
    return None if tree is None or _is_too_deep(tree) else _cut(tree)


def _without_bulk(html: str) -> str:
    """Drop scripts, styles, drawings and comments; JSON-LD stays. Linear, whatever is left open."""
    for start, end in _BULK:
        lower = html.lower()
        kept: list[str] = []
        position = 0
        while (found := lower.find(start, position)) >= 0 and (close := lower.find(end, found)) >= 0:
            is_data = "ld+json" in lower[found : found + 200]
            kept.append(html[position : close if is_data else found])
            position = close
        html = "".join((*kept, html[position:]))
    return html


def _cut(tree: HtmlElement) -> HtmlElement:
    """Drop what comes after the first MAX_ELEMENTS elements."""
    for element in list(tree.iter())[MAX_ELEMENTS:]:
        if (parent := element.getparent()) is not None:
            parent.remove(element)
    return tree


def _is_too_deep(tree: HtmlElement) -> bool:
    level: list[_Element] = [tree]
    for _ in range(_MAX_DEPTH):
        level = [child for element in level for child in element if len(child)]
        if not level:
            return False
    return True


def _text_of(tree: HtmlElement, metadata: PageMetadata, url: str) -> str:
    """Return the article's text.

    Without the comparison with readability and justext (`fast`) the text is as good on the corpora (F1 .958 and .972
    against .958 and .972, .932 against .924 on the third) in three quarters of the time; only of a short text they are
    asked as well.
    """
    text = _markdown(tree, metadata, url, fast=True)
    if len(text) < SHORT_TEXT_CHARS:
        other = _markdown(tree, metadata, url, fast=False)
        text = max(text, other, key=len)
    return text


def _markdown(tree: HtmlElement, metadata: PageMetadata, url: str, *, fast: bool) -> str:
    from trafilatura import bare_extraction

    document = bare_extraction(tree, url=url, fast=fast, include_comments=False)
    if document is None or isinstance(document, dict):
        return ""
    return markdown_of(story_of(article_blocks(document.body), metadata.titles, metadata.stated_body))


@lru_cache(maxsize=1)
def _quiet_libraries() -> None:
    """Keep the libraries' complaints about single pages off the terminal: outcome and reason tell them."""
    for name in ("trafilatura", "htmldate", "courlan", "charset_normalizer"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _keep_memory_flat() -> None:
    if next(_pages) % _RESET_AFTER == 0:
        from trafilatura.meta import reset_caches

        reset_caches()
