from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.freshness.run_planner import (
    FIRST_PAUSE_S,
    MAX_ATTEMPTS,
    MAX_GOING,
    MAX_PARTITIONS,
    STAGES,
    Asked,
    Cell,
    Decision,
    Going,
    Rectangle,
    Wanted,
    decide,
    given_up_rows,
    memory_from_json,
    memory_to_json,
    rectangles,
    wanted_cells,
)

TODAY = date(2026, 11, 20)
AGENCIES = [f"a{number:03}" for number in range(160)]
NOW_S = 1_000_000.0

cells = st.builds(
    lambda agency, age: Cell(AGENCIES[agency], TODAY - timedelta(age)), st.integers(0, 159), st.integers(0, 599)
)


def wanted(agency: int, age: int, stage: str = "raw_articles", state: str = "s") -> Wanted:
    return Wanted(Cell(AGENCIES[agency], TODAY - timedelta(age)), stage, state)


def decided(*wishes: Wanted, going: tuple[Going, ...] = (), memory: dict[Cell, Asked] | None = None) -> Decision:
    return decide(wishes, going, memory or {}, AGENCIES, TODAY, NOW_S)


def test_what_is_wanted_is_asked_for_at_once_and_remembered() -> None:
    (request,) = decided(wanted(3, 0)).requests
    assert (request.stage, request.first, request.last, request.attempt) == (
        "raw_articles",
        Cell("a003", TODAY),
        Cell("a003", TODAY),
        1,
    )
    assert request.stages == STAGES
    assert decided(wanted(3, 0)).memory == {Cell("a003", TODAY): Asked(1, NOW_S + FIRST_PAUSE_S, "s")}


def test_nothing_is_asked_for_while_a_run_over_it_is_queued_or_going() -> None:
    run = Going(frozenset(STAGES), frozenset({"a003"}), TODAY - timedelta(2), TODAY)
    assert decided(wanted(3, 1), going=(run,)).requests == ()


@pytest.mark.parametrize(
    "run",
    [
        Going(frozenset({"search_index"}), frozenset({"a003"}), TODAY, TODAY),
        Going(frozenset(STAGES), frozenset({"a004"}), TODAY, TODAY),
        Going(frozenset(STAGES), frozenset({"a003"}), TODAY - timedelta(9), TODAY - timedelta(1)),
    ],
)
def test_a_run_over_another_stage_agency_or_day_is_no_reason_to_wait(run: Going) -> None:
    assert len(decided(wanted(3, 0), going=(run,)).requests) == 1


def test_the_same_state_is_asked_for_again_only_after_a_pause_that_doubles() -> None:
    cell = Cell("a003", TODAY)
    early = decided(wanted(3, 0), memory={cell: Asked(3, NOW_S + 1, "s")})
    assert (early.requests, early.memory) == ((), {cell: Asked(3, NOW_S + 1, "s")})
    late = decided(wanted(3, 0), memory={cell: Asked(3, NOW_S, "s")})
    assert late.requests[0].attempt == 4
    assert late.memory[cell] == Asked(4, NOW_S + 8 * FIRST_PAUSE_S, "s")


def test_another_state_is_asked_for_at_once_as_if_it_were_the_first_time() -> None:
    cell = Cell("a003", TODAY)
    decision = decided(wanted(3, 0, state="new"), memory={cell: Asked(7, NOW_S + 900, "s")})
    assert (decision.requests[0].attempt, decision.memory[cell].state) == (1, "new")


def test_what_is_no_longer_wanted_is_forgotten() -> None:
    assert decided(memory={Cell("a003", TODAY): Asked(2, NOW_S, "s")}).memory == {}


def test_after_the_last_attempt_it_is_given_up_and_forgotten() -> None:
    cell = Cell("a003", TODAY)
    decision = decided(wanted(3, 0), memory={cell: Asked(MAX_ATTEMPTS, NOW_S, "s")})
    assert decision == Decision((), (wanted(3, 0),), {})


def test_all_attempts_together_take_a_working_day_so_that_a_long_outage_gives_nothing_up() -> None:
    pauses_s = sum(FIRST_PAUSE_S * 2**attempt for attempt in range(MAX_ATTEMPTS))
    assert 8 * 3600 < pauses_s < 24 * 3600


def test_neighbours_are_one_request_and_each_attempt_takes_fewer_of_them() -> None:
    wishes = [wanted(agency, 0) for agency in range(100)]
    sizes = []
    for attempt in range(6):
        memory = {wish.cell: Asked(attempt, NOW_S, "s") for wish in wishes} if attempt else None
        sizes.append(max(len(request.wanted) for request in decided(*wishes, memory=memory).requests))
    assert sizes == [100, 100, 31, 7, 1, 1]


def test_recent_days_come_first_and_do_not_wait_for_old_ones() -> None:
    requests = decided(*(wanted(0, age) for age in (400, 40, 20, 5, 1, 0))).requests
    assert [(request.first.day, request.last.day) for request in requests] == [
        (TODAY - timedelta(1), TODAY),
        (TODAY - timedelta(5), TODAY - timedelta(5)),
        (TODAY - timedelta(20), TODAY - timedelta(20)),
        (TODAY - timedelta(40), TODAY - timedelta(40)),
        (TODAY - timedelta(400), TODAY - timedelta(400)),
    ]
    assert [request.priority(TODAY) for request in requests] == [0, -5, -20, -40, -400]


def test_a_further_attempt_has_a_lower_priority_and_tomorrow_is_as_urgent_as_today() -> None:
    request = decided(wanted(0, 0)).requests[0]
    assert [replace(request, attempt=attempt).priority(TODAY) for attempt in (1, 2, 3)] == [0, -20, -40]
    assert decided(wanted(0, -1)).requests[0].priority(TODAY) == 0


def test_a_request_begins_at_the_first_stage_that_is_behind() -> None:
    found = {
        request.stage: request.stages
        for request in decided(wanted(0, 0, "search_index"), wanted(9, 0, "enriched_articles")).requests
    }
    assert found == {"search_index": ("search_index",), "enriched_articles": STAGES[1:]}


def test_no_more_runs_are_asked_for_than_can_wait() -> None:
    wishes = [wanted(6 * n, 23 * n) for n in range(26)]  # too far apart to be joined
    run = Going(frozenset(STAGES), frozenset({"a159"}), TODAY, TODAY)
    assert len(decided(*wishes, going=(run,) * 20).requests) == MAX_GOING - 20
    assert decided(*wishes, going=(run,) * 100).requests == ()


def test_the_same_wishes_have_the_same_key_and_another_attempt_or_state_another() -> None:
    cell = Cell("a003", TODAY)
    keys = [
        decided(wanted(3, 0)).requests[0].key,
        decided(wanted(3, 0)).requests[0].key,
        decided(wanted(3, 0), memory={cell: Asked(1, NOW_S, "s")}).requests[0].key,
        decided(wanted(3, 0, state="t")).requests[0].key,
    ]
    assert len(set(keys)) == 3
    assert keys[0] == keys[1]


@given(st.sets(cells, max_size=300), st.integers(1, 500), st.integers(0, 60))
def test_rectangles_hold_every_cell_and_none_is_too_large(found: set[Cell], limit: int, spare: int) -> None:
    made = rectangles(found, AGENCIES, limit, spare)
    inside = {
        Cell(AGENCIES[position], rectangle.first_day + timedelta(day))
        for rectangle in made
        for position in range(rectangle.first, rectangle.last + 1)
        for day in range((rectangle.last_day - rectangle.first_day).days + 1)
    }
    assert found <= inside
    assert all(rectangle.size <= limit for rectangle in made)
    if not spare:
        assert inside == found


@given(st.sets(cells, max_size=200))
def test_every_cell_is_asked_for_exactly_once(found: set[Cell]) -> None:
    requests = decide([Wanted(cell, STAGES[0], "s") for cell in found], (), {}, AGENCIES, TODAY, NOW_S).requests
    asked = [one.cell for request in requests for one in request.wanted]
    assert len(asked) == len(set(asked))
    assert len(requests) == MAX_GOING or set(asked) == found


def test_a_rectangle_of_days_and_agencies_is_few_requests() -> None:
    month = [wanted(agency, age) for agency in range(160) for age in range(30)]
    assert len(decided(*month).requests) <= 4800 / MAX_PARTITIONS + 4


def test_a_hole_is_bridged_where_that_saves_a_run() -> None:
    row = [Cell(AGENCIES[0], TODAY), Cell(AGENCIES[5], TODAY), Cell(AGENCIES[150], TODAY)]
    assert rectangles(row, AGENCIES, 500, 30) == [Rectangle(0, 5, TODAY, TODAY), Rectangle(150, 150, TODAY, TODAY)]
    assert len(rectangles(row, AGENCIES, 500, 0)) == 3


def work(*rows: tuple[str, str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "agency": agency,
                "day": TODAY,
                "article_id": article_id,
                "stage": stage,
                "why": "missing",
                "since": datetime(2026, 11, 20, tzinfo=UTC),
                "version": version,
                "trace_id": "t",
            }
            for agency, article_id, stage, version in rows
        ]
    )


def test_an_agency_day_is_wanted_from_its_first_stage_on_and_its_state_is_that_of_all_its_work() -> None:
    first, second = wanted_cells(
        work(("a", "1", "search_index", "v"), ("a", "2", "enriched_articles", "v"), ("b", "3", "search_index", "v"))
    )
    assert (first.cell, first.stage, second.cell, second.stage) == (
        Cell("a", TODAY),
        "enriched_articles",
        Cell("b", TODAY),
        "search_index",
    )
    (changed, _) = wanted_cells(
        work(("a", "1", "search_index", "w"), ("a", "2", "enriched_articles", "v"), ("b", "3", "search_index", "v"))
    )
    assert changed.state != first.state


def test_what_is_given_up_becomes_failures_of_its_own_agency_days_alone() -> None:
    rows = work(("a", "1", "search_index", "v"), ("b", "3", "search_index", "v"))
    (failure,) = given_up_rows("d", wanted_cells(rows)[:1], rows, datetime(2026, 11, 21, tzinfo=UTC))
    assert (failure.article_id, failure.stage, failure.version, failure.attempts, failure.next_try_at) == (
        "1",
        "search_index",
        "v",
        MAX_ATTEMPTS,
        None,
    )


@given(st.dictionaries(cells, st.builds(Asked, st.integers(0, 12), st.floats(0, 2e9), st.text(max_size=16))))
def test_what_is_remembered_survives_being_written_down(memory: dict[Cell, Asked]) -> None:
    assert memory_from_json(memory_to_json(memory)) == memory  # type: ignore[arg-type]
