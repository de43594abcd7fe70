"""Converts the sanitised HTML of a feed's full text to Markdown; all of it is article,
so nothing is cut away.
"""

from lxml.etree import LxmlError, _Element
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from news_assets.pipeline.page.markdown import article_blocks, markdown_of

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
    """Rename the elements in place to those of trafilatura's body tree."""
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
