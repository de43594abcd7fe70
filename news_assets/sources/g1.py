"""G1 (g1.globo.com): the RSS feed of a section or region, or its HTML page where there
is no feed.

The feed (https://g1.globo.com/rss/g1/politica/, seen with items of 2026-03-21) has the
whole article in `description`: an image, then plain text, one paragraph a line,
captions and credits among them. `atom:subtitle` is the line below the headline,
`media:content` the image. The page's items (`div.feed-post`, seen below an article of
g1.globo.com/pi/piaui, with items of 2024-03-25) state relative times such as "Há 2
horas", which are ignored: adapters have no clock. The link to older items
(`div.load-more`, `index/feed/pagina-2.ghtml`) was not on that page; it follows
published scrapers.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources import feed
from news_assets.sources.html_document import html_tree
from news_assets.sources.platforms import found_instead
from news_assets.sources.storable_entries import (
    first_web_url,
    optional_url,
    or_none,
    sanitized,
    storable,
    unique,
)
from news_assets.sources.xml_documents import recovering_parser, repaired_xml
from news_assets.text.dates import parse_date
from news_assets.text.html import decode, plain_text
from news_assets.text.prose import language_tag
from news_assets.text.urls import canonical_url, web_url

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_ATOM: Final = "{http://www.w3.org/2005/Atom}"
_HEAD_BYTES = 4096
_LINE_END = re.compile(r"\n|<br\s*+/?>", re.IGNORECASE)
_BLOCK = re.compile(r"<(?:p|div|h[2-6]|ul|ol|blockquote|figure)[\s>]", re.IGNORECASE)
_IMAGE = re.compile(r"^<img\b[^>]*>$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"""[.!?…]["'”’)\]]*$""")
_CREDIT = re.compile(
    r"/|\b(?:Reprodução|Divulgação|Arquivo|Foto|Montagem|Getty|Reuters|AFP|AP|g1|TV)\b",
    re.IGNORECASE,
)
_MAX_CREDIT_CHARS = 80
# with a full stop; the shortest of 100 leads seen has 123; captions rarely have both
_MIN_LEAD_CHARS = 100
_SURE_LEAD_CHARS = 160  # without a full stop; the longest such caption seen has 124


def parse(page: Page, source: Source) -> Listing:
    """Return the entries of a feed, newest first and with full text, or of a page, in
    its order.

    `summary` is the line below the headline, else the first paragraph. A page's
    `next_urls` lead to older items; a feed has none. Items of a page without a link (a
    group's heading, a banner) are skipped.

    Raises:
        ListingChangedError: A page without `div.feed-post`, a log-in form, other XML or
            JSON.
        SourceError: The document is empty or unreadable.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    head = decode(page.body[:_HEAD_BYTES], page.encoding)
    if feed.ROOT.search(head):
        return storable(_feed_listing(page, source))
    return storable(_page_listing(page, source))


# --- the feed -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stated:
    """What G1's feed states of an article beyond the fields of every feed."""

    subtitle: str | None
    content_html: str | None
    lead: str | None


def _feed_listing(page: Page, source: Source) -> Listing:
    listing = feed.read(page, source)
    stated = _stated(page)
    entries = []
    for entry in listing.entries:
        entries.append(_with_text(entry, stated.get(entry.url)))
    return replace(listing, entries=tuple(entries))


def _with_text(entry: ListedEntry, stated: _Stated | None) -> ListedEntry:
    if stated is None:
        return entry
    if stated.content_html is None:
        return replace(entry, summary=stated.subtitle or entry.summary)
    return replace(
        entry, summary=stated.subtitle or stated.lead, content_html=stated.content_html
    )


def _stated(page: Page) -> dict[str, _Stated]:
    """Return G1's own fields by article address, read again from the XML because
    feedparser joins the lines.
    """
    from lxml import etree

    body, _, _ = repaired_xml(page)
    try:
        root = etree.fromstring(body, recovering_parser())
    except etree.LxmlError:
        return {}
    stated: dict[str, _Stated] = {}
    for item in () if root is None else root.iter("item"):
        url = web_url(item.findtext("link", ""), page.final_url)
        if url is not None:
            description = item.findtext("description", "")
            subtitle = item.findtext(f"{_ATOM}subtitle", "")
            stated[url] = _stated_of(description, subtitle, page)
    return stated


def _stated_of(description: str, subtitle: str, page: Page) -> _Stated:
    lines = [part.strip() for part in _LINE_END.split(description) if part.strip()]
    texts = [plain_text(line) for line in lines]
    lead = _lead(texts)
    content = None
    if lead:
        markup = description
        if not _BLOCK.search(description):
            markup = "".join(_blocks(lines, texts))
        content = sanitized(markup, page.final_url)
    return _Stated(
        subtitle=or_none(plain_text(subtitle)), content_html=content, lead=lead
    )


def _lead(texts: list[str]) -> str | None:
    """Return the first paragraph: no caption, which a credit follows."""
    for text, following in zip(texts, [*texts[1:], ""], strict=False):
        if _is_credit(following):
            continue
        if _is_paragraph(text):
            return text
    return None


def _is_paragraph(text: str) -> bool:
    if len(text) >= _SURE_LEAD_CHARS:
        return True
    if len(text) < _MIN_LEAD_CHARS:
        return False
    return _SENTENCE_END.search(text) is not None


def _is_credit(text: str) -> bool:
    if not text:
        return False
    if len(text) > _MAX_CREDIT_CHARS:
        return False
    if _SENTENCE_END.search(text):
        return False
    return _CREDIT.search(text) is not None


def _blocks(lines: list[str], texts: list[str]) -> Iterator[str]:
    """Yield a paragraph for each line; a leading image becomes a figure with its
    caption and credit.
    """
    start = 0
    if lines and _IMAGE.match(lines[0]):
        has_caption = len(texts) > 2 and _is_credit(texts[2])
        caption = ""
        if has_caption:
            caption = f"<figcaption>{_escaped(texts[1:3])}</figcaption>"
        yield f"<figure>{lines[0]}{caption}</figure>"
        start = 3 if has_caption else 1
    yield from (f"<p>{line}</p>" for line in lines[start:])


def _escaped(texts: list[str]) -> str:
    return html.escape(" – ".join(texts), quote=False)


# --- the page -------------------------------------------------------------------------


def _page_listing(page: Page, source: Source) -> Listing:
    root = html_tree(page)
    posts = [] if root is None else root.find_class("feed-post")
    found = [_post_entry(post, page, source) for post in posts]
    entries = tuple(entry for entry in found if entry is not None)
    if root is None or not entries:
        raise ListingChangedError(
            f"{page.url}: no G1 items (div.feed-post): {found_instead(page)}"
        )
    return Listing(
        entries=entries,
        title=or_none(plain_text(root.findtext(".//title", ""))),
        language=language_tag(root.get("lang")),
        next_urls=_older_urls(root, page),
    )


def _post_entry(post: "HtmlElement", page: Page, source: Source) -> ListedEntry | None:
    """Return the entry of a post; None for one without a link."""
    for related in post.find_class("bstn-related"):  # other articles below this one
        related.drop_tree()
    url, title = _link_of(post, page)
    if url is None:
        return None
    return ListedEntry(
        entry_id=canonical_url(url),
        url=url,
        title=title,
        summary=_text_of(post, "feed-post-body-resumo"),
        categories=unique([_text_of(post, "feed-post-metadata-section")]),
        image_url=_image_url(post, page),
        published_at=parse_date(_text_of(post, "feed-post-datetime"), source.timezone),
    )


def _link_of(post: "HtmlElement", page: Page) -> tuple[str | None, str | None]:
    """Return address and title of the headline's link; without one, the first link and
    the headline's text.
    """
    headlines = post.find_class("feed-post-link")
    hrefs = [link.get("href", "") for link in (*headlines, *post.iter("a"))]
    title = _text_of(post, "feed-post-link") or _text_of(post, "feed-post-body-title")
    return first_web_url(hrefs, page.final_url), title


def _text_of(post: "HtmlElement", name: str) -> str | None:
    for element in post.find_class(name):
        text = plain_text(html.escape(element.text_content()))
        if text:
            return text
    return None


def _image_url(post: "HtmlElement", page: Page) -> str | None:
    """Return the first image with a web address; placeholders have a `data:` address
    until a script sets another.
    """
    links: list[str] = []
    for image in post.iter("img"):
        links += [image.get("src", ""), image.get("data-src", "")]
    for image in post.iter("img", "source"):
        for name in ("srcset", "data-srcset"):
            links += image.get(name, "").split()[:1]
    return first_web_url(links, page.final_url)


def _older_urls(root: "HtmlElement", page: Page) -> tuple[str, ...]:
    links: list[str] = []
    for more in root.find_class("load-more"):
        links += [link.get("href", "") for link in more.iter("a")]
    own = {canonical_url(page.url), canonical_url(page.final_url)}
    for link in links:
        url = optional_url(link, page.final_url)
        if url is None:
            continue
        if canonical_url(url) not in own:
            return (url,)
    return ()
