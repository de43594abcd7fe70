"""Reads Word documents: headings, lists, tables, struck-out text, and tracked changes
with what they deleted.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final

from news_assets.pipeline.documents.archive import open_archive
from news_assets.pipeline.documents.list_numbers import ListNumbers
from news_assets.pipeline.documents.markdown import ADDED, STRUCK, Mark, marked, table
from news_assets.records.documents import ReadDocument
from news_assets.text.limits import clean_text

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# What a reader of the newest format takes is in `Choice`; `Fallback` repeats it for
# older ones.
_REPEATED: Final = (
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
)
_MARKS: Final[dict[str, Mark]] = {
    f"{_W}ins": ADDED,
    f"{_W}moveTo": ADDED,
    f"{_W}del": STRUCK,
    f"{_W}moveFrom": STRUCK,
}
_SIGNS: Final = {
    f"{_W}tab": " ",
    f"{_W}br": "\n",
    f"{_W}cr": "\n",
    f"{_W}noBreakHyphen": "-",
}
_TEXTS: Final = (f"{_W}t", f"{_W}delText")
_WRAPPERS: Final = (
    f"{_W}sdt",
    f"{_W}sdtContent",
    f"{_W}customXml",
    f"{_W}ins",
    f"{_W}del",
)


def read_docx(body: bytes) -> ReadDocument:
    """Return the text of a Word document. Raises ReadingError and the errors of
    python-docx and lxml.
    """
    import docx

    open_archive(body).close()
    document = docx.Document(BytesIO(body))
    text = "\n\n".join(
        filter(None, _blocks(document.element.body, _beginnings(document)))
    )
    return ReadDocument(
        kind="docx",
        outcome="ok",
        title=document.core_properties.title or None,
        texts=(clean_text(text),),
    )


def numbered_paragraphs(body: bytes) -> list[str]:
    """Return the paragraphs and table rows of a Word document with their numbers, an
    empty line behind each.

    Raises ReadingError and the errors of python-docx and lxml.
    """
    import docx

    open_archive(body).close()
    document = docx.Document(BytesIO(body))
    counters = ListNumbers.of(document)
    lines: list[str] = []
    for text in _lines(document.element.body, counters):
        lines += [" ".join(text.split()), ""]
    return lines


def _lines(parent: "_Element", numbers: ListNumbers) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_W}p":
            yield f"{numbers.next_of(child)} {_plain(child)}".strip()
        elif child.tag == f"{_W}tr":
            yield "  ".join(
                filter(None, (_cell(cell, numbers) for cell in child.iter(f"{_W}tc")))
            )
        elif child.tag in (*_WRAPPERS, f"{_W}tbl"):
            yield from _lines(child, numbers)


def _cell(cell: "_Element", numbers: ListNumbers) -> str:
    return " ".join(_lines(cell, numbers)).strip()


def _plain(paragraph: "_Element") -> str:
    """Return the text of a paragraph without what is struck out."""
    return "".join(
        text for text, mark in _pieces(paragraph, "") if mark != STRUCK
    ).strip()


def _beginnings(document: "Document") -> dict[str, str]:
    """Return how paragraphs of a style begin, by its id; the names of built-in styles
    are English in every file.
    """
    beginnings = {}
    for style in document.styles.element.style_lst:
        name = (style.name_val or "").lower()
        if name == "title":
            beginnings[style.styleId] = "# "
        elif name.startswith("heading ") and name[8:].isdecimal():
            beginnings[style.styleId] = "#" * min(int(name[8:]) + 1, 6) + " "
        elif name.startswith(("list bullet", "list number")):
            beginnings[style.styleId] = "- "
    return beginnings


def _blocks(parent: "_Element", beginnings: dict[str, str]) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_W}p":
            yield _paragraph(child, beginnings)
        elif child.tag == f"{_W}tbl":
            yield _table(child)
        elif child.tag in _WRAPPERS:
            yield from _blocks(child, beginnings)


def _paragraph(paragraph: "_Element", beginnings: dict[str, str]) -> str:
    text = marked(_pieces(paragraph, "")).strip()
    if not text:
        return ""
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    beginning = (
        beginnings.get(style.get(f"{_W}val") or "", "") if style is not None else ""
    )
    if beginning.startswith("#"):
        return beginning + " ".join(text.split())
    is_item = beginning or paragraph.find(f"{_W}pPr/{_W}numPr") is not None
    return f"- {text}" if is_item else text


def _pieces(element: "_Element", mark: Mark) -> Iterator[tuple[str, Mark]]:
    """Yield the texts of an element in order, each with its mark."""
    for child in element:
        if child.tag in _TEXTS:
            yield child.text or "", mark
        elif child.tag in _SIGNS:
            yield _SIGNS[str(child.tag)], mark
        elif child.tag == f"{_W}r" and _is_struck(child):
            yield from _pieces(child, STRUCK)
        elif child.tag not in (_REPEATED, f"{_W}pPr", f"{_W}rPr"):
            yield from _pieces(child, _MARKS.get(str(child.tag), mark))
            yield (
                ("\n" if child.tag == f"{_W}p" else ""),
                mark,
            )  # a paragraph of a text box or a cell


def _is_struck(run: "_Element") -> bool:
    found = [run.find(f"{_W}rPr/{_W}{name}") for name in ("strike", "dstrike")]
    return any(
        one is not None and one.get(f"{_W}val") not in ("0", "false", "off")
        for one in found
    )


def _table(element: "_Element") -> str:
    return table(
        [marked(_pieces(cell, "")) for cell in row.iter(f"{_W}tc")]
        for row in element.iter(f"{_W}tr")
    )
