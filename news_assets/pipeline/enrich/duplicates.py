"""Results of originals, for their duplicates."""

import json
from collections.abc import Mapping
from dataclasses import replace

from news_assets.pipeline.enrich.model.reading.entities import located
from news_assets.pipeline.enrich.model.reading.evidence import SearchedText, parse_span
from news_assets.records.reading import Enrichment


def leads_to(start: str, article_id: str, originals: Mapping[str, str]) -> bool:
    """Whether following originals from `start` comes back to an article."""
    seen: set[str] = set()
    following: str | None = start
    while following and following not in seen:
        if following == article_id:
            return True
        seen.add(following)
        following = originals.get(following)
    return False


def moved(result: Enrichment, original: str, text: str) -> Enrichment:
    """Return the result of an original's text with the spans that it has in another
    text.

    Two copies may be spaced differently. Spans that the other text lacks are empty.
    """
    has_spans = result.summary_spans or result.key_point_spans or result.entities_json
    if original == text or not has_spans:
        return result
    searched = SearchedText(text)
    entities, entities_json = result.entities, result.entities_json
    if entities_json:
        entities, entities_json = located(json.loads(entities_json), text)
    return replace(
        result,
        summary_spans=tuple(
            _moved(span, original, searched) for span in result.summary_spans
        ),
        key_point_spans=tuple(
            _moved(span, original, searched) for span in result.key_point_spans
        ),
        entities=entities,
        entities_json=entities_json,
    )


def _moved(stored: str, original: str, searched: SearchedText) -> str:
    span = parse_span(stored)
    found = searched.find(original[span.start : span.end]) if span else None
    return str(found) if found else ""
