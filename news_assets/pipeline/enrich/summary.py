"""Picks one or two sentences that say what a text is about; title and text enter, verbatim sentences leave.

News says the most first, so place counts most; what the sentence shares with the title and with the rest counts too.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from news_assets.text.sentences import paragraphs, prose, sentences
from news_assets.text.words import stem, stopwords, words

MIN_WORDS, MAX_WORDS = 6, 70  # of one sentence
MIN_SUMMARY_WORDS, MAX_SUMMARY_WORDS = 28, 75  # a second sentence is added below the first, up to the second
MAX_SENTENCES = 80  # from the beginning, in which candidates are looked for
CANDIDATES = 12  # sentences from the beginning; later ones are background
MIN_BEGINNING_CHARS, MAX_BEGINNING_CHARS = 20, 280  # of the text's beginning, where no sentence will do
TITLE_SHARE = 0.8  # of a sentence's words in the title: it only repeats it

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
_BYLINE = re.compile(r"\s*(?:por|by|da redação|do g1|texto)\s+(?:[A-ZÀ-Ý][\w.'-]*[\s,e]*){1,6}[.]?\s*$")
_COMPLETE = re.compile(r"""[.!?…।؟]["'”’»)\]]*$""")


def summary(title: str, text: str, language: str | None) -> str | None:
    """Return one or two sentences of the text, or its beginning where it has no sentence that will do.

    None where it says nothing but its title.
    """
    idle = stopwords(language)
    every = (sentence for paragraph in paragraphs(text) for sentence in sentences(paragraph))
    found = list(islice(every, MAX_SENTENCES))
    said = [_said(sentence, language, idle) for sentence in found]
    in_title = _said(title, language, idle)
    usable = [place for place, sentence in enumerate(found) if _is_usable(sentence, said[place], in_title)][:CANDIDATES]
    if not usable:
        return _beginning(text, in_title, language, idle)
    scores = _scores(usable, said, in_title)
    first = max(usable, key=lambda place: scores[place])
    chosen = [first, *_second(first, usable, scores, found, said)]
    return " ".join(found[place] for place in sorted(chosen))


def _beginning(text: str, in_title: frozenset[str], language: str | None, idle: frozenset[str]) -> str | None:
    """Return the first lines that hold as much as a sentence: lists, and writing that does not part words by spaces."""
    lines = (" ".join(line.split()) for line in prose(text).splitlines())
    long = (line for line in lines if len(line) >= MIN_BEGINNING_CHARS and not _BOILERPLATE.match(line))
    start = next((line for line in long if _says_more(_said(line, language, idle), in_title)), None)
    if start is None or len(start) <= MAX_BEGINNING_CHARS:
        return start
    cut = start[:MAX_BEGINNING_CHARS]
    end = max(cut.rfind(mark) for mark in "。！？।؟ ")
    return cut[: end + 1].strip() if end > 0 else cut


def _said(text: str, language: str | None, idle: frozenset[str]) -> frozenset[str]:
    return frozenset(stem(word, language) for word in words(text) if word not in idle)


def _is_usable(sentence: str, said: frozenset[str], in_title: frozenset[str]) -> bool:
    if not _COMPLETE.search(sentence) or _BOILERPLATE.match(sentence) or _BYLINE.match(sentence):
        return False
    if not MIN_WORDS <= len(sentence.split()) <= MAX_WORDS or sentence.isupper() or not said:
        return False
    return _says_more(said, in_title)


def _says_more(said: frozenset[str], in_title: frozenset[str]) -> bool:
    return len(said & in_title) < TITLE_SHARE * len(said)


def _scores(usable: Sequence[int], said: Sequence[frozenset[str]], in_title: frozenset[str]) -> dict[int, float]:
    central = Counter(word for sentence in said for word in sentence)
    often = {word for word, count in central.most_common(20) if count > 1}
    return {
        place: 1 / (1 + 0.25 * rank)
        + 0.4 * len(said[place] & in_title) / max(len(in_title), 1)
        + 0.2 * len(said[place] & often) / max(len(often), 1)
        for rank, place in enumerate(usable)
    }


def _second(
    first: int, usable: Sequence[int], scores: dict[int, float], found: Sequence[str], said: Sequence[frozenset[str]]
) -> list[int]:
    """The next best that fits and says something else, where the first is short."""
    length = len(found[first].split())
    if length >= MIN_SUMMARY_WORDS:
        return []
    fitting = [
        place
        for place in usable
        if place != first
        and length + len(found[place].split()) <= MAX_SUMMARY_WORDS
        and len(said[place] & said[first]) < 0.6 * len(said[place])
    ]
    return [max(fitting, key=lambda place: scores[place])] if fitting else []
