"""Proposes the selectors of a listing page: the repeated elements around its headlines,
and the dates in them.

A headline is a link with _MIN_TITLE_CHARS of text or more outside navigation. Elements
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
from news_assets.sources.html_document import html_tree, problem_of, select, words_of
from news_assets.sources.html_listing import MAX_ITEMS, outermost
from news_assets.text.dates import parse_date

_MIN_TITLE_CHARS: Final = 15
_MIN_ITEMS: Final = 3
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
    best = _best_items(tree, marked)
    if best is None:
        return None
    matching = outermost(select(tree, best))
    items = [item for item in matching if item in marked.headlines][:MAX_ITEMS]
    return Selectors(
        item=best,
        title=_voted(items, marked, _titles, _is_headline),
        date=_voted(items, marked, _dates, _is_marked_date),
        summary=_voted(items, marked, _summaries, _is_no_headline),
        next=_next(tree),
    )


def _best_items(tree: HtmlElement, marked: _Marked) -> str | None:
    """Return the selector of the elements that serve best as items."""
    around: Counter[str] = Counter()
    for link in marked.headlines.get(tree, ()):
        around.update(_items_around(link))
    scores: dict[str, tuple[float, int]] = {}
    for css, count in around.most_common(_MAX_CANDIDATES):
        if count >= _MIN_ITEMS and not problem_of(css):
            score = _score(outermost(select(tree, css)), marked)
            scores[css] = score
    if not scores:
        return None
    return max(scores, key=lambda css: (scores[css], -len(css)))


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
    """Whether a link to a page has a text as long as a headline and is in the content."""
    href = link.get("href", "").strip().lower()
    if not href:
        return False
    if href.startswith(("#", "javascript:", "mailto:", "tel:")):
        return False
    if len(words_of(link)) < _MIN_TITLE_CHARS:
        return False
    return next(link.iterancestors(*_NO_LIST), None) is None


def _is_date(element: HtmlElement, timezone: str) -> bool:
    words = element.get("datetime") or _own_words(element)
    if len(words) > _MAX_DATE_CHARS:
        return False
    if not any(map(str.isdigit, words)):
        return False
    return parse_date(words, timezone) is not None


def _own_words(element: HtmlElement) -> str:
    """Return the text of an element without that of the elements within."""
    texts = [element.text, *(child.tail for child in element)]
    return " ".join(" ".join(filter(None, texts)).split())


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
        above = _named(parent)
        if not above:
            grandparents = _named(parent.getparent())
            above = [f"{name} > {_tag(parent)}" for name in grandparents]
        for name in above:
            yield f"{name} > {_tag(element)}"


def _named(element: HtmlElement | None) -> list[str]:
    """Return selectors by id and class, without those that a system numbers."""
    if element is None:
        return []
    names = _named_by_class(element)
    own_id = element.get("id", "")
    if _is_name(own_id):
        names.append(f"#{own_id}")
    return names


def _named_by_class(element: HtmlElement) -> list[str]:
    classes = [name for name in element.get("class", "").split() if _is_name(name)]
    return [f"{_tag(element)}.{name}" for name in classes[:4]]


def _tag(element: HtmlElement) -> str:
    return str(element.tag)


def _is_name(name: str) -> bool:
    if _NAME.fullmatch(name) is None:
        return False
    return _NUMBER.search(name) is None


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
    if len(single) < _MIN_ITEMS:
        return 0.0, 0
    dated = sum(item in marked.dated for item in single.values())
    share = len(single) / len(items)
    depth = min(len(list(item.iterancestors())) for item in single.values())
    return (len(single) + dated) * share * share, -depth


# --- within an item -------------------------------------------------------------------


def _voted(
    items: Sequence[HtmlElement],
    marked: _Marked,
    candidates: Callable[[HtmlElement, _Marked], Iterable[str]],
    is_right: Callable[[HtmlElement, HtmlElement, _Marked], bool],
) -> str:
    """Return the selector whose first match is right in most items; empty if it is in
    less than half of them.
    """
    votes: Counter[str] = Counter()
    for item in items:
        for css in dict.fromkeys(candidates(item, marked)):
            if problem_of(css):
                continue
            found = select(item, css, with_root=True)
            if found and is_right(item, found[0], marked):
                votes[css] += 1
    best = max(votes, key=lambda css: votes[css], default="")
    if 2 * votes[best] < len(items):
        return ""
    return best


def _is_headline(item: HtmlElement, found: HtmlElement, marked: _Marked) -> bool:
    """Whether an element is the headline's link, or around or within it."""
    link = marked.headlines[item][0]
    if found is link:
        return True
    if found in link.iterancestors():
        return True
    return link in found.iterancestors()


def _is_marked_date(_: HtmlElement, found: HtmlElement, marked: _Marked) -> bool:
    return found in marked.dates


def _is_no_headline(_: HtmlElement, found: HtmlElement, marked: _Marked) -> bool:
    return found not in marked.headlines


def _titles(item: HtmlElement, marked: _Marked) -> Iterator[str]:
    link = marked.headlines[item][0]
    inside = next(link.iter(*_HEADINGS), None)
    if inside is not None:
        yield _tag(inside)
    for above in link.iterancestors(*_HEADINGS):
        if item in above.iterancestors():
            yield f"{_tag(above)} a"
    yield from _named_by_class(link)
    if item is not link:
        yield "a"


def _dates(item: HtmlElement, marked: _Marked) -> Iterator[str]:
    for element in item.iter():
        if element not in marked.dates:
            continue
        if element.tag == "time":
            yield "time"
        yield from _named_by_class(element)
        parent = element.getparent()
        if parent is not item:
            for name in _named(parent):
                yield f"{name} {_tag(element)}"
        yield _tag(element)


def _summaries(item: HtmlElement, marked: _Marked) -> Iterator[str]:
    for element in item.iter("p"):
        if element in marked.headlines:
            continue
        if len(words_of(element)) < _MIN_SUMMARY_CHARS:
            continue
        yield from _named_by_class(element)
        yield "p"


def _next(tree: HtmlElement) -> str:
    for css in _NEXT:
        if select(tree, css):
            return css
    for link in tree.iter("a"):
        if words_of(link).strip("›»> ").lower() in _NEXT_WORDS:
            return _selector_of(link, tree)
    return ""


def _selector_of(link: HtmlElement, tree: HtmlElement) -> str:
    """Return a selector whose first match is this link; empty if none is found."""
    above = [f"{name} > a" for name in _named(link.getparent())]
    for css in [*_named(link), *above]:
        if not problem_of(css) and select(tree, css)[:1] == [link]:
            return css
    return ""
