"""Asset checks: each holds a sentence about the rows of a desk, and shows the offending
rows in its metadata.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dagster as dg

from news_assets.defs.asset_metadata import markdown_table, sources_table
from news_assets.defs.partitions import utc_now
from news_assets.pipeline import stages
from news_assets.pipeline.stage_declaration import Findings
from news_assets.pipeline.stages import repeated_keys
from news_assets.ports.search_index import SearchIndex
from news_assets.ports.services import Sandbox
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import desk_gaps, freshness_checks
from news_assets.store.queries.listed_failures import FailureCount, failure_counts
from news_assets.store.queries.poll_health import source_rows
from news_assets.store.tables import table_of
from news_assets.text.defuse import terminal_line

EXTRACTION_CHECK = "extraction_is_stable"
FAILURE_CHECK = "no_article_has_failed"
_SHOWN_ROWS = 20
_FAILURES_HEADER = ("agency", "host", "reason", "failed", "given up")


def build_desk_checks(
    desk: Desk, assets: Sequence[dg.AssetsDefinition]
) -> list[dg.AssetChecksDefinition]:
    """Return the checks of the rows of a desk's assets, in the order of the assets."""
    entries, *of_stages = assets
    unique = [_keys_are_unique(desk, entries, FeedEntry)]
    checks = []
    for asset, stage in zip(of_stages, stages.stages_of(desk), strict=True):
        unique.append(_keys_are_unique(desk, asset, stage.record))
        for check in stage.row_checks:
            made = _row_check(desk, asset, check.name, check.sentence, check.find)
            checks.append(made)
    articles = of_stages[stages.stage_names(desk).index("raw_articles")]
    return [*unique, *checks, _extraction_is_stable(desk, articles)]


def _keys_are_unique(
    desk: Desk, asset: dg.AssetsDefinition, record: type[Any]
) -> dg.AssetChecksDefinition:
    key = table_of(record).key

    def find(lake: Lake, desk_key: str) -> Findings:
        return repeated_keys(lake.frame(record, None, key, desk=[desk_key]), key)

    return _row_check(
        desk, asset, "ids_are_unique", f"No two rows share {' and '.join(key)}.", find
    )


def _row_check(
    desk: Desk,
    asset: dg.AssetsDefinition,
    name: str,
    sentence: str,
    find: Callable[[Lake, str], Findings],
) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name=name, description=sentence)
    def check(lake: dg.ResourceParam[Lake]) -> dg.AssetCheckResult:
        return _result(find(lake, desk.key))

    return check


def _extraction_is_stable(
    desk: Desk, articles: dg.AssetsDefinition
) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=articles,
        name=EXTRACTION_CHECK,
        description="The stored pages of a sample of articles still give the stored texts.",
    )
    def check(
        lake: dg.ResourceParam[Lake], sandbox: dg.ResourceParam[Sandbox]
    ) -> dg.AssetCheckResult:
        from news_assets.pipeline.articles.drift import drifted_articles

        return _result(drifted_articles(lake, desk, sandbox))

    return check


def build_freshness_checks(desk: Desk) -> dg.AssetChecksDefinition:
    """Return the desk's freshness checks, which share one pass over the rows."""
    specs: dict[str, dg.AssetCheckSpec] = {}
    for name, (asset, text) in freshness_checks(desk).items():
        key = dg.AssetKey([desk.key, asset])
        specs[name] = dg.AssetCheckSpec(name, asset=key, description=text)

    @dg.multi_asset_check(
        name=f"{desk.key}_freshness", can_subset=True, specs=list(specs.values())
    )
    def checks(
        context: dg.AssetCheckExecutionContext,
        lake: dg.ResourceParam[Lake],
        search: dg.ResourceParam[SearchIndex],
    ) -> Iterator[dg.AssetCheckResult]:
        now = utc_now()
        gaps = desk_gaps(lake, search, desk, now)
        for name, findings in gaps.items():
            key = specs[name].key
            if findings.unknown:
                context.log.warning(
                    terminal_line(f"{name} is skipped: {findings.unknown}")
                )
                continue
            if key not in context.selected_asset_check_keys:
                continue
            metadata = _metadata(findings)
            if name == "sources_answer":
                rows = source_rows(lake, desk, gaps["agencies_are_heard"], now)
                metadata["sources"] = sources_table(rows, now)
            yield dg.AssetCheckResult(
                passed=_is_passed(findings),
                metadata=metadata,
                check_name=name,
                asset_key=key.asset_key,
            )

    return checks


def build_failure_checks(desk: Desk) -> dg.AssetChecksDefinition:
    """Return checks that warn of articles for which a stage of the desk has failed."""
    specs: dict[str, dg.AssetCheckSpec] = {}
    for name in stages.stage_names(desk):
        key = dg.AssetKey([desk.key, name])
        specs[name] = dg.AssetCheckSpec(
            FAILURE_CHECK, asset=key, description="No article has failed."
        )

    @dg.multi_asset_check(
        name=f"{desk.key}_failures", can_subset=True, specs=list(specs.values())
    )
    def checks(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> Iterator[dg.AssetCheckResult]:
        by_stage = defaultdict(list)
        for count in failure_counts(lake):
            if count.desk == desk.key:
                by_stage[count.stage].append(count)
        for name, spec in specs.items():
            if spec.key in context.selected_asset_check_keys:
                yield _failures_result(by_stage[name], spec.asset_key)

    return checks


def _failures_result(
    counts: Sequence[FailureCount], asset: dg.AssetKey
) -> dg.AssetCheckResult:
    rows = []
    for one in counts[:_SHOWN_ROWS]:
        rows.append((one.agency, one.host, one.cause, one.failures, one.given_up))
    metadata: dict[str, Any] = {"failed": sum(one.failures for one in counts)}
    if rows:
        table = markdown_table(_FAILURES_HEADER, rows)
        metadata["rows"] = dg.MetadataValue.md(table)
    return dg.AssetCheckResult(
        passed=not rows,
        severity=dg.AssetCheckSeverity.WARN,
        asset_key=asset,
        check_name=FAILURE_CHECK,
        metadata=metadata,
    )


def _result(findings: Findings) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=_is_passed(findings), metadata=_metadata(findings)
    )


def _is_passed(findings: Findings) -> bool:
    return len(findings.rows) <= findings.accepted


def _metadata(findings: Findings) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "checked": findings.checked,
        "found": len(findings.rows),
    }
    if findings.checked:
        metadata["share"] = round(len(findings.rows) / findings.checked, 4)
    if findings.rows:
        table = markdown_table(findings.header, findings.rows[:_SHOWN_ROWS])
        metadata["rows"] = dg.MetadataValue.md(table)
    return metadata
