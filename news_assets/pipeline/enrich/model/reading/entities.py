"""The names in an article: which kinds a model says they are, and where we find them in
the text.

The model gives names, other forms, kinds and salience; counts and offsets are found
here. A name that the text does not have is left out.
"""

import json
from collections.abc import Mapping
from typing import Any

from news_assets.pipeline.enrich.model.reading.evidence import SearchedText
from news_assets.pipeline.enrich.model.reading.repair import parsed
from news_assets.pipeline.enrich.model.schema import REQUIRED

_MAX_ENTITIES = 30
_MAX_FORMS = 6
MAX_NAME_CHARS = 120
_MAX_SPANS = 50  # of one entity


def found_entities(
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
    forms = [form for form in given if len(form) <= MAX_NAME_CHARS]
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
        places |= {
            (span.start, span.end) for span in searched.occurrences(form, _MAX_SPANS)
        }
    kept: list[tuple[int, int]] = []
    for start, end in sorted(places, key=lambda place: (place[0], -place[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept[:_MAX_SPANS]
