"""Asset checks: each a true sentence about the rows of a desk, with the offending rows in its metadata.

A check is a thin wrapper over a pure verdict of `pipeline/freshness/row_checks.py`; what to do about a finding is
not decided here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import markdown_table, sources_table
from news_assets.pipeline.freshness import row_checks as verdicts
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.ports import SearchIndex
from news_assets.records import (
    ArticleEmbedding,
    Desk,
    EnrichedArticle,
    FeedEntry,
    IndexedDocument,
    RawArticle,
)
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import SENTENCES, desk_gaps
from news_assets.store.queries.source_status import source_rows
from news_assets.store.tables import table_of

_SHOWN_ROWS = 20


def build_desk_checks(desk: Desk, assets: Sequence[dg.AssetsDefinition]) -> list[dg.AssetChecksDefinition]:
    """Return the checks that the rows of a desk's five assets are sound, in the order of the assets."""
    _, raw, enriched, embeddings, _ = assets
    records = (FeedEntry, RawArticle, EnrichedArticle, ArticleEmbedding, IndexedDocument)
    unique = [_keys_are_unique(desk, asset, record) for asset, record in zip(assets, records, strict=True)]
    return [
        *unique,
        _lake_check(desk, raw, "articles_have_text", verdicts.articles_without_text),
        _lake_check(desk, enriched, "articles_have_summaries", verdicts.articles_without_summary),
        _lake_check(desk, embeddings, "vectors_have_unit_length", verdicts.vectors_off_unit),
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


def build_freshness_checks(desk: Desk) -> dg.AssetChecksDefinition:
    """Return the desk's checks of what is missing, lost, silent or failing, which look at the rows once for all."""

    @dg.multi_asset_check(
        name=f"{desk.key}_freshness",
        can_subset=True,
        specs=[dg.AssetCheckSpec(name, asset=key, description=text) for name, (key, text) in _sentences(desk).items()],
    )
    def checks(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake], search: dg.ResourceParam[SearchIndex]
    ) -> Iterator[dg.AssetCheckResult]:
        now = utc_now()
        gaps = desk_gaps(lake, search, desk, now)
        for name, findings in gaps.items():
            key = _sentences(desk)[name][0]
            if findings.unknown:
                context.log.warning(f"{name} is skipped: {findings.unknown}")
            elif dg.AssetCheckKey(key, name) in context.selected_asset_check_keys:
                yield _result(findings, _shown_beside(name, lake, desk, gaps, now), check_name=name, asset_key=key)

    return checks


def _shown_beside(
    name: str, lake: Lake, desk: Desk, gaps: Mapping[str, Findings], now: datetime
) -> "dict[str, dg.RawMetadataValue]":
    """Return what a check shows besides its findings: `sources_answer` how each source is going, well or not."""
    if name != "sources_answer":
        return {}
    return {"sources": sources_table(source_rows(lake, desk, gaps["agencies_are_heard"], now), now)}


def _sentences(desk: Desk) -> dict[str, tuple[dg.AssetKey, str]]:
    return {name: (dg.AssetKey([desk.key, asset]), text) for name, (asset, text) in SENTENCES.items()}


def _result(
    findings: Findings, beside: "Mapping[str, dg.RawMetadataValue] | None" = None, **of: Any
) -> dg.AssetCheckResult:
    metadata: dict[str, Any] = {"checked": findings.checked, "found": len(findings.rows)}
    if findings.rows:
        metadata["rows"] = dg.MetadataValue.md(markdown_table(findings.header, findings.rows[:_SHOWN_ROWS]))
    return dg.AssetCheckResult(passed=not findings.rows, metadata=metadata | dict(beside or {}), **of)
