"""Proposes the selectors of a listing page: the repeated elements around its headlines,
and the dates in them.

A headline is a link with MIN_TITLE_CHARS of text or more outside navigation. Elements
that hold one headline each are the items; where several selectors find as many, those
with dates win, then the larger elements.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lxml.html import HtmlElement

from news_assets.records.desks import Selectors
from news_assets.records.reading import Page
from news_assets.sources.html.document import html_tree, problem_of, select, words_of
from news_assets.sources.html.listing import MAX_ITEMS, outermost
from news_assets.text.dates import parse_date

MIN_TITLE_CHARS: Final = 15
MIN_ITEMS: Final = 3
_MAX_CANDIDATES = 50  # item selectors that are tried, those around most headlines first
_MAX_LEVELS = 7  # elements around a headline that may be its item
_MAX_DATE_CHARS = 60
_MIN_SUMMARY_CHARS = 40
_NO_LIST = ("nav", "header", "footer", "aside", "form")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NAME = re.compile(r"[A-Za-z_][\w-]{0,39}", re.ASCII)
_NUMBER = re.compile(r"\d{3}")  # of an id or class that a system generates for one item
_NEXT = (
    "a[rel~=next]",
    "link[rel~=next]",
    ".next a",
    "a.next",
    ".proximo a",
    "a.proximo",
    ".pager-next a",
)
_NEXT_WORDS = (
    "next",
    "next page",
    "older posts",
    "próximo",
    "próxima",
    "próxima página",
    "seguinte",
    "siguiente",
)


@dataclass(frozen=True, slots=True)
class _Marked:
    """The headlines within each element of a page, and the elements whose own text is a
    date.
    """

    headlines: dict[HtmlElement, list[HtmlElement]] = field(default_factory=dict)
    dates: set[HtmlElement] = field(default_factory=set)
    dated: set[HtmlElement] = field(default_factory=set)  # elements with a date in them


def propose(page: Page, timezone: str) -> Selectors | None:
    """Return selectors for a listing page; None if it repeats no element with a
    headline.
    """
    tree = html_tree(page)
    if tree is None:
        return None
    marked = _marked(tree, timezone)
    around = Counter(
        css for link in marked.headlines.get(tree, ()) for css in _items_around(link)
    )
    tried = [
        css
        for css, count in around.most_common(_MAX_CANDIDATES)
        if count >= MIN_ITEMS and not problem_of(css)
    ]
    scores = {
        css: score
        for css in tried
        if (score := _score(outermost(select(tree, css)), marked))
    }
    if not scores:
        return None
    best = max(scores, key=lambda css: (scores[css], -len(css)))
    items = [
        item for item in outermost(select(tree, best)) if item in marked.headlines
    ][:MAX_ITEMS]
    return Selectors(
        item=best,
        title=_voted(
            items,
            lambda item: _titles(item, marked.headlines[item][0]),
            _is_headline(marked),
        ),
        date=_voted(
            items,
            lambda item: _dates(item, marked),
            lambda _, element: element in marked.dates,
        ),
        summary=_voted(
            items,
            lambda item: _summaries(item, marked),
            lambda _, one: one not in marked.headlines,
        ),
        next=_next(tree),
    )


def _marked(tree: HtmlElement, timezone: str) -> _Marked:
    marked = _Marked()
    for element in tree.iter():
        if element.tag == "a" and _is_link(element):
            for one in (element, *element.iterancestors()):
                marked.headlines.setdefault(one, []).append(element)
        if _is_date(element, timezone):
            marked.dates.add(element)
            marked.dated.update((element, *element.iterancestors()))
    return marked


def _is_link(link: HtmlElement) -> bool:
    href = (link.get("href", "")).strip()
    is_page = bool(href) and not href.lower().startswith(
        ("#", "javascript:", "mailto:", "tel:")
    )
    return (
        is_page
        and len(words_of(link)) >= MIN_TITLE_CHARS
        and next(link.iterancestors(*_NO_LIST), None) is None
    )


def _is_date(element: HtmlElement, timezone: str) -> bool:
    own = " ".join((element.text or "", *(child.tail or "" for child in element)))
    words = element.get("datetime") or " ".join(own.split())
    has_number = any(character.isdigit() for character in words[:_MAX_DATE_CHARS])
    return (
        has_number
        and len(words) <= _MAX_DATE_CHARS
        and parse_date(words, timezone) is not None
    )


# --- items ----------------------------------------------------------------------------


def _items_around(link: HtmlElement) -> Iterator[str]:
    """Yield selectors of a headline and of the elements around it: `tag.class`, or the
    tag below a named parent.
    """
    for element in [link, *link.iterancestors()][:_MAX_LEVELS]:
        if element.tag in ("body", "html"):
            return
        yield from _named(element)
        parent = element.getparent()
        if parent is None:
            return
        names = _named(parent) or [
            f"{name} > {_tag(parent)}" for name in _named(parent.getparent())
        ]
        yield from (f"{name} > {_tag(element)}" for name in names)


def _named(element: HtmlElement | None) -> list[str]:
    """Return selectors by id and class, without those that a system numbers."""
    if element is None:
        return []
    classes = [name for name in (element.get("class", "")).split() if _is_name(name)]
    by_id = element.get("id", "")
    return [f"{_tag(element)}.{name}" for name in classes[:4]] + (
        [f"#{by_id}"] if _is_name(by_id) else []
    )


def _tag(element: HtmlElement) -> str:
    return str(element.tag)


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and _NUMBER.search(name) is None


def _score(items: Sequence[HtmlElement], marked: _Marked) -> tuple[float, int]:
    """Return how well elements serve as items, and how much they hold; a score of zero
    where they are fewer than three.

    Counted are different addresses of items with one headline, twice those with a date,
    less where others match too.
    """
    items = items[:MAX_ITEMS]
    single: dict[str | None, HtmlElement] = {}
    for item in items:
        hrefs = {link.get("href") for link in marked.headlines.get(item, ())}
        if len(hrefs) == 1:
            single.setdefault(hrefs.pop(), item)
    if len(single) < MIN_ITEMS:
        return 0.0, 0
    dated = sum(item in marked.dated for item in single.values())
    share = len(single) / len(items)
    return (len(single) + dated) * share * share, -min(
        len(list(item.iterancestors())) for item in single.values()
    )


# --- within an item -------------------------------------------------------------------


def _voted(
    items: Sequence[HtmlElement],
    candidates: Callable[[HtmlElement], Iterable[str]],
    is_right: Callable[[HtmlElement, HtmlElement], bool],
) -> str:
    """Return the selector whose first match is right in most items; empty if it is in
    less than half of them.
    """
    votes: Counter[str] = Counter()
    for item in items:
        for css in dict.fromkeys(candidates(item)):
            found = select(item, css, with_root=True) if not problem_of(css) else []
            votes[css] += bool(found) and is_right(item, found[0])
    best = max(votes, key=lambda css: votes[css], default="")
    if best and 2 * votes[best] >= len(items):
        return best
    return ""


def _is_headline(marked: _Marked) -> Callable[[HtmlElement, HtmlElement], bool]:
    def is_right(item: HtmlElement, found: HtmlElement) -> bool:
        link = marked.headlines[item][0]
        return (
            found is link
            or found in link.iterancestors()
            or link in found.iterancestors()
        )

    return is_right


def _titles(item: HtmlElement, link: HtmlElement) -> Iterator[str]:
    inside = next(link.iter(*_HEADINGS), None)
    if inside is not None:
        yield _tag(inside)
    for above in link.iterancestors(*_HEADINGS):
        if item in above.iterancestors():
            yield f"{_tag(above)} a"
    yield from (name for name in _named(link) if not name.startswith("#"))
    if item is not link:
        yield "a"


def _dates(item: HtmlElement, marked: _Marked) -> Iterator[str]:
    for element in item.iter():
        if element in marked.dates:
            if element.tag == "time":
                yield "time"
            yield from (name for name in _named(element) if not name.startswith("#"))
            parent = element.getparent()
            yield from (
                f"{name} {_tag(element)}"
                for name in _named(parent)
                if parent is not item
            )
            yield _tag(element)


def _summaries(item: HtmlElement, marked: _Marked) -> Iterator[str]:
    for element in item.iter("p"):
        if (
            element not in marked.headlines
            and len(words_of(element)) >= _MIN_SUMMARY_CHARS
        ):
            yield from (name for name in _named(element) if not name.startswith("#"))
            yield "p"


def _next(tree: HtmlElement) -> str:
    stated = next((css for css in _NEXT if select(tree, css)), "")
    if stated:
        return stated
    link = next(
        (
            link
            for link in tree.iter("a")
            if words_of(link).strip("›»> ").lower() in _NEXT_WORDS
        ),
        None,
    )
    if link is None:
        return ""
    named = (*_named(link), *(f"{name} > a" for name in _named(link.getparent())))
    for css in named:
        if not problem_of(css) and select(tree, css)[:1] == [link]:
            return css
    return ""
