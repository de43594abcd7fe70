from datetime import UTC, date, datetime, timedelta

from news_assets.defs.partitions import agency_day_partitions
from news_assets.desks.desk_files import load_desks
from news_assets.records.desks import Agency, Desk
from news_assets.sources.source_kinds import KINDS


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
    keys = agency_day_partitions(desk).get_partition_keys(
        datetime(2026, 1, 3, 12, tzinfo=UTC)
    )
    assert [key for key in keys if key.startswith("gazeta")] == [
        f"gazeta|{desk.first_day + timedelta(days=n)}" for n in range(3)
    ]
