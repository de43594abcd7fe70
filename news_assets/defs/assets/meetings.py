"""The assets `meetings` and `matters` of a civic desk, which its polls write in the
transaction of the entries.
"""

from collections import Counter
from collections.abc import Collection

import dagster as dg

from news_assets.defs.metadata import asset_attributes
from news_assets.defs.partitions import agency_partitions
from news_assets.records.desks import Desk
from news_assets.records.meetings import Matter, StoredMeeting
from news_assets.store.lake import Lake


def build_meeting_specs(desk: Desk) -> list[dg.AssetSpec]:
    """Return the assets of a desk that `log_meetings` materialises; none for a desk
    without meetings.
    """
    if not desk.is_civic:
        return []
    meetings, matters = (
        asset_attributes(desk, "meetings", StoredMeeting, "json"),
        asset_attributes(desk, "matters", Matter, "json"),
    )
    grid = agency_partitions(desk)
    return [
        dg.AssetSpec(
            **meetings,
            deps=[[desk.key, "feed_entries"]],
            partitions_def=grid,
            description=(
                "Meetings of these agencies as they were last listed, future and past, with their"
                " status.\n\nA future meeting that two successive answers lack is cancelled; a"
                " failed answer changes nothing."
            ),
        ),
        dg.AssetSpec(
            **matters,
            deps=[[desk.key, "meetings"]],
            partitions_def=grid,
            description=(
                "What is decided on in one or several meetings, with its agenda items and its last"
                " summary.\n\nA matter is known by its public number, else by the vendor's id, else"
                " by a title of 30 characters."
            ),
        ),
    ]


def log_meetings(
    context: dg.AssetExecutionContext, lake: Lake, desk: Desk, agencies: Collection[str]
) -> None:
    """Log a materialisation of both assets for each of these agencies, with the number
    of its rows.
    """
    statuses = Counter(
        lake.frame(
            StoredMeeting, None, ("agency", "status"), desk=[desk.key], agency=agencies
        ).rows()
    )
    matters = Counter(
        lake.frame(Matter, None, ("agency",), desk=[desk.key], agency=agencies)[
            "agency"
        ]
    )
    for agency in agencies:
        of_agency = {
            status: count for (of, status), count in statuses.items() if of == agency
        }
        counts: dict[str, dg.RawMetadataValue] = {
            "rows": sum(of_agency.values()),
            **of_agency,
        }
        context.log_event(
            dg.AssetMaterialization(
                [desk.key, "meetings"], partition=agency, metadata=counts
            )
        )
        rows = {"rows": matters[agency]}
        context.log_event(
            dg.AssetMaterialization(
                [desk.key, "matters"], partition=agency, metadata=rows
            )
        )
