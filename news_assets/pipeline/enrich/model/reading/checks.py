"""The checks of an answer before it is believed.

Codes, lengths, language, evidence, contradictions.

Pure functions over one answer and one article, which run in the sandbox: both come from
outside.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.model.reading.contradictions import compared
from news_assets.pipeline.enrich.model.reading.evidence import (
    SearchedText,
    Span,
    sentences_around,
)
from news_assets.pipeline.enrich.model.reading.repair import parsed, shown
from news_assets.pipeline.enrich.model.requests import MAX_SENT_CHARS
from news_assets.pipeline.enrich.model.schema import REQUIRED
from news_assets.records.reading import Enrichment
from news_assets.text.language import language_of
from news_assets.text.words import fold, words

MAX_KEY_POINTS, MAX_KEYWORDS = 5, 8
MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 15, 450
_MAX_KEYWORD_CHARS = 60

# A sentence whose words are not the article's is unsupported, whatever it quotes. Words
# count from four letters on, and are the same if their first five letters are:
# "ampliou" and "ampliação".
_MIN_SHARED_WORDS = 0.4
_WORD_CHARS, _SAME_CHARS = 4, 5

_NO_SENTENCE = re.compile(
    r"https?:|www\.|\w@\w|<[a-z/!]|```|[{}]|\]\(|[\x00-\x08\x0b-\x1f]", re.IGNORECASE
)

# Passages that speak to a reader or to a model; an answer that rests on one is unsure.
_ADDRESSING = re.compile(
    r"\b(?:you|your|voces?|leitor(?:es|as?)?|usted(?:es)?|assistants?|assistentes?|language models?"
    r"|modelos? de linguagem|chatgpt|llms?|chatbots?|prompts?"
    r"|ignor[ea](?:m|r)?|disregard|desconsider\w+"
    r"|instructions?|instruc(?:ao|oes)|instrucciones|classifi(?:y|que|quem|car)|summari[sz]e|resum(?:a|am|ir)"
    r"|respond(?:a|am|er)?|answer|output|json)\b"
)


class _Sentence(NamedTuple):
    """A sentence of an answer: its span, why it is of no use, and why it is unsure.

    Both are empty for none.
    """

    text: str
    span: str
    problem: str = ""
    doubt: str = ""


def checked(
    raw: str,
    schema: Mapping[str, Any],
    title: str,
    text: str,
    language: str | None,
    max_sentences: int,
) -> Enrichment:
    """Return what an answer to a request of kind `enrich` says about an article.

    Its theme has the code only. Sentences that fail a check are left out, and key
    points without evidence have an empty span.

    Raises:
        EnrichError: Says which check the answer, or each sentence of its summary,
            failed.
    """
    answer = parsed(raw, schema, REQUIRED["enrich"])
    sent = text[:MAX_SENT_CHARS]
    article = _Article(title, sent, language)
    if not answer["summary"]:
        raise EnrichError("length: the summary has no sentence")
    summary = [article.sentence(one) for one in answer["summary"][:max_sentences]]
    stated = _usable(summary)
    _check_language([one.text for one in stated or summary], language)
    if not stated:
        raise EnrichError(summary[0].problem)
    given = (answer.get("key_points") or [])[:MAX_KEY_POINTS]
    points = _usable([article.sentence(one, needs_evidence=False) for one in given])
    label, score = _sentiment(answer.get("sentiment"))
    return Enrichment(
        theme_path=(answer["theme"],) if answer["theme"] else (),
        summary=" ".join(one.text for one in stated),
        summary_spans=tuple(one.span for one in stated),
        key_points=tuple(one.text for one in points),
        key_point_spans=tuple(one.span for one in points),
        keywords=_keywords(answer.get("keywords") or [], f"{title}\n{sent}"),
        sentiment=label,
        sentiment_score=score,
        article_type=answer.get("article_type"),
        unsure_reason=_unsure_reason(summary, points),
    )


def _usable(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    return [one for one in sentences if not one.problem]


def _unsure_reason(
    summary: Sequence[_Sentence], points: Sequence[_Sentence]
) -> str | None:
    """Return the first doubt about a sentence that stays, else why one of the summary
    does not.
    """
    for one in _usable([*summary, *points]):
        if one.doubt:
            return one.doubt
    for one in summary:
        if one.problem:
            return f"a sentence was left out: {one.problem}"
    return None


class _Article:
    """An article, prepared to check the sentences of an answer."""

    def __init__(self, title: str, text: str, language: str | None) -> None:
        self._text, self._language = text, language
        self._whole = f"{title}\n{text}"
        self._searched = SearchedText(text)
        self._stems = _stems(self._whole)

    def sentence(
        self, given: Mapping[str, str], *, needs_evidence: bool = True
    ) -> _Sentence:
        """Return a sentence with its evidence, and what is wrong with it."""
        text = " ".join(given["sentence"].split())
        if problem := _problem(text):
            return _Sentence(text, "", problem)
        span = self._evidence(text, given["quote"])
        if span is None:
            missing = (
                f"evidence: nothing in the text supports the summary's “{shown(text)}”"
            )
            return _Sentence(text, "", missing if needs_evidence else "")
        return self._supported(text, span)

    def _supported(self, text: str, span: Span) -> _Sentence:
        """Compare a sentence with the passage around its evidence."""
        passage = sentences_around(self._text, span)
        comparison = compared(text, passage, self._whole, self._language)
        if lacking := comparison.contradiction:
            problem = (
                f"evidence: the text does not have {lacking}, as in “{shown(text)}”"
            )
            return _Sentence(text, str(span), problem)
        if found := _ADDRESSING.search(fold(passage).lower()):
            doubt = f"its evidence speaks to a reader or a model: “{found[0]}”"
            return _Sentence(text, str(span), doubt=doubt)
        if comparison.doubt:
            doubt = f"its evidence lacks {comparison.doubt}: “{shown(text)}”"
            return _Sentence(text, str(span), doubt=doubt)
        return _Sentence(text, str(span))

    def _evidence(self, sentence: str, quote: str) -> Span | None:
        stems = _stems(sentence)
        is_about_it = len(stems & self._stems) >= _MIN_SHARED_WORDS * len(stems)
        return self._searched.find(quote) if is_about_it else None


def _problem(sentence: str) -> str:
    """Return why a text is no sentence of an answer."""
    if not MIN_SENTENCE_CHARS <= len(sentence) <= MAX_SENTENCE_CHARS:
        allowed = f"{MIN_SENTENCE_CHARS} to {MAX_SENTENCE_CHARS}"
        return (
            f"length: a sentence has {len(sentence)} characters, not {allowed}: "
            f"“{shown(sentence)}”"
        )
    if found := _NO_SENTENCE.search(sentence):
        odd = f"{shown(found[0])!r}, which belongs into no sentence"
        return f"a sentence contains {odd}: {shown(sentence)}"
    return ""


def _check_language(sentences: Sequence[str], language: str | None) -> None:
    """Check that the sentences are in the language of the article, where that can be
    told.
    """
    found = language_of(" ".join(sentences), language)
    if language and found and found.partition("-")[0] != language.partition("-")[0]:
        raise EnrichError(
            f"language: the answer is in {found}, the article in {language}"
        )


def _stems(text: str) -> set[str]:
    return {
        word[:_SAME_CHARS]
        for word in words(fold(text).lower())
        if len(word) >= _WORD_CHARS or word.isdigit()
    }


def _keywords(given: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the keywords that the article has, without repetitions."""
    searched = SearchedText(text)
    found: dict[str, str] = {}
    for keyword in given[: 3 * MAX_KEYWORDS]:
        word = " ".join(keyword.split())
        if 0 < len(word) <= _MAX_KEYWORD_CHARS and searched.occurrences(word, 1):
            found.setdefault(word.casefold(), word)
    return tuple(found.values())[:MAX_KEYWORDS]


def _sentiment(given: Mapping[str, Any] | None) -> tuple[str | None, float | None]:
    """Return label and score, which is brought into its range.

    Both are None where they contradict each other.
    """
    if given is None:
        return None, None
    label, score = str(given["label"]), given["score"]
    if score is None:
        return label, None
    score = max(-1.0, min(1.0, float(score)))
    is_contradiction = (label == "positive" and score < 0) or (
        label == "negative" and score > 0
    )
    return (None, None) if is_contradiction else (label, score)
