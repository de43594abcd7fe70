"""The article's text out of a parsed page, as Markdown without emphasis.

trafilatura's body tree and what the page says of itself enter; blocks, and from them Markdown, leave. Finding the body
in the page is trafilatura's matter; whether the text is an article at all is decided in `extract.py`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal

from lxml.etree import _Element

from news_assets.pipeline.page.boilerplate import NOTE, POINTER
from news_assets.text.fingerprint import normal_words

BlockKind = Literal["paragraph", "heading", "list", "quote", "table", "code"]

_BLOCK_TAGS = frozenset({"p", "head", "list", "quote", "table", "code", "div", "body"})
_HEADING_LEVEL = {"h1": 2, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}  # level 1 is the article's title
_MAX_DEPTH = 60  # of nested quotes and lists; deeper is flattened

_OPENING_BLOCKS = 8  # the headline stands among the first blocks, or it is another article's
_OPENING_CHARS = 700  # kickers, bylines, breadcrumbs above the headline; more text than that is not thrown away
_SAME_TITLE = 0.75  # share of words; headlines on the page and in its head differ by a word or a section name
_NOTE_CHARS = 220  # a note to the reader is short
_MAX_TRAILING_NOTES = 12
_MIN_KEPT = 0.4  # share of the characters; a cleaning that takes more has taken the story for notes
_STATED_BODY_WORDS = 120  # an articleBody below is a teaser and decides nothing
_STATED_MISSED = 0.3  # less of the stated body than this was found: the wrong part of the page was taken
_STATED_FOUND = 0.9  # from here on what lies around the stated body is not the article
_IN_BODY = 0.5  # share of a block's word pairs that stand in the stated body


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, heading, list, quote or table, as Markdown."""

    kind: BlockKind
    markdown: str

    @property
    def words(self) -> list[str]:
        """Its words, normalised for comparing."""
        return normal_words(self.markdown)


def article_blocks(body: _Element) -> list[Block]:
    """Return the blocks of trafilatura's body tree in order; images are left out, they have a field of their own."""
    return [block for block in _blocks_of(body, 0) if block.markdown]


def markdown_of(blocks: Iterable[Block]) -> str:
    """Return the blocks as one Markdown text."""
    return "\n\n".join(block.markdown for block in blocks)


# --- what does not belong to the story ------------------------------------------------------------------------------


def without_boilerplate(blocks: Sequence[Block], titles: Iterable[str], stated_body: str | None) -> list[Block]:
    """Return the blocks without the headline, notes to the reader, and what lies outside the body the page states.

    `titles` are the forms in which the page gives its headline; `stated_body` is JSON-LD's articleBody.
    """
    kept = _within_stated(list(blocks), stated_body) if stated_body else list(blocks)
    kept = _below_headline(kept, titles)
    kept = _without_trailing_notes([block for block in kept if not _is_pointer(block)])
    is_enough = bool(stated_body and kept) or _chars(kept) >= _MIN_KEPT * _chars(blocks)
    return kept if is_enough else list(blocks)


def _chars(blocks: Iterable[Block]) -> int:
    return sum(len(block.markdown) for block in blocks)


def _below_headline(blocks: list[Block], titles: Iterable[str]) -> list[Block]:
    """Cut the headline and the kicker above it; a text that only repeats its headline keeps it."""
    known = [set(found) for title in titles if (found := normal_words(title))]
    above = 0
    for position, block in enumerate(blocks[:_OPENING_BLOCKS]):
        if above > _OPENING_CHARS:
            break
        words = set(block.words)
        if words and any(len(words & title) >= _SAME_TITLE * len(words | title) for title in known):
            return blocks[position + 1 :] or blocks
        above += len(block.markdown)
    return blocks


def _is_pointer(block: Block) -> bool:
    return block.kind != "table" and len(block.markdown) <= _NOTE_CHARS and POINTER.match(block.markdown) is not None


def _without_trailing_notes(blocks: list[Block]) -> list[Block]:
    """Cut notes at the end, and the headings left standing above nothing."""
    kept = list(blocks)
    for _ in range(_MAX_TRAILING_NOTES):
        if not kept or not (kept[-1].kind == "heading" or _is_note(kept[-1])):
            break
        kept.pop()
    return kept


def _is_note(block: Block) -> bool:
    return len(block.markdown) <= 2 * _NOTE_CHARS and NOTE.match(block.markdown) is not None


def _within_stated(blocks: list[Block], stated_body: str) -> list[Block]:
    """Let the body that the page states for search engines say where the story begins and ends, or stand in for it."""
    stated_words = normal_words(stated_body)
    if len(stated_words) < _STATED_BODY_WORDS:
        return blocks
    stated = _word_pairs(stated_words)
    pairs = [_word_pairs(block.words) for block in blocks]
    found = len(stated.intersection(chain.from_iterable(pairs))) / len(stated)
    if found < _STATED_MISSED:
        return [Block("paragraph", text) for text in _paragraphs(stated_body)]
    if found < _STATED_FOUND:
        return blocks
    inside = [position for position, found_pairs in enumerate(pairs) if _is_inside(found_pairs, stated)]
    return blocks[: inside[-1] + 1] if inside else blocks


def _is_inside(pairs: set[tuple[str, str]], stated: set[tuple[str, str]]) -> bool:
    return len(pairs & stated) >= _IN_BODY * len(pairs) > 0


def _word_pairs(words: list[str]) -> set[tuple[str, str]]:
    return set(pairwise(words))


def _paragraphs(text: str) -> list[str]:
    return [" ".join(line.split()) for line in re.split(r"\n+", text) if line.strip()]


# --- the body tree as blocks -----------------------------------------------------------------------------------------


def _blocks_of(element: _Element, depth: int) -> list[Block]:
    """Return the blocks in one element; text that stands loose between blocks makes paragraphs."""
    blocks: list[Block] = []
    loose = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str) or child.tag == "graphic":
            loose.append(child.tail or "")
        elif child.tag in _BLOCK_TAGS:
            blocks += [*_paragraph("".join(loose)), *_block(child, depth + 1)]
            loose = [child.tail or ""]
        else:
            loose.append(_inline(child) + (child.tail or ""))
    return blocks + _paragraph("".join(loose))


def _block(element: _Element, depth: int) -> list[Block]:
    if depth > _MAX_DEPTH:
        return _paragraph(_inline(element))
    match element.tag:
        case "head":
            text = _one_line(_inline(element))
            level = _HEADING_LEVEL.get(element.get("rend") or "", 2)
            return [Block("heading", f"{'#' * level} {text}")] if text else []
        case "list":
            return [Block("list", "\n".join(_list_lines(element, depth, "")))]
        case "quote":
            inner = markdown_of(_blocks_of(element, depth))
            return [Block("quote", "\n".join(f"> {line}".rstrip() for line in inner.splitlines()))]
        case "table":
            return _table(element)
        case "code" if "\n" in (code := "".join(_texts(element)).strip("\n")):
            return [Block("code", f"```\n{code}\n```")]
        case _:
            return _blocks_of(element, depth)


def _paragraph(text: str) -> list[Block]:
    """Return the paragraphs of a run of text: single breaks stay as lines, two breaks part paragraphs."""
    lines = [_one_line(line) for line in text.split("\v")]
    parts = re.split(r"\n{2,}", "\n".join(lines).strip("\n"))
    return [Block("paragraph", part.strip("\n")) for part in parts if part.strip()]


def _list_lines(element: _Element, depth: int, indent: str) -> list[str]:
    """Return one line per item; nested lists are indented."""
    lines: list[str] = []
    is_numbered = element.get("rend") == "ol"
    for number, item in enumerate((child for child in element if child.tag == "item"), start=1):
        marker = f"{number}." if is_numbered else "-"
        nested = [child for child in item if child.tag == "list"] if depth < _MAX_DEPTH else []
        text = _one_line("".join(_texts(item, skipped=nested)))
        if text:
            lines.append(f"{indent}{marker} {text}")
        for child in nested:
            lines += _list_lines(child, depth + 1, indent + " " * (len(marker) + 1))
    return lines


def _table(element: _Element) -> list[Block]:
    """Return a table; one that has a single column or row is layout, and its cells are paragraphs."""
    rows = [[_one_line(_inline(cell)) for cell in row.iter("cell")] for row in element.iter("row")]
    rows = [row for row in rows if any(row)]
    width = max(map(len, rows), default=0)
    if width < 2 or len(rows) < 2:
        return [Block("paragraph", cell) for row in rows for cell in row if cell]
    lines = [_table_line([*row, *[""] * (width - len(row))]) for row in rows]
    return [Block("table", "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]]))]


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _inline(element: _Element) -> str:
    return "".join(_texts(element))


def _texts(element: _Element, skipped: Sequence[_Element] = ()) -> list[str]:
    r"""Return the texts below an element in order; `\v` stands for a line break, blocks are held apart by a space."""
    texts: list[str] = []
    leaving = False
    stack: list[tuple[_Element, bool]] = [(element, leaving)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            texts.append(" " if node.tag in _BLOCK_TAGS or node.tag in ("item", "cell") else "")
            texts.append(node.tail or "" if node is not element else "")
            continue
        stack.append((node, True))
        if node in skipped or not isinstance(node.tag, str):
            continue
        texts.append("\v" if node.tag == "lb" else node.text or "")
        stack += [(child, False) for child in reversed(node)]
    return texts


def _one_line(text: str) -> str:
    return " ".join(text.split())
