from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.zones import is_month_first, placed, without_accents, zone_info

NOON = datetime(2026, 3, 2, 12)  # noqa: DTZ001 - a local time, as it stands on a page


@pytest.mark.parametrize(
    ("zone", "city", "hour"),
    [
        (None, None, 16),
        ("BRT", None, 15),
        ("-0300", None, 15),
        ("GMT+01:00", None, 11),
        ("Europe/Lisbon", None, 12),
        ("horário de Brasília", "Brasília", 15),
        ("hora local", "local", 16),
        ("xyz", None, 16),
    ],
)
def test_a_local_time_takes_the_written_zone_else_the_source_zone(
    zone: str | None, city: str | None, hour: int
) -> None:
    assert placed(NOON, zone, "America/Manaus", city).astimezone(UTC) == datetime(
        2026, 3, 2, hour, tzinfo=UTC
    )


@given(st.text(), st.text())
def test_any_written_zone_gives_an_aware_time(zone: str, source_zone: str) -> None:
    with suppress(ValueError):  # an offset of a day or more
        assert placed(NOON, zone, source_zone).tzinfo is not None


def test_an_offset_of_a_day_is_an_error() -> None:
    with pytest.raises(ValueError, match="offset"):
        placed(NOON, "+24:00", "UTC")


def test_an_unknown_zone_is_utc() -> None:
    assert zone_info("Nowhere/Land").key == "UTC"


def test_only_the_united_states_write_the_month_first() -> None:
    assert [
        is_month_first(zone) for zone in ("America/New_York", "America/Toronto", "UTC")
    ] == [True, False, False]


def test_accents_are_removed() -> None:
    assert without_accents("Brasília") == "brasilia"
