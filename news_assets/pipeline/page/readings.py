"""Reads the text of a page with trafilatura, and chooses between its readings by how
they agree with the page's long texts and each other.

trafilatura reads the first container of an article only, so the containers of an
article that advertisements, pictures or forms interrupt are joined before.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Literal

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.page.markdown import Block, chars_of, markdown_of
from news_assets.pipeline.page.trimming import THRESHOLDS, Thresholds
from news_assets.text.fingerprint import normal_words

Mode = Literal["default", "recall"]
Read = Callable[[Mode], list[Block]]

_SHORT_TEXT_CHARS = 250  # trafilatura's own bound: shorter texts are rarely whole
# of a text on the page that is a sentence, not a menu entry, caption or byline
LONG_CHARS = 80
_NO_TEXT = ("script", "style", "noscript", "template", "textarea", "iframe")
_LONG_TEXTS = XPath(
    "//body//text()[string-length() >="
    f" {LONG_CHARS}][not({' or '.join(f'parent::{tag}' for tag in _NO_TEXT)})]",
    smart_strings=False,
)


def long_texts(tree: HtmlElement) -> list[str]:
    """Return the page's texts of at least LONG_CHARS without markup in them, in order."""
    texts = (" ".join(text.split()) for text in _LONG_TEXTS(tree))
    return [text for text in texts if len(text) >= LONG_CHARS]


def chosen(
    read: Read, long: Sequence[str], thresholds: Thresholds = THRESHOLDS
) -> list[Block]:
    """Return the blocks of trafilatura's default reading, or of its recall mode.

    That is read where the default is short, or leaves out long texts of the page
    between its first and last. It counts if it is longer and holds the default reading.
    """
    blocks = read("default")
    if chars_of(blocks) >= _SHORT_TEXT_CHARS and _gap(blocks, long) <= thresholds.gap:
        return blocks
    other = read("recall")
    is_longer = chars_of(other) > chars_of(blocks)
    return (
        other if is_longer and _share_of(blocks, other) >= thresholds.agreed else blocks
    )


def _share_of(blocks: Sequence[Block], other: Sequence[Block]) -> float:
    """Return the share of the word pairs of some blocks that are in other ones; 1 for
    blocks without words.
    """
    own, others = (
        set(pairwise(normal_words(markdown_of(each)))) for each in (blocks, other)
    )
    return len(own & others) / len(own) if own else 1.0


def _gap(blocks: list[Block], long: Sequence[str]) -> float:
    """Return the length of the long texts between the first and last that the blocks
    hold, but not held, as a share.
    """
    text = " ".join(markdown_of(blocks).split())
    held = [one in text for one in long]
    if not any(held):
        return 0.0
    first, last = held.index(True), len(held) - held[::-1].index(True)
    missing = sum(
        len(one)
        for one, is_held in zip(long[first:last], held[first:last], strict=True)
        if not is_held
    )
    return missing / sum(
        len(one) for one, is_held in zip(long, held, strict=True) if is_held
    )


# --- the containers of an interrupted article -----------------------------------------

_NAMED = re.compile(
    r"(?:article|story|entry|post|body|content)[-_]{0,2}(?:body|content|text|container)",
    re.IGNORECASE,
)
_MIN_PARAGRAPHS = 3  # of some length, in each container; teasers have one or two
_PARAGRAPH_CHARS = 80
_MAX_CONTAINERS, _MAX_KINDS = 20, 10  # of one tag and class; tags and classes
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
            groups.setdefault((str(element.tag), name), []).append(element)
    several = (group for group in groups.values() if 1 < len(group) <= _MAX_CONTAINERS)
    yield from islice(several, _MAX_KINDS)


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
