"""From a raw answer to an enrichment."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.model.reading.checks import checked
from news_assets.pipeline.enrich.model.reading.entities import found_entities
from news_assets.pipeline.enrich.model.reading.repair import parsed, shown
from news_assets.pipeline.enrich.model.schema import REQUIRED
from news_assets.ports.services import ModelAnswer, ModelRequest, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.taxonomy_files import Taxonomy


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
    calls = [
        (received, request, article.title or "", article.text or "", local.language)
        for (request, article, local), received in answers
    ]
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
        names, as_json = found_entities(raw, request.schema, text)
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
    language = (local.language or "").partition("-")[0] or None
    return replace(
        found,
        theme_path=path,
        theme_labels=tuple(taxonomy.themes[code].label(language) for code in path),
        theme_reason=None if path else "the language model found no theme that fits",
        keywords=found.keywords or local.keywords,
        language=local.language,
        word_count=local.word_count,
        reading_minutes=local.reading_minutes,
        readability=local.readability,
    )
