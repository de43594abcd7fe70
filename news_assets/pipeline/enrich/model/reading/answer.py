"""From a raw answer to an enrichment."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from news_assets.errors import EnrichError, NewsAssetsError
from news_assets.pipeline.enrich.model.reading.checks import Checked, checked
from news_assets.pipeline.enrich.model.reading.entities import found_entities
from news_assets.pipeline.enrich.model.reading.repair import parsed, shown
from news_assets.pipeline.enrich.model.schema import REQUIRED
from news_assets.ports.enrichment import ModelAnswer, ModelRequest
from news_assets.ports.reading import Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.loader import Taxonomy


class Question(NamedTuple):
    """A request, the article that it is for, and what the local enricher found."""

    request: ModelRequest
    article: RawArticle
    local: Enrichment


def read_answers(
    answers: Sequence[tuple[Question, ModelAnswer]], taxonomy: Taxonomy, sandbox: Sandbox
) -> list[Enrichment | EnrichError]:
    """Return the enrichment that each answer gives, or which check it failed, in order.

    Of entities only `entities` and `entities_json` are set, of a theme only `theme_path`.
    """
    calls = [
        (received, asked.request, asked.article.title or "", asked.article.text or "", asked.local.language)
        for asked, received in answers
    ]
    results = sandbox.run(_read, calls)
    return [
        _enrichment(question.local, result, taxonomy) for (question, _), result in zip(answers, results, strict=True)
    ]


def _read(
    received: ModelAnswer, request: ModelRequest, title: str, text: str, language: str | None
) -> "Checked | Entities | Chosen":
    if received.stop == "declined":
        raise EnrichError(f"declined: the model or a content filter refuses the article{_said(received.raw)}")
    try:
        return _read_complete(received.raw, request, title, text, language)
    except EnrichError as error:
        if received.stop == "cut":
            raise EnrichError(f"cut: the answer ended at the limit of {request.max_tokens} tokens") from error
        raise


def _said(raw: str) -> str:
    return f": {shown(raw)}" if raw.strip() else ""


def _read_complete(
    raw: str, request: ModelRequest, title: str, text: str, language: str | None
) -> "Checked | Entities | Chosen":
    if request.kind == "entities":
        return Entities(*found_entities(raw, request.schema, text))
    if request.kind == "theme":
        return Chosen(parsed(raw, request.schema, REQUIRED["theme"])["theme"])
    return checked(raw, request.schema, title, text, language, request.max_sentences)


class Entities(NamedTuple):
    """Names, most salient first, and all that is known of them as JSON."""

    names: tuple[str, ...]
    as_json: str


class Chosen(NamedTuple):
    """The theme that a first call chose; None for none."""

    theme: str | None


def _enrichment(
    local: Enrichment, result: "Checked | Entities | Chosen | NewsAssetsError", taxonomy: Taxonomy
) -> Enrichment | EnrichError:
    if isinstance(result, NewsAssetsError):
        return EnrichError(str(result))
    if isinstance(result, Entities):
        return Enrichment(entities=result.names, entities_json=result.as_json)
    path = taxonomy.path(result.theme) if result.theme else ()
    if isinstance(result, Chosen):
        return Enrichment(theme_path=path)
    language = (local.language or "").partition("-")[0] or None
    return replace(
        local,
        theme_path=path,
        theme_labels=tuple(taxonomy.themes[code].label(language) for code in path),
        theme_score=0.0,
        theme_reason=None if path else "the language model found no theme that fits",
        summary=result.summary,
        summary_spans=result.summary_spans,
        key_points=result.key_points,
        key_point_spans=result.key_point_spans,
        keywords=result.keywords or local.keywords,
        sentiment=result.sentiment,
        sentiment_score=result.sentiment_score,
        article_type=result.article_type,
        unsure_reason=result.unsure_reason,
    )
