"""From a raw answer to an enrichment."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from news_assets.errors import EnrichError, NewsAssetsError
from news_assets.pipeline.enrich.model.reading.checks import Checked, checked
from news_assets.pipeline.enrich.model.reading.entities import found_entities
from news_assets.ports.enrichment import ModelRequest
from news_assets.ports.reading import Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.loader import Taxonomy


class Answer(NamedTuple):
    """A raw answer, what was asked, the article, and what the local enricher found."""

    raw: str
    request: ModelRequest
    article: RawArticle
    local: Enrichment


def read_answer(
    raw: str, request: ModelRequest, article: RawArticle, local: Enrichment, taxonomy: Taxonomy, sandbox: Sandbox
) -> Enrichment:
    """Return the enrichment that an answer gives; of entities only `entities` and `entities_json` are set.

    Raises:
        EnrichError: Says which check the answer failed.
    """
    [found] = read_answers([Answer(raw, request, article, local)], taxonomy, sandbox)
    if isinstance(found, EnrichError):
        raise found
    return found


def read_answers(answers: Sequence[Answer], taxonomy: Taxonomy, sandbox: Sandbox) -> list[Enrichment | EnrichError]:
    """Return the same for several answers, in order."""
    calls = [(a.raw, a.request, a.article.title or "", a.article.text or "", a.local.language) for a in answers]
    results = sandbox.run(_read, calls)
    return [_enrichment(answer, result, taxonomy) for answer, result in zip(answers, results, strict=True)]


def _read(
    raw: str, request: ModelRequest, title: str, text: str, language: str | None
) -> Checked | tuple[tuple[str, ...], str]:
    if request.kind == "entities":
        return found_entities(raw, request.schema, text)
    return checked(raw, request.schema, title, text, language, request.max_sentences)


def _enrichment(
    answer: Answer, result: Checked | tuple[tuple[str, ...], str] | NewsAssetsError, taxonomy: Taxonomy
) -> Enrichment | EnrichError:
    if isinstance(result, NewsAssetsError):
        return EnrichError(str(result))
    if isinstance(result, tuple):
        return Enrichment(entities=result[0], entities_json=result[1])
    path = taxonomy.path(result.theme) if result.theme else ()
    language = (answer.local.language or "").partition("-")[0] or None
    return replace(
        answer.local,
        theme_path=path,
        theme_labels=tuple(taxonomy.themes[code].label(language) for code in path),
        theme_score=0.0,
        theme_reason=None if path else "the language model found no theme that fits",
        summary=result.summary,
        summary_spans=result.summary_spans,
        key_points=result.key_points,
        key_point_spans=result.key_point_spans,
        keywords=result.keywords or answer.local.keywords,
        sentiment=result.sentiment,
        sentiment_score=result.sentiment_score,
        article_type=result.article_type,
    )
