from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from news_assets.pipeline.source_health import (
    HEADER,
    LEGEND,
    SourceFacts,
    source_facts,
)

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
NEVER_POLLED: dict[str, Any] = {
    "source_id": "govbr/mec/feed-1",
    "polls": [],
    "interval_s": None,
    "next_poll_at": None,
    "new_ratio": None,
    "last_new_at": None,
    "last_reason": None,
    "silent_for": None,
    "habit": None,
}
OUTCOMES = [
    ("ok", 2),
    ("ok", 0),
    ("unchanged", 0),
    ("failed", 0),
    ("blocked", 0),
    ("gone", 0),
    ("odd", 0),
]


def test_a_source_is_shown_with_the_symbols_of_the_legend() -> None:
    row = NEVER_POLLED | {
        "polls": [
            {"outcome": outcome, "new_count": new_count}
            for outcome, new_count in OUTCOMES
        ],
        "interval_s": 7 * 86_400.0,
        "next_poll_at": NOW + timedelta(hours=2, minutes=30),
        "new_ratio": 0.104,
        "last_new_at": NOW - timedelta(hours=3),
        "last_reason": "timed out",
        "silent_for": "40 days",
        "habit": "daily",
    }
    facts = source_facts(row, NOW)
    assert facts == SourceFacts(
        source_id="govbr/mec/feed-1",
        polls="+o=FBG?",
        every="7 days",
        next="in 2 h 30 min",
        new="10%",
        last_new="2026-11-20 12:00 UTC",
        silent="40 days; usually daily",
        reason="timed out",
    )
    assert all(f"{symbol} " in LEGEND for symbol in "+o=FBG")
    assert len(facts.row) == len(fields(SourceFacts)) == len(HEADER)


def test_unknown_values_are_none() -> None:
    assert source_facts(NEVER_POLLED, NOW).row == ("govbr/mec/feed-1", *[None] * 7)


@pytest.mark.parametrize("late_s", [0, 1, 86_400])
def test_a_source_is_due_from_its_next_poll_on(late_s: int) -> None:
    row = NEVER_POLLED | {"next_poll_at": NOW - timedelta(seconds=late_s)}
    assert source_facts(row, NOW).next == "due"
