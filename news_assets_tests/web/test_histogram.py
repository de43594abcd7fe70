from datetime import date, timedelta

import pytest

from news_assets.web.histogram import Bar, bars_of


def test_days_between_are_bars_too() -> None:
    assert bars_of({"2026-01-03": 2, "2026-01-01": 1}) == [
        Bar("2026-01-01", date(2026, 1, 1), date(2026, 1, 1), 1),
        Bar("2026-01-02", date(2026, 1, 2), date(2026, 1, 2), 0),
        Bar("2026-01-03", date(2026, 1, 3), date(2026, 1, 3), 2),
    ]


@pytest.mark.parametrize(
    ("days", "label", "count", "last"),
    [
        (61, "2024-01-31", 62, date(2024, 3, 31)),
        (62, "2024-01", 4, date(2024, 4, 30)),
        (1_700, "2024-01", 57, date(2028, 9, 30)),
        (2_000, "2024", 6, date(2029, 12, 31)),
    ],
)
def test_a_longer_time_has_longer_bars(
    days: int, label: str, count: int, last: date
) -> None:
    first = date(2024, 1, 31)
    counts = {
        first.isoformat(): 1,
        (first + timedelta(days=days)).isoformat(): 3,
        "2024-02-29": 1,
    }
    bars = bars_of(counts)
    assert (bars[0].label, len(bars), sum(bar.count for bar in bars)) == (
        label,
        count,
        5,
    )
    assert bars[-1].last >= first + timedelta(days=days)
    if days != 61:
        assert bars[-1].last == last


def test_no_hits_have_no_bars() -> None:
    assert bars_of({}) == ()
