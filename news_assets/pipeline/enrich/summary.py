"""Summarise a text by one or two of its sentences, verbatim.

News puts the most important first, so position weighs most, then words shared with the
title and with the other sentences.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice

from news_assets.text.prose import paragraphs, prose, sentences
from news_assets.text.words import stem, stopwords, words

MIN_WORDS, MAX_WORDS = 6, 70  # of one sentence
# a second sentence is added below the minimum
MIN_SUMMARY_WORDS, MAX_SUMMARY_WORDS = 28, 75
_MAX_SENTENCES = 80  # from the beginning, searched for candidates
CANDIDATES = 12  # sentences from the beginning; later ones are background
MIN_BEGINNING_CHARS, MAX_BEGINNING_CHARS = 20, 280  # if no sentence is usable
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
    r"\s*+(?:por|by|da redação|do g1|texto)\s++(?:[A-ZÀ-Ý][\w.'-]*+[\s,e]*+){1,6}+[.]?\s*+$"
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
    usable = [
        n
        for n, sentence in enumerate(found)
        if _is_usable(sentence, stems[n], in_title)
    ][:CANDIDATES]
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
    lines = (" ".join(line.split()) for line in prose(text).splitlines())
    long = (
        line
        for line in lines
        if len(line) >= MIN_BEGINNING_CHARS and not _BOILERPLATE.match(line)
    )
    start = next(
        (
            line
            for line in long
            if _adds_to_title(_stems(line, language, stop), in_title)
        ),
        None,
    )
    if start is None or len(start) <= MAX_BEGINNING_CHARS:
        return start
    cut = start[:MAX_BEGINNING_CHARS]
    end = max(cut.rfind(end_mark) for end_mark in "。！？।؟ ")
    return cut[: end + 1].strip() if end > 0 else cut


def _stems(text: str, language: str | None, stop: frozenset[str]) -> frozenset[str]:
    return frozenset(stem(word, language) for word in words(text) if word not in stop)


def _is_usable(sentence: str, stems: frozenset[str], in_title: frozenset[str]) -> bool:
    if (
        not _COMPLETE.search(sentence)
        or _BOILERPLATE.match(sentence)
        or _BYLINE.match(sentence)
    ):
        return False
    if (
        not MIN_WORDS <= len(sentence.split()) <= MAX_WORDS
        or sentence.isupper()
        or not stems
    ):
        return False
    return _adds_to_title(stems, in_title)


def _adds_to_title(stems: frozenset[str], in_title: frozenset[str]) -> bool:
    return len(stems & in_title) < _TITLE_SHARE * len(stems)


def _scores(
    usable: Sequence[int], stems: Sequence[frozenset[str]], in_title: frozenset[str]
) -> dict[int, float]:
    counts = Counter(chain.from_iterable(stems))
    frequent = {word for word, count in counts.most_common(20) if count > 1}
    return {
        n: (
            1 / (1 + 0.25 * rank)
            + 0.4 * len(stems[n] & in_title) / max(len(in_title), 1)
            + 0.2 * len(stems[n] & frequent) / max(len(frequent), 1)
        )
        for rank, n in enumerate(usable)
    }


def _second(
    first: int,
    usable: Sequence[int],
    scores: dict[int, float],
    found: Sequence[str],
    stems: Sequence[frozenset[str]],
) -> list[int]:
    """Return the next best sentence unlike the first that fits, if the first is short."""
    length = len(found[first].split())
    if length >= MIN_SUMMARY_WORDS:
        return []
    fitting = [
        n
        for n in usable
        if n != first
        and length + len(found[n].split()) <= MAX_SUMMARY_WORDS
        and len(stems[n] & stems[first]) < 0.6 * len(stems[n])
    ]
    return [max(fitting, key=lambda n: scores[n])] if fitting else []
