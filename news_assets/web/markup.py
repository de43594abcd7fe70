"""Stored texts as safe HTML: Markdown rendered, and the words that differ between two texts."""

import html
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from news_assets.text.html import sanitize

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MAX_WORDS: Final = 20_000  # of each text that is compared: 0.1 s
_IMAGE: Final = re.compile(r"<img\b[^>]*>")  # nothing is requested from the publisher's site
_WORD: Final = re.compile(r"\S+\s*")


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def article_html(text: str) -> str:
    """Return the stored text of an article as HTML without images and scripts; its headings begin at level 2."""
    rendered = sanitize(_markdown().render(text))
    lowered = re.sub(r"(</?h)([1-5])\b", lambda tag: f"{tag[1]}{int(tag[2]) + 1}", rendered)
    return _IMAGE.sub("", lowered)


def word_diff(before: str, after: str) -> str:
    """Return both texts as one piece of HTML, words that went in `<del>` and words that came in `<ins>`."""
    from rapidfuzz.distance import Indel

    old, new = _words(before), _words(after)
    parts = []
    for step in Indel.opcodes([word.strip() for word in old], [word.strip() for word in new]):
        if step.tag == "equal":
            parts.append(_escaped(new[step.dest_start : step.dest_end]))
        else:
            parts.append(_marked("del", old[step.src_start : step.src_end]))
            parts.append(_marked("ins", new[step.dest_start : step.dest_end]))
    return "".join(parts)


def _words(text: str) -> list[str]:
    """Return the words of a text, each with the blanks after it."""
    return _WORD.findall(text)[:_MAX_WORDS]


def _marked(tag: str, words: Sequence[str]) -> str:
    return f"<{tag}>{_escaped(words)}</{tag}>" if words else ""


def _escaped(words: Sequence[str]) -> str:
    return html.escape("".join(words))
