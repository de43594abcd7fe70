"""The asset `newsroom/daily_report`: one page a day with the new entries, their stages,
and findings.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.asset_metadata import OWNERS, link, markdown_table
from news_assets.defs.lineage import tables_of
from news_assets.defs.partitions import utc_now
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.ports.search_index import SearchIndex
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import desk_gaps

if TYPE_CHECKING:
    from news_assets.pipeline.freshness.report_contents import Report

REPORT_KEY = dg.AssetKey(["newsroom", "daily_report"])


_EVERY_DAY = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=36))


def build_daily_report(
    desks: Sequence[Desk], pages_url: str = ""
) -> dg.AssetsDefinition:
    """Return the asset over all these desks; `pages_url` is where pages are served, for
    links.
    """
    first_day = min(desk.first_day for desk in desks)

    @dg.asset(
        key=REPORT_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"html"},
        deps=tables_of(desks),
        freshness_policy=_EVERY_DAY,
        partitions_def=dg.DailyPartitionsDefinition(
            first_day.isoformat(), timezone="UTC", end_offset=1
        ),
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def daily_report(
        context: dg.AssetExecutionContext,
        lake: dg.ResourceParam[Lake],
        search: dg.ResourceParam[SearchIndex],
        reports: dg.ResourceParam[Path],
    ) -> dg.MaterializeResult[None]:
        """One HTML page for each UTC day, over all desks:
        `NEWS_HOME/reports/<day>.html`.

        Counts entries and articles by the day on which they were first seen, in their
        present state: by desk, stage, outcome, theme and hour, with the polls of the
        day. Missing, stale, silent and failing rows are as of now. Today's page covers
        the day so far; a page that is made again is replaced.
        """
        from news_assets.pipeline.freshness.report_contents import build_report
        from news_assets.store.queries.report import count_day
        from news_assets.web.day_report import write_report

        now = utc_now()
        found = {
            desk.key: _titled(desk_gaps(lake, search, desk, now)) for desk in desks
        }
        for key in context.partition_keys:
            counts = count_day(
                lake, date.fromisoformat(key), [desk.key for desk in desks]
            )
            report = build_report(counts, desks, found, now)
            path = write_report(reports, report)
            page = link("page", f"{pages_url}/days/{key}" if pages_url else "")
            shown = {**_metadata(report, path), **page}
            context.add_asset_metadata(shown, partition_key=key)
            context.log.info(f"{key}: {path}")
        return dg.MaterializeResult(metadata={"run/pages": len(context.partition_keys)})

    return daily_report


def _titled(gaps: Mapping[str, Findings]) -> dict[str, Findings]:
    return {name.replace("_", " "): findings for name, findings in gaps.items()}


def _metadata(report: "Report", path: Path) -> "dict[str, dg.RawMetadataValue]":
    from news_assets.web.day_report import history_image

    tables = {
        table.title.lower(): markdown_table(table.header, table.rows)
        for table in report.tables
    }
    gaps = [(gap.title, gap.note) for gap in report.gaps]
    findings = "nothing"
    if gaps:
        findings = markdown_table(("what", "how many"), gaps)
    return {
        "file": dg.MetadataValue.path(path),
        **{name: value for name, value, _ in report.figures},
        "plot": dg.MetadataValue.md(f"![articles by outcome]({history_image(report)})"),
        "findings": dg.MetadataValue.md(findings),
        **{name: dg.MetadataValue.md(table) for name, table in tables.items()},
    }
