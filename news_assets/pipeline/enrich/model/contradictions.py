"""Compare a sentence with the passage that it quotes.

Numbers, dates, names, negations and directions.

A sentence is contradicted where it states what the article cannot mean: a number, date
or name that it does not have in any form, a verb negated that its passage has without
negation, or the opposite direction. What only another part of the article has, or what
rephrasing can explain (a longer form of a name, a rounded number, a word counted, a
negated word that the passage does not have), makes it unsure: only a reader can decide
that.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from news_assets.pipeline.enrich.model.answer_schema import visible
from news_assets.text.words import fold


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,:/]\d+)*|[%.!?;:]")
# words are the same if their first letters are: "ampliou" and "ampliação"
_SAME_CHARS: Final = 5
_NAME_CHARS: Final = (
    # words of a name are the same if so many letters are: "Daniel Alves" and "Daniel
    # Alvez"
    4
)
_NEAR_WORDS: Final = 4  # a negation concerns the words that follow it

_SCALES: Final = {
    **dict.fromkeys(("mil", "thousand", "thousands", "k"), 1e3),
    **dict.fromkeys(
        ("milhao", "milhoes", "million", "millions", "mi", "millon", "millones"), 1e6
    ),
    **dict.fromkeys(("bilhao", "bilhoes", "billion", "billions", "bi"), 1e9),
    **dict.fromkeys(("trilhao", "trilhoes", "trillion", "trillions"), 1e12),
}
_NUMBER_WORDS: Final = (
    ("um uma one uno una", 1),
    ("dois duas two dos", 2),
    ("tres three", 3),
    ("quatro four cuatro", 4),
    ("cinco five", 5),
    ("seis six", 6),
    ("sete seven siete", 7),
    ("oito eight ocho", 8),
    ("nove nine nueve", 9),
    ("dez ten diez", 10),
    ("onze eleven once", 11),
    ("doze twelve doce", 12),
    ("vinte twenty veinte", 20),
    ("trinta thirty treinta", 30),
    ("cem cento hundred cien", 100),
)
_VALUE_OF_WORD: Final[dict[str, float]] = {}
for _words, _value in _NUMBER_WORDS:
    _VALUE_OF_WORD.update(dict.fromkeys(_words.split(), float(_value)))

_MONTHS: Final = (
    "janeiro january enero",
    "fevereiro february febrero",
    "marco march marzo",
    "abril april",
    "maio may mayo",
    "junho june junio",
    "julho july julio",
    "agosto august",
    "setembro september septiembre",
    "outubro october octubre",
    "novembro november noviembre",
    "dezembro december diciembre",
)
_WEEKDAYS: Final = (
    "segunda monday lunes",
    "terca tuesday martes",
    "quarta wednesday miercoles",
    "quinta thursday jueves",
    "sexta friday viernes",
    "sabado saturday",
    "domingo sunday",
)


def _by_word(groups: Iterable[str]) -> dict[str, str]:
    """Return the first word of the group of each word; "may" is more often a verb."""
    found: dict[str, str] = {}
    for group in groups:
        words = group.split()
        found |= dict.fromkeys(words, words[0])
    found.pop("may", None)
    return found


_MONTH_OF_WORD: Final = _by_word(_MONTHS)
_WEEKDAY_OF_WORD: Final = _by_word(_WEEKDAYS)
_DATE_WORDS: Final = _MONTH_OF_WORD | _WEEKDAY_OF_WORD
# Words before a number that is rounded: "mais de 100" of 126.
_ROUNDING: Final = _set(
    "mais menos acima cerca quase aproximadamente torno "
    "over least more about around nearly almost under"
)
_ROUNDED_BY: Final = 0.3
# Numbers up to here are written as words, and counted: three names are "three people".
_MAX_COUNTED: Final = 12.0
_CONNECTIVES: Final = _set("de da do das dos of the del la")  # within a name

_NEGATIONS: Final = _set(
    "nao nunca jamais nem nenhum nenhuma nenhuns nenhumas sem tampouco not never none neither"
    " nor without cannot cant dont doesnt didnt wont isnt arent wasnt werent hasnt havent hadnt"
    " wouldnt couldnt shouldnt ningun ninguna sin pas aucun aucune sans nicht kein keine keinen"
    " ohne nie mai nessun nessuno senza non"
)
_NEGATIONS_WITH_NO: Final = _NEGATIONS | {"no"}  # in Portuguese "no" is "in the"
# Words that negate what they govern, so that a negation may stand for them and they for
# a negation.
_NEGATIVE = re.compile(
    r"(?:proib|ved[ao]|vetad|veto|impe[dç]|recus|rejeit|neg(?:a|ou|am|ado|ativ)|cancel|suspen|deix|ausen|falt|exclu"
    r"|dispens|revog|evit|contr|prohib|forbid|ban|prevent|refus|reject|den(?:y|ie)|lack|fail|unable|exempt|avoid|stop"
    r"|apenas|somente|only|menos|exceto|except|impossi|insufic|inval|desfavor|contest)"
)
_DIRECTIONS: Final = (
    (
        r"(?:aument|cresc|sub[iu]|eleva|ampli|increas|grew|grow|rise|rose|rais|expand)",
        r"(?:diminu|cai|caem|queda|reduz|recu|encolh|decreas|fall|fell|drop|declin|reduc|shrank|cut)",
    ),
    (r"(?:aprov|approv)", r"(?:rejei[tc]|reprov|reject)"),
    (r"(?:abr[iue]|open)", r"(?:fech|clos)"),
)
_COMPILED_DIRECTIONS: Final = tuple(
    (re.compile(up), re.compile(down)) for up, down in _DIRECTIONS
)

_COMMON_WORDS: Final = _set(
    "ser sera serao foi foram esta estao sao era eram vai vao pode podem deve devem tem ter"
    " havia haver mais muito tambem ainda como para pela pelo pelos pelas com que uma seu sua"
    " dos das nos nas aos the and for was were will would has have had been being are with from"
    " this that their more also than its can may must should does did"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Why a sentence is contradicted by its passage, and why it is unsure; both empty
    for none.
    """

    contradiction: str = ""
    doubt: str = ""


def compared(
    sentence: str, passage: str, article: str, language: str | None = None
) -> Comparison:
    """Return how a sentence differs from the passage of the article that it rests on.

    `language` is the BCP 47 code of the article, without it Portuguese is assumed.
    """
    is_portuguese = (language or "pt").startswith("pt")
    said = _Words(sentence, is_portuguese)
    found = _Words(passage, is_portuguese)
    whole = _words_of(article, is_portuguese)
    contradiction = _contradiction(said, found, whole)
    if contradiction:
        return Comparison(contradiction=contradiction)
    return Comparison(doubt=_doubt(said, found))


def _contradiction(said: "_Words", found: "_Words", whole: "_Words") -> str:
    """Return what the article, or the passage `found` of it, contradicts."""
    for number in said.numbers:
        if not _may_mean_number(number, whole):
            return f"the number {number.written}"
    for date in said.dates:
        if _is_other_date(date.key, whole):
            return f"the date {date.written}"
    for name in said.names:
        if not _may_mean_name(name, whole):
            return f"the name {name.written}"
    return _negation(said, found) or _direction(said, found)


def _doubt(said: "_Words", found: "_Words") -> str:
    """Return what is not in the passage `found`, though the article may mean it."""
    for number in said.numbers:
        if not _has_number(number.value, found):
            return f"the number {number.written}"
    for date in said.dates:
        if date.key not in found.date_keys:
            return f"the date {date.written}"
    for name in said.names:
        if not _has_word(name.word, found.all_words):
            return f"the name {name.written}"
    return _undecided_negation(said, found)


class _Number(NamedTuple):
    """A number of a text; `may_differ` where it is rounded, or counted and not stated."""

    value: float
    written: str
    is_rounded: bool
    is_counted: bool


class _Date(NamedTuple):
    """A month or a weekday; `key` is the same for all languages."""

    key: str
    written: str


class _Name(NamedTuple):
    """A word of a name of several words; `words` are all of these, from four letters
    on.
    """

    word: str
    written: str
    words: frozenset[str]
    initials: str


class _Words:
    """The words, numbers, dates and names of a text."""

    def __init__(self, text: str, is_portuguese: bool) -> None:
        negations = _NEGATIONS if is_portuguese else _NEGATIONS_WITH_NO
        tokens = _TOKEN.findall(visible(text))
        self.folded: list[str] = []
        self.dates: list[_Date] = []
        self.acronyms: set[str] = set()
        for token in tokens:
            self._add_token(token)
        self.all_words = frozenset(self.folded)
        self.all_stems = {_stem(word) for word in self.all_words}
        self.date_keys = {date.key for date in self.dates}
        self.numbers = list(_numbers(self.folded))
        self.values = {number.value for number in self.numbers}
        self.names: list[_Name] = []
        self.name_words: list[frozenset[str]] = []
        for run in _runs(tokens):
            self._add_name(run, tokens)
        self.is_negative = bool(self.all_words & negations)
        self.negated = _negated(self.folded, negations)
        self.stems = {_stem(word) for word in self.all_words if _is_content(word)}

    def _add_token(self, token: str) -> None:
        word = fold(token).lower().replace("'", "").replace("’", "")
        self.folded.append(word)
        if word in _DATE_WORDS:
            self.dates.append(_Date(_DATE_WORDS[word], word))
        if _is_acronym(token):
            self.acronyms.add(word)

    def _add_name(self, run: list[int], tokens: list[str]) -> None:
        """Add the name whose words are the tokens at these places."""
        self.names += _names_of(run, tokens, self.folded)
        words = [self.folded[place] for place in run]
        self.name_words.append(_long_words(words))
        # its first word may be no part of the name
        if _begins_sentence(run[0], tokens):
            self.name_words.append(_long_words(words[1:]))


@lru_cache(maxsize=4)
def _words_of(article: str, is_portuguese: bool) -> _Words:
    return _Words(article, is_portuguese)


# --- numbers and dates ----------------------------------------------------------------


def _numbers(folded: list[str]) -> Iterator[_Number]:
    """Yield the numbers of a text; of "1,2 milhão" the product."""
    for place, word in enumerate(folded):
        is_word = word in _VALUE_OF_WORD
        if not is_word and not word[0].isdigit():
            continue
        following = folded[place + 1] if place + 1 < len(folded) else ""
        scale = _SCALES.get(following, 1.0)
        written = f"{word} {following}" if scale > 1 else word
        is_rounded = bool(_ROUNDING & set(folded[max(0, place - 3) : place]))
        for value in [_VALUE_OF_WORD[word]] if is_word else _values(word):
            is_counted = is_word and scale == 1 and value <= _MAX_COUNTED
            yield _Number(value * scale, written, is_rounded, is_counted)


def _values(written: str) -> list[float]:
    """Return what a number can mean.

    "1.500" is 1500 or 1.5, "10:30" and "12/03" are two numbers.
    """
    if re.search("[:/]", written):
        parts = re.split("[:/]", written)
        values: list[float] = []
        for part in filter(None, parts):
            values += _values(part)
        return values
    plain = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", written)
    try:
        return [float(plain.replace(",", "."))]
    except ValueError:  # several points, as in numbers of laws
        return [float(re.sub(r"\D", "", written))]


def _has_number(value: float, known: _Words) -> bool:
    """Whether a number is in a text, exactly or rounded to two digits or more.

    A single one or none says little.
    """
    if value in (0.0, 1.0):
        return True
    if value in known.values:
        return True
    if value < 100:
        return False
    return any(one and abs(value - one) <= 0.02 * abs(one) for one in known.values)


def _may_mean_number(number: _Number, article: _Words) -> bool:
    if number.is_counted:
        return True
    if _has_number(number.value, article):
        return True
    if not number.is_rounded:
        return False
    tolerance = _ROUNDED_BY * number.value
    return any(abs(number.value - one) <= tolerance for one in article.values)


def _is_other_date(key: str, article: _Words) -> bool:
    """Whether an article names other months or weekdays, and not this one."""
    kind = _MONTH_OF_WORD if key in _MONTH_OF_WORD else _WEEKDAY_OF_WORD
    if key in article.date_keys:
        return False
    return any(other in kind for other in article.date_keys)


# --- names ----------------------------------------------------------------------------


def _runs(tokens: list[str]) -> Iterator[list[int]]:
    """Yield the places of the capitalised words of each name: "Ministério da Fazenda"
    is one.
    """
    run: list[int] = []
    for place, token in enumerate(tokens):
        if token[0].isupper():
            run.append(place)
        elif token not in _CONNECTIVES and run:
            yield run
            run = []
    if run:
        yield run


def _names_of(run: list[int], tokens: list[str], folded: list[str]) -> Iterator[_Name]:
    """Yield the words of a name, but for one that only begins a sentence."""
    words = _long_words(folded[place] for place in run)
    initials = "".join(folded[place][0] for place in run)
    for place in run:
        if _begins_sentence(place, tokens):
            continue
        if folded[place] in _DATE_WORDS:
            continue
        if len(tokens[place]) >= _NAME_CHARS:
            yield _Name(folded[place], tokens[place], words, initials)


def _begins_sentence(place: int, tokens: list[str]) -> bool:
    if place == 0:
        return True
    return tokens[place - 1] in ".!?:;"


def _is_acronym(token: str) -> bool:
    return len(token) > 1 and token.isupper()


def _long_words(words: Iterable[str]) -> frozenset[str]:
    long: set[str] = set()
    for word in words:
        if len(word) >= _NAME_CHARS:
            long.add(word[:_NAME_CHARS])
    return frozenset(long)


def _may_mean_name(name: _Name, article: _Words) -> bool:
    """Whether an article has a word of a name, its initials, or a shorter form of it."""
    if _has_word(name.word, article.all_words):
        return True
    if _stem(name.word) in article.all_stems:
        return True
    for acronym in article.acronyms:
        if acronym.startswith(name.initials) or name.initials.startswith(acronym):
            return True
    return any(shorter and shorter <= name.words for shorter in article.name_words)


def _has_word(word: str, known: Collection[str]) -> bool:
    if word in known:
        return True
    for one in known:
        if len(one) < 4:
            continue
        if one.startswith(word) or word.startswith(one):
            return True
    return False


# --- negations and directions ---------------------------------------------------------


def _is_content(word: str) -> bool:
    if len(word) < 4 or not word.isalpha():
        return False
    return word not in _COMMON_WORDS and word not in _NEGATIONS


def _negated(folded: list[str], negations: frozenset[str]) -> list[str]:
    """Return the first two words that follow each negation."""
    found: list[str] = []
    for place, word in enumerate(folded):
        if word in negations:
            near = folded[place + 1 : place + 1 + _NEAR_WORDS]
            found += list(filter(str.isalpha, near))[:2]
    return found


def _negation(said: _Words, found: _Words) -> str:
    """Return a word that one of the two negates and the other has without a negation."""
    if said.is_negative and not found.is_negative:
        # "does not last long" for "begins soon": the verb decides, not its auxiliary
        verb = next(filter(_is_content, said.negated), next(iter(said.negated), ""))
        if verb in found.all_words or _stem(verb) in found.stems:
            return f"a negation: {verb}"
        return ""
    if found.is_negative and not said.is_negative:
        dropped = _dropped_negation(said, found)
        if dropped and not any(map(_NEGATIVE.match, said.folded)):
            return f"{dropped} without its negation"
        return ""
    negated = {_stem(word) for word in found.negated}
    for word in said.negated:
        if _stem(word) not in found.stems - negated:
            continue
        if _is_content(word):
            return f"a negation: {word}"
    return ""


def _undecided_negation(said: _Words, found: _Words) -> str:
    """Say what may be a negation: of a word that the passage lacks, or a word like
    "rejected".
    """
    if said.is_negative == found.is_negative:
        return ""
    if said.is_negative:
        return "a negation that its evidence puts otherwise"
    if _dropped_negation(said, found):
        return "a negation that its evidence puts otherwise"
    return ""


def _dropped_negation(said: _Words, found: _Words) -> str:
    """Return a word that a passage negates and a sentence without a negation has."""
    for word in found.negated:
        if not _is_content(word):
            continue
        if _stem(word) in said.stems:
            return word
    return ""


def _stem(word: str) -> str:
    return word[:_SAME_CHARS]


def _direction(said: _Words, found: _Words) -> str:
    for pair in _COMPILED_DIRECTIONS:
        for one, opposite in (pair, pair[::-1]):
            stated = [word for word in said.folded if one.match(word)]
            if not stated:
                continue
            if any(map(one.match, found.folded)):
                continue
            if any(map(opposite.match, found.folded)):
                return f"{stated[0]}, against its evidence"
    return ""
