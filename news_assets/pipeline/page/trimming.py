"""Cuts the site's boilerplate from the blocks of an article: the headline, prompts, credits, and what follows the end.

A rule that would leave too small a part of the text is not applied.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, pairwise

from news_assets.pipeline.page.boilerplate import is_pointer, is_prompt
from news_assets.pipeline.page.markdown import Block, chars_of
from news_assets.pipeline.page.thresholds import THRESHOLDS, Thresholds
from news_assets.text.fingerprint import normal_words

_MIN_KEPT = 0.6  # of the text; a margin for unknown pages: on the labelled ones 0.4 and 0.8 give the same scores
_OPENING_BLOCKS = 8  # a headline further down is another article's
_POINTER_CHARS = 220
_PROMPT_CHARS = 440
_MAX_TRAILING_PROMPTS = 12
_STATED_BODY_WORDS = 120  # an articleBody with fewer words is a teaser and is ignored
_IN_BODY = 0.5  # share of a block's word pairs that occur in the stated body

Rule = Callable[[list[Block]], list[Block]]


def trimmed(
    blocks: Sequence[Block], titles: Sequence[str], stated_body: str | None, thresholds: Thresholds = THRESHOLDS
) -> list[Block]:
    """Return the blocks without boilerplate; `titles` are the forms of the headline on the page."""
    kept = list(blocks)
    if stated_body:
        kept = _within_stated_body(kept, stated_body, thresholds)
    without_headline = partial(below_headline, titles=titles, thresholds=thresholds)
    rules: tuple[Rule, ...] = (without_headline, _without_pointers, _without_prompts)
    for rule in rules:
        shorter = rule(kept)
        if chars_of(shorter) >= _MIN_KEPT * chars_of(kept):
            kept = shorter
    return kept


def below_headline(blocks: list[Block], titles: Iterable[str], thresholds: Thresholds = THRESHOLDS) -> list[Block]:
    """Cut the headline, and the kickers, bylines and breadcrumbs above it."""
    known = [set(found) for title in titles if (found := normal_words(title))]
    for position, block in enumerate(blocks[:_OPENING_BLOCKS]):
        words = set(block.words)
        if words and any(len(words & title) >= thresholds.same_title * len(words | title) for title in known):
            return blocks[position + 1 :]
        if len(block.markdown) > thresholds.byline_chars:
            break
    return blocks


def _without_pointers(blocks: list[Block]) -> list[Block]:
    """Cut pointers to other articles, and captions with a credit."""
    return [block for block in blocks if not _is_pointer(block)]


def _is_pointer(block: Block) -> bool:
    return block.kind != "table" and len(block.markdown) <= _POINTER_CHARS and is_pointer(block.markdown)


def _without_prompts(blocks: list[Block]) -> list[Block]:
    """Cut prompts and credits at the end, and headings without text below them."""
    kept = list(blocks)
    for _ in range(_MAX_TRAILING_PROMPTS):
        if not kept or not (kept[-1].kind == "heading" or _is_prompt(kept[-1])):
            break
        kept.pop()
    return kept


def _is_prompt(block: Block) -> bool:
    return len(block.markdown) <= _PROMPT_CHARS and is_prompt(block.markdown)


def _within_stated_body(blocks: list[Block], stated_body: str, thresholds: Thresholds) -> list[Block]:
    """Cut what follows JSON-LD's articleBody; return its paragraphs where the blocks are another, not longer text."""
    stated_words = normal_words(stated_body)
    if len(stated_words) < _STATED_BODY_WORDS:
        return blocks
    stated = set(pairwise(stated_words))
    pairs = [set(pairwise(block.words)) for block in blocks]
    found = len(stated.intersection(chain.from_iterable(pairs))) / len(stated)
    if found >= thresholds.agreed:
        inside = [n for n, own in enumerate(pairs) if len(own & stated) >= _IN_BODY * len(own) > 0]
        within = blocks[: inside[-1] + 1] if inside else blocks
        return within if chars_of(within) >= _MIN_KEPT * chars_of(blocks) else blocks
    is_another = found < 1 - thresholds.agreed and len(stated_body) >= _MIN_KEPT * chars_of(blocks)
    return [Block("paragraph", line) for line in stated_body.split("\n")] if is_another else blocks
