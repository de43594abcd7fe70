"""A piece of HTML as Markdown: the full text that a feed carries, which is an article without a page around it.

Sanitised markup enters, Markdown leaves. Nothing has to be found in it, so nothing is cleaned away.
"""

from lxml.etree import LxmlError, _Element
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from news_assets.pipeline.page.markdown import article_blocks, markdown_of

_MAX_CHARS = 1_000_000
_DROPPED = frozenset({"script", "style", "noscript", "iframe", "form", "template", "head", "svg", "video", "audio"})
_TAG = {
    **dict.fromkeys(("ul", "ol", "dl"), "list"),
    **dict.fromkeys(("li", "dt", "dd"), "item"),
    **dict.fromkeys(("td", "th"), "cell"),
    **dict.fromkeys(("article", "aside", "figure", "figcaption", "footer", "header", "main", "section"), "div"),
    "blockquote": "quote",
    "br": "lb",
    "img": "graphic",
    "pre": "code",
    "tr": "row",
}


def markdown_of_fragment(markup: str) -> str:
    """Return the text of a piece of HTML as Markdown; empty where there is none."""
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
    """Give the elements the names that trafilatura's body tree has."""
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
