"""From a raw answer to an enrichment: codes, lengths, language, evidence, contradictions.

An answer and its article come from outside, so the checks are pure functions over these
two, which run in the sandbox.

Of entities the model gives names, other forms, kinds and salience; counts and offsets
are found here. A name that the text does not have is left out.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.enriched_rows import title_and_text
from news_assets.pipeline.enrich.model.answer_schema import REQUIRED, parsed, shown
from news_assets.pipeline.enrich.model.contradictions import compared
from news_assets.pipeline.enrich.model.evidence import (
    SearchedText,
    Span,
    sentences_around,
)
from news_assets.pipeline.enrich.model.model_requests import MAX_SENT_CHARS
from news_assets.ports.services import ModelAnswer, ModelRequest, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import Taxonomy
from news_assets.text.prose import language_of
from news_assets.text.words import fold, words


class Question(NamedTuple):
    """A request, the article that it is for, and what the local enricher found."""

    request: ModelRequest
    article: RawArticle
    local: Enrichment


def read_answers(
    answers: Sequence[tuple[Question, ModelAnswer]],
    taxonomy: Taxonomy,
    sandbox: Sandbox,
) -> list[Enrichment | EnrichError]:
    """Return the enrichment that each answer gives, or which check it failed, in order.

    Of entities only `entities` and `entities_json` are set, of a theme only
    `theme_path`.
    """
    if not answers:
        return []
    calls: list[tuple[ModelAnswer, ModelRequest, str, str, str | None]] = []
    for (request, article, local), received in answers:
        calls.append((received, request, *title_and_text(article), local.language))
    read: list[Enrichment | EnrichError] = []
    for (question, _), found in zip(answers, sandbox.run(_read, calls), strict=True):
        if isinstance(found, Enrichment):
            read.append(_completed(found, question, taxonomy))
        else:
            read.append(EnrichError(str(found)))
    return read


def _read(
    received: ModelAnswer,
    request: ModelRequest,
    title: str,
    text: str,
    language: str | None,
) -> Enrichment:
    """Return what an answer itself says; of a theme only its code, in `theme_path`."""
    if received.stop == "declined":
        said = f": {shown(received.raw)}" if received.raw.strip() else ""
        raise EnrichError(
            f"declined: the model or a content filter refuses the article{said}"
        )
    try:
        return _read_complete(received.raw, request, title, text, language)
    except EnrichError as error:
        if received.stop == "cut":
            raise EnrichError(
                f"cut: the answer ended at the limit of {request.max_tokens} tokens"
            ) from error
        raise


def _read_complete(
    raw: str, request: ModelRequest, title: str, text: str, language: str | None
) -> Enrichment:
    if request.kind == "entities":
        names, as_json = _found_entities(raw, request.schema, text)
        return Enrichment(entities=names, entities_json=as_json)
    if request.kind == "theme":
        theme = parsed(raw, request.schema, REQUIRED["theme"])["theme"]
        return Enrichment(theme_path=(theme,) if theme else ())
    return checked(raw, request.schema, title, text, language, request.max_sentences)


def _completed(found: Enrichment, question: Question, taxonomy: Taxonomy) -> Enrichment:
    """Return an enrichment with the path of its theme, and what only the local enricher
    finds.
    """
    kind, local = question.request.kind, question.local
    if kind == "entities":
        return found
    path = taxonomy.path(found.theme_path[-1]) if found.theme_path else ()
    if kind == "theme":
        return replace(found, theme_path=path)
    return replace(
        found,
        theme_path=path,
        theme_labels=taxonomy.labels(path, local.language),
        theme_reason=None if path else "the language model found no theme that fits",
        keywords=found.keywords or local.keywords,
        language=local.language,
        word_count=local.word_count,
        reading_minutes=local.reading_minutes,
        readability=local.readability,
        entities=local.entities,
        entities_json=local.entities_json,
    )


_MAX_KEY_POINTS, _MAX_KEYWORDS = 5, 8
_MIN_SENTENCE_CHARS, _MAX_SENTENCE_CHARS = 15, 450
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

    Its theme has the code only. Sentences that fail a check are missing, and key points
    without evidence have an empty span.

    Args:
        raw: The answer as it came.
        schema: The JSON schema of the answer.
        title: That of the article.
        text: That of the article.
        language: That of the article (BCP 47), if it is known.
        max_sentences: Most sentences of the summary.

    Raises:
        EnrichError: Says which check the answer, or each sentence of its summary,
            failed.
    """
    answer = parsed(raw, schema, REQUIRED["enrich"])
    sent = text[:MAX_SENT_CHARS]
    article = _Article(title, sent, language)
    summary = _summary(article, answer["summary"][:max_sentences])
    stated = _usable(summary)
    points = _key_points(article, answer.get("key_points") or [])
    label, score = _sentiment(answer.get("sentiment"))
    theme = answer["theme"]
    return Enrichment(
        theme_path=(theme,) if theme else (),
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


def _summary(
    article: "_Article", given: Sequence[Mapping[str, str]]
) -> list[_Sentence]:
    """Return the checked sentences of a summary, at least one of them usable."""
    if not given:
        raise EnrichError("length: the summary has no sentence")
    summary = [article.sentence(one) for one in given]
    stated = _usable(summary)
    _check_language([one.text for one in stated or summary], article.language)
    if not stated:
        raise EnrichError(summary[0].problem)
    return summary


def _key_points(
    article: "_Article", given: Sequence[Mapping[str, str]]
) -> list[_Sentence]:
    kept = given[:_MAX_KEY_POINTS]
    return _usable([article.sentence(one, needs_evidence=False) for one in kept])


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
        self._text, self.language = text, language
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
        comparison = compared(text, passage, self._whole, self.language)
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
    if not _MIN_SENTENCE_CHARS <= len(sentence) <= _MAX_SENTENCE_CHARS:
        allowed = f"{_MIN_SENTENCE_CHARS} to {_MAX_SENTENCE_CHARS}"
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
    found: set[str] = set()
    for word in words(fold(text).lower()):
        if len(word) >= _WORD_CHARS or word.isdigit():
            found.add(word[:_SAME_CHARS])
    return found


def _keywords(given: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the keywords that the article has, without repetitions."""
    searched = SearchedText(text)
    found: dict[str, str] = {}
    for keyword in given[: 3 * _MAX_KEYWORDS]:
        word = " ".join(keyword.split())
        if 0 < len(word) <= _MAX_KEYWORD_CHARS and searched.occurrences(word, 1):
            found.setdefault(word.casefold(), word)
    return tuple(found.values())[:_MAX_KEYWORDS]


def _sentiment(given: Mapping[str, Any] | None) -> tuple[str | None, float | None]:
    """Return label and score, which is brought into its range.

    Both are None where they contradict each other.
    """
    if given is None:
        return None, None
    label = str(given["label"])
    score = given["score"]
    if score is None:
        return label, None
    score = max(-1.0, min(1.0, float(score)))
    contradicting = {"positive": score < 0, "negative": score > 0}
    if contradicting.get(label, False):
        return None, None
    return label, score


_MAX_ENTITIES = 30
_MAX_FORMS = 6
_MAX_NAME_CHARS = 120
_MAX_SPANS = 50  # of one entity


def _found_entities(
    raw: str, schema: dict[str, Any], text: str
) -> tuple[tuple[str, ...], str]:
    """Return the names, most salient first, and all that is known of them as JSON.

    The JSON is a list of objects with `name`, `kind`, `count`, `salience`, `forms` and
    `spans`, pairs of offsets in characters of the text, the end not included.

    Raises:
        EnrichError: The answer has another schema.
    """
    return located(parsed(raw, schema, REQUIRED["entities"])["entities"], text)


def located(given: list[dict[str, Any]], text: str) -> tuple[tuple[str, ...], str]:
    """Return the same for entities with `name`, `forms`, `kind` and `salience`."""
    searched = SearchedText(text)
    found: dict[str, dict[str, Any]] = {}
    for entity in given[: 2 * _MAX_ENTITIES]:
        name = " ".join(entity["name"].split())
        if searched.occurrences(name, 1):
            found.setdefault(name.casefold(), _located(name, entity, searched))
    usable = [entity for entity in found.values() if entity["spans"]]
    ranked = sorted(usable, key=lambda entity: -entity["salience"])[:_MAX_ENTITIES]
    return tuple(entity["name"] for entity in ranked), json.dumps(
        ranked, ensure_ascii=False
    )


def _located(
    name: str, entity: Mapping[str, Any], searched: SearchedText
) -> dict[str, Any]:
    given = dict.fromkeys((name, *entity["forms"][:_MAX_FORMS]))
    forms = [form for form in given if len(form) <= _MAX_NAME_CHARS]
    spans = _spans(searched, forms)
    return {
        "name": name,
        "kind": entity["kind"],
        "count": len(spans),
        "salience": max(0.0, min(1.0, float(entity["salience"]))),
        "forms": [
            form for form in forms if form != name and searched.occurrences(form, 1)
        ],
        "spans": spans,
    }


def _spans(searched: SearchedText, forms: list[str]) -> list[tuple[int, int]]:
    """Return where any of the forms stands, in order; of overlapping places the
    longest.
    """
    places: set[tuple[int, int]] = set()
    for form in forms:
        places.update(searched.occurrences(form, _MAX_SPANS))
    kept: list[tuple[int, int]] = []
    for start, end in sorted(places, key=lambda place: (place[0], -place[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept[:_MAX_SPANS]
