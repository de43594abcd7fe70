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
from news_assets.pipeline.enrich.names import name_ids
from news_assets.ports.services import Enricher, Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment, EnrichedArticle, ThemeLabel
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import Taxonomy

NOT_ENRICHED: Final = "none"  # in place of an enricher's name
_RESULT_FIELDS = tuple(field.name for field in fields(Enrichment))
_TUPLES = {field.name for field in fields(Enrichment) if field.type == tuple[str, ...]}


class MadeBy(NamedTuple):
    """Who made a result: the columns of these names."""

    enricher: str
    model: str
    prompt_version: str
    taxonomy_version: str


def title_and_text(article: RawArticle) -> tuple[str, str]:
    """Return what of an article is enriched; empty where it has none."""
    return article.title or "", article.text or ""


def input_hash(title: str, text: str, made_by: MadeBy) -> str:
    """Return the SHA-256 of everything a result depends on: the key of its cache entry."""
    return _sha256(json.dumps((title, text, *made_by), ensure_ascii=False))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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

    Args:
        article: The article.
        key: The hash of the result's input.
        result: The result, or why there is none.
        made_by: Who made it.
        now: The time of the enrichment.
        reused_from: The id of the original whose result it is, for a copy.
        local_reason: Why it is the local enricher's, although models follow it.
    """
    if isinstance(result, EnrichError):
        row = enriched_row(
            article, key, Enrichment(), made_by, now, local_reason=local_reason
        )
        return replace(
            row, reused_from=reused_from, outcome="failed", reason=str(result)
        )
    return EnrichedArticle(
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        input_hash=key,
        content_hash=article.content_hash,
        theme_code=theme_of(result),
        **{name: getattr(result, name) for name in _RESULT_FIELDS},
        **made_by._asdict(),
        entity_ids=name_ids(result.entities_json),
        reused_from=reused_from,
        local_reason=local_reason,
        enriched_at=now,
        outcome="ok",
        reason=None,
        trace_id=article.trace_id,
    )


def unenriched_row(article: RawArticle, now: datetime) -> EnrichedArticle:
    """Return the row of an article that the filters of its desk leave out.

    It says why, and nothing else.
    """
    key = _sha256(f"not enriched: {article.filter_reason}")
    nobody = MadeBy(NOT_ENRICHED, "", "", "")
    row = enriched_row(article, key, Enrichment(), nobody, now)
    return replace(row, reason=article.filter_reason)


def theme_of(result: Enrichment | None) -> str | None:
    """Return the code of a result's theme; None without a theme or a result."""
    if result and result.theme_path:
        return result.theme_path[-1]
    return None


def result_of(row: EnrichedArticle) -> Enrichment:
    """Return the result that a row has."""
    return Enrichment(**{name: getattr(row, name) for name in _RESULT_FIELDS})


def _from_json(result_json: str) -> Enrichment | None:
    """Return a cached result; None for one that an older version wrote and this one
    cannot read.
    """
    try:
        values: dict[str, Any] = json.loads(result_json)
        for name in _TUPLES & values.keys():
            values[name] = tuple(values[name])
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
    """Return a result as it is cached.

    Args:
        key: The hash of its input.
        result: The result.
        enricher: Name of the enricher.
        model: Its model or version.
        article_id: The article that it was made for.
        now: The time of the enrichment.
    """
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
    if not hashes:
        return {}
    results: dict[str, Enrichment] = {}
    for cached in reader.read(CachedEnrichment, input_hash=hashes):
        result = _from_json(cached.result_json)
        if result is not None:
            results[cached.input_hash] = result
    return results


def labels_in_force(labels: Iterable[ThemeLabel]) -> dict[str, ThemeLabel]:
    """Return the newest label of each article, by article id."""
    in_order = sorted(labels, key=lambda label: label.labelled_at)
    return {label.article_id: label for label in in_order}


def labelled(row: EnrichedArticle, label: ThemeLabel | None) -> EnrichedArticle:
    """Return the row with the theme of the label.

    Its input hash is another one, so that its document is indexed again.
    """
    if label is None:
        return row
    if row.outcome != "ok":
        return row
    return replace(
        row,
        input_hash=_sha256(f"{row.input_hash} labelled {label.code}"),
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

    Args:
        rows: The transaction.
        article_id: The article.
        desk: The key of its desk.
        code: The code of the theme; None where no theme fits.
        by: Name of the person.
        taxonomy: That of the desk.
        now: The time of the label.

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
    label = ThemeLabel(
        article_id=article_id,
        desk=row.desk,
        agency=row.agency,
        day=row.day,
        labelled_at=now,
        labelled_by=by,
        code=code,
        theme_path=path,
        theme_labels=taxonomy.labels(path, row.language),
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
