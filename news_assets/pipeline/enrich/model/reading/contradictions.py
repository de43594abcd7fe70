"""Compare a sentence with the passage that it quotes: numbers, dates, names, negations and directions.

A sentence is contradicted where it states what neither the passage nor the rest of the article has; what only the rest
of the article has, or what cannot be decided, makes it unsure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from news_assets.pipeline.enrich.model.requests import visible
from news_assets.text.words import fold

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,:/]\d+)*|[%.!?;:]")
_SAME_CHARS: Final = 5  # words are the same if their first letters are: "ampliou" and "ampliação"
_NEAR_WORDS: Final = 4  # a negation concerns the words that follow it

_SCALES: Final = {
    **dict.fromkeys(("mil", "thousand", "thousands", "k"), 1e3),
    **dict.fromkeys(("milhao", "milhoes", "million", "millions", "mi", "millon", "millones"), 1e6),
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
_VALUE_OF_WORD: Final = {word: float(value) for words, value in _NUMBER_WORDS for word in words.split()}

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
_DATE_WORDS: Final = {
    word: group.split()[0] for group in (*_MONTHS, *_WEEKDAYS) for word in group.split() if word not in ("may",)
}

_NEGATIONS: Final = frozenset(
    [
        "nao",
        "nunca",
        "jamais",
        "nem",
        "nenhum",
        "nenhuma",
        "nenhuns",
        "nenhumas",
        "sem",
        "tampouco",
        "not",
        "never",
        "none",
        "neither",
        "nor",
        "without",
        "cannot",
        "cant",
        "dont",
        "doesnt",
        "didnt",
        "wont",
        "isnt",
        "arent",
        "wasnt",
        "werent",
        "hasnt",
        "havent",
        "hadnt",
        "wouldnt",
        "couldnt",
        "shouldnt",
        "ningun",
        "ninguna",
        "sin",
        "pas",
        "aucun",
        "aucune",
        "sans",
        "nicht",
        "kein",
        "keine",
        "keinen",
        "ohne",
        "nie",
        "mai",
        "nessun",
        "nessuno",
        "senza",
        "non",
    ]
)
_NEGATIONS_WITH_NO: Final = _NEGATIONS | {"no"}  # in Portuguese "no" is "in the"
# Words that negate what they govern, so that a negation may stand for them and they for a negation.
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
    (r"(?:aprov|approv)", r"(?:rejeit|reprov|reject)"),
    (r"(?:abr[iue]|open)", r"(?:fech|clos)"),
)
_COMPILED_DIRECTIONS: Final = tuple((re.compile(up), re.compile(down)) for up, down in _DIRECTIONS)

_COMMON_WORDS: Final = frozenset(
    [
        "ser",
        "sera",
        "serao",
        "foi",
        "foram",
        "esta",
        "estao",
        "sao",
        "era",
        "eram",
        "vai",
        "vao",
        "pode",
        "podem",
        "deve",
        "devem",
        "tem",
        "ter",
        "havia",
        "haver",
        "mais",
        "muito",
        "tambem",
        "ainda",
        "como",
        "para",
        "pela",
        "pelo",
        "pelos",
        "pelas",
        "com",
        "que",
        "uma",
        "seu",
        "sua",
        "dos",
        "das",
        "nos",
        "nas",
        "aos",
        "the",
        "and",
        "for",
        "was",
        "were",
        "will",
        "would",
        "has",
        "have",
        "had",
        "been",
        "being",
        "are",
        "with",
        "from",
        "this",
        "that",
        "their",
        "more",
        "also",
        "than",
        "its",
        "can",
        "may",
        "must",
        "should",
        "does",
        "did",
    ]
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Why a sentence is contradicted by its passage, and why it is unsure; both empty for none."""

    contradiction: str = ""
    doubt: str = ""


def compared(sentence: str, passage: str, article: str, language: str | None = None) -> Comparison:
    """Return how a sentence differs from the passage that it rests on, which is a part of the article.

    `language` is the BCP 47 code of the article, without it Portuguese is assumed.
    """
    negations = _NEGATIONS if (language or "pt").startswith("pt") else _NEGATIONS_WITH_NO
    said, found, rest = (_Words(text, negations) for text in (sentence, passage, article))
    contradictions = (
        _missing("the number", said.numbers, rest.numbers, _has_number),
        _missing("the date", said.dates, rest.dates, _has_word),
        _missing("the name", said.names, rest.all_words, _has_word),
        _negation(said, found),
        _direction(said, found),
    )
    if contradiction := next(filter(None, contradictions), ""):
        return Comparison(contradiction=contradiction)
    doubts = (
        _missing("the number", said.numbers, found.numbers, _has_number),
        _missing("the date", said.dates, found.dates, _has_word),
        _missing("the name", said.names, found.all_words, _has_word),
        _undecided_negation(said, found),
    )
    return Comparison(doubt=next(filter(None, doubts), ""))


class _Words:
    """The words, numbers, dates and names of a text."""

    def __init__(self, text: str, negations: frozenset[str]) -> None:
        tokens = _TOKEN.findall(visible(text))
        self.folded = [fold(token).lower().replace("'", "").replace("’", "") for token in tokens]
        self.all_words = frozenset(self.folded)
        self.dates = {_DATE_WORDS[word]: word for word in self.folded if word in _DATE_WORDS}
        self.numbers = dict(_numbers(self.folded))
        self.names = {
            folded: token
            for before, token, folded in zip((".", *tokens), tokens, self.folded, strict=False)
            if token[0].isupper() and len(token) >= 4 and before not in ".!?:;" and folded not in _DATE_WORDS
        }
        self.is_negative = bool(self.all_words & negations)
        self.negated = _negated(self.folded, negations)
        self.stems = {_stem(word) for word in self.folded if _is_content(word)}


def _numbers(folded: list[str]) -> Iterable[tuple[float, str]]:
    """Yield the values of the numbers of a text and how they are written; of "1,2 milhão" also 1.2 alone."""
    for place, word in enumerate(folded):
        values = _values(word) if word[0].isdigit() else [_VALUE_OF_WORD[word]] if word in _VALUE_OF_WORD else []
        following = folded[place + 1] if place + 1 < len(folded) else ""
        scale = _SCALES.get(following, 1.0)
        for value in values:
            yield value * scale, f"{word} {following}" if scale > 1 else word


def _values(written: str) -> list[float]:
    """Return what a number can mean: "1.500" is 1500 or 1.5, "10:30" and "12/03" are two numbers."""
    if re.search("[:/]", written):
        parts = re.split("[:/]", written)
        return [value for part in parts if part for value in _values(part)]
    plain = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", written)
    try:
        return [float(plain.replace(",", "."))]
    except ValueError:  # several points, as in numbers of laws
        return [float(re.sub(r"\D", "", written))]


def _missing(kind: str, said: dict[Any, str], known: Any, has: Any) -> str:
    absent = [shown for value, shown in said.items() if not has(value, known)]
    return f"{kind} {absent[0]}" if absent else ""


def _has_word(word: str, known: Iterable[str]) -> bool:
    return word in known or any(one.startswith(word) or word.startswith(one) for one in known if len(one) >= 4)


def _has_number(value: float, known: Iterable[float]) -> bool:
    """Whether a number is among others, exactly or rounded to two digits or more; a single one or none says little."""
    if value in (0.0, 1.0):
        return True
    return any(value == one or (value >= 100 and one and abs(value - one) <= 0.02 * abs(one)) for one in known)


def _is_content(word: str) -> bool:
    return len(word) >= 4 and word.isalpha() and word not in _COMMON_WORDS and word not in _NEGATIONS


def _negated(folded: list[str], negations: frozenset[str]) -> list[str]:
    """Return the first two words that follow each negation."""
    found: list[str] = []
    for place, word in enumerate(folded):
        if word in negations:
            found += [one for one in folded[place + 1 : place + 1 + _NEAR_WORDS] if one.isalpha()][:2]
    return found


def _negation(said: _Words, found: _Words) -> str:
    """Return a word that one of the two negates and the other has without a negation."""
    if said.is_negative and not found.is_negative:
        has_word = [word for word in said.negated if word in found.all_words or _stem(word) in found.stems]
        if has_word or not any(map(_NEGATIVE.match, found.folded)):
            return f"a negation: {next(iter(has_word or said.negated), 'no')}"
        return ""
    if found.is_negative and not said.is_negative:
        has_negative_words = any(map(_NEGATIVE.match, said.folded))
        dropped = [word for word in found.negated if _stem(word) in said.stems and _is_content(word)]
        return f"{dropped[0]} without its negation" if dropped and not has_negative_words else ""
    negated = {_stem(word) for word in found.negated}
    turned = [word for word in said.negated if _stem(word) in found.stems - negated and _is_content(word)]
    return f"a negation: {turned[0]}" if turned else ""


def _stem(word: str) -> str:
    return word[:_SAME_CHARS]


def _undecided_negation(said: _Words, found: _Words) -> str:
    return "a negation that its evidence puts otherwise" if said.is_negative != found.is_negative else ""


def _direction(said: _Words, found: _Words) -> str:
    for pair in _COMPILED_DIRECTIONS:
        for one, opposite in (pair, pair[::-1]):
            stated = [word for word in said.folded if one.match(word)]
            has_it = any(map(one.match, found.folded))
            if stated and not has_it and any(map(opposite.match, found.folded)):
                return f"{stated[0]}, against its evidence"
    return ""
