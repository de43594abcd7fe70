from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from news_assets.pipeline.report_contents import (
    DayCounts,
    DeskCounts,
    Report,
    Section,
    build_report,
    shown_themes,
)
from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.desks import Agency, Desk
from news_assets.records.model_calls import Spending

DAY = date(2026, 11, 19)
NEXT_MORNING = datetime(2026, 11, 20, 5, 30, tzinfo=UTC)


def desk(key: str, agencies: int = 2) -> Desk:
    listed = tuple(
        Agency(key=f"a{n}", name=f"A{n}", timezone="UTC", language="en", sources=())
        for n in range(agencies)
    )
    return Desk(
        key=key,
        timezone="UTC",
        language="en",
        first_day=date(2026, 1, 1),
        agencies=listed,
    )


def report(counts: DayCounts, now: datetime = NEXT_MORNING) -> Report:
    return build_report(counts, [desk("g1"), desk("world")], {}, now)


def test_a_desk_without_entries_is_shown_with_zeros() -> None:
    counts = DayCounts(
        day=DAY,
        desks=(
            DeskCounts(
                desk="g1", entries=3, articles=2, derived={"enriched": 2, "indexed": 1}
            ),
        ),
    )

    made = report(counts)

    assert made.stages == {"g1": (3, 2, 2, 0, 1), "world": (0, 0, 0, 0, 0)}
    assert made.hours == {"g1": (0,) * 24, "world": (0,) * 24}
    assert not made.is_empty


def test_a_day_without_entries_is_empty() -> None:
    assert report(DayCounts(day=DAY)).is_empty


def test_the_figures_are_sums_over_the_desks() -> None:
    counts = DayCounts(
        day=DAY,
        desks=(
            DeskCounts(
                desk="g1",
                agencies=1,
                entries=5,
                waiting=1,
                articles=3,
                copies=1,
                derived={"indexed": 2},
            ),
            DeskCounts(
                desk="world", agencies=2, entries=1, articles=1, derived={"indexed": 1}
            ),
        ),
        outcomes=(
            ("g1", "failed", 1),
            ("g1", "ok", 3),
            ("world", "blocked", 2),
            ("world", "gone", 4),
        ),
        polls=(
            ("g1", "failed", 2, 0, 0),
            ("g1", "ok", 3, 5, 0),
            ("world", "unchanged", 7, 0, 0),
        ),
    )
    assert report(counts).figures == (
        ("entries", 6, "from 3 of 4 agencies"),
        ("articles", 4, "1 of them copies"),
        ("in the index", 3, "1 articles are not"),
        ("not fetched", 3, "failed or blocked; 1 more are waiting"),
        ("polls", 12, "2 failed"),
    )


def of_model(**given: object) -> Spending:
    values: dict[str, Any] = {
        "called_on": DAY,
        "desk": "g1",
        "model": "openai:gpt-5-mini",
        "via": "direct",
        "usd": None,
    }
    counts = (
        "calls",
        "answered",
        "refused",
        "failed",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "unpriced",
    )
    return Spending(**values | dict.fromkeys(counts, 0) | given)


def test_calls_of_models_are_shown_with_their_price_where_there_are_any() -> None:
    direct = of_model(
        calls=3,
        refused=1,
        failed=1,
        input_tokens=900,
        output_tokens=90,
        cached_tokens=100,
        usd=0.1,
    )
    unknown = of_model(model="openai:mine", via="batch", calls=2, unpriced=2)

    made = report(
        DayCounts(
            day=DAY, spending=(direct, unknown, replace(direct, desk="world", usd=0.2))
        )
    )

    assert made.figures[-1] == ("model calls", 8, "0.300000 USD; 2 of unknown price")
    assert made.tables[-1].title == "Language models"
    assert made.tables[-1].rows[:2] == (
        ("g1", "openai:gpt-5-mini", "direct", 3, 1, 1, 900, 100, 90, "0.100000", 0),
        ("g1", "openai:mine", "batch", 2, 0, 0, 0, 0, 0, "unknown", 2),
    )
    assert (
        report(DayCounts(day=DAY, spending=(unknown,))).figures[-1][2]
        == "2 of unknown price"
    )
    assert "Language models" not in [
        table.title for table in report(DayCounts(day=DAY)).tables
    ]


def test_hours_and_days_without_entries_are_zeros() -> None:
    made = report(
        DayCounts(
            day=DAY,
            hours=(("g1", 0, 4), ("g1", 23, 1)),
            history=(
                (DAY, "ok", 5),
                (DAY - timedelta(days=13), "failed", 2),
                (DAY, "unheard of", 1),
            ),
        )
    )
    assert made.hours["g1"] == (4, *(0,) * 22, 1)
    assert made.history["ok"] == (*(0,) * 13, 5)
    assert made.history["failed"] == (2, *(0,) * 13)
    assert made.history["unheard of"] == (*(0,) * 13, 1)
    assert (made.history_days[0], made.history_days[-1]) == (
        DAY - timedelta(days=13),
        DAY,
    )


def test_many_themes_end_with_other_themes_and_no_theme() -> None:
    themes = [(f"theme {n}", 20 - n) for n in range(17)]

    assert shown_themes([*themes, (None, 7)]) == (
        *themes[:15],
        ("other themes", 5 + 4),
        ("no theme", 7),
    )
    assert shown_themes(themes[:2]) == tuple(themes[:2])
    assert shown_themes([]) == ()


def test_long_findings_are_cut_and_checks_without_findings_are_named() -> None:
    stale = Findings(
        100, ("agency", "article_id"), tuple(("a0", f"id{n}") for n in range(12))
    )
    gaps = {"g1": {"stale": stale, "silent": Findings(1200, ("agency",), ())}}

    made = build_report(DayCounts(day=DAY), [desk("g1")], gaps, NEXT_MORNING)

    assert made.gaps == (
        Section(
            title="g1: stale",
            header=("agency", "article_id"),
            rows=stale.rows[:10],
            note="12 found among 100 checked; 2 more are not shown",
        ),
    )
    assert made.in_order == ("g1: silent (1,200 checked)",)


def test_a_day_is_over_at_midnight_utc() -> None:
    midnight = datetime(2026, 11, 20, tzinfo=UTC)
    assert report(DayCounts(day=DAY), midnight).is_over
    assert not report(DayCounts(day=DAY), midnight - timedelta(seconds=1)).is_over
