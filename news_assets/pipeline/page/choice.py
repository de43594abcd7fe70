"""Chooses between trafilatura's readings of one page by how they agree with the page's
long texts and each other.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from lxml.etree import XPath
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
