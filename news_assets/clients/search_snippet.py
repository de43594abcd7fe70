"""The piece of a text that shows why it was found.

Text and the terms that matched enter; escaped HTML with `<mark>` around matching words leaves.
"""

import html
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from news_assets.clients.search_terms import term_of
from news_assets.text.words import fold, word_spans

SNIPPET_CHARS = 240
_LEAD_CHARS = 60  # before the first match
_STEM_CHARS = 4

_VARIANTS = ("aàáâãäå", "cç", "eèéêë", "iìíîïı", "nñ", "oòóôõöø", "sß", "uùúûü", "yýÿ")
_ANY_CASE = {c: c + c.upper() for c in "bdfghjklmpqrtvwxz"} | {v[0]: v + v.upper().replace("SS", "") for v in _VARIANTS}


@dataclass(frozen=True, slots=True)
class Marker:
    """Finds a query's words in texts of any language. `words` are those typed or corrected, `terms` what they match."""

    words: tuple[str, ...]
    terms: frozenset[int]

    def spans(self, text: str, language: str | None) -> list[tuple[int, int]]:
        """Return where matching words stand in a text, in order."""
        if not all(fold(word).isascii() for word in self.words):
            return [(start, end) for word, start, end in word_spans(text) if term_of(word, language) in self.terms]
        return sorted({span for word in self.words for span in self._spans_of(word, text, language)})

    def _spans_of(self, word: str, text: str, language: str | None) -> Iterable[tuple[int, int]]:
        for match in _start(fold(word)).finditer(text):
            begin = match.start()
            is_whole = begin == 0 or not text[begin - 1].isalnum()
            if is_whole and term_of(match[0].lower(), language) in self.terms:
                yield match.span()


@lru_cache(maxsize=1024)
def _start(folded: str) -> re.Pattern[str]:
    """Return what finds words that begin as this one, in any case and accent.

    A stem mostly begins as its word does; three times as fast as looking at every word, whose stem decides anyway. The
    pattern has no alternatives and begins with a set of letters, which `re` skips to.
    """
    start = folded[: max(1, min(_STEM_CHARS, len(folded) - 2))]
    return re.compile("".join(f"[{re.escape(_ANY_CASE.get(c, c))}]" for c in start) + r"[^\W_]*")


def snippet(text: str, spans: Collection[tuple[int, int]]) -> str:
    """Return about 240 characters of the text where most different spans stand, or its lead where there are none."""
    start, end = _window(text, list(spans))
    return (
        ("… " if start else "")
        + _marked(text, start, end, (span for span in spans if start <= span[0] and span[1] <= end))
        + (" …" if end < len(text) else "")
    )


def _window(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    if len(text) <= SNIPPET_CHARS:
        return 0, len(text)
    start = max(0, _densest(text, spans) - _LEAD_CHARS)
    start = 0 if start < _LEAD_CHARS else _next_word(text, start)
    end = min(len(text), start + SNIPPET_CHARS)
    return start, end if end == len(text) else _last_word(text, start, end)


def _densest(text: str, spans: list[tuple[int, int]]) -> int:
    """Return the start of the span that has most different words within reach; the first of them if equal."""
    best, most = 0, 0
    for first, (start, _) in enumerate(spans[:100]):
        within = {
            text[s:e].lower()[:_STEM_CHARS]
            for s, e in spans[first : first + 20]
            if e <= start + SNIPPET_CHARS - _LEAD_CHARS
        }
        if len(within) > most:
            best, most = start, len(within)
    return best


def _next_word(text: str, start: int) -> int:
    space = text.find(" ", start, start + _LEAD_CHARS)
    return space + 1 if space >= 0 else start


def _last_word(text: str, start: int, end: int) -> int:
    space = text.rfind(" ", start + SNIPPET_CHARS // 2, end)
    return space if space >= 0 else end


def _marked(text: str, start: int, end: int, spans: Iterable[tuple[int, int]]) -> str:
    pieces, at = [], start
    for first, last in spans:
        pieces += [html.escape(text[at:first]), "<mark>", html.escape(text[first:last]), "</mark>"]
        at = last
    pieces.append(html.escape(text[at:end]))
    return " ".join("".join(pieces).split())
