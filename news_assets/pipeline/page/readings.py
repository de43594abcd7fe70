"""Reads the text of a page with trafilatura, and chooses between its readings by how
they agree with the page's long texts and each other.

trafilatura reads the first container of an article only, so the containers of an
article that advertisements, pictures or forms interrupt are joined before.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.page.markdown import Block, chars_of, markdown_of
from news_assets.pipeline.page.trimming import THRESHOLDS, Thresholds
from news_assets.text.fingerprint import normal_words

Mode = Literal["default", "recall"]
_Read = Callable[[Mode], list[Block]]

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
    read: _Read, long: Sequence[str], thresholds: Thresholds = THRESHOLDS
) -> list[Block]:
    """Return the blocks of trafilatura's default reading, or of its recall mode.

    That is read where the default is short, or leaves out long texts of the page
    between its first and last. It counts if it is longer and holds the default reading.
    """
    blocks = read("default")
    if chars_of(blocks) >= _SHORT_TEXT_CHARS and _gap(blocks, long) <= thresholds.gap:
        return blocks
    other = read("recall")
    if chars_of(other) <= chars_of(blocks):
        return blocks
    return other if _share_of(blocks, other) >= thresholds.agreed else blocks


def _share_of(blocks: Sequence[Block], other: Sequence[Block]) -> float:
    """Return the share of the word pairs of some blocks that are in other ones; 1 for
    blocks without words.
    """
    own = _word_pairs(blocks)
    return len(own & _word_pairs(other)) / len(own) if own else 1.0


def _word_pairs(blocks: Sequence[Block]) -> set[tuple[str, str]]:
    return set(pairwise(normal_words(markdown_of(blocks))))


def _gap(blocks: list[Block], long: Sequence[str]) -> float:
    """Return the length of the long texts between the first and last that the blocks
    hold, but not held, as a share.
    """
    text = " ".join(markdown_of(blocks).split())
    held = missing = 0
    missing_since_held = 0
    for one in long:
        if one in text:
            held += len(one)
            missing += missing_since_held
            missing_since_held = 0
        elif held:  # what precedes the first held text is not between two
            missing_since_held += len(one)
    return missing / held if held else 0.0


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
    groups = list(filter(_are_of_one_article, _alike(tree)))
    for first, *others in groups:
        for other in others:
            first.extend(list(other))
    return bool(groups)


def _alike(tree: HtmlElement) -> list[list[HtmlElement]]:
    """Return the containers of long paragraphs that have one tag and class."""
    groups: dict[tuple[str, str], list[HtmlElement]] = {}
    for element in tree.iter("div", "section"):
        name = element.get("class", "")
        if _NAMED.search(name) and _has_paragraphs(element):
            groups.setdefault((str(element.tag), name), []).append(element)
    several = [group for group in groups.values() if 1 < len(group) <= _MAX_CONTAINERS]
    return several[:_MAX_KINDS]


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
        if other.find(".//h1") is not None:
            return False
        if _is_within(other, group):
            return False
        heading = _heading_before(other)
        if heading is None:
            continue
        if heading is before:
            continue
        if not _is_within(heading, group):  # between two containers
            return False
    return True


def _heading_before(element: HtmlElement) -> _Element | None:
    return next(iter(_HEADING_BEFORE(element)), None)


def _is_within(element: _Element, group: list[HtmlElement]) -> bool:
    return any(above in group for above in element.iterancestors())
