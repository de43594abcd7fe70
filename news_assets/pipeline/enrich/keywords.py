"""Find the keywords of a text: words and phrases, as written.

A term scores higher the more often and the earlier it occurs, in the title, as a name,
and as a phrase.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from news_assets.text.words import stem, stopwords, word_spans

MAX_KEYWORDS = 8
MAX_CHARS = 5_000  # about 800 words: the first occurrence there counts a quarter
_MAX_TERM_WORDS = 4
_MIN_CHARS = 3

TITLE_FACTOR, NAME_FACTOR, PHRASE_FACTOR = 2.0, 1.6, 1.5
# a term that first occurs here counts half of one in the first line
_HALF_LIFE_WORDS = 250

_LINKS = frozenset(("de", "da", "do", "das", "dos", "of", "del", "la", "y"))

# Common in news of any topic; excluded in addition to the stop words of the language.
_COMMON_TEXT = """
    disse dizer diz afirmou afirma afirmar segundo acordo ano anos mês meses dia dias semana
    hora horas vez vezes parte caso casos pessoa pessoas feira segunda terça quarta quinta sexta
    sábado domingo janeiro fevereiro março abril maio junho julho agosto setembro outubro
    novembro dezembro novo nova novos novas grande maior menor primeiro primeira último última
    milhão milhões bilhão bilhões mil dois duas três quatro cinco meio forma fazer feito ficar
    partir sendo informou explicou contou além cada local nacional país notícia notícias foto
    fotos imagem brasil haver deve devem pode ocorreu acontece realizado realizada total número
    exemplo relação objetivo dentro área áreas said says say told added year years month months
    day days week weeks time times people man men new first last million billion thousand
    hundred two three four five six monday tuesday wednesday thursday friday saturday sunday
    january february march april june july august september october november december make made
    take get got going back many much way well still even since around including according
    called set use used put part mr mrs ms bbc news want like good end come came made years'
    told number large big second think know need really something reuters
"""
_COMMON = frozenset(_COMMON_TEXT.split())


@dataclass(slots=True)
class _Term:
    """A candidate with its first position and the forms in which it occurs."""

    length: int
    first: int
    forms: Counter[str] = field(default_factory=Counter)
    name_count: int = 0
    is_in_title: bool = False

    @property
    def count(self) -> int:
        return self.forms.total()

    @property
    def score(self) -> float:
        if self.count < 2 and not self.is_in_title and not self.name_count:
            return 0.0
        score = math.log1p(self.count) / (1 + self.first / _HALF_LIFE_WORDS)
        score *= TITLE_FACTOR if self.is_in_title else 1.0
        score *= NAME_FACTOR if self.name_count * 2 > self.count else 1.0
        return score * (
            PHRASE_FACTOR
            if self.length > 1 and (self.count > 1 or self.name_count)
            else 1.0
        )


class _Token(NamedTuple):
    """One word of a text.

    A significant word may begin or end a term; a joined one continues the word before
    it.
    """

    word: str
    start: int
    end: int
    is_significant: bool
    is_link: bool
    is_capital: bool
    is_joined: bool


def keywords(title: str, text: str, language: str | None) -> tuple[str, ...]:
    """Return up to eight terms of a text without markup, best first, in their usual
    form.
    """
    terms = _terms(title, text[:MAX_CHARS], language)
    ranked = sorted(terms.items(), key=lambda item: -item[1].score)
    found: dict[frozenset[str], str] = {}
    for key, term in ranked:
        if len(found) == MAX_KEYWORDS or not term.score:
            break
        stems = frozenset(key)
        if not any(stems & other for other in found):
            found[stems] = term.forms.most_common(1)[0][0]
    return tuple(found.values())


def _terms(title: str, text: str, language: str | None) -> dict[tuple[str, ...], _Term]:
    terms: dict[tuple[str, ...], _Term] = {}
    for key, form, place, is_name in _candidates(text, language):
        term = terms.get(key) or terms.setdefault(key, _Term(len(key), place))
        term.forms[form] += 1
        term.name_count += is_name
    for key, form, _, _ in _candidates(title, language):
        term = terms.get(key) or terms.setdefault(key, _Term(len(key), 0))
        term.is_in_title = True
        if not term.forms:
            term.forms[form] += 1
    return terms


def _candidates(
    text: str, language: str | None
) -> Iterator[tuple[tuple[str, ...], str, int, bool]]:
    """Yield stems, form, position and whether it is a name, of each run that may be a
    term.
    """
    tokens = _tokens(text, language)
    for place, first in enumerate(tokens):
        if not first.is_significant:
            continue
        for run in _runs(tokens, place):
            is_name = all(token.is_capital or token.is_link for token in run)
            if len(run) > 2 and not is_name:
                continue
            stems = tuple(
                stem(token.word, language) for token in run if not token.is_link
            )
            is_certain = len(run) > 1 or not _begins_sentence(text, first.start)
            yield stems, text[first.start : run[-1].end], place, is_name and is_certain


def _runs(tokens: Sequence[_Token], place: int) -> Iterator[Sequence[_Token]]:
    """Yield the runs that begin here.

    They are significant words and links between them, joined by a space or a hyphen.
    """
    for end in range(place, min(place + _MAX_TERM_WORDS, len(tokens))):
        token = tokens[end]
        if end > place and not (
            token.is_joined and (token.is_significant or token.is_link)
        ):
            return
        if token.is_significant:
            yield tokens[place : end + 1]


def _tokens(text: str, language: str | None) -> list[_Token]:
    excluded = stopwords(language) | _COMMON
    found: list[_Token] = []
    last = 0
    for word, start, end in word_spans(text):
        is_significant = (
            len(word) >= _MIN_CHARS and word not in excluded and word.isalpha()
        )
        is_joined = start - last == 1 and text[last] in " \u00a0-"
        found.append(
            _Token(
                word,
                start,
                end,
                is_significant,
                word in _LINKS,
                text[start].isupper(),
                is_joined,
            )
        )
        last = end
    return found


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" \"'“‘«(")
    return not before or before[-1] in ".!?…:\n"
