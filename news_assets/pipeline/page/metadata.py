"""Reads an article's metadata from JSON-LD, else meta tags, else the visible page, else trafilatura's guess."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from urllib.parse import urlsplit

from lxml.etree import LxmlError
from lxml.html import HtmlElement

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
from news_assets.pipeline.page.times import DatedPage, guessed_time, published_time, updated_time
from news_assets.records.reading import PublishedOrigin
from news_assets.text.html import plain_text
from news_assets.text.language import language_tag
from news_assets.text.words import fold

# Raised by trafilatura, lxml and htmldate on unforeseen markup.
LIBRARY_ERRORS = (
    LxmlError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

_MAX_TAGS, _MAX_TAG_CHARS, _MAX_AUTHORS, _MAX_AUTHOR_CHARS = 40, 80, 12, 80
_MAX_TITLE_CHARS, _MAX_HEADINGS = 400, 50
_HEADING_WORDS = 0.3  # of a heading in another form of the title; set on wcxb (0.6: 9 titles of 300 fewer) and fundus
_MAX_SITE_WORDS = 10
_MIN_TITLE_WORDS = 3  # shorter ones are often names of sites and sections
_SUBTITLE_CHARS = range(20, 500)
_GUESSED_META_CHARS = 1000  # of one tag
_GUESSED_SCRIPT_CHARS = 20_000  # of all JSON-LD; a longer script is left out

_AUTHOR = ("author", "article:author", "parsely-author", "sailthru.author", "byl", "dc.creator", "dcterms.creator",
           "citation_author", "cxenseparse:author")  # fmt: skip
_TAGS = ("article:tag", "news_keywords", "parsely-tags", "sailthru.tags", "keywords")
_TITLE = ("og:title", "twitter:title", "dc.title", "parsely-title", "sailthru.title")
_SITE, _SECTION = ("og:site_name", "application-name"), ("article:section",)
_IMAGE = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src")
_LANGUAGE = ("content-language", "og:locale", "dc.language", "language")
_SUBTITLE_CLASS = re.compile(
    r"documentDescription|sub-?t[ií]tul?[eo]|(?<![a-z])(?:standfirst|dek|linha-?fina|bigode|gravata|sub-?headline)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"^(?:by|por|von|par|texto:|reportagem(?: de)?:?|autora?:|autor(?=\s)|author:)\s+", re.IGNORECASE)
_NO_NAME = re.compile(
    r"https?:|www\.|@|^\(|^\W*$|^\d+$|^(?:admin|administrator|null|none|undefined|redaktion)$", re.IGNORECASE
)
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)+")  # an account name; the page gives the person's name as well
# In plain text, which has single spaces.
_BETWEEN_NAMES = re.compile(rf" ?(?:;|\||\band\b|&|\bund\b|\bog\b|,(?= ?\S{{1,{_MAX_AUTHOR_CHARS}}} \S)) ?")
_WORD, _SLUG_BREAK = re.compile(r"\w+"), re.compile(r"[\W_]+")
_SITE_NAME = re.compile(r" [|–—•·»-] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """What one page states; times are UTC to the minute, URLs absolute.

    `titles` holds every form of the title. `is_stated_article`: JSON-LD or og:type declare the page an article.
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


@dataclass(frozen=True, slots=True)
class _Guess:
    """What trafilatura finds on the visible page."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    day: str | None = None
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def read_metadata(tree: HtmlElement, url: str, timezone: str, fetched_at: datetime) -> PageMetadata:
    """Return the metadata of the page at `url`; `timezone` (IANA) applies to times without a zone.

    Times after `fetched_at` are used only where there is no other, with the origin `guess`.
    """
    nodes = json_ld_nodes(tree)
    article = article_of(nodes, url)
    meta = meta_tags(tree)
    base = base_url(tree, url)
    raw = [plain for text in _title_texts(tree, article, meta, url) if (plain := plain_text(text)[:_MAX_TITLE_CHARS])]
    sections = [*texts_of(article.get("articleSection")), *contents(meta, *_SECTION)]
    titles = _without_places(raw, _places(url, contents(meta, *_SITE), sections))
    authors = _names(texts_of(article.get("author"), "name")) or _names(contents(meta, *_AUTHOR))
    dated = DatedPage(tree, article, meta, next(iter(titles), None), url, timezone, fetched_at)
    published = published_time(dated)
    guess = _Guess() if titles and authors and published else _guess(tree, url)
    title = next(iter(titles), guess.title)
    sections = [plain_text(name) for name in sections]
    section = next(iter(sections), None) or breadcrumb(nodes)
    categories = (*sections[1:], *guess.categories)
    published = published or guessed_time(dated, guess.day)
    return PageMetadata(
        title=title,
        titles=tuple(dict.fromkeys(filter(None, (*titles, guess.title)))),
        subtitle=_subtitle(tree, article, title),
        authors=authors or _names(guess.authors),
        section=section,
        category=next((name for name in categories if name and name != section), None),
        tags=_tags(article, meta, guess.tags),
        article_type=article_type(article) or microdata_type(tree),
        is_stated_article=bool(article) or "article" in contents(meta, "og:type"),
        language=_language(tree, article, meta),
        published_at=published.at if published else None,
        published_origin=published.origin if published else None,
        updated_at=updated_time(dated, published.at if published else None),
        image_url=first_url(
            base, [*texts_of(article.get("image"), "url", "contentUrl", "@id"), *contents(meta, *_IMAGE)]
        ),
        video_url=first_url(base, video_texts(tree, article, nodes, meta)),
        canonical_url=canonical_url_of(tree, contents(meta, "og:url"), base, url),
        stated_body=stated_body(article),
        is_paywalled=str(article.get("isAccessibleForFree")).lower() in ("false", "no", "0"),
    )


def _guess(tree: HtmlElement, url: str) -> _Guess:
    from trafilatura.metadata import extract_metadata

    _shorten(tree)
    # htmldate's extensive search is off: its first use compiles the patterns of 205 locales in four seconds.
    try:
        found = extract_metadata(tree, default_url=url, extensive=False)
    except LIBRARY_ERRORS:  # a date that no clock shows, or other markup that it does not foresee
        return _Guess()
    return _Guess(
        title=found.title,
        authors=tuple((found.author or "").split("; ")),
        day=found.date,
        categories=tuple(found.categories or ()),
        tags=tuple(found.tags or ()),
    )


def _shorten(tree: HtmlElement) -> None:
    """Cut what trafilatura searches with patterns that take quadratic time: meta tags, and JSON-LD that was read."""
    for tag in tree.iter("meta"):
        if len(content := tag.get("content") or "") > _GUESSED_META_CHARS:
            tag.set("content", content[:_GUESSED_META_CHARS])
    left = _GUESSED_SCRIPT_CHARS
    for script in tree.iter("script"):
        if "ld+json" in (script.get("type") or "").lower():
            left -= len(script.text or "")
            script.text = script.text if left >= 0 else None


# --- title, subtitle, authors, section, tags -------------------------------------------------------------------------


def _title_texts(tree: HtmlElement, article: Node, meta: MetaTags, url: str) -> Iterator[str]:
    """Yield the forms of the title: headings that agree with another form, best first, JSON-LD, meta tags, the head."""
    stated = [*texts_of(article.get("headline")), *contents(meta, *_TITLE)]
    head = next((" ".join(tag.itertext()) for tag in tree.iter("title")), "")
    whole = {words for text in stated if len(words := _words_in(_without_site(text, meta))) >= _MIN_TITLE_WORDS}
    headings = [_heading(heading, whole) for heading in islice(tree.iter("h1"), _MAX_HEADINGS)]
    others = [_words_of(other) for other in (*stated, head)]
    own = [(heading, _words_of(heading)) for heading in headings]
    agreeing = [(heading, words) for heading, words in own if any(_agree(words, other) for other in others)]
    others.append(_words_of(_SLUG_BREAK.sub(" ", urlsplit(url).path.rstrip("/").rpartition("/")[2])))
    yield from (heading for heading, _ in sorted(agreeing, key=lambda one: -_agreement(one[1], others)))
    yield from (_without_site(text, meta) for text in stated)
    yield _without_site(head, meta)


def _heading(heading: HtmlElement, stated: Collection[tuple[str, ...]]) -> str:
    """Return the heading's text: the part that is a stated title, where a date or a kicker is marked up beside it."""
    parts = [part for part in heading.itertext() if part.strip()]
    if len(parts) > 1 and (own := next((part for part in parts if _words_in(part) in stated), None)):
        return own
    return " ".join(parts)


def _words_in(title: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(plain_text(title)[:_MAX_TITLE_CHARS].lower()))


def _words_of(title: str) -> frozenset[str]:
    return frozenset(_words_in(title))


def _agree(heading: frozenset[str], other: frozenset[str]) -> bool:
    return len(heading & other) >= _HEADING_WORDS * len(heading) > 0


def _agreement(heading: frozenset[str], others: Iterable[frozenset[str]]) -> float:
    """Return the largest share of words in common; a site's name shares few with a title that ends in it."""
    return max(len(heading & other) / len(heading | other) for other in others)


def _without_site(title: str, meta: MetaTags) -> str:
    """Cut the site's name off the end: the known one, else the last of several parts."""
    text = plain_text(title)
    parts = _SITE_NAME.split(text)
    sites = {plain_text(name).lower() for name in contents(meta, *_SITE)}
    if len(parts) < 2 or (sites and parts[-1].lower() not in sites):
        return text
    return text[: text.rindex(parts[-1])].rstrip(" |–—•·»-") if len(parts[0].split()) > 2 else text


def _places(url: str, sites: Iterable[str], sections: Iterable[str]) -> frozenset[str]:
    """Return the names of the site, also without their last words, and of its sections, also those in the address."""
    parts = urlsplit(url)
    names = [name.split()[:_MAX_SITE_WORDS] for name in sites]
    shorter = (" ".join(name[:n]) for name in names for n in range(2, len(name)))
    given = (
        *(parts.hostname or "").split("."),
        *parts.path.split("/")[:-1],
        *map(" ".join, names),
        *shorter,
        *sections,
    )
    return frozenset(place for name in given if (place := _place(name)) and not place.isdecimal())


def _place(name: str) -> str:
    return "".join(_WORD.findall(fold(plain_text(name)[:_MAX_TITLE_CHARS]).lower())).replace("_", "")


def _without_places(titles: list[str], places: Collection[str]) -> list[str]:
    """Return the titles without names of the site and its sections at the end, if words are left, then as they were."""
    return list(dict.fromkeys((*(_without_place(title, places) for title in titles), *titles)))


def _without_place(title: str, places: Collection[str]) -> str:
    *others, last = _SITE_NAME.split(title)
    shorter = title[: title.rindex(last)].rstrip(" |–—•·»-")
    if not others or _place(last) not in places or len(_words_in(shorter)) < _MIN_TITLE_WORDS:
        return title
    return _without_place(shorter, places)


def _subtitle(tree: HtmlElement, article: Node, title: str | None) -> str | None:
    candidates = [*texts_of(article.get("alternativeHeadline"))]
    for element in tree.iter("h2", "h3", "p", "div", "span"):
        name = element.get("class") or element.get("itemprop")
        if name and _SUBTITLE_CLASS.search(name):
            candidates.append(" ".join(element.itertext()))
            break
    plain = (plain_text(text) for text in candidates)
    return next((text for text in plain if len(text) in _SUBTITLE_CHARS and text != title), None)


def _names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names of people and newsrooms, without "by", URLs and account names."""
    found: dict[str, None] = {}
    for text in texts:
        for part in _BETWEEN_NAMES.split(_BY.sub("", plain_text(text))):
            name = part.strip(" ,.-")
            if name and len(name) <= _MAX_AUTHOR_CHARS and not (_NO_NAME.search(name) or _SLUG.fullmatch(name)):
                found.setdefault(name)
    return tuple(found)[:_MAX_AUTHORS]


def _tags(article: Node, meta: MetaTags, guessed: Iterable[str]) -> tuple[str, ...]:
    texts = [*texts_of(article.get("keywords"), "name"), *contents(meta, *_TAGS)] or list(guessed)
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
