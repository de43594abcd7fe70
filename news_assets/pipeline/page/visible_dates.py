"""Finds the visible dates of a page: "Publicado em 27/02/2026 14h30 - Atualizado em
28/02/2026 9h".

Only dates near the headline, and dates worded as dates of publication, are taken: dates
in the text, in lists of other articles and in comments are not the page's.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from lxml.etree import iterwalk
from lxml.html import HtmlElement

Kind = Literal["published", "updated", "plain"]

# below the headline: bylines follow a picture, its caption and share buttons
_MAX_HEAD_LINES = 40
_MAX_LINES_ABOVE = 6
_MAX_SOURCE_LINES = 6  # below the headline, of a source with its date
_MAX_PAGE_LINES = 1500
_MAX_HEADINGS = 300
_MAX_NAMED = 200  # elements that are named as dates
_SAME_HEADLINE = 0.5  # of all words of the headline and a heading
_SAME_TEXT = 0.7  # of all words of the headline and a text that is no heading
_TITLED = ("td", "div", "p", "span", "b", "strong", "font")
_WORD = re.compile(r"\w+")
_SHORT_CHARS = 60  # of a small heading that may be a date
_MAX_LINE_CHARS = 160  # longer lines are sentences
_BODY_LINE_CHARS = 250  # the second line as long as this is the article's text
# of a line with a bare date, after a place or weekday at most
_MAX_PLAIN_CHARS, _MAX_PLAIN_LETTERS = (
    80,
    14,
)
_MAX_WORDS_BEFORE, _MAX_WORDS_AFTER, _MAX_DATE_CHARS = 60, 45, 110
_MAX_FAR_WORDS_AFTER = 25  # far from the headline, where sentences have the same words

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
    r"|updated?|modified|edited|revised|(?:last\s+)?revision"
    r"|actualizad[oa]|actualización"
    r"|mise?\s+à\s+jour|modifiée?"
    r"|aktualisiert|geändert|bearbeitet|stand:"
    r"|aggiornat[oa]|modificat[oa]|modifica|bijgewerkt"
)
_WORDING = re.compile(
    rf"(?<!\w)(?:(?P<published>{_PUBLISHED})|(?P<updated>{_UPDATED}))(?!\w)",
    re.IGNORECASE,
)
# "o livro foi publicado em" is about something else
_IN_SENTENCE = re.compile(
    r"(?:\b(?:foi|foram|ser|será|sido|was|were|been|be|is|fue|sido|été|est|fut|wurde|wurden|ist|stato|è|studie?s?|study"
    r"|artigo|livro|report|estudo)|,)\s+$",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\d{1,2}[/.-]\d{1,2}[/.-]\d\d(?!\d)")
# "25/10/2016 11:35 | 20 comentários"
_BAR = re.compile(r"(?<=\d\d) [|•] (?=\D|\d+ [a-z]{4})")
# Not after a preposition: "inscrições até 30/11/2016".
_SOURCED = re.compile(
    r"\D*?(?:[^\W\d]{5,}|[A-Z]\w*|[^\w\s])\s+"
    r"(?P<date>\d{1,2}(?:[./-]\d{1,2}[./-]|\s+(?:de\s+)?[A-Za-zç]{3,9}\.?\s+(?:de\s+)?)(?:20)?\d\d\b.{0,12})"
)
_CLOCK = re.compile(r"\d\s?[:hH]\s?\d|T\d\d|\d\s?[ap]\.?m\b")

_DATE_NAME = re.compile(
    r"(?<![a-z])(?:lbl)?(?:data|date|datum|fecha|dt)(?:hora|pub\w*|not[ií]cia)?(?![a-z])",
    re.IGNORECASE,
)
_INLINE = frozenset(
    ("a", "abbr", "b", "big", "cite", "data", "em", "font", "i", "ins", "label", "mark", "small",
    "span", "strong",
     "sub", "sup", "time", "u")
)  # fmt: skip
_UNRELATED = frozenset(
    ("aside", "button", "dialog", "footer", "h1", "iframe", "nav", "noscript", "script", "select",
    "style", "svg",
     "textarea")
)  # fmt: skip
_UNRELATED_CLASS = re.compile(
    r"(?:^|[\s_])(?:comments?|related|relacionad[oa]s?|sidebar|widget|menu|breadcrumbs?|recommend\w*|most-?(?:read|popular)"
    r"|mais-?lidas|leia-?(?:tamb[eé]m|mais)|veja-?mais|trending|teasers?|promo|newsletter|footer|read-?more|carousel)"
    r"(?:$|[\s_-])",
    re.IGNORECASE,
)


class VisibleDate(NamedTuple):
    """The text of a date on the page, and its kind by the words before it."""

    kind: Kind
    text: str


def dates_near_headline(tree: HtmlElement, headline: str | None) -> list[VisibleDate]:
    """Return the dates near the headline, in order; those with words of publication or
    update precede bare ones.
    """
    heading = _heading(tree, headline)
    if heading is None:
        return []
    own = list(_lines(heading))[:1]
    below = list(_before_body(_lines_after(heading)))
    lines = [*below, "", "", "", *_lines_above(heading)]
    return _worded(lines) + _plain([*own, *lines]) + _sourced(below[:_MAX_SOURCE_LINES])


def named_dates(tree: HtmlElement) -> list[VisibleDate]:
    """Return the bare dates of elements whose class or id says that they are dates."""
    elements = filter(_is_named_date, tree.iter(*_TITLED, "h2", "h3", "h4", "h5", "li"))
    lines: list[str] = []
    for one in islice(elements, _MAX_NAMED):
        if any(map(_is_unrelated, (one, *one.iterancestors()))):
            continue
        text = "".join(islice(one.itertext(), 10))
        lines.append(" ".join(text.split()))
    return _plain(lines)


def _is_named_date(element: HtmlElement) -> bool:
    return bool(_DATE_NAME.search(f"{element.get('class')} {element.get('id')}"))


def worded_dates(tree: HtmlElement) -> list[VisibleDate]:
    """Return the dates on the whole page that are worded as dates of publication or
    update.
    """
    return _worded(_page_lines(tree), _MAX_FAR_WORDS_AFTER)


def bare_dates(tree: HtmlElement) -> list[VisibleDate]:
    """Return the lines of the whole page that are little more than a date."""
    return _plain(_page_lines(tree))


def _page_lines(tree: HtmlElement) -> list[str]:
    body = tree.find("body")
    if body is None:
        return []
    return list(islice(_lines(body), _MAX_PAGE_LINES))


# --- wording --------------------------------------------------------------------------


def _worded(
    lines: Sequence[str], max_between: int = _MAX_WORDS_AFTER
) -> list[VisibleDate]:
    """Return the text after each word of publication or update, up to the next such
    word.

    `max_between` is the number of characters between the word and the date.
    """
    text = "\n".join(map(_byline, lines))
    matches = list(_WORDING.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    dates: list[VisibleDate] = []
    # without a match there is one end too many
    for match, end in zip(matches, ends, strict=False):
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        after = text[match.end() : min(end, match.end() + _MAX_DATE_CHARS)]
        near = re.search(r"\d", after[:max_between])
        if near is None:
            continue
        if not _is_byline(before):
            continue
        if after.count("\n", 0, near.start()) < 3 and _DATE.search(after):
            kind: Kind = "published" if match["published"] else "updated"
            dates.append(VisibleDate(kind, " ".join(after.split())))
    return dates


def _byline(line: str) -> str:
    """Return a line that may state a date: a short one, or the beginning of one that
    begins with its wording.
    """
    if len(line) <= _MAX_LINE_CHARS:
        return line
    if _WORDING.match(line):
        return line[:_MAX_WORDS_BEFORE]
    return ""


def _is_byline(before: str) -> bool:
    if len(before) > _MAX_WORDS_BEFORE:
        return False
    return not _IN_SENTENCE.search(before)


def _plain(lines: Sequence[str]) -> list[VisibleDate]:
    """Return the lines with little more than a date."""
    dates: list[VisibleDate] = []
    for line in lines:
        text = _WORDING.split(line, maxsplit=1)[0].strip(" |/·•–—-(")
        text = _BAR.split(text)[0]
        if _is_bare_date(text):
            dates.append(VisibleDate("plain", text))
    return dates


def _is_bare_date(text: str) -> bool:
    if len(text) > _MAX_PLAIN_CHARS:
        return False
    if "©" in text:
        return False
    digit = re.search(r"\d", text)
    if digit is None:
        return False
    if not _DATE.search(text):
        return False
    return sum(map(str.isalpha, text[: digit.start()])) <= _MAX_PLAIN_LETTERS


def _sourced(lines: Sequence[str]) -> list[VisibleDate]:
    """Return the dates at the end of short lines: "Agência Brasil - 25/10/2016 - 18h32"."""
    dates: list[VisibleDate] = []
    for line in lines:
        if len(line) > _MAX_PLAIN_CHARS:
            continue
        if _WORDING.search(line):
            continue
        if match := _SOURCED.fullmatch(line):
            dates.append(VisibleDate("plain", match["date"]))
    return dates


# --- lines ----------------------------------------------------------------------------


def _heading(tree: HtmlElement, headline: str | None) -> HtmlElement | None:
    """Return the heading with most of the headline's words, else another element that
    is the headline, else the first.

    Of two alike the first one counts.
    """
    headings = list(islice(tree.iter("h1", "h2", "h3", "h4"), _MAX_HEADINGS))
    words = _words(headline or "")
    best = max(headings, key=lambda one: _likeness(words, _words_of(one)), default=None)
    if best is not None and _likeness(words, _words_of(best)) >= _SAME_HEADLINE:
        return best
    if words:
        for one in tree.iter(*_TITLED):
            if _likeness(words, _words(one.text or "")) >= _SAME_TEXT:
                return one
    return min(headings, key=lambda one: one.tag, default=None)


def _likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def _words_of(element: HtmlElement) -> set[str]:
    return _words("".join(islice(element.itertext(), 50)))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _before_body(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines up to the second long one; the first may be the subtitle."""
    long = 0
    for line in islice(lines, _MAX_HEAD_LINES):
        long += len(line) >= _BODY_LINE_CHARS
        if long == 2:
            return
        yield line


def _lines_after(heading: HtmlElement) -> Iterator[str]:
    """Yield the lines of the page after the heading."""
    node: HtmlElement | None = heading
    while node is not None and node.tag not in ("body", "html"):
        if node.tail and node.tail.strip():
            yield " ".join(node.tail.split())
        for sibling in node.itersiblings():
            yield from _lines(sibling)
        node = node.getparent()


def _lines_above(heading: HtmlElement) -> list[str]:
    """Return the last lines before the heading, within its block."""
    above: list[str] = []
    node: HtmlElement | None = heading
    for _ in range(3):
        if node is None:
            break
        if node.tag in ("article", "main", "body"):
            break
        for sibling in islice(node.itersiblings(preceding=True), _MAX_LINES_ABOVE):
            above = [*islice(_lines(sibling), _MAX_HEAD_LINES), *above]
        node = node.getparent()
    return above[-_MAX_LINES_ABOVE:]


def _lines(element: HtmlElement) -> Iterator[str]:
    """Yield the lines of text in an element and right after it, without unrelated
    elements.
    """
    parts: list[str] = []
    walk = iterwalk(element, events=("start", "end"))
    for event, node in walk:
        if node.tag not in _INLINE:
            yield from _joined(parts)
            parts = []
        if event == "end":
            parts.append(node.tail or "")
        elif _is_unrelated(node):
            walk.skip_subtree()
        elif node.tag == "time":
            parts.append(f" {_time_text(node)} ")
            walk.skip_subtree()
        else:
            parts.append(node.text or "")
    yield from _joined(parts)


def _joined(parts: list[str]) -> Iterator[str]:
    if line := " ".join("".join(parts).split()):
        yield line


def _is_unrelated(node: HtmlElement) -> bool:
    if node.tag in _UNRELATED:
        return True
    if node.tag in ("h2", "h3") and not _is_dated(node):
        return True
    marks = f"{node.get('class', '')} {node.get('id', '')}"
    return _UNRELATED_CLASS.search(marks) is not None


def _is_dated(heading: HtmlElement) -> bool:
    """Whether a heading is little more than a date."""
    text = " ".join(islice(heading.itertext(), 10))
    if len(text) > _SHORT_CHARS:
        return False
    return _DATE.search(text) is not None


def _time_text(node: HtmlElement) -> str:
    """Return the `datetime` of a `<time>` element, or its text if only that has a time
    of day.
    """
    stated = node.get("datetime", "")
    shown = "".join(node.itertext())
    if not stated.strip():
        return shown
    if _CLOCK.search(stated):
        return stated
    if not _DATE.search(shown):
        return stated
    return shown if _CLOCK.search(shown) else stated
