"""Finds the title of an article among its headings, what the page states, and
`<title>`, and the names of the site, the usual wrong title.

A heading that another form of the title confirms precedes what is stated for machines,
which precedes `<title>`. Names of the site are known from what the page states as such,
and from links to the home page; `<title>` is the site's name too where no other form of
the title has a word in common with it.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter
from urllib.parse import unquote, urljoin, urlsplit

from lxml.etree import XPath
from lxml.html import HtmlElement

from news_assets.pipeline.page.stated import MetaTags, Node, contents, texts_of
from news_assets.text.html import plain_text
from news_assets.text.words import fold

_MAX_CHARS = 400  # of a text that may be a title
_MIN_WORDS = 3  # shorter titles are often names of sites and sections
# of an h1's words in another form of the title; newsrooms word the two differently
_AGREES = 0.3
_LONG_WORD_CHARS = 4  # shorter ones are in all texts of a language

_SEPARATOR = re.compile(r" (?:[|–—•·»≈-]|::) ")
_SEPARATORS = " |–—•·»≈:-"
_SLUG_BREAK = re.compile(r"[\W_]+")
_WORD = re.compile(r"\w+")

_Words = frozenset[str]


def _words_in(title: str) -> tuple[str, ...]:
    """Return the words of a title in lower case, in order."""
    return _words_in_text(plain_text(title)[:_MAX_CHARS])


def _words_in_text(text: str) -> tuple[str, ...]:
    """Return the words of plain text of any length in lower case, in order."""
    return tuple(_WORD.findall(text.lower()))


def _words_of(title: str) -> _Words:
    """Return the different words of a title."""
    return frozenset(_words_in(title))


def _long_words(text: str) -> _Words:
    """Return the different words of a title that are not in all texts of a language,
    without accents.
    """
    words = _words_in(fold(text))
    return frozenset(word for word in words if len(word) >= _LONG_WORD_CHARS)


def _agree(heading: _Words, other: _Words, share: float = _AGREES) -> bool:
    """Whether a share of the words of a heading are in another form of the title."""
    return len(heading & other) >= share * len(heading) > 0


def _agreement_of(heading: _Words, other: _Words) -> float:
    """Return the share of words in common; a site's name shares few with a title that
    ends in it.
    """
    return len(heading & other) / len(heading | other)


def _place_of(name: str) -> str:
    """Return a name as letters and digits alone, as the parts of an address have it."""
    folded = fold(plain_text(name)[:_MAX_CHARS]).lower()
    return "".join(_WORD.findall(folded)).replace("_", "")


# --- names of the site ----------------------------------------------------------------

_MAX_HOME_LINKS = 20
_MAX_SITE_WORDS = 10
_MIN_PLACE_CHARS = 8  # of a text that is part of a site's name
# of the long words of a site's name in the address of a page: it is the page's title
_NAMED = 0.6
_HOME_LINK = re.compile(r"\s*(?:(?:https?:)?//[^/?#\s]+/?|/)\s*", re.IGNORECASE)
_TITLE = (
    "og:title",
    "twitter:title",
    "dc.title",
    "parsely-title",
    "sailthru.title",
    "title",
)
_SITE = ("og:site_name", "application-name")


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
        tag = next(self.tree.iter("title"), None)
        if tag is None:
            return ""
        return " ".join(tag.itertext())

    @cached_property
    def stated(self) -> list[str]:
        """What is stated for machines as the title, best first."""
        return [*texts_of(self.article.get("headline")), *contents(self.meta, *_TITLE)]

    def _named(self, path: _Words) -> set[str]:
        """Return the names that the page or links to a home page state, but for titles:
        names with the words of the address.
        """
        found: set[str] = set()
        for name in (*contents(self.meta, *_SITE), *_home_texts(self.tree)):
            place = _place_of(name)
            is_title = _agree(_long_words(name), path, _NAMED)
            if len(place) >= _MIN_PLACE_CHARS and not is_title:
                found.add(place)
        return found

    @cached_property
    def sites(self) -> frozenset[str]:
        """The names of the site: stated ones, the texts of links to a home page, and a
        `<title>` unlike all others.
        """
        path = _long_words(_SLUG_BREAK.sub(" ", unquote(urlsplit(self.url).path)))
        found = self._named(path)
        stated = [text for text in self.stated if not _is_in(text, found)]
        if not stated:
            return frozenset(found)
        known = path.union(*map(_long_words, stated))
        for part in _SEPARATOR.split(plain_text(self.head)[:_MAX_CHARS]):
            own = _long_words(part)
            if not own:
                continue
            if known.isdisjoint(own):
                found.add(_place_of(part))
        return frozenset(found)

    def is_site(self, text: str) -> bool:
        """Whether a text is the site's name or a part of it, also beside the name of a
        section.
        """
        if _is_in(text, self.sites):
            return True
        parts = _SEPARATOR.split(plain_text(text)[:_MAX_CHARS])
        others = [part for part in parts if not _is_in(part, self.sites)]
        if len(others) == len(parts):
            return False
        return len(" ".join(others).split()) < _MIN_WORDS


def _home_texts(tree: HtmlElement) -> list[str]:
    """Return the texts of links to a home page, and of their images."""
    homes = (
        link for link in tree.iter("a") if _HOME_LINK.fullmatch(link.get("href", ""))
    )
    texts: list[str] = []
    for link in islice(homes, _MAX_HOME_LINKS):
        texts.append(link.get("title", ""))
        texts.append(" ".join(islice(link.itertext(), 20)))
        texts += [image.get("alt", "") for image in link.iter("img")]
    return texts


def _is_in(text: str, sites: Collection[str]) -> bool:
    place = _place_of(text)
    if len(place) < _MIN_PLACE_CHARS:
        return False
    return any(place in site for site in sites)


# --- names at the end of a title ------------------------------------------------------


def _without_site(title: str, meta: MetaTags) -> str:
    """Cut the site's name off the end: the known one, else the last of several parts."""
    text = plain_text(title)
    parts = _SEPARATOR.split(text)
    if len(parts) < 2:
        return text
    last = parts[-1]
    sites = {plain_text(name).lower() for name in contents(meta, *_SITE)}
    if sites and last.lower() not in sites:
        return text
    if len(parts[0].split()) <= 2:  # too short for a title
        return text
    return text[: text.rindex(last)].rstrip(_SEPARATORS)


def _without_places(titles: list[str], places: Collection[str]) -> list[str]:
    """Return the titles without names of the site and its sections at the end, if words
    remain, then as they were.
    """
    shorter = [_without_place(title, places) for title in titles]
    return list(dict.fromkeys((*shorter, *titles)))


def _without_place(title: str, places: Collection[str]) -> str:
    *others, last = _SEPARATOR.split(title)
    if not others:
        return title
    if _place_of(last) not in places:
        return title
    shorter = title[: title.rindex(last)].rstrip(_SEPARATORS)
    if len(_words_in(shorter)) < _MIN_WORDS:
        return title
    return _without_place(shorter, places)


def _beginnings(site: str) -> list[str]:
    """Return the name of a site, and without its last words the first two or more."""
    words = site.split()[:_MAX_SITE_WORDS]
    names = [" ".join(words)]
    for count in range(2, len(words)):
        names.append(" ".join(words[:count]))
    return names


def _places_of(
    url: str, sites: Iterable[str], sections: Iterable[str]
) -> frozenset[str]:
    """Return the names of the site, also without their last words, and of its sections,
    also those in the address.
    """
    parts = urlsplit(url)
    names = [*(parts.hostname or "").split("."), *parts.path.split("/")[:-1], *sections]
    for site in sites:
        names += _beginnings(site)
    places = {place for place in map(_place_of, names) if not place.isdecimal()}
    return frozenset(places - {""})


_MIN_UNSTATED_WORDS = 4  # of a heading that nothing else confirms
_PARAGRAPHS = XPath(
    "//body//*[not(self::script or self::style or self::a)][text()[string-length() >= 150]]"
)
_MAX_HEADINGS = 300
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
_DATE_BEFORE = re.compile(
    r"^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?:\s+\d\d?[:h]\d\d)?\s*[|:–—-]\s*(?=\S)"
)
# A line that is a sentence, or has a date or time, a copyright or the author.
_NO_HEADLINE = re.compile(
    r"[.,:;]$|\b(?:19|20)\d\d\W*$|\d{1,2}[./-]\d{1,2}[./-]\d\d|\d\s?[:h]\s?\d\d|©|^(?:by|por|von|par|fonte|foto)\b",
    re.IGNORECASE,
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


def _headings_of(page: TitledPage, stated: Sequence[str]) -> list[_Heading]:
    """Return the headings that may be the title: outside menus and links to other
    pages, without the site's name.
    """
    whole = {words for words in map(_words_in, stated) if len(words) >= _MIN_WORDS}
    found: list[_Heading] = []
    for element in islice(page.tree.iter("h1", "h2", "h3", "h4"), _MAX_HEADINGS):
        text = _DATE_BEFORE.sub("", _text_of(element, whole))
        if not text:
            continue
        if page.is_site(text):
            continue
        if not _is_unrelated(element, page.url):
            found.append(_Heading(element, text, int(str(element.tag)[1])))
    return found


def _text_of(heading: HtmlElement, stated: Collection[tuple[str, ...]]) -> str:
    """Return the heading's text: the part that is a stated title, where a date or a
    kicker is marked up beside it.
    """
    parts = list(filter(str.strip, heading.itertext()))
    if len(parts) > 1:
        for part in parts:
            if _words_in(part) in stated:
                return part
    return " ".join(" ".join(parts).split())


def _is_unrelated(element: HtmlElement, url: str) -> bool:
    """Whether a heading is in a menu, or is a link to another page."""
    is_in_menu = next(element.iterancestors(*_UNRELATED), None) is not None
    if is_in_menu and element.tag != "h1":
        return True
    link = next(element.iterancestors("a"), None)
    if link is None:
        link = next(element.iter("a"), None)
    href = "" if link is None else link.get("href", "")
    if href == "":
        return False
    return not _is_own(href, url)


def _is_own(href: str, url: str) -> bool:
    """Whether a link leads to the page itself, or to no page."""
    if href.startswith(("#", "javascript:", "mailto:")):
        return True
    target = urlsplit(_joined(url, href)).path
    return target.rstrip("/") == urlsplit(url).path.rstrip("/")


def _titled_texts(page: TitledPage) -> list[_Heading]:
    """Return the texts of other elements whose class or id says that they are titles."""
    found: list[_Heading] = []
    elements = filter(_is_named_title, page.tree.iter(*_TITLED))
    for element in islice(elements, _MAX_HEADINGS):
        whole = "".join(islice(element.itertext(), 50))
        text = _DATE_BEFORE.sub("", " ".join(whole.split()))
        if len(text) not in _TITLED_CHARS:
            continue
        if page.is_site(text):
            continue
        if not _is_unrelated(element, page.url):
            found.append(_Heading(element, text, 5))
    return found


def _is_named_title(element: HtmlElement) -> bool:
    return bool(_TITLE_CLASS.search(f"{element.get('class')} {element.get('id')}"))


def _line_above(page: TitledPage) -> list[str]:
    """Return the last line above the first paragraph that may be a headline, on a page
    without headings.
    """
    paragraph = next(iter(_PARAGRAPHS(page.tree)), None)
    if paragraph is None:
        return []
    lines: list[tuple[HtmlElement, str]] = []
    for element in page.tree.iter():
        if element is paragraph:
            break
        text = " ".join((element.text or "").split())
        if element.tag not in _LINES:
            continue
        if _may_be_headline(text):
            lines.append((element, text))
    for element, text in islice(reversed(lines), _MAX_HEADINGS):
        if not _is_unrelated(element, page.url):
            return [text]
    return []


def _may_be_headline(line: str) -> bool:
    if len(line) not in _TITLED_CHARS:
        return False
    if _NO_HEADLINE.search(line):
        return False
    return len(_words_in(line)) >= _MIN_UNSTATED_WORDS


def _joined(url: str, href: str) -> str:
    try:
        return urljoin(url, href.strip())
    except ValueError:
        return href


# --- the titles, best first -----------------------------------------------------------

SECTION = ("article:section",)
_SAME = 0.6  # of all words of a lower heading and another form of the title
_SURE = 0.8  # from here on a lower heading precedes an h1


def titles_of(page: TitledPage, sections: Iterable[str]) -> list[str]:
    """Return the forms of the title, best first; names of the site are last."""
    texts = [plain_text(text)[:_MAX_CHARS] for text in _texts(page)]
    places = _places_of(page.url, contents(page.meta, *_SITE), sections)
    titles = _without_places(list(filter(None, texts)), places)
    return sorted(titles, key=page.is_site)


def _texts(page: TitledPage) -> list[str]:
    """Return agreeing headings, what is stated, `<title>`, and headings that nothing
    confirms.
    """
    titles = [text for text in page.stated if not page.is_site(text)]
    stated = [_without_site(text, page.meta) for text in titles]
    headings = _headings_of(page, stated)
    confirmed = [*_confirmed(page, headings), *stated]
    texts = list(confirmed)
    if page.listed and _is_only_listed(page.listed, confirmed, page.tree):
        texts.insert(0, page.listed)
    if not confirmed:
        texts += _unconfirmed(headings, page.tree) or _line_above(page)
    return [*texts, _without_site(page.head, page.meta), *page.stated]


def _confirmed(page: TitledPage, headings: Sequence[_Heading]) -> list[str]:
    """Return the headings that agree with another form of the title, best first."""
    longest = max(_SEPARATOR.split(plain_text(page.head)), key=len)
    known: list[str] = []
    for text in (*page.stated, longest, page.head):
        if not page.is_site(text):
            known.append(text)
    slug = unquote(urlsplit(page.url).path).rstrip("/").rpartition("/")[2]
    texts = [*known, page.listed or "", _SLUG_BREAK.sub(" ", slug)]
    others = list(filter(None, map(_words_of, texts)))
    agreeing = _agreeing(headings, others)
    if max((one.agreement for one in agreeing), default=0.0) < _SURE:
        agreeing += _agreeing(_titled_texts(page), others)
    return [one.text for one in sorted(agreeing, key=attrgetter("rank"))]


def _is_only_listed(listed: str, others: Iterable[str], tree: HtmlElement) -> bool:
    """Whether the listed title is on the page, and has no word in common with the
    page's other titles.
    """
    words = _words_in(listed)
    if len(words) < _MIN_WORDS:
        return False
    known = _Words().union(*map(_long_words, others))
    if not known.isdisjoint(_long_words(listed)):
        return False
    shown = _words_in_text(" ".join(tree.itertext()))
    return f" {' '.join(words)} " in f" {' '.join(shown)} "


def _agreeing(headings: Sequence[_Heading], others: Sequence[_Words]) -> list[_Heading]:
    """Return the headings that agree with other forms of the title, with how much."""
    found: list[_Heading] = []
    for heading in headings:
        words = _words_of(heading.text)
        agreement = max(map(partial(_agreement_of, words), others), default=0.0)
        is_near = heading.level == 1 and any(map(partial(_agree, words), others))
        if is_near or agreement >= _SAME:
            found.append(replace(heading, agreement=agreement))
    return found


def _unconfirmed(headings: Sequence[_Heading], tree: HtmlElement) -> list[str]:
    """Return the highest of the headings above the first paragraph that are long enough
    for titles.
    """
    near = [one for one in headings if len(_words_in(one.text)) >= _MIN_UNSTATED_WORDS]
    paragraph = next(iter(_PARAGRAPHS(tree)), None)
    if paragraph is not None:
        above = set(paragraph.xpath("preceding::*"))
        near = [one for one in near if one.element in above] or near
    highest = min(near, key=attrgetter("level"), default=None)
    return [] if highest is None else [highest.text]
