"""Finds the title of an article among its headings, what the page states, and
`<title>`.

The name of the site is the usual wrong title. It is known from what the page states as
such, and from links to the home page; `<title>` is the site's name too where no other
form of the title has a word in common with it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile
from urllib.parse import unquote, urljoin, urlsplit

from lxml.etree import XPath
from lxml.html import HtmlElement

from news_assets.pipeline.page.stated import MetaTags, Node, contents, texts_of
from news_assets.text.html import plain_text
from news_assets.text.words import fold

_MAX_CHARS, _MAX_HEADINGS, _MAX_HOME_LINKS = 400, 300, 20
_MAX_SITE_WORDS = 10
_HOME_LINK = re.compile(r"\s*(?:(?:https?:)?//[^/?#\s]+/?|/)\s*", re.IGNORECASE)
_MIN_WORDS = 3  # shorter titles are often names of sites and sections
_MIN_UNSTATED_WORDS = 4  # of a heading that nothing else confirms
_MIN_PLACE_CHARS = 8  # of a text that is part of a site's name

_LONG_WORD_CHARS = 4  # shorter ones are in all texts of a language
# of the long words of a site's name in the address of a page: it is the page's title
_NAMED = 0.6
# of an h1's words in another form of the title; newsrooms word the two differently
_AGREES = 0.3
_SAME = 0.6  # of all words of a lower heading and another form of the title
_SURE = 0.8  # from here on a lower heading precedes an h1

_TITLE = (
    "og:title",
    "twitter:title",
    "dc.title",
    "parsely-title",
    "sailthru.title",
    "title",
)
SITE, SECTION = ("og:site_name", "application-name"), ("article:section",)
_UNRELATED = frozenset({"nav", "aside", "footer", "dialog"})
_TITLE_CLASS = re.compile(
    r"t[ií]tulo|title|headline|manchete|contentheading", re.IGNORECASE
)
_TITLED = ("div", "p", "span", "td", "font", "strong")
_LINES = (
    "body",
    *_TITLED,
    "b",
    "big",
    "center",
    "em",
    "i",
    "label",
    "li",
    "section",
    "u",
)
_TITLED_CHARS = range(20, 300)
_WORD, _SLUG_BREAK = re.compile(r"\w+"), re.compile(r"[\W_]+")
_SEPARATOR = re.compile(r" (?:[|–—•·»≈-]|::) ")
_SEPARATORS = " |–—•·»≈:-"
_DATE_BEFORE = re.compile(
    r"^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?:\s+\d\d?[:h]\d\d)?\s*[|:–—-]\s*(?=\S)"
)
# A line with a date or time, of copyright, or with the author.
_BYLINE = re.compile(
    r"\b(?:19|20)\d\d\W*$|\d{1,2}[./-]\d{1,2}[./-]\d\d|\d\s?[:h]\s?\d\d|©|^(?:by|por|von|par|fonte|foto)\b",
    re.IGNORECASE,
)

_PARAGRAPHS = XPath(
    "//body//*[not(self::script or self::style or self::a)][text()[string-length() >= 150]]"
)

Words = frozenset[str]


@dataclass(frozen=True)
class TitledPage:
    """The parts of one page that may hold its title; `listed` is the title that its
    source lists it with.
    """

    tree: HtmlElement
    article: Node
    meta: MetaTags
    url: str
    listed: str | None = None

    @cached_property
    def head(self) -> str:
        """The text of `<title>`."""
        return next((" ".join(tag.itertext()) for tag in self.tree.iter("title")), "")

    @cached_property
    def stated(self) -> list[str]:
        """What is stated for machines as the title, best first."""
        return [*texts_of(self.article.get("headline")), *contents(self.meta, *_TITLE)]

    @cached_property
    def sites(self) -> frozenset[str]:
        """The names of the site: stated ones, the texts of links to a home page, and a
        `<title>` unlike all others.
        """
        path = _long_words(_SLUG_BREAK.sub(" ", unquote(urlsplit(self.url).path)))
        names = [*contents(self.meta, *SITE), *_home_texts(self.tree)]
        found = {
            _place(name)
            for name in names
            if not _agree(_long_words(name), path, _NAMED)
        }
        found = {place for place in found if len(place) >= _MIN_PLACE_CHARS}
        stated = [text for text in self.stated if not _is_in(text, found)]
        known = path.union(*map(_long_words, stated))
        for part in _SEPARATOR.split(plain_text(self.head)[:_MAX_CHARS]):
            own = _long_words(part)
            if stated and own and not own & known:
                found.add(_place(part))
        return frozenset(found)

    def is_site(self, text: str) -> bool:
        """Whether a text is the site's name or a part of it, also beside the name of a
        section.
        """
        parts = _SEPARATOR.split(plain_text(text)[:_MAX_CHARS])
        others = [part for part in parts if not _is_in(part, self.sites)]
        return _is_in(text, self.sites) or (
            len(others) < len(parts) and len(" ".join(others).split()) < _MIN_WORDS
        )


@dataclass(frozen=True)
class _Heading:
    """A heading's text, its level, and its largest agreement with another form of the
    title.
    """

    element: HtmlElement
    text: str
    level: int
    agreement: float = 0.0

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Its place among others, smallest first."""
        return self.agreement < _AGREES, self.level > 1, -self.agreement


def titles_of(page: TitledPage, sections: Iterable[str]) -> list[str]:
    """Return the forms of the title, best first; names of the site are last."""
    raw = [plain for text in _texts(page) if (plain := plain_text(text)[:_MAX_CHARS])]
    titles = _without_places(
        raw, _places(page.url, contents(page.meta, *SITE), sections)
    )
    return sorted(titles, key=page.is_site)


def _texts(page: TitledPage) -> Iterator[str]:
    """Yield agreeing headings, what is stated, `<title>`, and headings that nothing
    confirms.
    """
    stated = [
        _without_site(text, page.meta) for text in page.stated if not page.is_site(text)
    ]
    headings = _headings(page, stated)
    confirmed = [*_confirmed(page, headings), *stated]
    if page.listed and _is_only_listed(page.listed, confirmed, page.tree):
        yield page.listed
    yield from confirmed
    head = _without_site(page.head, page.meta)
    if not confirmed:
        yield from _unconfirmed(headings, page.tree) or _line_above(page)
    yield head
    yield from page.stated


def _confirmed(page: TitledPage, headings: Iterable[_Heading]) -> list[str]:
    """Return the headings that agree with another form of the title, best first."""
    longest = max(_SEPARATOR.split(plain_text(page.head)), key=len)
    known = (
        text for text in (*page.stated, longest, page.head) if not page.is_site(text)
    )
    slug = unquote(urlsplit(page.url).path).rstrip("/").rpartition("/")[2]
    texts = [*known, page.listed or "", _SLUG_BREAK.sub(" ", slug)]
    others = list(filter(None, map(_words_of, texts)))
    agreeing = list(_agreeing(headings, others))
    if not any(one.agreement >= _SURE for one in agreeing):
        agreeing += _agreeing(_titled(page), others)
    return [one.text for one in sorted(agreeing, key=lambda one: one.rank)]


def _is_only_listed(listed: str, others: Iterable[str], tree: HtmlElement) -> bool:
    """Whether the listed title is on the page, and has no word in common with the
    page's other titles.
    """
    words, own = _words_in(listed), _long_words(listed)
    if len(words) < _MIN_WORDS or any(own & _long_words(other) for other in others):
        return False
    shown = _words_in_text(" ".join(tree.itertext()))
    return f" {' '.join(words)} " in f" {' '.join(shown)} "


def _agreeing(
    headings: Iterable[_Heading], others: Sequence[Words]
) -> Iterator[_Heading]:
    for heading in headings:
        words = _words_of(heading.text)
        agreement = max((_agreement(words, other) for other in others), default=0.0)
        is_near = heading.level == 1 and any(_agree(words, other) for other in others)
        if is_near or agreement >= _SAME:
            yield replace(heading, agreement=agreement)


def _unconfirmed(headings: Sequence[_Heading], tree: HtmlElement) -> list[str]:
    """Return the highest of the headings above the first paragraph that are long enough
    for titles.
    """
    paragraph = next(iter(_PARAGRAPHS(tree)), None)
    above = set(paragraph.xpath("preceding::*")) if paragraph is not None else None
    long = [one for one in headings if len(_words_in(one.text)) >= _MIN_UNSTATED_WORDS]
    near = [one for one in long if above is None or one.element in above] or long
    return [one.text for one in sorted(near, key=lambda one: one.level)][:1]


def _line_above(page: TitledPage) -> list[str]:
    """Return the last line above the first paragraph that may be a headline, on a page
    without headings.
    """
    found: list[str] = []
    paragraph = next(iter(_PARAGRAPHS(page.tree)), None)
    above = (
        []
        if paragraph is None
        else takewhile(lambda one: one is not paragraph, page.tree.iter())
    )
    for element in above:
        if element.tag not in _LINES:
            continue
        text = " ".join((element.text or "").split())
        is_headline = (
            len(text) in _TITLED_CHARS and len(_words_in(text)) >= _MIN_UNSTATED_WORDS
        )
        if (
            is_headline
            and not _BYLINE.search(text)
            and not _is_unrelated(element, page.url)
        ):
            found = [text]
    return found


# --- headings -------------------------------------------------------------------------


def _headings(page: TitledPage, stated: Sequence[str]) -> list[_Heading]:
    """Return the headings that may be the title: outside menus and links to other
    pages, without the site's name.
    """
    whole = {words for text in stated if len(words := _words_in(text)) >= _MIN_WORDS}
    found = []
    for element in islice(page.tree.iter("h1", "h2", "h3", "h4"), _MAX_HEADINGS):
        text = _DATE_BEFORE.sub("", _text_of(element, whole))
        if text and not page.is_site(text) and not _is_unrelated(element, page.url):
            found.append(_Heading(element, text, int(str(element.tag)[1])))
    return found


def _text_of(heading: HtmlElement, stated: Collection[tuple[str, ...]]) -> str:
    """Return the heading's text: the part that is a stated title, where a date or a
    kicker is marked up beside it.
    """
    parts = [part for part in heading.itertext() if part.strip()]
    if len(parts) > 1 and (
        own := next((part for part in parts if _words_in(part) in stated), None)
    ):
        return own
    return " ".join(" ".join(parts).split())


def _is_unrelated(element: HtmlElement, url: str) -> bool:
    """Whether a heading is in a menu, or is a link to another page."""
    if element.tag != "h1" and any(
        above.tag in _UNRELATED for above in element.iterancestors()
    ):
        return True
    around = (above for above in element.iterancestors("a"))
    link = next(around, None)
    if link is None:
        link = next(element.iter("a"), None)
    href = link.get("href") if link is not None else None
    return bool(href) and not _is_own(href or "", url)


def _is_own(href: str, url: str) -> bool:
    """Whether a link leads to the page itself, or to no page."""
    if href.startswith(("#", "javascript:", "mailto:")):
        return True
    return urlsplit(_joined(url, href)).path.rstrip("/") == urlsplit(url).path.rstrip(
        "/"
    )


def _titled(page: TitledPage) -> Iterator[_Heading]:
    """Yield the texts of other elements whose class or id says that they are titles."""
    named = (
        one
        for one in page.tree.iter(*_TITLED)
        if _TITLE_CLASS.search(f"{one.get('class')} {one.get('id')}")
    )
    for element in islice(named, _MAX_HEADINGS):
        text = _DATE_BEFORE.sub(
            "", " ".join("".join(islice(element.itertext(), 50)).split())
        )
        if (
            len(text) in _TITLED_CHARS
            and not page.is_site(text)
            and not _is_unrelated(element, page.url)
        ):
            yield _Heading(element, text, 5)


def _home_texts(tree: HtmlElement) -> Iterator[str]:
    """Yield the texts of links to a home page, and of their images."""
    homes = (
        link for link in tree.iter("a") if _HOME_LINK.fullmatch(link.get("href") or "")
    )
    for link in islice(homes, _MAX_HOME_LINKS):
        yield link.get("title") or ""
        yield " ".join(islice(link.itertext(), 20))
        yield from (image.get("alt") or "" for image in link.iter("img"))


def _joined(url: str, href: str) -> str:
    try:
        return urljoin(url, href.strip())
    except ValueError:
        return href


# --- words ----------------------------------------------------------------------------


def _words_in(title: str) -> tuple[str, ...]:
    return _words_in_text(plain_text(title)[:_MAX_CHARS])


def _words_in_text(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def _words_of(title: str) -> Words:
    return frozenset(_words_in(title))


def _long_words(text: str) -> Words:
    return frozenset(
        word for word in _words_in(fold(text)) if len(word) >= _LONG_WORD_CHARS
    )


def _agree(heading: Words, other: Words, share: float = _AGREES) -> bool:
    return len(heading & other) >= share * len(heading) > 0


def _agreement(heading: Words, other: Words) -> float:
    """Return the share of words in common; a site's name shares few with a title that
    ends in it.
    """
    return len(heading & other) / len(heading | other)


# --- names of the site ----------------------------------------------------------------


def _is_in(text: str, sites: Collection[str]) -> bool:
    place = _place(text)
    return len(place) >= _MIN_PLACE_CHARS and any(place in site for site in sites)


def _without_site(title: str, meta: MetaTags) -> str:
    """Cut the site's name off the end: the known one, else the last of several parts."""
    text = plain_text(title)
    parts = _SEPARATOR.split(text)
    sites = {plain_text(name).lower() for name in contents(meta, *SITE)}
    if len(parts) < 2 or (sites and parts[-1].lower() not in sites):
        return text
    return (
        text[: text.rindex(parts[-1])].rstrip(_SEPARATORS)
        if len(parts[0].split()) > 2
        else text
    )


def _places(url: str, sites: Iterable[str], sections: Iterable[str]) -> frozenset[str]:
    """Return the names of the site, also without their last words, and of its sections,
    also those in the address.
    """
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
    return frozenset(
        place for name in given if (place := _place(name)) and not place.isdecimal()
    )


def _place(name: str) -> str:
    return "".join(_WORD.findall(fold(plain_text(name)[:_MAX_CHARS]).lower())).replace(
        "_", ""
    )


def _without_places(titles: list[str], places: Collection[str]) -> list[str]:
    """Return the titles without names of the site and its sections at the end, if words
    are left, then as they were.
    """
    return list(
        dict.fromkeys((*(_without_place(title, places) for title in titles), *titles))
    )


def _without_place(title: str, places: Collection[str]) -> str:
    *others, last = _SEPARATOR.split(title)
    shorter = title[: title.rindex(last)].rstrip(_SEPARATORS)
    if not others or _place(last) not in places or len(_words_in(shorter)) < _MIN_WORDS:
        return title
    return _without_place(shorter, places)
