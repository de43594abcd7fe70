from datetime import UTC, date, datetime, time

import pytest

from news_assets.sources.civic.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    moment_of_text,
    utc_time,
    wall_clock,
)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-02-19T00:00:00", date(2026, 2, 19)),
        ("2/9/2026", date(2026, 2, 9)),
        ("02/09/26", date(2026, 2, 9)),
        ("Sep\xa021,\xa02022", date(2022, 9, 21)),
        ("Thursday, March   3, 2022 at", date(2022, 3, 3)),
        ("19 February 2026", date(2026, 2, 19)),
        ("Item 13/45/2026 of March 3, 2026", date(2026, 3, 3)),
        ("Sept. 1st, 2026", date(2026, 9, 1)),
        ("Ordinance 26-0585", None),
        ("", None),
        (None, None),
    ],
)
def test_a_date_is_read_month_first(text: str | None, day: date | None) -> None:
    assert day_of_text(text) == day


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("1:00 PM", time(13)),
        ("13:00", time(13)),
        ("6 p.m.", time(18)),
        ("12:00 AM", time(0)),
        ("12:30 pm", time(12, 30)),
        ("12 noon", time(12)),
        ("1830 hours", time(18, 30)),
        ("4:30 - 6:00 PM", time(16, 30)),
        ("11:00 - 1:00 PM", time(11)),
        ("9:00 AM or as soon as possible", time(9)),
        ("5:30 P.M. Immediately following", time(17, 30)),
        ("Immediately following the 5:00 PM session", None),
        ("25:10", None),
        ("13:00 PM", None),
        ("TBD", None),
        (None, None),
    ],
)
def test_an_hour_is_read_as_a_clerk_types_it(
    text: str | None, clock: time | None
) -> None:
    assert clock_of_text(text) == clock


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Sep 6, 2022 6:30 PM ", Moment(date(2022, 9, 6), time(18, 30))),
        ("November\xa0 7,\xa02025 - 8:00\xa0AM", Moment(date(2025, 11, 7), time(8))),
        ("2025/12/17 17:15:00", Moment(date(2025, 12, 17), time(17, 15))),
        ("6:00 PM on 1/23/2019", Moment(date(2019, 1, 23), time(18))),
        ("1/23/2019", Moment(date(2019, 1, 23))),
        ("6:00 PM", None),
    ],
)
def test_a_day_without_an_hour_has_none(text: str, moment: Moment | None) -> None:
    assert moment_of_text(text) == moment


def test_a_claimed_zone_does_not_move_a_wall_clock() -> None:
    assert wall_clock("2025-12-08T09:30:00Z") == Moment(date(2025, 12, 8), time(9, 30))
    assert wall_clock("2026-08-18T19:00:00-07:00") == Moment(
        date(2026, 8, 18), time(19)
    )
    assert wall_clock("2026-08-18") == Moment(date(2026, 8, 18))
    assert wall_clock("soon") is None


def test_a_field_named_utc_is_utc() -> None:
    assert utc_time("2026-08-14T16:28:16.1") == datetime(
        2026, 8, 14, 16, 28, 16, tzinfo=UTC
    )
    assert utc_time("2026-13-14T16:28:16") is None
    assert utc_time(None) is None
