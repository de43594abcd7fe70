"""Writes Markdown: of trafilatura's body tree, without emphasis; of the HTML that feeds
carry, which is all article, so nothing is cut away; and of the parts of a document:
tables, struck-out and added text, and lines that belong together.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final, Literal

from lxml.etree import LxmlError, _Element
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from news_assets.text.fingerprint import normal_words

_BlockKind = Literal["paragraph", "heading", "list", "quote", "table", "code"]

_BLOCK_TAGS = frozenset({"p", "head", "list", "quote", "table", "code", "div", "body"})
_SPACED_TAGS = _BLOCK_TAGS | {"item", "cell"}
# level 1 is the article's title
_HEADING_LEVEL = {
    "h1": 2,
    "h2": 2,
    "h3": 3,
    "h4": 4,
    "h5": 5,
    "h6": 6,
}
_MAX_DEPTH = 60  # of nested quotes and lists; deeper is flattened


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, heading, list, quote or table, as Markdown."""

    kind: _BlockKind
    markdown: str

    @property
    def words(self) -> list[str]:
        """Its normalised words."""
        return normal_words(self.markdown)


def article_blocks(body: _Element) -> list[Block]:
    """Return the blocks of trafilatura's body tree in order, without images."""
    return [block for block in _blocks_of(body, 0) if block.markdown]


def markdown_of(blocks: Iterable[Block]) -> str:
    """Return the blocks as one Markdown text."""
    return "\n\n".join(block.markdown for block in blocks)


def chars_of(blocks: Iterable[Block]) -> int:
    """Return the length of the blocks' Markdown."""
    return sum(len(block.markdown) for block in blocks)


# --- the body tree as blocks ----------------------------------------------------------


def _blocks_of(element: _Element, depth: int) -> list[Block]:
    """Return the blocks in one element; text between its blocks makes paragraphs."""
    blocks: list[Block] = []
    loose = [element.text or ""]
    for child in element:
        tail = child.tail or ""
        if not isinstance(child.tag, str) or child.tag == "graphic":
            loose.append(tail)
        elif child.tag in _BLOCK_TAGS:
            blocks += _paragraph("".join(loose))
            blocks += _block(child, depth + 1)
            loose = [tail]
        else:
            loose.append(_inline(child) + tail)
    return blocks + _paragraph("".join(loose))


def _block(element: _Element, depth: int) -> list[Block]:
    if depth > _MAX_DEPTH:
        return _paragraph(_inline(element))
    match element.tag:
        case "head":
            return _heading(element)
        case "list":
            return [Block("list", "\n".join(_list_lines(element, depth, "")))]
        case "quote":
            inner = markdown_of(_blocks_of(element, depth))
            lines = [f"> {line}".rstrip() for line in inner.splitlines()]
            return [Block("quote", "\n".join(lines))]
        case "table":
            return _table(element)
        case "code" if "\n" in (code := _inline(element).strip("\n")):
            return [Block("code", f"```\n{code}\n```")]
        case _:
            return _blocks_of(element, depth)


def _heading(element: _Element) -> list[Block]:
    text = _one_line(_inline(element))
    if not text:
        return []
    level = _HEADING_LEVEL.get(element.get("rend", ""), 2)
    return [Block("heading", f"{'#' * level} {text}")]


def _paragraph(text: str) -> list[Block]:
    """Split a run of text into paragraphs at double line breaks; single ones stay."""
    lines = [_one_line(line) for line in text.split("\v")]
    parts = re.split(r"\n{2,}", "\n".join(lines).strip("\n"))
    found: list[Block] = []
    for part in parts:
        if part.strip():
            found.append(Block("paragraph", part.strip("\n")))
    return found


def _list_lines(element: _Element, depth: int, indent: str) -> list[str]:
    """Return one line per item; nested lists are indented."""
    lines: list[str] = []
    is_numbered = element.get("rend") == "ol"
    for number, item in enumerate(element.iterchildren("item"), start=1):
        marker = f"{number}." if is_numbered else "-"
        nested: list[_Element] = []
        if depth < _MAX_DEPTH:
            nested = list(item.iterchildren("list"))
        text = _one_line(_inline(item, skipped=nested))
        if text:
            lines.append(f"{indent}{marker} {text}")
        for child in nested:
            lines += _list_lines(child, depth + 1, indent + " " * (len(marker) + 1))
    return lines


def _filled_rows(element: _Element) -> list[list[str]]:
    """Return the cells of each row of a table that has any text."""
    rows: list[list[str]] = []
    for row in element.iter("row"):
        cells = [_one_line(_inline(cell)) for cell in row.iter("cell")]
        if any(cells):
            rows.append(cells)
    return rows


def _table(element: _Element) -> list[Block]:
    """Return a table as one block; with a single column or row it is layout, and each
    cell is a paragraph.
    """
    rows = _filled_rows(element)
    width = max(map(len, rows), default=0)
    if width < 2 or len(rows) < 2:
        found: list[Block] = []
        for cell in chain.from_iterable(rows):
            if cell:
                found.append(Block("paragraph", cell))
        return found
    return [Block("table", _table_of(rows, width))]


def _table_of(rows: Iterable[Sequence[str]], width: int) -> str:
    """Return a table of `width` columns, the first row as its head."""
    lines: list[str] = []
    for row in rows:
        missing = [""] * (width - len(row))
        lines.append(_table_line([*row, *missing]))
    lines.insert(1, f"|{' --- |' * width}")
    return "\n".join(lines)


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _inline(element: _Element, skipped: Sequence[_Element] = ()) -> str:
    r"""Return the text of an element in order, with `\v` for a line break and a space
    after each block.
    """
    texts: list[str] = []
    stack = [(element, False)]
    while stack:
        node, is_end = stack.pop()
        if is_end:
            if node.tag in _SPACED_TAGS:
                texts.append(" ")
            if node is not element:
                texts.append(node.tail or "")
            continue
        stack.append((node, True))
        if node in skipped:
            continue
        if not isinstance(node.tag, str):
            continue
        texts.append("\v" if node.tag == "lb" else node.text or "")
        stack += [(child, False) for child in reversed(node)]
    return "".join(texts)


def _one_line(text: str) -> str:
    return " ".join(text.split())


# --- the HTML of a feed as blocks -----------------------------------------------------

_MAX_CHARS = 1_000_000
_DROPPED = frozenset(
    {
        "script",
        "style",
        "noscript",
        "iframe",
        "form",
        "template",
        "head",
        "svg",
        "video",
        "audio",
    }
)
_TAG = {
    **dict.fromkeys(("ul", "ol", "dl"), "list"),
    **dict.fromkeys(("li", "dt", "dd"), "item"),
    **dict.fromkeys(("td", "th"), "cell"),
    **dict.fromkeys(
        (
            "article",
            "aside",
            "figure",
            "figcaption",
            "footer",
            "header",
            "main",
            "section",
        ),
        "div",
    ),
    "blockquote": "quote",
    "br": "lb",
    "img": "graphic",
    "pre": "code",
    "tr": "row",
}


def markdown_of_fragment(markup: str) -> str:
    """Return a piece of HTML as Markdown; empty where it has no text."""
    if not markup.strip():
        return ""
    try:
        tree = document_fromstring(
            f"<div>{markup[:_MAX_CHARS]}</div>".encode("utf-8", "replace"),
            parser=HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True),
        )
        return markdown_of(article_blocks(_as_body(tree)))
    except (LxmlError, RecursionError, ValueError):
        return ""


def _as_body(tree: HtmlElement) -> _Element:
    """Rename the elements in place to the names in trafilatura's body tree."""
    for element in list(tree.iter()):
        if element.tag in _DROPPED:
            element.tag, element.text = "graphic", None
            for child in list(element):
                element.remove(child)
        elif element.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            element.set("rend", element.tag)
            element.tag = "head"
        elif element.tag in _TAG:
            if element.tag == "ol":
                element.set("rend", "ol")
            element.tag = _TAG[element.tag]
    return tree


Mark = Literal["", "~~", "++"]  # plain, struck out, added

STRUCK: Final[Mark] = "~~"
ADDED: Final[Mark] = "++"
# shorter lines are cells, names and addresses, which end where they were meant to
_FULL_LINE_CHARS = 40
_SENTENCE_ENDS = (".", ":", ";", "!", "?")
_FIGURE = re.compile(r"[$€£]?\d")
# an item's number
_LISTED = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,3}[.)]?(?:\s+[A-ZÀ-Ý(]|\Z)|\d{1,3}[.)]\s")
# PDFium writes U+FFFE, once U+0002, for a hyphen at the end of a line and for the
# line's end; others a soft hyphen.
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])[\ufffe\x02\xad]\n?(?=[^\W\d_A-Z])")
_HYPHEN = re.compile("[\ufffe\x02]")


def marked(pieces: Iterable[tuple[str, Mark]]) -> str:
    """Return pieces of text as one, with marks around those that are struck out or
    added.
    """
    parts: list[str] = []
    for mark, group in groupby(pieces, key=lambda piece: piece[1]):
        text = "".join(text for text, _ in group)
        parts.append(_with_mark(text, mark))
    return "".join(parts)


def _with_mark(text: str, mark: Mark) -> str:
    core = text.strip()
    if not mark:
        return text
    if not core:
        return text
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}{mark}{core}{mark}{text[start + len(core) :]}"


def _filled(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the rows that have any text, with single spaces in their cells."""
    filled: list[list[str]] = []
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            filled.append(cells)
    return filled


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return a table; with a single column or row it is layout, and each cell is a
    paragraph.
    """
    filled = _filled(rows)
    width = max(map(len, filled), default=0)
    if width < 2 or len(filled) < 2:
        return "\n\n".join(filter(None, chain.from_iterable(filled)))
    return _table_of(filled, width)


def lines_of(text: str) -> str:
    """Return the text of a page: words and sentences that were broken at the end of a
    line are joined.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _HYPHEN.sub("-", _BROKEN_WORD.sub("", text))
    found: list[str] = []
    for written in text.split("\n"):
        line = " ".join(written.split())
        if found and _goes_on(found[-1], line):
            found[-1] = f"{found[-1]} {line}"
        elif line or (found and found[-1]):
            found.append(line)
    return "\n".join(found).strip("\n")


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is in the middle of the sentence that the one before began."""
    if len(before) < _FULL_LINE_CHARS:
        return False
    if before.endswith(_SENTENCE_ENDS):
        return False
    if line[:1].islower():
        return True
    if _FIGURE.match(line) is None:
        return False
    return _LISTED.match(line) is None
