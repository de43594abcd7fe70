"""Stored texts as safe HTML: Markdown rendered, and the words that differ between two texts."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from news_assets.pipeline.enrich.model.evidence import Span
from news_assets.text.html import sanitize

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


_MAX_RENDERED_CHARS: Final = 50_000  # the worst Markdown takes quadratic time
_CONTEXT_WORDS: Final = 30  # around a change
_LEAST_FOLDED: Final = 30  # to fold fewer words hides more than it saves
_MAX_WORDS: Final = 20_000  # of each text that is compared: 0.1 s
# nothing is requested from the publisher's site
_IMAGE: Final = re.compile(r"<img\b[^<>]*+>")
# Signs around the number of a span: characters that no text has
# (https://www.unicode.org/faq/private_use.html).
_BEGIN, _END, _SIGNED = "\ufdd0", "\ufdd1", "\ufdd2"
_NO_SIGNS: Final = dict.fromkeys(map(ord, (_BEGIN, _END, _SIGNED)), "\ufffd")
_PART: Final = re.compile(
    f"(?P<tag><[^<>]*>)|{_BEGIN}(?P<begin>[0-9]+){_SIGNED}|{_END}(?P<end>[0-9]+){_SIGNED}|[^<{_BEGIN}{_END}]+|."
)
_IN_TAG: Final = re.compile(
    f"[{_BEGIN}{_END}][0-9]+{_SIGNED}|%EF%B7%9[01][0-9]+%EF%B7%92", re.IGNORECASE
)
_LIST_MARK: Final = re.compile(r"[ \t]{0,3}(?:[-*+>]|#{1,6}|[0-9]{1,9}[.)])[ \t]+")
_WORD: Final = re.compile(r"\S+\s*")


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def is_cut(text: str) -> bool:
    """Whether only the beginning of a text is shown."""
    return len(text) > _MAX_RENDERED_CHARS


def article_html(text: str, spans: Sequence[tuple[int, Span]] = ()) -> str:
    """Return the stored text of an article as HTML without images and scripts; its
    headings begin at level 2.

    Numbered spans of the text are in `<mark>`; behind a span is its number, with the id
    `evidence-1`. Of a long text the first _MAX_RENDERED_CHARS are shown.
    """
    if is_cut(text):
        text = text[:_MAX_RENDERED_CHARS]
        spans = [(number, span) for number, span in spans if span.end <= len(text)]
    rendered = sanitize(_markdown().render(_with_signs(text, spans)))
    lowered = re.sub(
        r"(</?h)([1-5])\b", lambda tag: f"{tag[1]}{int(tag[2]) + 1}", rendered
    )
    return "".join(_marks_for_signs(_IMAGE.sub("", lowered)))


def _with_signs(text: str, spans: Sequence[tuple[int, Span]]) -> str:
    """Return the text with a sign at both ends of each span: Markdown reads it as a
    letter.
    """
    signs = []
    for number, span in spans:
        signs.append((span.end, 0, f"{_END}{number}{_SIGNED}"))
        begin = _behind_list_mark(text, span.start)
        signs.append((begin, 1, f"{_BEGIN}{number}{_SIGNED}"))
    plain = text.translate(_NO_SIGNS)
    parts = []
    last = 0
    for offset, _, sign in sorted(signs):
        parts += [plain[last:offset], sign]
        last = offset
    return "".join((*parts, plain[last:]))


def _behind_list_mark(text: str, offset: int) -> int:
    """Return where the words begin: a sign before `1.` at the beginning of a line would
    end the list.
    """
    line = text.rfind("\n", 0, offset) + 1
    found = _LIST_MARK.match(text, line)
    if found is None:
        return offset
    return max(offset, found.end())


def _marks_for_signs(rendered: str) -> Iterator[str]:
    """Yield the parts of the HTML, texts between signs in `<mark>`: one for each text,
    so that elements stay nested.
    """
    begun: set[str] = set()
    for part in _PART.finditer(rendered):
        if part["begin"]:
            begun.add(part["begin"])
        elif number := part["end"]:
            begun.discard(number)
            yield f'<sup id="evidence-{number}">[{number}]</sup>'
        elif part["tag"] or not begun or part[0].isspace():
            yield _IN_TAG.sub("", part[0])
        else:
            yield f"<mark>{part[0]}</mark>"


def word_diff(before: str, after: str) -> str:
    """Return both texts as one piece of HTML, words that went in `<del>` and words that
    came in `<ins>`.
    """
    parts = []
    for kind, words in _steps(before, after):
        parts.append(_escaped(words) if kind == "equal" else _marked(kind, words))
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Passage:
    """A part of two texts: `equal`, `del` (went), `ins` (came), or `folded`, which is
    equal and far from any change; `count` are its words.
    """

    kind: str
    text: str
    count: int


def passages(before: str, after: str) -> list[_Passage]:
    """Return both texts as passages: what changed, with some words around it."""
    steps = list(_steps(before, after))
    found: list[_Passage] = []
    for number, (kind, words) in enumerate(steps):
        if kind == "equal":
            is_first = number == 0
            is_last = number == len(steps) - 1
            found += _folded(words, is_first=is_first, is_last=is_last)
        else:
            found.append(_passage(kind, words))
    return found


def _folded(
    words: Sequence[str], *, is_first: bool, is_last: bool
) -> Iterator[_Passage]:
    """Yield the words after the change before, those between, and those before the next
    change.
    """
    begin = 0 if is_first else _CONTEXT_WORDS
    end = len(words) if is_last else len(words) - _CONTEXT_WORDS
    if end - begin < _LEAST_FOLDED:
        yield _passage("equal", words)
        return
    if begin:
        yield _passage("equal", words[:begin])
    yield _passage("folded", words[begin:end])
    if end < len(words):
        yield _passage("equal", words[end:])


def _passage(kind: str, words: Sequence[str]) -> _Passage:
    return _Passage(kind, "".join(words), len(words))


def _steps(before: str, after: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the words of two texts in runs: `equal`, or `del` and then `ins`."""
    from rapidfuzz.distance import Indel

    old, new = _words(before), _words(after)
    bare_old = list(map(str.strip, old))
    bare_new = list(map(str.strip, new))
    at_old = at_new = 0
    for block in Indel.opcodes(bare_old, bare_new).as_matching_blocks():
        if block.a > at_old:
            yield "del", old[at_old : block.a]
        if block.b > at_new:
            yield "ins", new[at_new : block.b]
        at_old = block.a + block.size
        at_new = block.b + block.size
        if block.size:
            yield "equal", new[block.b : at_new]


def _words(text: str) -> list[str]:
    """Return the words of a text, each with the blanks after it."""
    return _WORD.findall(text)[:_MAX_WORDS]


def _marked(tag: str, words: Sequence[str]) -> str:
    return f"<{tag}>{_escaped(words)}</{tag}>"


def _escaped(words: Sequence[str]) -> str:
    return html.escape("".join(words))
