"""Chooses among trafilatura's readings of one page by how they agree with the page's long texts and with each other."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from lxml.etree import XPath
from lxml.html import HtmlElement

from news_assets.pipeline.page.markdown import Block, chars_of, markdown_of
from news_assets.pipeline.page.trimming import THRESHOLDS, Thresholds, below_headline
from news_assets.text.fingerprint import normal_words

Mode = Literal["fast", "compared", "recall"]
Read = Callable[[Mode], list[Block]]

SHORT_TEXT_CHARS = 250  # trafilatura's own bound: shorter texts are rarely whole
LONG_CHARS = 80  # of a text on the page that is a sentence, not a menu entry, caption or byline
_LONG_TEXTS = XPath(
    f"//body//*[not(self::script or self::style or self::noscript or self::template or self::textarea)]"
    f"/text()[string-length() >= {LONG_CHARS}]"
)


def long_texts(tree: HtmlElement) -> list[str]:
    """Return the page's texts of at least LONG_CHARS without markup in them, in order."""
    texts = (" ".join(text.split()) for text in _LONG_TEXTS(tree))
    return [text for text in texts if len(text) >= LONG_CHARS]


def chosen(read: Read, long: Sequence[str], titles: Sequence[str], thresholds: Thresholds = THRESHOLDS) -> list[Block]:
    """Return the blocks of the best reading.

    trafilatura's fast mode is kept unless its text is short beside the page's long texts, or leaves some out between
    its first and last. Its full mode, which compares with readability and justext, or its recall mode may then replace
    it.
    """
    blocks = read("fast")
    if chars_of(blocks) < max(SHORT_TEXT_CHARS, thresholds.covered * sum(map(len, long))):
        blocks = _better(read("compared"), blocks, titles, thresholds)
    if chars_of(blocks) < SHORT_TEXT_CHARS or _gap(blocks, long) > thresholds.gap:
        blocks = _better(read("recall"), blocks, titles, thresholds)
    return blocks


def _better(other: list[Block], blocks: list[Block], titles: Sequence[str], thresholds: Thresholds) -> list[Block]:
    """Return the other reading if it is longer and holds these blocks, or if these lack the article's headline."""
    if chars_of(other) <= chars_of(blocks):
        return blocks
    is_agreed = share_of(blocks, other) >= thresholds.agreed
    return other if is_agreed or below_headline(blocks, titles, thresholds) is blocks else blocks


def share_of(blocks: Sequence[Block], other: Sequence[Block]) -> float:
    """Return the share of the word pairs of some blocks that are in other ones; 1 for blocks without words."""
    own, others = (set(pairwise(normal_words(markdown_of(each)))) for each in (blocks, other))
    return len(own & others) / len(own) if own else 1.0


def _gap(blocks: list[Block], long: Sequence[str]) -> float:
    """Return the length of the long texts between the first and last that the blocks hold, but not held, as a share."""
    text = " ".join(markdown_of(blocks).split())
    held = [one in text for one in long]
    if not any(held):
        return 0.0
    first, last = held.index(True), len(held) - held[::-1].index(True)
    missing = sum(len(one) for one, is_held in zip(long[first:last], held[first:last], strict=True) if not is_held)
    return missing / sum(len(one) for one, is_held in zip(long, held, strict=True) if is_held)
