"""Reads OpenDocument texts from `content.xml`: headings, lists, tables, struck-out text
and tracked changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.markdown_parts import (
    ADDED,
    STRUCK,
    Mark,
    marked,
    table,
)
from news_assets.pipeline.documents.zip_archive import open_archive
from news_assets.records.reading import ReadDocument
from news_assets.text.limits import clean_text

if TYPE_CHECKING:
    from lxml.etree import _Element

_OASIS: Final = "urn:oasis:names:tc:opendocument:xmlns"
_OFFICE, _TEXT, _TABLE, _STYLE = (
    f"{{{_OASIS}:{name}:1.0}}" for name in ("office", "text", "table", "style")
)
_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_CONTAINERS: Final = (
    f"{_TEXT}section",
    f"{_TEXT}index-body",
    f"{_TEXT}table-of-content",
)
_MAX_SPACES = 20  # of `text:s`, which states how many it stands for


@dataclass
class _Changes:
    """What the file says of changes and styles, and the mark at the present place of
    the text.
    """

    added: set[str] = field(default_factory=set)
    deleted: dict[str, str] = field(default_factory=dict)
    struck_styles: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)


def read_odt(body: bytes) -> ReadDocument:
    """Return the text of an OpenDocument text.

    Raises:
        ReadingError: It is no archive within the limits.
        Exception: Those of lxml, for broken files.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    with open_archive(body) as archive:
        root = etree.fromstring(archive.read("content.xml"), parser)
        meta = (
            etree.fromstring(archive.read("meta.xml"), parser)
            if "meta.xml" in archive.namelist()
            else None
        )
    content = root.find(f"{_OFFICE}body/{_OFFICE}text")
    if content is None:
        raise ReadingError("broken odt: no text in content.xml")
    text = "\n\n".join(filter(None, _blocks(content, _changes(root))))
    title = meta.findtext(f".//{_TITLE}") if meta is not None else None
    return ReadDocument(
        kind="odt", outcome="ok", title=title or None, texts=(clean_text(text),)
    )


def _changes(root: "_Element") -> _Changes:
    found = _Changes()
    for style in root.iter(f"{_STYLE}style"):
        for properties in style.iter(f"{_STYLE}text-properties"):
            if properties.get(f"{_STYLE}text-line-through-style", "none") != "none":
                found.struck_styles.add(style.get(f"{_STYLE}name") or "")
    for region in root.iter(f"{_TEXT}changed-region"):
        key = region.get(f"{_TEXT}id") or ""
        deletion = region.find(f"{_TEXT}deletion")
        if region.find(f"{_TEXT}insertion") is not None:
            found.added.add(key)
        elif deletion is not None:
            paragraphs = deletion.iterfind(f"{_TEXT}p")
            texts = ["".join(map(str, one.itertext())) for one in paragraphs]
            found.deleted[key] = " ".join(texts)
    return found


def _blocks(parent: "_Element", changes: _Changes) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_TEXT}h":
            yield _heading(child, changes)
        elif child.tag == f"{_TEXT}p":
            yield _inline(child, changes).strip()
        elif child.tag == f"{_TEXT}list":
            yield "\n".join(_items(child, changes, ""))
        elif child.tag == f"{_TABLE}table":
            yield _table(child, changes)
        elif child.tag in _CONTAINERS:
            yield from _blocks(child, changes)


def _heading(element: "_Element", changes: _Changes) -> str:
    text = " ".join(_inline(element, changes).split())
    if not text:
        return ""
    level = element.get(f"{_TEXT}outline-level") or ""
    hashes = "#" * (min(int(level) + 1, 6) if level.isdecimal() else 2)
    return f"{hashes} {text}"


def _table(element: "_Element", changes: _Changes) -> str:
    rows: list[list[str]] = []
    for row in element.iter(f"{_TABLE}table-row"):
        cells = row.iter(f"{_TABLE}table-cell")
        rows.append([_inline(cell, changes) for cell in cells])
    return table(rows)


def _items(element: "_Element", changes: _Changes, indent: str) -> Iterator[str]:
    for item in element:
        for child in item:
            if child.tag == f"{_TEXT}list":
                yield from _items(child, changes, indent + "  ")
            elif text := " ".join(_inline(child, changes).split()):
                yield f"{indent}- {text}"


def _inline(element: "_Element", changes: _Changes) -> str:
    return marked(_pieces(element, changes, is_struck=False))


def _pieces(
    element: "_Element", changes: _Changes, *, is_struck: bool
) -> Iterator[tuple[str, Mark]]:
    """Yield the texts of an element in order, each with its mark; changes begin and end
    at empty elements.
    """

    def mark() -> Mark:
        if is_struck:
            return STRUCK
        return ADDED if changes.open & changes.added else ""

    yield element.text or "", mark()
    for child in element:
        if isinstance(child.tag, str):
            yield from _child(child, changes, mark(), is_struck=is_struck)
        yield child.tail or "", mark()
    if element.tag == f"{_TEXT}p":
        yield " ", ""


def _child(
    child: "_Element", changes: _Changes, mark: Mark, *, is_struck: bool
) -> Iterator[tuple[str, Mark]]:
    key = child.get(f"{_TEXT}change-id") or ""
    match str(child.tag).removeprefix(_TEXT):
        case "s":
            count = child.get(f"{_TEXT}c") or ""
            yield " " * min(int(count) if count.isdecimal() else 1, _MAX_SPACES), mark
        case "tab":
            yield " ", mark
        case "line-break":
            yield "\n", mark
        case "change-start":
            changes.open.add(key)
        case "change-end":
            changes.open.discard(key)
        case "change":
            yield changes.deleted.get(key, ""), STRUCK
        case _:
            is_styled = child.get(f"{_TEXT}style-name") in changes.struck_styles
            yield from _pieces(child, changes, is_struck=is_struck or is_styled)
