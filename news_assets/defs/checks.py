"""Asset checks: each a true sentence about the rows of a desk, with the offending rows in its metadata.

A check is a thin wrapper over a pure verdict of `pipeline/verdicts.py`; what to do about a finding is not decided here.
"""

from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg

from news_assets.defs.presentation import markdown_table
from news_assets.pipeline import verdicts
from news_assets.pipeline.verdicts import Findings
from news_assets.ports import Lake, SearchIndex
from news_assets.records import (
    ArticleEmbedding,
    Desk,
    EnrichedArticle,
    FeedEntry,
    IndexedDocument,
    RawArticle,
)
from news_assets.store.tables import table_of

_SHOWN_ROWS = 20


def build_desk_checks(desk: Desk, assets: Sequence[dg.AssetsDefinition]) -> list[dg.AssetChecksDefinition]:
    """Return the checks of a desk's five assets, in the order of the assets."""
    _, raw, enriched, embeddings, index = assets
    records = (FeedEntry, RawArticle, EnrichedArticle, ArticleEmbedding, IndexedDocument)
    unique = [_keys_are_unique(desk, asset, record) for asset, record in zip(assets, records, strict=True)]
    return [
        *unique,
        _lake_check(desk, raw, "articles_have_text", verdicts.articles_without_text),
        _lake_check(desk, enriched, "articles_have_summaries", verdicts.articles_without_summary),
        _lake_check(desk, embeddings, "vectors_have_unit_length", verdicts.vectors_off_unit),
        _index_equals_lake(desk, index),
    ]


def _keys_are_unique(desk: Desk, asset: dg.AssetsDefinition, record: type[Any]) -> dg.AssetChecksDefinition:
    key = table_of(record).key

    @dg.asset_check(asset=asset, name="ids_are_unique", description=f"No two rows share {' and '.join(key)}.")
    def check(lake: dg.ResourceParam[Lake]) -> dg.AssetCheckResult:
        return _result(verdicts.repeated_keys(lake.frame(record, None, key, desk=[desk.key]), key))

    return check


def _lake_check(
    desk: Desk, asset: dg.AssetsDefinition, name: str, verdict: Callable[[Lake, str], Findings]
) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name=name, description=(verdict.__doc__ or "").split("\n")[0])
    def check(lake: dg.ResourceParam[Lake]) -> dg.AssetCheckResult:
        return _result(verdict(lake, desk.key))

    return check


def _index_equals_lake(desk: Desk, asset: dg.AssetsDefinition) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=asset,
        name="index_equals_lake",
        description="Index and lake hold the same documents: the same ids with the same hashes.",
    )
    def check(lake: dg.ResourceParam[Lake], search: dg.ResourceParam[SearchIndex]) -> dg.AssetCheckResult:
        receipts = lake.frame(IndexedDocument, None, ("article_id", "document_hash"), desk=[desk.key], outcome=["ok"])
        return _result(verdicts.index_differences(dict(receipts.iter_rows()), search.hashes(desk.key)))

    return check


def _result(findings: Findings) -> dg.AssetCheckResult:
    metadata: dict[str, Any] = {"checked": findings.checked, "found": len(findings.rows)}
    if findings.rows:
        metadata["rows"] = dg.MetadataValue.md(markdown_table(findings.header, findings.rows[:_SHOWN_ROWS]))
    return dg.AssetCheckResult(passed=not findings.rows, metadata=metadata)
