"""The local enricher, which needs no network: theme, summary, keywords, names and readability.

A summary is one or two sentences of the text, verbatim. News puts the most important
first, so position weighs most, then words shared with the title and with the other
sentences.

Keywords are words and phrases as written. A term scores higher the more often and the
earlier it occurs, in the title, as a name, and as a phrase.

Readability is Flesch's reading ease, fitted to the language. English: Flesch 1948.
Portuguese: Martins et al. 1996, which adds 42 because Portuguese words have more
syllables.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from news_assets.pipeline.enrich.model.answer_checks import located
from news_assets.pipeline.enrich.names import names_of
from news_assets.pipeline.enrich.theme_vectors import ThemeInput, theme_input
from news_assets.pipeline.enrich.theme_words import ThemeTable
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import Taxonomy
from news_assets.text.prose import language_of, paragraphs, prose, sentences
from news_assets.text.words import stem, stopwords, word_spans, words

_READING_WPM = 220  # adults read 200 to 230 words a minute
MODEL = "lexical-3"  # changed with every change to themes, summaries, keywords or names
_PROMPT_VERSION = "1"


class LocalEnricher:
    """Finds theme, summary and keywords by the words of a taxonomy and of the text
    itself.
    """

    def __init__(self, taxonomy: Taxonomy, lender: Taxonomy | None = None) -> None:
        self.name = "local"
        self.model = f"{MODEL}+{lender.version}" if lender else MODEL
        self.prompt_version = _PROMPT_VERSION
        self.taxonomy_version = taxonomy.version
        self._taxonomy, self._lender = taxonomy, lender
        self._tables: dict[str | None, ThemeTable] = {}

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article.

        The theme is empty if the evidence is weak or divided.
        """
        plain = prose(text)
        detected = language_of(f"{title}\n{plain}" if title else plain, language)
        primary = (detected or "").partition("-")[0] or None
        counted = words(plain)
        sentence_count = sum(len(sentences(part)) for part in paragraphs(text))
        theme = self._table(primary).find(title, plain)
        names, names_json = located(names_of(title, text, primary), text)
        return Enrichment(
            theme_path=theme.path,
            theme_labels=self._taxonomy.labels(theme.path, primary),
            theme_score=round(theme.score, 4),
            theme_reason=theme.reason,
            summary=summary(title, text, primary),
            keywords=keywords(title, plain, primary),
            language=detected,
            word_count=len(counted),
            reading_minutes=max(1, round(len(counted) / _READING_WPM)),
            readability=readability(counted, sentence_count, primary),
            entities=names,
            entities_json=names_json if names else None,
        )

    def theme_input(self, title: str, text: str, language: str | None) -> ThemeInput:
        """Return what a trained classifier reads of one article.

        `language` (BCP 47) is that of its enrichment.
        """
        primary = (language or "").partition("-")[0] or None
        return theme_input(self._table(primary), title, text, primary)

    def _table(self, language: str | None) -> ThemeTable:
        if language not in self._tables:
            lender = ThemeTable(self._lender, language) if self._lender else None
            self._tables[language] = ThemeTable(self._taxonomy, language, lender)
        return self._tables[language]


_MIN_WORDS, _MAX_WORDS = 6, 70  # of one sentence
# a second sentence is added below the minimum
_MIN_SUMMARY_WORDS, _MAX_SUMMARY_WORDS = 28, 75
_MAX_SENTENCES = 80  # from the beginning, searched for candidates
_CANDIDATES = 12  # sentences from the beginning; later ones are background
_MIN_BEGINNING_CHARS, _MAX_BEGINNING_CHARS = 20, 280  # if no sentence is usable
_TITLE_SHARE = 0.8  # of a sentence's words in the title: it repeats the title

_BOILERPLATE = re.compile(
    r"""\s*(?:leia|veja|saiba|confira|assista|ouça|acesse|clique|siga|assine|inscreva|baixe|receba|entenda)\b
        (?:\s+(?:mais|também|aqui|no|na|em|a\s+seguir|abaixo|o\s+vídeo|a\s+íntegra|a\s+galeria|nossa|nosso)\b|\s*:)
    |\s*(?:read|see|click|listen|watch|follow|subscribe|sign\s+up|download)\b
        (?:\s+(?:more|also|here|to\s+our|on\s+twitter|on\s+facebook|us\b|now|our|the\s+full)\b|\s*:)
    |\s*(?:compartilhe|publicad[oa]\s+em|atualizad[oa]\s+em|postado\s+em|última\s+atualização|reprodução|divulgação
        |copyright|all\s+rights\s+reserved|todos\s+os\s+direitos|share\s+this|last\s+updated|published\s+on|updated\s+on
        |advertisement|publicidade|related\s+articles|você\s+tem\s+uma\s+notícia|quer\s+receber|with\s+agency
        |com\s+informações\s+d|this\s+(?:story|article)\s+(?:was|has\s+been)|cookies?\b)
    |\s*(?:fotos?|imagens?|crédito|legenda|vídeo|texto|edição|fonte|por|by|photos?|image|picture|caption|credit|source
        |image\s+source|image\s+caption|media\s+caption|assessoria\s+de\s+comunicação)\s*:
    |[^.]{0,80}\([^)]*(?:foto|photo|imagem|image)\s*:
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BYLINE = re.compile(
    r"\s*+(?:por|by|da redação|do g1|texto)\s++(?>(?:[A-ZÀ-Ý][\w.'-]*+[\s,e]*+){1,6})[.]?\s*+$"
)
_COMPLETE = re.compile(r"""[.!?…।؟]["'”’»)\]]*$""")


def summary(title: str, text: str, language: str | None) -> str | None:
    """Return one or two sentences of the text, or its beginning if it has no usable
    sentence.

    None if the text only repeats its title.
    """
    stop = stopwords(language)
    every = chain.from_iterable(map(sentences, paragraphs(text)))
    found = list(islice(every, _MAX_SENTENCES))
    stems = [_stems(sentence, language, stop) for sentence in found]
    in_title = _stems(title, language, stop)
    usable: list[int] = []
    for n, sentence in enumerate(found):
        if len(usable) == _CANDIDATES:
            break
        if _is_usable(sentence, stems[n], in_title):
            usable.append(n)
    if not usable:
        return _beginning(text, in_title, language, stop)
    scores = _scores(usable, stems, in_title)
    first = max(usable, key=lambda n: scores[n])
    chosen = [first, *_second(first, usable, scores, found, stems)]
    return " ".join(found[n] for n in sorted(chosen))


def _beginning(
    text: str, in_title: frozenset[str], language: str | None, stop: frozenset[str]
) -> str | None:
    """Return the first line as long as a sentence.

    For lists, and scripts without spaces between words.
    """
    for written in prose(text).splitlines():
        line = " ".join(written.split())
        if len(line) < _MIN_BEGINNING_CHARS:
            continue
        if _BOILERPLATE.match(line):
            continue
        if _adds_to_title(_stems(line, language, stop), in_title):
            return _cut_beginning(line)
    return None


def _cut_beginning(line: str) -> str:
    if len(line) <= _MAX_BEGINNING_CHARS:
        return line
    cut = line[:_MAX_BEGINNING_CHARS]
    end = max(cut.rfind(end_mark) for end_mark in "。！？।؟ ")
    if end > 0:
        return cut[: end + 1].strip()
    return cut


def _stems(text: str, language: str | None, stop: frozenset[str]) -> frozenset[str]:
    stems: set[str] = set()
    for word in words(text):
        if word not in stop:
            stems.add(stem(word, language))
    return frozenset(stems)


def _is_usable(sentence: str, stems: frozenset[str], in_title: frozenset[str]) -> bool:
    if not _COMPLETE.search(sentence):
        return False
    if _BOILERPLATE.match(sentence):
        return False
    if _BYLINE.match(sentence):
        return False
    if not _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS:
        return False
    if sentence.isupper():
        return False
    if not stems:
        return False
    return _adds_to_title(stems, in_title)


def _adds_to_title(stems: frozenset[str], in_title: frozenset[str]) -> bool:
    return len(stems & in_title) < _TITLE_SHARE * len(stems)


def _share_in(words: Set[str], of: Set[str]) -> float:
    """Return the share of some words that are among others."""
    return len(words & of) / max(len(of), 1)


def _scores(
    usable: Sequence[int], stems: Sequence[frozenset[str]], in_title: frozenset[str]
) -> dict[int, float]:
    counts = Counter(chain.from_iterable(stems))
    frequent = {word for word, count in counts.most_common(20) if count > 1}
    scores: dict[int, float] = {}
    for rank, n in enumerate(usable):
        of_title = _share_in(stems[n], in_title)
        of_text = _share_in(stems[n], frequent)
        scores[n] = 1 / (1 + 0.25 * rank) + 0.4 * of_title + 0.2 * of_text
    return scores


def _second(
    first: int,
    usable: Sequence[int],
    scores: dict[int, float],
    found: Sequence[str],
    stems: Sequence[frozenset[str]],
) -> list[int]:
    """Return the next best sentence unlike the first that fits, if the first is short."""
    length = len(found[first].split())
    if length >= _MIN_SUMMARY_WORDS:
        return []
    fitting: list[int] = []
    for n in usable:
        if n == first:
            continue
        if length + len(found[n].split()) > _MAX_SUMMARY_WORDS:
            continue
        shared = len(stems[n] & stems[first])
        if shared < 0.6 * len(stems[n]):
            fitting.append(n)
    if not fitting:
        return []
    return [max(fitting, key=lambda n: scores[n])]


MAX_KEYWORDS = 8
_KEYWORD_CHARS = 5_000  # about 800 words: the first occurrence there counts a quarter
_MAX_TERM_WORDS = 4
_MIN_CHARS = 3

_TITLE_FACTOR, _NAME_FACTOR, _PHRASE_FACTOR = 2.0, 1.6, 1.5
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
        if self.is_in_title:
            score *= _TITLE_FACTOR
        if self.name_count * 2 > self.count:
            score *= _NAME_FACTOR
        if self.length > 1 and (self.count > 1 or self.name_count):
            score *= _PHRASE_FACTOR
        return score


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
    terms = _terms(title, text[:_KEYWORD_CHARS], language)
    ranked = sorted(terms.items(), key=lambda item: -item[1].score)
    found: dict[frozenset[str], str] = {}
    for key, term in ranked:
        if len(found) == MAX_KEYWORDS:
            break
        if not term.score:
            break
        stems = frozenset(key)
        if not any(stems & other for other in found):
            found[stems] = term.forms.most_common(1)[0][0]
    return tuple(found.values())


def _terms(title: str, text: str, language: str | None) -> dict[tuple[str, ...], _Term]:
    terms: dict[tuple[str, ...], _Term] = {}
    for key, form, place, is_name in _candidates(text, language):
        term = terms.get(key)
        if term is None:
            term = terms[key] = _Term(len(key), place)
        term.forms[form] += 1
        term.name_count += is_name
    for key, form, _, _ in _candidates(title, language):
        term = terms.get(key)
        if term is None:
            term = terms[key] = _Term(len(key), 0)
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
            stems: list[str] = []
            for token in run:
                if not token.is_link:
                    stems.append(stem(token.word, language))
            form = text[first.start : run[-1].end]
            is_certain = len(run) > 1 or not _begins_sentence(text, first.start)
            yield tuple(stems), form, place, is_name and is_certain


def _runs(tokens: Sequence[_Token], place: int) -> Iterator[Sequence[_Token]]:
    """Yield the runs that begin here.

    They are significant words and links between them, joined by a space or a hyphen.
    """
    for end in range(place, min(place + _MAX_TERM_WORDS, len(tokens))):
        token = tokens[end]
        if end > place and not token.is_joined:
            return
        if token.is_significant:
            yield tokens[place : end + 1]
        elif not token.is_link:
            return


def _tokens(text: str, language: str | None) -> list[_Token]:
    excluded = stopwords(language) | _COMMON
    found: list[_Token] = []
    last = 0
    for word, start, end in word_spans(text):
        is_word = len(word) >= _MIN_CHARS and word.isalpha()
        token = _Token(
            word,
            start,
            end,
            is_significant=is_word and word not in excluded,
            is_link=word in _LINKS,
            is_capital=text[start].isupper(),
            is_joined=start - last == 1 and text[last] in " \u00a0-",
        )
        found.append(token)
        last = end
    return found


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" \"'“‘«(")
    if not before:
        return True
    return before[-1] in ".!?…:\n"


_BASE = {"en": 206.835, "pt": 248.835}
_PER_SENTENCE_WORD, _PER_WORD_SYLLABLE = 1.015, 84.6

_ENGLISH_NUCLEUS = re.compile(r"[aeiouy]+")
_SILENT_E = re.compile(r"(?:[^laeiouy]e|[^aeiouytd]ed|[^aeiouysxz]es)$")
_SOUNDED_PAIR = re.compile(r"i[ao](?!us|n)|eo(?!u)|ua(?!l?$)|ying")
_PORTUGUESE_NUCLEUS = re.compile(
    r"(?:(?<=[qg])u(?=[aeioáéíóâêôãõ]))|ão|ãe|õe|[aeoáéóâêôàãõ][iu](?![nmr]\b)|[aeiouáéíóúâêôàãõü]"
)
_GLIDE = re.compile(r"(?<=[qg])u")


def readability(
    words: Sequence[str], sentence_count: int, language: str | None
) -> float | None:
    """Return Flesch's reading ease, 0 (hard) to 100 (easy).

    None without words or for a language without a formula.
    """
    base = _BASE.get((language or "").partition("-")[0])
    if base is None:
        return None
    if not words:
        return None
    syllables = sum(syllable_count(word, language) for word in words) / len(words)
    ease = (
        base
        - _PER_SENTENCE_WORD * len(words) / max(sentence_count, 1)
        - _PER_WORD_SYLLABLE * syllables
    )
    return round(min(max(ease, 0.0), 100.0), 1)


@lru_cache(maxsize=100_000)
def syllable_count(word: str, language: str | None) -> int:
    """Return the approximate number of syllables of a lower-cased word, at least 1."""
    if (language or "").partition("-")[0] == "pt":
        nuclei = _PORTUGUESE_NUCLEUS.finditer(word)
        return max(1, sum(not _GLIDE.match(word, one.start()) for one in nuclei))
    count = len(_ENGLISH_NUCLEUS.findall(word))
    count += len(_SOUNDED_PAIR.findall(word))
    if _SILENT_E.search(word):
        count -= 1
    return max(1, count)
