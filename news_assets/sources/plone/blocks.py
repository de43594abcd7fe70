"""Renders the blocks of a Plone 6 article as HTML, not yet sanitised.

Volto's editor stores a mapping of ids to blocks and a layout with their order, nested
in grids and tabs (Volto's published block model). Blocks that repeat the page's head
(title, description) or show other pages (listings, searches, teasers) are left out.
`slate` is the editor since Volto 16, `text` (Draft.js) the one before.
"""

from collections.abc import Callable, Iterator
from html import escape
from typing import Any, Final

_MAX_DEPTH = 40  # of nested blocks and of nodes within one
_MAX_NODES = 20_000
_TAGS: Final = frozenset(
    ("blockquote", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "p", "pre", "s", "strong",
     "sub", "sup", "table", "tbody", "td", "th", "tr", "u", "ul")
)  # fmt: skip
_STYLES: Final = (("bold", "strong"), ("italic", "em"), ("code", "code"))
_DRAFT_TAGS: Final = {
    "blockquote": "blockquote",
    "header-one": "h2",
    "header-two": "h2",
    "header-three": "h3",
    "ordered-list-item": "li",
    "unordered-list-item": "li",
}
Json = Any


def blocks_html(blocks: Json, layout: Json) -> str:
    """Return the text blocks as HTML, in the layout's order; empty if there are none.
    Never raises.
    """
    return "\n".join(filter(None, _rendered(blocks, layout, 0)))


def _rendered(blocks: Json, layout: Json, depth: int) -> Iterator[str]:
    if not isinstance(blocks, dict) or depth > _MAX_DEPTH:
        return
    order = layout.get("items") if isinstance(layout, dict) else None
    names = order if isinstance(order, list) else list(blocks)
    for name in dict.fromkeys(
        name for name in names if isinstance(name, str)
    ):  # repeats: exponential time
        block = blocks.get(name)
        if isinstance(block, dict):
            kind = block.get("@type")
            render = _RENDERERS.get(kind) if isinstance(kind, str) else None
            yield render(block) if render else "\n".join(_nested(block, depth))


def _nested(block: dict[str, Json], depth: int) -> Iterator[str]:
    """Render the blocks in a grid, column, tab or accordion."""
    data = block.get("data")
    for holder in (block, data if isinstance(data, dict) else {}):
        yield from _rendered(
            holder.get("blocks"), holder.get("blocks_layout"), depth + 1
        )


def _slate(block: dict[str, Json]) -> str:
    return _nodes(block.get("value"), 0)


def _nodes(nodes: Json, depth: int) -> str:
    if not isinstance(nodes, list) or depth > _MAX_DEPTH:
        return ""
    return "".join(
        _node(node, depth) for node in nodes[:_MAX_NODES] if isinstance(node, dict)
    )


def _node(node: dict[str, Json], depth: int) -> str:
    if isinstance(node.get("text"), str):
        return _styled(node)
    inner = _nodes(node.get("children"), depth + 1)
    kind = node.get("type")
    if kind in ("a", "link"):
        return _link(node, inner)
    return (
        f"<{kind}>{inner}</{kind}>"
        if isinstance(kind, str) and kind in _TAGS
        else inner
    )


def _styled(leaf: dict[str, Json]) -> str:
    text = escape(leaf["text"], quote=False).replace("\n", "<br>")
    for style, tag in _STYLES:
        if leaf.get(style) is True and text:
            text = f"<{tag}>{text}</{tag}>"
    return text


def _link(node: dict[str, Json], inner: str) -> str:
    data = node.get("data")
    url = data.get("url") if isinstance(data, dict) else node.get("url")
    return f'<a href="{escape(url)}">{inner}</a>' if isinstance(url, str) else inner


def _draft(block: dict[str, Json]) -> str:
    text = block.get("text")
    lines = text.get("blocks") if isinstance(text, dict) else None
    return (
        "".join(_draft_line(line) for line in lines if isinstance(line, dict))
        if isinstance(lines, list)
        else ""
    )


def _draft_line(line: dict[str, Json]) -> str:
    text, kind = line.get("text"), line.get("type")
    tag = _DRAFT_TAGS.get(kind, "p") if isinstance(kind, str) else "p"
    return (
        f"<{tag}>{escape(text, quote=False)}</{tag}>"
        if isinstance(text, str) and text.strip()
        else ""
    )


def _html(block: dict[str, Json]) -> str:
    markup = block.get("html")
    return markup if isinstance(markup, str) else ""


def _image(block: dict[str, Json]) -> str:
    url, alt = block.get("url"), block.get("alt")
    if not (isinstance(url, str) and url.startswith(("http://", "https://", "/"))):
        return ""
    return (
        f'<img src="{escape(url)}" alt="{escape(alt if isinstance(alt, str) else "")}">'
    )


def _table(block: dict[str, Json]) -> str:
    table = block.get("table")
    rows = table.get("rows") if isinstance(table, dict) else None
    return (
        f"<table>{''.join(map(_row, rows[:_MAX_NODES]))}</table>"
        if isinstance(rows, list)
        else ""
    )


def _row(row: Json) -> str:
    cells = row.get("cells") if isinstance(row, dict) else None
    if not isinstance(cells, list):
        return ""
    inner = (
        f"<td>{_nodes(cell.get('value'), 0)}</td>"
        for cell in cells
        if isinstance(cell, dict)
    )
    return f"<tr>{''.join(inner)}</tr>"


_RENDERERS: Final[dict[str, Callable[[dict[str, Json]], str]]] = {
    "html": _html,
    "image": _image,
    "slate": _slate,
    "slateTable": _table,
    "text": _draft,
    **dict.fromkeys(
        ("description", "leadimage", "listing", "search", "teaser", "title"),
        lambda _: "",
    ),
}
