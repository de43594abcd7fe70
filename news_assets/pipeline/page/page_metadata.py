"""Reads an article's metadata from JSON-LD, else meta tags, else the visible page, else a
guess by trafilatura and htmldate.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import filterfalse, islice

from lxml.etree import LxmlError, XPath
from lxml.html import HtmlElement

from news_assets.pipeline.page.stated import (
    MetaTags,
    Node,
    article_of,
    article_type,
    base_url,
    breadcrumb,
    canonical_url_of,
    contents,
    first_url,
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
from news_assets.text.prose import language_tag

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
    titles = titles_of(titled, sections) or _guessed_titles(tree)
    title = next(filterfalse(titled.is_site, titles), None)
    headline = titles[0] if titles else None
    dated = DatedPage(tree, article, meta, headline, url, timezone, fetched_at)
    published = published_time(dated) or guessed_time(dated, _guessed_day(tree, url))
    published_at, published_origin = published or (None, None)
    section, category = _sections(sections, nodes)
    return PageMetadata(
        title=title,
        titles=tuple(titles),
        subtitle=_subtitle(tree, article, title),
        authors=authors_of(tree, article, meta),
        section=section,
        category=category,
        tags=_tags(article, meta),
        article_type=article_type(article) or microdata_type(tree),
        is_stated_article=bool(article) or "article" in contents(meta, "og:type"),
        language=_language(tree, article, meta),
        published_at=published_at,
        published_origin=published_origin,
        updated_at=updated_time(dated, published_at),
        image_url=first_url(base, _images(article, meta)),
        video_url=first_url(base, video_texts(tree, article, nodes, meta)),
        canonical_url=canonical_url_of(tree, contents(meta, "og:url"), base, url),
        stated_body=stated_body(article),
        is_paywalled=_is_paywalled(article),
    )


def _images(article: Node, meta: MetaTags) -> list[str]:
    """Return the addresses of images, those of the article first."""
    images = texts_of(article.get("image"), "url", "contentUrl", "@id")
    return [*images, *contents(meta, *_IMAGE)]


def _is_paywalled(article: Node) -> bool:
    is_free = str(article.get("isAccessibleForFree")).lower()
    return is_free in ("false", "no", "0")


def _sections(stated: list[str], nodes: list[Node]) -> tuple[str | None, str | None]:
    """Return section and category: the first name or the breadcrumb, and the next name."""
    names = list(map(plain_text, stated))
    section = (names[0] if names else None) or breadcrumb(nodes)
    for name in names[1:]:
        if name not in ("", section):
            return section, name
    return section, None


# --- subtitle, tags, language ---------------------------------------------------------


def _subtitle(tree: HtmlElement, article: Node, title: str | None) -> str | None:
    candidates = texts_of(article.get("alternativeHeadline"))
    for element in tree.iter("h2", "h3", "p", "div", "span"):
        name = element.get("class") or element.get("itemprop")
        if not name:
            continue
        if _SUBTITLE_CLASS.search(name):
            candidates.append(" ".join(element.itertext()))
            break
    for text in map(plain_text, candidates):
        if len(text) in _SUBTITLE_CHARS and text != title:
            return text
    return None


def _tags(article: Node, meta: MetaTags) -> tuple[str, ...]:
    known: dict[str, str] = {}
    of_article = texts_of(article.get("keywords"), "name")
    for text in (*of_article, *contents(meta, *_TAGS)):
        for part in map(plain_text, re.split(r"[,;]", text)):
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


# --- authors --------------------------------------------------------------------------

_MAX_AUTHORS, _MAX_AUTHOR_CHARS = 12, 80
_MAX_BYLINES = 30  # elements that are named as bylines
_MAX_PARTS = 8  # texts of one byline; a description of the author follows the name
_MAX_BYLINE_CHARS = 200
_NAME_WORDS = range(2, 6)

_STATED = ("author", "article:author", "parsely-author", "sailthru.author", "byl", "dc.creator",
"dcterms.creator",
           "citation_author", "cxenseparse:author")  # fmt: skip
_BY = re.compile(
    r"^\W*(?:(?:written|posted|story|words|published|reported|escrito|publicado|redactado)\s+(?:by|por):?"
    r"|by|por|von|par|texto:|reportagem(?: de)?:?|autora?:|autor(?=\s)|author:?)\s+",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"https?:|www\.|@|^\(|^\W*$|^\d+$|^(?:admin|administrator|null|none|undefined|redaktion|(?:written|posted)"
    r" by)$",
    re.IGNORECASE,
)
# an account name; the page gives the person's name as well
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)+")
# In plain text, which has single spaces.
_BETWEEN_NAMES = re.compile(
    rf" ?(?:;|\||\band\b|&|\bund\b|\bog\b|,(?= ?\S{{1,{_MAX_AUTHOR_CHARS}}} \S)) ?"
)

_BYLINES = ("a", "address", "div", "h3", "h4", "li", "p", "span", "strong")
_AROUND_BYLINES = ("div", "section", "aside", "footer", "ul", "ol", "blockquote")
_BYLINE = re.compile(
    r"author|byline|autor(?!iz)|auteur|redactor|journalist|writer|posted-by",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"comment|related|relacionad|sidebar|footer|recommend|teaser|quote", re.IGNORECASE
)
_TEXTS = XPath(".//text()[not(parent::script or parent::style)]", smart_strings=False)
_ARTICLES = re.compile(
    r"(?:about|the|more|meet|view|all|follow|read|share|our|o|sobre|todos|mais)$",
    re.IGNORECASE,
)


def authors_of(tree: HtmlElement, article: Node, meta: MetaTags) -> tuple[str, ...]:
    """Return the names of people and newsrooms; those of the first byline with a name
    where none are stated.
    """
    for texts in (texts_of(article.get("author"), "name"), contents(meta, *_STATED)):
        if names := _names(texts):
            return names
    for byline in _bylines(tree):
        if names := _names_in(byline):
            return names
    return ()


def _names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in some texts, without "by", URLs and account names."""
    found: dict[str, None] = {}
    for text in texts:
        for part in _BETWEEN_NAMES.split(_BY.sub("", plain_text(text))):
            name = part.strip(" ,.•|·-")
            if _may_be_name(name):
                found.setdefault(name)
    return tuple(found)[:_MAX_AUTHORS]


def _may_be_name(text: str) -> bool:
    if not 0 < len(text) <= _MAX_AUTHOR_CHARS:
        return False
    return not (_NO_NAME.search(text) or _SLUG.fullmatch(text))


# --- bylines --------------------------------------------------------------------------


def _bylines(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the elements that are marked up or named as an author, outside comments and
    teasers.
    """
    named = (one for one in tree.iter(*_BYLINES) if _BYLINE.search(_marks(one)))
    for element in islice(named, _MAX_BYLINES):
        around = map(_marks, (element, *element.iterancestors(*_AROUND_BYLINES)))
        if not any(map(_OTHERS.search, around)):
            yield element


def _marks(element: HtmlElement) -> str:
    return " ".join(filter(None, map(element.get, ("class", "id", "rel", "itemprop"))))


def _names_in(byline: HtmlElement) -> tuple[str, ...]:
    """Return the names in the first text of a byline that has any."""
    for text in islice(filter(str.strip, _TEXTS(byline)), _MAX_PARTS):
        names = tuple(filter(_is_person, _names([text[:_MAX_BYLINE_CHARS]])))
        if names:
            return names
    return ()


def _is_person(name: str) -> bool:
    """Whether a text is two to five words in capitals, with particles between them."""
    words = name.split()
    if len(words) not in _NAME_WORDS:
        return False
    if _ARTICLES.match(words[0]):
        return False
    if any(map(str.isdigit, name)):
        return False
    return not (words[0][0].islower() or words[-1][0].islower())


# --- guesses; each is made alone, because each searches the whole page ----------------

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
_MAX_META_CHARS = 1000  # of one tag
_MAX_SCRIPT_CHARS = 20_000  # of all JSON-LD; a longer script is left out


def _guessed_titles(tree: HtmlElement) -> list[str]:
    """Return the title by trafilatura's rules, if any."""
    from trafilatura.metadata import extract_title

    try:
        title = extract_title(tree)
    except LIBRARY_ERRORS:
        return []
    return [title] if title else []


def _guessed_day(tree: HtmlElement, url: str) -> str | None:
    """Return the day of publication (ISO) by htmldate. Long meta tags and JSON-LD are
    cut.
    """
    from htmldate import find_date

    _shorten(tree)
    # The extensive search is off: its first use compiles the patterns of 205 locales in
    # four seconds.
    try:
        return find_date(tree, url=url, original_date=True, extensive_search=False)
    except (
        LIBRARY_ERRORS
    ):  # a date that no clock shows, or other markup that it does not foresee
        return None


def _shorten(tree: HtmlElement) -> None:
    """Cut what htmldate searches with patterns that take quadratic time: meta tags, and
    JSON-LD that was read.
    """
    for tag in tree.iter("meta"):
        if len(content := tag.get("content", "")) > _MAX_META_CHARS:
            tag.set("content", content[:_MAX_META_CHARS])
    remaining = _MAX_SCRIPT_CHARS
    for script in tree.iter("script"):
        if "ld+json" in script.get("type", "").lower():
            remaining -= len(script.text or "")
            script.text = script.text if remaining >= 0 else None
