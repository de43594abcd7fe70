"""Finds the title of an article among its headings, what the page states, and
`<title>`.

A heading that another form of the title confirms precedes what is stated for machines,
which precedes `<title>`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from urllib.parse import unquote, urljoin, urlsplit

from lxml.etree import XPath
from lxml.html import HtmlElement

from news_assets.pipeline.page.site_names import (
    AGREES,
    MAX_CHARS,
    MIN_WORDS,
    SEPARATOR,
    SITE,
    SLUG_BREAK,
    TitledPage,
    Words,
    agree,
    agreement_of,
    long_words,
    places_of,
    without_places,
    without_site,
    words_in,
    words_in_text,
    words_of,
)
from news_assets.pipeline.page.stated import contents
from news_assets.text.html import plain_text

_MIN_UNSTATED_WORDS = 4  # of a heading that nothing else confirms
PARAGRAPHS = XPath(
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
class Heading:
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
        return self.agreement < AGREES, self.level > 1, -self.agreement


def _headings_of(page: TitledPage, stated: Sequence[str]) -> list[Heading]:
    """Return the headings that may be the title: outside menus and links to other
    pages, without the site's name.
    """
    whole = {words for text in stated if len(words := words_in(text)) >= MIN_WORDS}
    found = []
    for element in islice(page.tree.iter("h1", "h2", "h3", "h4"), _MAX_HEADINGS):
        text = _DATE_BEFORE.sub("", _text_of(element, whole))
        if text and not page.is_site(text) and not _is_unrelated(element, page.url):
            found.append(Heading(element, text, int(str(element.tag)[1])))
    return found


def _text_of(heading: HtmlElement, stated: Collection[tuple[str, ...]]) -> str:
    """Return the heading's text: the part that is a stated title, where a date or a
    kicker is marked up beside it.
    """
    parts = [part for part in heading.itertext() if part.strip()]
    if len(parts) > 1 and (
        own := next((part for part in parts if words_in(part) in stated), None)
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


def _titled_texts(page: TitledPage) -> Iterator[Heading]:
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
            yield Heading(element, text, 5)


def _line_above(page: TitledPage) -> list[str]:
    """Return the last line above the first paragraph that may be a headline, on a page
    without headings.
    """
    paragraph = next(iter(PARAGRAPHS(page.tree)), None)
    if paragraph is None:
        return []
    lines: list[tuple[HtmlElement, str]] = []
    for element in takewhile(lambda one: one is not paragraph, page.tree.iter()):
        text = " ".join((element.text or "").split()) if element.tag in _LINES else ""
        is_headline = (
            len(text) in _TITLED_CHARS and len(words_in(text)) >= _MIN_UNSTATED_WORDS
        )
        if is_headline and not _NO_HEADLINE.search(text):
            lines.append((element, text))
    last = islice(reversed(lines), _MAX_HEADINGS)
    return next(
        ([text] for element, text in last if not _is_unrelated(element, page.url)), []
    )


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
    raw = [plain for text in _texts(page) if (plain := plain_text(text)[:MAX_CHARS])]
    titles = without_places(
        raw, places_of(page.url, contents(page.meta, *SITE), sections)
    )
    return sorted(titles, key=page.is_site)


def _texts(page: TitledPage) -> Iterator[str]:
    """Yield agreeing headings, what is stated, `<title>`, and headings that nothing
    confirms.
    """
    stated = [
        without_site(text, page.meta) for text in page.stated if not page.is_site(text)
    ]
    headings = _headings_of(page, stated)
    confirmed = [*_confirmed(page, headings), *stated]
    if page.listed and _is_only_listed(page.listed, confirmed, page.tree):
        yield page.listed
    yield from confirmed
    head = without_site(page.head, page.meta)
    if not confirmed:
        yield from _unconfirmed(headings, page.tree) or _line_above(page)
    yield head
    yield from page.stated


def _confirmed(page: TitledPage, headings: Iterable[Heading]) -> list[str]:
    """Return the headings that agree with another form of the title, best first."""
    longest = max(SEPARATOR.split(plain_text(page.head)), key=len)
    known = (
        text for text in (*page.stated, longest, page.head) if not page.is_site(text)
    )
    slug = unquote(urlsplit(page.url).path).rstrip("/").rpartition("/")[2]
    texts = [*known, page.listed or "", SLUG_BREAK.sub(" ", slug)]
    others = list(filter(None, map(words_of, texts)))
    agreeing = list(_agreeing(headings, others))
    if not any(one.agreement >= _SURE for one in agreeing):
        agreeing += _agreeing(_titled_texts(page), others)
    return [one.text for one in sorted(agreeing, key=lambda one: one.rank)]


def _is_only_listed(listed: str, others: Iterable[str], tree: HtmlElement) -> bool:
    """Whether the listed title is on the page, and has no word in common with the
    page's other titles.
    """
    words, own = words_in(listed), long_words(listed)
    if len(words) < MIN_WORDS or any(own & long_words(other) for other in others):
        return False
    shown = words_in_text(" ".join(tree.itertext()))
    return f" {' '.join(words)} " in f" {' '.join(shown)} "


def _agreeing(
    headings: Iterable[Heading], others: Sequence[Words]
) -> Iterator[Heading]:
    for heading in headings:
        words = words_of(heading.text)
        agreement = max((agreement_of(words, other) for other in others), default=0.0)
        is_near = heading.level == 1 and any(agree(words, other) for other in others)
        if is_near or agreement >= _SAME:
            yield replace(heading, agreement=agreement)


def _unconfirmed(headings: Sequence[Heading], tree: HtmlElement) -> list[str]:
    """Return the highest of the headings above the first paragraph that are long enough
    for titles.
    """
    paragraph = next(iter(PARAGRAPHS(tree)), None)
    above = set(paragraph.xpath("preceding::*")) if paragraph is not None else None
    long = [one for one in headings if len(words_in(one.text)) >= _MIN_UNSTATED_WORDS]
    near = [one for one in long if above is None or one.element in above] or long
    return [one.text for one in sorted(near, key=lambda one: one.level)][:1]
