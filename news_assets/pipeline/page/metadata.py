"""Reads an article's metadata from JSON-LD, else meta tags, else the visible page, else
trafilatura's guess.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from lxml.html import HtmlElement

from news_assets.pipeline.page.authors import authors_of
from news_assets.pipeline.page.guesses import guessed_day, guessed_title
from news_assets.pipeline.page.links import base_url, canonical_url_of, first_url
from news_assets.pipeline.page.stated import (
    MetaTags,
    Node,
    article_of,
    article_type,
    breadcrumb,
    contents,
    json_ld_nodes,
    meta_tags,
    microdata_type,
    stated_body,
    texts_of,
    video_texts,
)
from news_assets.pipeline.page.times import (
    DatedPage,
    guessed_time,
    published_time,
    updated_time,
)
from news_assets.pipeline.page.titles import SECTION, TitledPage, titles_of
from news_assets.records.reading import PublishedOrigin
from news_assets.text.html import plain_text
from news_assets.text.language import language_tag

_MAX_TAGS, _MAX_TAG_CHARS = 40, 80
_SUBTITLE_CHARS = range(20, 500)

_TAGS = ("article:tag", "news_keywords", "parsely-tags", "sailthru.tags", "keywords")
_IMAGE = (
    "og:image:secure_url",
    "og:image",
    "og:image:url",
    "twitter:image",
    "twitter:image:src",
)
_LANGUAGE = ("content-language", "og:locale", "dc.language", "language")
_SUBTITLE_CLASS = re.compile(
    r"documentDescription|sub-?t[ií]tul?[eo]|(?<![a-z])(?:standfirst|dek|linha-?fina|bigode|gravata|sub-?headline)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """What one page states; times are UTC to the minute, URLs absolute.

    `titles` holds every form of the title, also the site's name. `is_stated_article`:
    JSON-LD or og:type declare the page an article.
    """

    title: str | None
    titles: tuple[str, ...]
    subtitle: str | None
    authors: tuple[str, ...]
    section: str | None
    category: str | None
    tags: tuple[str, ...]
    article_type: str | None
    is_stated_article: bool
    language: str | None
    published_at: datetime | None
    published_origin: PublishedOrigin | None
    updated_at: datetime | None
    image_url: str | None
    video_url: str | None
    canonical_url: str
    stated_body: str | None
    is_paywalled: bool


def read_metadata(
    tree: HtmlElement,
    url: str,
    timezone: str,
    fetched_at: datetime,
    listed_title: str | None = None,
) -> PageMetadata:
    """Return the metadata of the page at `url`; `timezone` (IANA) applies to times
    without a zone.

    Times after `fetched_at` are used only where there is no other, with the origin
    `guess`. The title is None where the page has only the site's name; `listed_title`
    (`Page.listed_title`) is looked for on the page.
    """
    nodes = json_ld_nodes(tree)
    article = article_of(nodes, url)
    meta = meta_tags(tree)
    base = base_url(tree, url)
    sections = [*texts_of(article.get("articleSection")), *contents(meta, *SECTION)]
    titled = TitledPage(tree, article, meta, url, listed_title)
    titles = titles_of(titled, sections) or list(filter(None, [guessed_title(tree)]))
    title = next((text for text in titles if not titled.is_site(text)), None)
    dated = DatedPage(
        tree, article, meta, next(iter(titles), None), url, timezone, fetched_at
    )
    published = published_time(dated)
    if published is None:
        published = guessed_time(dated, guessed_day(tree, url))
    sections = [plain_text(name) for name in sections]
    section = next(iter(sections), None) or breadcrumb(nodes)
    return PageMetadata(
        title=title,
        titles=tuple(titles),
        subtitle=_subtitle(tree, article, title),
        authors=authors_of(tree, article, meta),
        section=section,
        category=next(
            (name for name in sections[1:] if name and name != section), None
        ),
        tags=_tags(article, meta),
        article_type=article_type(article) or microdata_type(tree),
        is_stated_article=bool(article) or "article" in contents(meta, "og:type"),
        language=_language(tree, article, meta),
        published_at=published.at if published else None,
        published_origin=published.origin if published else None,
        updated_at=updated_time(dated, published.at if published else None),
        image_url=first_url(
            base,
            [
                *texts_of(article.get("image"), "url", "contentUrl", "@id"),
                *contents(meta, *_IMAGE),
            ],
        ),
        video_url=first_url(base, video_texts(tree, article, nodes, meta)),
        canonical_url=canonical_url_of(tree, contents(meta, "og:url"), base, url),
        stated_body=stated_body(article),
        is_paywalled=str(article.get("isAccessibleForFree")).lower()
        in ("false", "no", "0"),
    )


# --- subtitle, tags, language ---------------------------------------------------------


def _subtitle(tree: HtmlElement, article: Node, title: str | None) -> str | None:
    candidates = [*texts_of(article.get("alternativeHeadline"))]
    for element in tree.iter("h2", "h3", "p", "div", "span"):
        name = element.get("class") or element.get("itemprop")
        if name and _SUBTITLE_CLASS.search(name):
            candidates.append(" ".join(element.itertext()))
            break
    plain = (plain_text(text) for text in candidates)
    return next(
        (text for text in plain if len(text) in _SUBTITLE_CHARS and text != title), None
    )


def _tags(article: Node, meta: MetaTags) -> tuple[str, ...]:
    texts = [*texts_of(article.get("keywords"), "name"), *contents(meta, *_TAGS)]
    parts = (plain_text(part) for text in texts for part in re.split(r"[,;]", text))
    known: dict[str, str] = {}
    for part in parts:
        if 1 < len(part) <= _MAX_TAG_CHARS:
            known.setdefault(part.casefold(), part)
    return tuple(known.values())[:_MAX_TAGS]


def _language(tree: HtmlElement, article: Node, meta: MetaTags) -> str | None:
    stated = [
        tree.get("lang"),
        *texts_of(article.get("inLanguage"), "alternateName", "name"),
        *contents(meta, *_LANGUAGE),
    ]
    return next(filter(None, map(language_tag, stated)), None)
