from datetime import UTC, date, datetime, time, timedelta

import dagster as dg
import pytest

from news_assets.defs.active_runs import RANGE_END, RANGE_START
from news_assets.defs.partitions import agency_day_partitions
from news_assets.defs.stage_assets import build_desk_assets
from news_assets.desks.desk_files import load_desks
from news_assets.records.desks import Agency, Desk
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake


def test_the_grid_includes_the_present_day_of_agencies_east_of_the_desk() -> None:
    def agency(key: str, timezone: str) -> Agency:
        return Agency(key=key, name=key, timezone=timezone, language="en", sources=())

    noon = datetime(2026, 11, 20, 23, 0, tzinfo=UTC)
    one_zone = Desk(
        key="d",
        timezone="UTC",
        language="en",
        first_day=date(2026, 11, 1),
        agencies=(agency("a", "UTC"),),
    )
    two_zones = Desk(
        key="d",
        timezone="UTC",
        language="en",
        first_day=date(2026, 11, 1),
        agencies=(agency("a", "UTC"), agency("b", "Asia/Tokyo")),
    )
    assert "a|2026-11-20" in agency_day_partitions(one_zone).get_partition_keys(noon)
    assert "a|2026-11-21" not in agency_day_partitions(one_zone).get_partition_keys(
        noon
    )
    assert "b|2026-11-21" in agency_day_partitions(two_zones).get_partition_keys(noon)


def test_the_days_of_a_desk_start_at_its_first_day() -> None:
    (desk,) = load_desks(["sample"], KINDS)
    third_day = datetime.combine(
        desk.first_day + timedelta(days=2), time(12), tzinfo=UTC
    )
    keys = agency_day_partitions(desk).get_partition_keys(third_day)
    assert [key for key in keys if key.startswith("gazeta")] == [
        f"gazeta|{desk.first_day + timedelta(days=n)}" for n in range(3)
    ]


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
@pytest.mark.parametrize(
    ("asset", "first", "last"),
    [
        (0, "prefeitura", "gazeta"),
        (1, "prefeitura|{day}", "gazeta|{day}"),
        (1, "prefeitura|{day}", "prefeitura|{before}"),
    ],
)
def test_a_range_without_partitions_fails_and_says_in_which_order_they_are(
    asset: int, first: str, last: str, lake: Lake
) -> None:
    (desk,) = load_desks(["sample"], KINDS)
    assets = build_desk_assets(desk)
    day = desk.first_day + timedelta(days=3)
    days = {"day": day, "before": day - timedelta(days=1)}
    first, last = first.format(**days), last.format(**days)
    resources = {"fetcher": 0, "sandbox": 0, "cooldown": 0, "lake": lake}
    result = dg.materialize(
        assets,
        selection=[assets[asset]],
        resources=resources | {"enricher": 0, "embedder": 0, "search": 0},
        tags={RANGE_START: first, RANGE_END: last},
        raise_on_error=False,
    )
    (failure,) = result.all_node_events[-1:]
    assert (
        f"the range {first}...{last} has no partition: its last agency and its last day must not"
        " come before the first; agencies are in alphabetical order, from gazeta to prefeitura"
    ) in str(failure.event_specific_data)
