"""Names of the site on a page, the usual wrong title; and how much two forms of a title
have in common.

They are known from what the page states as such, and from links to the home page;
`<title>` is the site's name too where no other form of the title has a word in common
with it.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from urllib.parse import unquote, urlsplit

from lxml.html import HtmlElement

from news_assets.pipeline.page.stated import MetaTags, Node, contents, texts_of
from news_assets.text.html import plain_text
from news_assets.text.words import fold

MAX_CHARS = 400  # of a text that may be a title
MIN_WORDS = 3  # shorter titles are often names of sites and sections
# of an h1's words in another form of the title; newsrooms word the two differently
AGREES = 0.3
_LONG_WORD_CHARS = 4  # shorter ones are in all texts of a language

SEPARATOR = re.compile(r" (?:[|–—•·»≈-]|::) ")
_SEPARATORS = " |–—•·»≈:-"
SLUG_BREAK = re.compile(r"[\W_]+")
_WORD = re.compile(r"\w+")

Words = frozenset[str]


def words_in(title: str) -> tuple[str, ...]:
    """Return the words of a title in lower case, in order."""
    return words_in_text(plain_text(title)[:MAX_CHARS])


def words_in_text(text: str) -> tuple[str, ...]:
    """Return the words of plain text of any length in lower case, in order."""
    return tuple(_WORD.findall(text.lower()))


def words_of(title: str) -> Words:
    """Return the different words of a title."""
    return frozenset(words_in(title))


def long_words(text: str) -> Words:
    """Return the different words of a title that are not in all texts of a language,
    without accents.
    """
    return frozenset(
        word for word in words_in(fold(text)) if len(word) >= _LONG_WORD_CHARS
    )


def agree(heading: Words, other: Words, share: float = AGREES) -> bool:
    """Whether a share of the words of a heading are in another form of the title."""
    return len(heading & other) >= share * len(heading) > 0


def agreement_of(heading: Words, other: Words) -> float:
    """Return the share of words in common; a site's name shares few with a title that
    ends in it.
    """
    return len(heading & other) / len(heading | other)


def _place_of(name: str) -> str:
    """Return a name as letters and digits alone, as the parts of an address have it."""
    folded = fold(plain_text(name)[:MAX_CHARS]).lower()
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
SITE = ("og:site_name", "application-name")


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
        return "" if tag is None else " ".join(tag.itertext())

    @cached_property
    def stated(self) -> list[str]:
        """What is stated for machines as the title, best first."""
        return [*texts_of(self.article.get("headline")), *contents(self.meta, *_TITLE)]

    def _named(self, path: Words) -> set[str]:
        """Return the names that the page or links to a home page state, but for titles:
        names with the words of the address.
        """
        found: set[str] = set()
        for name in (*contents(self.meta, *SITE), *_home_texts(self.tree)):
            place = _place_of(name)
            is_title = agree(long_words(name), path, _NAMED)
            if len(place) >= _MIN_PLACE_CHARS and not is_title:
                found.add(place)
        return found

    @cached_property
    def sites(self) -> frozenset[str]:
        """The names of the site: stated ones, the texts of links to a home page, and a
        `<title>` unlike all others.
        """
        path = long_words(SLUG_BREAK.sub(" ", unquote(urlsplit(self.url).path)))
        found = self._named(path)
        stated = [text for text in self.stated if not _is_in(text, found)]
        if not stated:
            return frozenset(found)
        known = path.union(*map(long_words, stated))
        for part in SEPARATOR.split(plain_text(self.head)[:MAX_CHARS]):
            own = long_words(part)
            if own and known.isdisjoint(own):
                found.add(_place_of(part))
        return frozenset(found)

    def is_site(self, text: str) -> bool:
        """Whether a text is the site's name or a part of it, also beside the name of a
        section.
        """
        if _is_in(text, self.sites):
            return True
        parts = SEPARATOR.split(plain_text(text)[:MAX_CHARS])
        others = [part for part in parts if not _is_in(part, self.sites)]
        if len(others) == len(parts):
            return False
        return len(" ".join(others).split()) < MIN_WORDS


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


def without_site(title: str, meta: MetaTags) -> str:
    """Cut the site's name off the end: the known one, else the last of several parts."""
    text = plain_text(title)
    parts = SEPARATOR.split(text)
    if len(parts) < 2:
        return text
    last = parts[-1]
    sites = {plain_text(name).lower() for name in contents(meta, *SITE)}
    if sites and last.lower() not in sites:
        return text
    if len(parts[0].split()) <= 2:  # too short for a title
        return text
    return text[: text.rindex(last)].rstrip(_SEPARATORS)


def without_places(titles: list[str], places: Collection[str]) -> list[str]:
    """Return the titles without names of the site and its sections at the end, if words
    remain, then as they were.
    """
    shorter = [_without_place(title, places) for title in titles]
    return list(dict.fromkeys((*shorter, *titles)))


def _without_place(title: str, places: Collection[str]) -> str:
    *others, last = SEPARATOR.split(title)
    if not others:
        return title
    if _place_of(last) not in places:
        return title
    shorter = title[: title.rindex(last)].rstrip(_SEPARATORS)
    if len(words_in(shorter)) < MIN_WORDS:
        return title
    return _without_place(shorter, places)


def places_of(
    url: str, sites: Iterable[str], sections: Iterable[str]
) -> frozenset[str]:
    """Return the names of the site, also without their last words, and of its sections,
    also those in the address.
    """
    parts = urlsplit(url)
    names = [*(parts.hostname or "").split("."), *parts.path.split("/")[:-1], *sections]
    for site in sites:
        words = site.split()[:_MAX_SITE_WORDS]
        names.append(" ".join(words))
        names += [" ".join(words[:n]) for n in range(2, len(words))]
    places = {place for place in map(_place_of, names) if not place.isdecimal()}
    return frozenset(places - {""})
