"""Rows of enriched articles, results as they are cached, and the themes that persons
gave.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, fields, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from news_assets.errors import EnrichError, NewsAssetsError
from news_assets.ports.services import Enricher, Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment, EnrichedArticle, ThemeLabel
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.taxonomy_files import Taxonomy

NOT_ENRICHED: Final = "none"  # in place of an enricher's name
_RESULT_FIELDS = tuple(
    field.name for field in fields(Enrichment) if not field.name.startswith("theme_")
)
_TUPLES = tuple(
    field.name for field in fields(Enrichment) if field.type == tuple[str, ...]
)


class MadeBy(NamedTuple):
    """Who made a result: the columns of these names."""

    enricher: str
    model: str
    prompt_version: str
    taxonomy_version: str


def input_hash(title: str, text: str, made_by: MadeBy) -> str:
    """Return the SHA-256 of everything a result depends on: the key of its cache entry."""
    parts = (title, text, *made_by)
    return hashlib.sha256(
        json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def identity(enricher: Enricher) -> MadeBy:
    """Return who an enricher is."""
    return MadeBy(
        enricher.name,
        enricher.model,
        enricher.prompt_version,
        enricher.taxonomy_version,
    )


def identity_of(row: EnrichedArticle) -> MadeBy:
    """Return who made a row."""
    return MadeBy(row.enricher, row.model, row.prompt_version, row.taxonomy_version)


def enriched_row(
    article: RawArticle,
    key: str,
    result: Enrichment | EnrichError,
    made_by: MadeBy,
    now: datetime,
    *,
    reused_from: str | None = None,
    local_reason: str | None = None,
) -> EnrichedArticle:
    """Return the row of an article with this result, or with the reason why there is
    none.
    """
    is_failed = isinstance(result, EnrichError)
    found = Enrichment() if isinstance(result, EnrichError) else result
    return EnrichedArticle(
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        input_hash=key,
        content_hash=article.content_hash,
        theme_code=theme_of(found),
        theme_path=found.theme_path,
        theme_labels=found.theme_labels,
        theme_score=found.theme_score,
        theme_reason=found.theme_reason,
        **{name: getattr(found, name) for name in _RESULT_FIELDS},
        **made_by._asdict(),
        reused_from=reused_from,
        local_reason=local_reason,
        enriched_at=now,
        outcome="failed" if is_failed else "ok",
        reason=str(result) if is_failed else None,
        trace_id=article.trace_id,
    )


def unenriched_row(article: RawArticle, now: datetime) -> EnrichedArticle:
    """Return the row of an article that the filters of its desk leave out.

    It says why, and nothing else.
    """
    key = hashlib.sha256(f"not enriched: {article.filter_reason}".encode()).hexdigest()
    row = enriched_row(
        article, key, Enrichment(), MadeBy(NOT_ENRICHED, "", "", ""), now
    )
    return replace(row, reason=article.filter_reason)


def theme_of(result: Enrichment | None) -> str | None:
    """Return the code of a result's theme; None without a theme or a result."""
    return result.theme_path[-1] if result and result.theme_path else None


def result_of(row: EnrichedArticle) -> Enrichment:
    """Return the result that a row has."""
    return Enrichment(
        **{field.name: getattr(row, field.name) for field in fields(Enrichment)}
    )


def from_json(result_json: str) -> Enrichment | None:
    """Return a cached result; None for one that an older version wrote and this one
    cannot read.
    """
    try:
        stored: dict[str, Any] = json.loads(result_json)
        values: dict[str, Any] = {
            name: tuple(value) if name in _TUPLES else value
            for name, value in stored.items()
        }
        return Enrichment(**values)
    except (ValueError, TypeError, AttributeError):
        return None


def cache_of(
    key: str,
    result: Enrichment,
    enricher: str,
    model: str,
    article_id: str,
    now: datetime,
) -> CachedEnrichment:
    """Return a result as it is cached."""
    return CachedEnrichment(
        input_hash=key,
        enricher=enricher,
        model=model,
        result_json=json.dumps(asdict(result), ensure_ascii=False),
        created_at=now,
        article_id=article_id,
    )


def cached_results(reader: Reader, hashes: Collection[str]) -> dict[str, Enrichment]:
    """Return the cached results of these inputs, by input hash."""
    stored = reader.read(CachedEnrichment, input_hash=hashes) if hashes else []
    results = {cache.input_hash: from_json(cache.result_json) for cache in stored}
    return {key: result for key, result in results.items() if result is not None}


def labels_in_force(labels: Iterable[ThemeLabel]) -> dict[str, ThemeLabel]:
    """Return the newest label of each article, by article id."""
    return {
        label.article_id: label
        for label in sorted(labels, key=lambda label: label.labelled_at)
    }


def labelled(row: EnrichedArticle, label: ThemeLabel | None) -> EnrichedArticle:
    """Return the row with the theme of the label.

    Its input hash is another one, so that its document is indexed again.
    """
    if label is None or row.outcome != "ok":
        return row
    return replace(
        row,
        input_hash=hashlib.sha256(
            f"{row.input_hash} labelled {label.code}".encode()
        ).hexdigest(),
        theme_code=label.code,
        theme_path=label.theme_path,
        theme_labels=label.theme_labels,
        theme_score=1.0,
        theme_reason=f"labelled by {label.labelled_by}",
    )


def store_label(
    rows: Rows,
    article_id: str,
    desk: str,
    code: str | None,
    by: str,
    taxonomy: Taxonomy,
    now: datetime,
) -> ThemeLabel:
    """Store a person's label of an enriched article, and its theme in the article's
    row.

    Raises:
        NewsAssetsError: There is no such article in the desk, or no such code in the
            taxonomy.
    """
    found = rows.read(
        EnrichedArticle, article_id=[article_id], desk=[desk], outcome=["ok"]
    )
    if not found:
        raise NewsAssetsError(f"no enriched article `{article_id}` in desk {desk}")
    if code is not None and code not in taxonomy.themes:
        raise NewsAssetsError(
            f"no theme `{code}` in the taxonomy; {_hint(code, taxonomy)}"
        )
    [row] = found
    path = taxonomy.path(code) if code else ()
    language = (row.language or "").partition("-")[0] or None
    label = ThemeLabel(
        article_id=article_id,
        desk=row.desk,
        agency=row.agency,
        day=row.day,
        labelled_at=now,
        labelled_by=by,
        code=code,
        theme_path=path,
        theme_labels=tuple(taxonomy.themes[each].label(language) for each in path),
        previous=row.theme_code,
    )
    rows.upsert([label])
    rows.upsert([labelled(row, label)])
    return label


def _hint(code: str, taxonomy: Taxonomy) -> str:
    near = get_close_matches(code, taxonomy.themes, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"themes of level 1: {', '.join(taxonomy.roots)}"
