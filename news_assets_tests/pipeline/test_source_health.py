from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from news_assets.pipeline.source_health import (
    PollHistory,
    find_failing_sources,
)
from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk, Source

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
HEADER = (
    "source_id",
    "agency",
    "what",
    "since",
    "reason",
    "failed_polls",
    "failure_points",
    "next_poll_at",
)
SOURCE = Source(
    source_id="govbr/mec/feed-1",
    desk="govbr",
    agency="mec",
    kind="feed",
    url="https://example.org/feed",
    timezone="America/Sao_Paulo",
    language="pt-BR",
)
GOOD = SourceState(
    source_id="govbr/mec/feed-1",
    desk="govbr",
    agency="mec",
    url="https://example.org/feed",
    etag=None,
    last_modified=None,
    document_hash="0" * 64,
    last_polled_at=NOW - 10 * MINUTE,
    last_new_at=NOW - 3 * HOUR,
    next_poll_at=NOW + 5 * MINUTE,
    interval_s=900.0,
    failure_points=0.0,
    last_outcome="unchanged",
    last_reason=None,
)
FAILED = replace(
    GOOD, last_outcome="failed", last_reason="no answer in time", failure_points=0.5
)
ANSWERED = PollHistory(
    source_id="govbr/mec/feed-1",
    first_polled_at=NOW - 20 * DAY,
    first_answer_at=NOW - 20 * DAY,
    last_answer_at=NOW - 10 * MINUTE,
    entry_count=20,
)
FAILED_ONCE = replace(
    ANSWERED,
    last_answer_at=NOW - 25 * MINUTE,
    failed_count=1,
    failing_since=NOW - 10 * MINUTE,
)


def desk(*, is_active: bool = True, sources: tuple[Source, ...] = (SOURCE,)) -> Desk:
    agency = Agency(
        key="mec",
        name="MEC",
        timezone="UTC",
        language="pt",
        sources=sources,
        is_active=is_active,
    )
    return Desk(
        key="govbr",
        timezone="UTC",
        language="pt",
        first_day=date(2026, 1, 1),
        agencies=(agency,),
    )


def find(
    state: SourceState | None, polls: PollHistory | None = None, now: datetime = NOW
) -> Findings:
    states = {state.source_id: state} if state else {}
    return find_failing_sources(
        desk(), states, {polls.source_id: polls} if polls else {}, now
    )


def rows(
    state: SourceState | None, polls: PollHistory | None = None
) -> list[tuple[object, ...]]:
    return [row[2:7] for row in find(state, polls).rows]


@pytest.mark.parametrize("outcome", ["ok", "unchanged"])
def test_a_source_that_answers_in_time_has_no_finding(outcome: str) -> None:
    assert find(replace(GOOD, last_outcome=outcome), ANSWERED) == Findings(
        1, HEADER, ()
    )
    assert find(replace(GOOD, last_outcome=outcome)) == Findings(1, HEADER, ())


def test_a_source_that_keeps_failing_is_found_with_its_reason_and_times() -> None:
    state = replace(FAILED, failure_points=2.5, next_poll_at=NOW + HOUR)
    polls = replace(FAILED_ONCE, failed_count=3, failing_since=NOW - 2 * HOUR)
    row = (
        "govbr/mec/feed-1",
        "mec",
        "fails",
        NOW - 2 * HOUR,
        "no answer in time",
        3,
        2.5,
        NOW + HOUR,
    )
    assert find(state, polls) == Findings(1, HEADER, (row,))


def test_one_soft_failure_after_a_success_is_not_a_finding() -> None:
    assert rows(FAILED, FAILED_ONCE) == []
    assert rows(FAILED) == []


@pytest.mark.parametrize(
    ("state", "polls"),
    [
        (replace(FAILED, failure_points=1.0), FAILED_ONCE),
        (replace(FAILED, failure_points=0.25), replace(FAILED_ONCE, failed_count=2)),
        (FAILED, replace(FAILED_ONCE, last_answer_at=NOW - HOUR - MINUTE)),
        (
            FAILED,
            replace(FAILED_ONCE, last_answer_at=None, first_polled_at=NOW - 2 * HOUR),
        ),
    ],
)
def test_a_hard_failure_two_in_a_row_or_an_hour_without_an_answer_are_findings(
    state: SourceState, polls: PollHistory
) -> None:
    assert [row[0] for row in rows(state, polls)] == ["fails"]


def test_a_slow_source_is_found_after_two_intervals() -> None:
    slow = replace(FAILED, interval_s=86_400.0)
    assert rows(slow, replace(FAILED_ONCE, last_answer_at=NOW - 47 * HOUR)) == []
    assert len(rows(slow, replace(FAILED_ONCE, last_answer_at=NOW - 49 * HOUR))) == 1


def test_gone_and_blocked_are_kinds_of_their_own_and_gone_is_found_at_once() -> None:
    gone = replace(FAILED, last_outcome="gone", last_reason="gone")
    blocked = replace(FAILED, last_outcome="blocked", last_reason="forbidden (403)")
    since = NOW - 10 * MINUTE
    assert rows(gone, FAILED_ONCE) == [("gone", since, "gone", 1, 0.5)]
    assert rows(blocked, FAILED_ONCE) == []
    assert rows(blocked, replace(FAILED_ONCE, failed_count=2)) == [
        ("blocked", since, "forbidden (403)", 2, 0.5)
    ]


def test_an_empty_listing_is_a_finding_after_two_days() -> None:
    empty = replace(ANSWERED, entry_count=0, empty_since=NOW - 2 * DAY)
    assert rows(GOOD, empty) == [
        ("lists nothing", NOW - 2 * DAY, "the listing has no entries", 0, 0.0)
    ]
    assert rows(GOOD, replace(empty, empty_since=NOW - 2 * DAY + MINUTE)) == []


def test_an_unchanged_document_is_fine_if_it_ever_listed_something() -> None:
    only_unchanged = replace(ANSWERED, entry_count=None)
    assert rows(GOOD, only_unchanged) == []
    assert rows(replace(GOOD, last_new_at=None), only_unchanged) == [
        ("lists nothing", NOW - 20 * DAY, "the listing has no entries", 0, 0.0)
    ]


def test_a_source_without_polls_is_never_polled_or_overdue() -> None:
    assert rows(None) == [("never polled", None, "no poll is recorded", 0, 0.0)]
    due = NOW - 31 * MINUTE
    assert rows(replace(GOOD, next_poll_at=due), ANSWERED) == [
        ("overdue", due, "due but not polled", 0, 0.0)
    ]
    assert rows(replace(GOOD, next_poll_at=NOW - 30 * MINUTE), ANSWERED) == []
    assert (
        rows(replace(GOOD, next_poll_at=NOW - 10 * MINUTE, interval_s=1.0), ANSWERED)
        == []
    )


def test_a_failing_source_can_also_be_overdue() -> None:
    state = replace(FAILED, failure_points=1.0, next_poll_at=NOW - HOUR)
    assert [row[0] for row in rows(state, FAILED_ONCE)] == ["fails", "overdue"]


def test_a_failing_source_is_not_overdue_before_its_next_attempt() -> None:
    state = replace(FAILED, failure_points=9.0, next_poll_at=NOW + 20 * DAY)
    assert [row[0] for row in rows(state, FAILED_ONCE)] == ["fails"]


def test_inactive_agencies_and_sources_the_desk_no_longer_has_are_left_out() -> None:
    dead = replace(FAILED, failure_points=9.0)
    assert find_failing_sources(
        desk(is_active=False), {SOURCE.source_id: dead}, {}, NOW
    ) == Findings(0, HEADER, ())
    assert find_failing_sources(
        desk(sources=()), {SOURCE.source_id: dead}, {}, NOW
    ) == Findings(0, HEADER, ())


def test_the_worst_kind_comes_first() -> None:
    sources = tuple(replace(SOURCE, source_id=name) for name in ("a", "b", "c", "d"))
    states = {
        "b": replace(FAILED, source_id="b", failure_points=1.0),
        "c": replace(FAILED, source_id="c", last_outcome="gone", last_reason="gone"),
        "d": replace(GOOD, source_id="d", next_poll_at=NOW - DAY),
    }
    found = find_failing_sources(desk(sources=sources), states, {}, NOW)
    assert [row[0:3:2] for row in found.rows] == [
        ("c", "gone"),
        ("b", "fails"),
        ("a", "never polled"),
        ("d", "overdue"),
    ]
