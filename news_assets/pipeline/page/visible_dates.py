"""The dates that a reader sees on a page: "Publicado em 27/02/2026 14h30 - Atualizado em 28/02/2026 9h".

A parsed page enters; the written dates around its headline leave, each with what its wording says that it is. Only a
date that stands by the headline, or says of itself that the page was published then, is taken: a date in the story, in
a list of other articles or in a comment is none of the page's. What counts more is settled in `page_times.py`, how a
date is understood in `text/dates.py`.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from lxml.etree import iterwalk
from lxml.html import HtmlElement

from news_assets.text.html import plain_text

Kind = Literal["published", "updated", "plain"]

MAX_HEAD_LINES = 40  # after the headline: bylines stand behind a picture, its caption and buttons to share
MAX_LINES_ABOVE = 6
MAX_PAGE_LINES = 1500
_MAX_LINE_CHARS, _STORY_CHARS = 160, 250  # a longer line is a sentence; two of these, and the story has begun
_MAX_PLAIN_CHARS, _MAX_PLAIN_LETTERS = 80, 14  # a date without wording stands alone, or behind a place or a weekday
_MAX_WORDS_BEFORE, _MAX_WORDS_AFTER, _MAX_DATE_CHARS = 60, 45, 110

_PUBLISHED = (
    r"publicad[oa]s?|publicação|postad[oa]|criad[oa]|divulgad[oa]"
    r"|published|publication|posted|created"
    r"|publicación|fecha"
    r"|publiée?|publication|mise?\s+en\s+ligne|paru"
    r"|veröffentlicht|publiziert|erschienen|erstellt"
    r"|pubblicat[oa]|gepubliceerd|geplaatst"
)
_UPDATED = (
    r"atualizad[oa]|atualização|modificad[oa]|modificação|alterad[oa]|editad[oa]"
    r"|updated?|modified|edited|revised"
    r"|actualizad[oa]|actualización"
    r"|mise?\s+à\s+jour|modifiée?"
    r"|aktualisiert|geändert|bearbeitet|stand:"
    r"|aggiornat[oa]|modificat[oa]|modifica|bijgewerkt"
)
_WORDING = re.compile(rf"(?<!\w)(?:(?P<published>{_PUBLISHED})|(?P<updated>{_UPDATED}))(?!\w)", re.IGNORECASE)
# "o livro foi publicado em": a sentence about something else
_IN_SENTENCE = re.compile(
    r"(?:\b(?:foi|foram|ser|será|sido|was|were|been|be|is|fue|sido|été|est|fut|wurde|wurden|ist|stato|è|studie?s?|study"
    r"|artigo|livro|report|estudo)|,)\s+$",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\d{1,2}[/.-]\d{1,2}[/.-]\d\d(?!\d)")
_CLOCK = re.compile(r"\d\s?[:hH]\s?\d|T\d\d|\d\s?[ap]\.?m\b")

_INLINE = frozenset(
    ("a", "abbr", "b", "big", "cite", "data", "em", "font", "i", "ins", "label", "mark", "small", "span", "strong",
     "sub", "sup", "time", "u")
)  # fmt: skip
_ELSEWHERE = frozenset(
    ("aside", "button", "dialog", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "iframe", "nav", "noscript",
     "script", "select", "style", "svg", "textarea")
)  # fmt: skip
_ELSEWHERE_CLASS = re.compile(
    r"(?:^|[\s_])(?:comments?|related|relacionad[oa]s?|sidebar|widget|menu|breadcrumbs?|recommend\w*|most-?(?:read|popular)"
    r"|mais-?lidas|leia-?(?:tamb[eé]m|mais)|veja-?mais|trending|teasers?|promo|newsletter|footer|read-?more|carousel)"
    r"(?:$|[\s_-])",
    re.IGNORECASE,
)


class WrittenDate(NamedTuple):
    """A date as it stands on the page, and what the words before it call it."""

    kind: Kind
    text: str


def dates_by_headline(tree: HtmlElement, headline: str | None) -> list[WrittenDate]:
    """Return the dates that stand by the headline, in order; those that say what they are go before bare ones."""
    heading = _heading(tree, headline)
    if heading is None:
        return []
    lines = [*_until_story(_lines_after(heading)), "", "", "", *_lines_above(heading)]
    return [*_worded(lines), *_plain(lines)]


def dates_anywhere(tree: HtmlElement) -> list[WrittenDate]:
    """Return the dates of the whole page that are called dates of publication, as at the foot of an article."""
    body = tree.find("body")
    lines = [] if body is None else list(islice(_lines(body), MAX_PAGE_LINES))
    return [date for date in _worded(lines) if date.kind == "published"]


# --- wording ---------------------------------------------------------------------------------------------------------


def _worded(lines: Sequence[str]) -> Iterator[WrittenDate]:
    """Yield what follows words of publication or change, up to the next such word."""
    text = "\n".join(line if len(line) <= _MAX_LINE_CHARS else "" for line in lines)
    matches = list(_WORDING.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=False):  # without a match there is one end too many
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        after = text[match.end() : min(end, match.end() + _MAX_DATE_CHARS)]
        near = re.search(r"\d", after[:_MAX_WORDS_AFTER])
        if near and after.count("\n", 0, near.start()) < 3 and _is_byline(before) and _DATE.search(after):
            yield WrittenDate("published" if match["published"] else "updated", " ".join(after.split()))


def _is_byline(before: str) -> bool:
    return len(before) <= _MAX_WORDS_BEFORE and not _IN_SENTENCE.search(before)


def _plain(lines: Sequence[str]) -> Iterator[WrittenDate]:
    """Yield lines that are hardly more than a date."""
    for line in lines:
        match = _WORDING.search(line)
        text = (line[: match.start()] if match else line).strip(" |/·•–—-(")
        if len(text) <= _MAX_PLAIN_CHARS and _DATE.search(text) and (digit := re.search(r"\d", text)):
            letters = sum(map(str.isalpha, text[: digit.start()]))
            if letters <= _MAX_PLAIN_LETTERS:
                yield WrittenDate("plain", text)


# --- lines -----------------------------------------------------------------------------------------------------------


def _heading(tree: HtmlElement, headline: str | None) -> HtmlElement | None:
    """Return the heading that shows the headline, else the page's first."""
    headings = list(islice(tree.iter("h1"), 5)) or list(islice(tree.iter("h2"), 5))
    wanted = set(plain_text(headline or "").lower().split())
    return max(headings, key=lambda one: len(wanted & set("".join(one.itertext()).lower().split())), default=None)


def _until_story(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines up to the second long one: the first may be the subtitle."""
    long = 0
    for line in islice(lines, MAX_HEAD_LINES):
        long += len(line) >= _STORY_CHARS
        if long == 2:
            return
        yield line


def _lines_after(heading: HtmlElement) -> Iterator[str]:
    """Yield the page's lines from behind the heading on."""
    node: HtmlElement | None = heading
    while node is not None and node.tag not in ("body", "html"):
        if node.tail and node.tail.strip():
            yield " ".join(node.tail.split())
        for sibling in node.itersiblings():
            yield from _lines(sibling)
        node = node.getparent()


def _lines_above(heading: HtmlElement) -> list[str]:
    """Return the last lines before the heading, within the block that holds both."""
    above: list[str] = []
    node: HtmlElement | None = heading
    for _ in range(3):
        if node is None or node.tag in ("article", "main", "body"):
            break
        for sibling in islice(node.itersiblings(preceding=True), MAX_LINES_ABOVE):
            above = [*islice(_lines(sibling), MAX_HEAD_LINES), *above]
        node = node.getparent()
    return above[-MAX_LINES_ABOVE:]


def _lines(element: HtmlElement) -> Iterator[str]:
    """Yield an element's lines of text, and the text behind it; what belongs to other articles is left out."""
    parts: list[str] = []
    walk = iterwalk(element, events=("start", "end"))
    for event, node in walk:
        if node.tag not in _INLINE:
            yield from _joined(parts)
            parts = []
        if event == "end":
            parts.append(node.tail or "")
        elif _is_elsewhere(node):
            walk.skip_subtree()
        elif node.tag == "time":
            parts.append(f" {_moment(node)} ")
            walk.skip_subtree()
        else:
            parts.append(node.text or "")
    yield from _joined(parts)


def _joined(parts: list[str]) -> Iterator[str]:
    if line := " ".join("".join(parts).split()):
        yield line


def _is_elsewhere(node: HtmlElement) -> bool:
    if node.tag in _ELSEWHERE:
        return True
    return bool(_ELSEWHERE_CLASS.search(f"{node.get('class') or ''} {node.get('id') or ''}"))


def _moment(node: HtmlElement) -> str:
    """Return the time that a `<time>` element stands for: its attribute, unless only the text has a clock."""
    stated, shown = node.get("datetime") or "", "".join(node.itertext())
    is_better_shown = not _CLOCK.search(stated) and _CLOCK.search(shown) and _DATE.search(shown)
    return shown if is_better_shown or not stated.strip() else stated
