"""Joins the containers of an article that is interrupted: by advertisements, pictures
and forms.

trafilatura reads the first container of an article only.
"""

import re
from collections.abc import Iterator

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

_NAMED = re.compile(
    r"(?:article|story|entry|post|body|content)[-_]{0,2}(?:body|content|text|container)",
    re.IGNORECASE,
)
_MIN_PARAGRAPHS = 3  # of some length, in each container; teasers have one or two
_PARAGRAPH_CHARS = 80
_MAX_CONTAINERS = 20
_HEADING_BEFORE = XPath("preceding::*[self::h1 or self::h2][1]")


def join_containers(tree: HtmlElement) -> bool:
    """Move what is in further containers of the article to the end of its first one, in
    place; whether there are any.

    They have the same tag and class, and no headline between them, which another
    article has.
    """
    groups = [group for group in _alike(tree) if _are_of_one_article(group)]
    for first, *others in groups:
        for other in others:
            first.extend(list(other))
    return bool(groups)


def _alike(tree: HtmlElement) -> Iterator[list[HtmlElement]]:
    """Yield the containers of long paragraphs that have one tag and class."""
    groups: dict[tuple[str, str], list[HtmlElement]] = {}
    for element in tree.iter("div", "section"):
        name = element.get("class") or ""
        if _NAMED.search(name) and _has_paragraphs(element):
            groups.setdefault((element.tag, name), []).append(element)
    yield from (group for group in groups.values() if 1 < len(group) <= _MAX_CONTAINERS)


def _has_paragraphs(element: HtmlElement) -> bool:
    long = 0
    for child in element:
        if child.tag == "p":
            long += len("".join(child.itertext())) >= _PARAGRAPH_CHARS
    return long >= _MIN_PARAGRAPHS


def _are_of_one_article(group: list[HtmlElement]) -> bool:
    first, *others = group
    before = _heading_before(first)
    for other in others:
        heading = _heading_before(other)
        is_between = (
            heading is not None
            and heading is not before
            and not _is_within(heading, group)
        )
        if is_between or other.find(".//h1") is not None or _is_within(other, group):
            return False
    return True


def _heading_before(element: HtmlElement) -> _Element | None:
    return next(iter(_HEADING_BEFORE(element)), None)


def _is_within(element: _Element, group: list[HtmlElement]) -> bool:
    return any(above in group for above in element.iterancestors())
