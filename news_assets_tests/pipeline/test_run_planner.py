from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.run_planner import (
    MAX_ACTIVE_RUNS,
    MAX_ROWS,
    ActiveRun,
    AgencyDay,
    BacklogDay,
    LastRun,
    Plan,
    PlannedRun,
    backlog_days,
    given_up_failures,
    last_runs_from_json,
    last_runs_to_json,
    plan_runs,
    priority_of,
    retries_of,
)
from news_assets.pipeline.stages import stage_names
from news_assets.records.desks import Agency, Desk, Source
from news_assets.retry_table import RUN

TODAY = date(2026, 11, 20)
AGENCIES = [f"a{number:03}" for number in range(160)]
NOW_S = 1_000_000.0
STAGES = stage_names()

LastRuns = dict[AgencyDay, LastRun]

agency_days = st.builds(
    lambda agency, age: AgencyDay(AGENCIES[agency], TODAY - timedelta(age)),
    st.integers(0, 159),
    st.integers(0, 599),
)


def backlog_day(
    agency: int, age: int, stage: str = "raw_articles", state: str = "s"
) -> BacklogDay:
    key = AgencyDay(AGENCIES[agency], TODAY - timedelta(age))
    return BacklogDay(key, stage, state, rows=1)


def plan(
    *days: BacklogDay,
    active: tuple[ActiveRun, ...] = (),
    last_runs: LastRuns | None = None,
) -> Plan:
    return plan_runs(days, active, last_runs or {}, AGENCIES, STAGES, TODAY, NOW_S)


def test_new_work_is_planned_at_once_and_the_attempt_is_remembered() -> None:
    key, work = AgencyDay("a003", TODAY), backlog_day(3, 0)
    assert plan(work) == Plan(
        runs=(PlannedRun(STAGES, key, key, attempt=1, work=(work,)),),
        last_runs={key: LastRun(1, NOW_S + RUN.pauses_s[0], "s")},
    )


def test_work_of_an_active_run_is_not_planned() -> None:
    run = ActiveRun(frozenset(STAGES), frozenset({"a003"}), TODAY - timedelta(2), TODAY)
    assert plan(backlog_day(3, 1), active=(run,)).runs == ()


@pytest.mark.parametrize(
    "run",
    [
        ActiveRun(frozenset({"search_index"}), frozenset({"a003"}), TODAY, TODAY),
        ActiveRun(frozenset(STAGES), frozenset({"a004"}), TODAY, TODAY),
        ActiveRun(
            frozenset(STAGES),
            frozenset({"a003"}),
            TODAY - timedelta(9),
            TODAY - timedelta(1),
        ),
    ],
)
def test_a_run_over_another_stage_agency_or_day_holds_nothing_back(
    run: ActiveRun,
) -> None:
    assert len(plan(backlog_day(3, 0), active=(run,)).runs) == 1


def test_the_same_state_is_planned_again_after_a_pause_that_doubles() -> None:
    key = AgencyDay("a003", TODAY)
    early = plan(backlog_day(3, 0), last_runs={key: LastRun(3, NOW_S + 1, "s")})
    assert (early.runs, early.last_runs) == ((), {key: LastRun(3, NOW_S + 1, "s")})
    late = plan(backlog_day(3, 0), last_runs={key: LastRun(3, NOW_S, "s")})
    assert late.runs[0].attempt == 4
    assert late.last_runs[key] == LastRun(4, NOW_S + 8 * RUN.pauses_s[0], "s")


def test_another_state_is_planned_at_once_as_a_first_attempt() -> None:
    key = AgencyDay("a003", TODAY)
    found = plan(
        backlog_day(3, 0, state="new"), last_runs={key: LastRun(7, NOW_S + 900, "s")}
    )
    assert (found.runs[0].attempt, found.last_runs[key].state) == (1, "new")


def test_attempts_of_finished_work_are_forgotten() -> None:
    assert (
        plan(last_runs={AgencyDay("a003", TODAY): LastRun(2, NOW_S, "s")}).last_runs
        == {}
    )


def test_after_the_last_attempt_work_is_given_up() -> None:
    key = AgencyDay("a003", TODAY)
    found = plan(
        backlog_day(3, 0), last_runs={key: LastRun(RUN.max_attempts, NOW_S, "s")}
    )
    assert found == Plan((), (backlog_day(3, 0),), {})


def test_all_attempts_together_outlast_a_working_day() -> None:
    pauses_s = sum(RUN.pauses_s[0] * 2**attempt for attempt in range(RUN.max_attempts))
    assert 8 * 3600 < pauses_s < 24 * 3600


def test_neighbours_share_a_run_and_later_attempts_take_fewer() -> None:
    days = [backlog_day(agency, 0) for agency in range(100)]
    sizes = []
    for attempt in range(6):
        attempts = (
            {day.key: LastRun(attempt, NOW_S, "s") for day in days} if attempt else None
        )
        sizes.append(max(len(run.work) for run in plan(*days, last_runs=attempts).runs))
    assert sizes == [100, 100, 31, 7, 1, 1]


def test_recent_days_come_first_and_are_not_joined_with_old_ones() -> None:
    runs = plan(*(backlog_day(0, age) for age in (400, 40, 20, 5, 1, 0))).runs
    assert [(run.first.day, run.last.day) for run in runs] == [
        (TODAY - timedelta(1), TODAY),
        (TODAY - timedelta(5), TODAY - timedelta(5)),
        (TODAY - timedelta(20), TODAY - timedelta(20)),
        (TODAY - timedelta(40), TODAY - timedelta(40)),
        (TODAY - timedelta(400), TODAY - timedelta(400)),
    ]
    assert [run.priority(TODAY) for run in runs] == [0, -100, -400, -800, -3000]


def test_later_attempts_have_a_lower_priority() -> None:
    run = plan(backlog_day(0, 0)).runs[0]
    assert [replace(run, attempt=attempt).priority(TODAY) for attempt in (1, 2, 3)] == [
        0,
        -1,
        -2,
    ]
    assert plan(backlog_day(0, -1)).runs[0].priority(TODAY) == -20


def test_the_priority_of_work_falls_with_the_days_from_today_and_at_each_retry() -> (
    None
):
    days = [TODAY + timedelta(days=ahead) for ahead in (0, 3, -3, 365)]
    assert [priority_of(day, TODAY) for day in days] == [3000, 2940, 2940, 0]
    attempts = [priority_of(TODAY, TODAY, attempt) for attempt in (1, 2, 3)]
    assert attempts == [3000, 2999, 2998]


def test_what_a_run_left_undone_today_does_not_wait_for_older_days() -> None:
    yesterday = TODAY - timedelta(days=1)
    last = priority_of(TODAY, TODAY, RUN.max_attempts)
    assert priority_of(yesterday, TODAY) < last


def test_work_of_a_civic_desk_is_given_up_after_three_attempts_minutes_apart() -> None:
    source = Source(
        source_id="s",
        desk="d",
        agency="a",
        kind="primegov",
        url="u",
        timezone="UTC",
        language="en",
        is_civic=True,
    )
    agency = Agency(key="a", name="A", timezone="UTC", language="en", sources=(source,))
    desk = Desk(
        key="d", timezone="UTC", language="en", first_day=TODAY, agencies=(agency,)
    )
    retries, day, agencies = retries_of(desk), backlog_day(0, 0), ["a000"]
    attempts, starts = {}, []
    for minute in range(60):
        now_s = NOW_S + 60 * minute
        found = plan_runs(
            [day], (), attempts, agencies, STAGES, TODAY, now_s, retries=retries
        )
        starts += [minute] if found.runs else []
        attempts = found.last_runs
        if found.given_up:
            break
    assert starts == [0, 5, 15]
    assert found.given_up == (day,)
    feed = replace(agency, sources=(replace(source, kind="feed", is_civic=False),))
    assert retries_of(replace(desk, agencies=(feed,))) == RUN


def test_a_run_begins_at_the_first_stage_with_work() -> None:
    runs = plan(
        backlog_day(0, 0, "search_index"), backlog_day(9, 0, "enriched_articles")
    ).runs
    assert {run.stages for run in runs} == {("search_index",), STAGES[1:]}


def test_the_number_of_active_runs_is_bounded() -> None:
    days = [backlog_day(6 * n, 23 * n) for n in range(26)]  # too far apart to be joined
    run = ActiveRun(frozenset(STAGES), frozenset({"a159"}), TODAY, TODAY)
    assert len(plan(*days, active=(run,) * 15).runs) == MAX_ACTIVE_RUNS - 15
    assert plan(*days[1:], active=(run,) * 100).runs == ()


def test_the_newest_day_is_planned_however_many_runs_are_active() -> None:
    active = (ActiveRun(frozenset(STAGES), frozenset({"a159"}), TODAY, TODAY),)
    days = [backlog_day(3, 0), backlog_day(3, 9)]
    [run] = plan(*days, active=active * MAX_ACTIVE_RUNS).runs
    assert run.work == (days[0],)


def test_the_key_depends_on_the_work_its_state_and_the_attempt() -> None:
    key = AgencyDay("a003", TODAY)
    keys = [
        plan(backlog_day(3, 0)).runs[0].key,
        plan(backlog_day(3, 0)).runs[0].key,
        plan(backlog_day(3, 0), last_runs={key: LastRun(1, NOW_S, "s")}).runs[0].key,
        plan(backlog_day(3, 0, state="t")).runs[0].key,
    ]
    assert len(set(keys)) == 3
    assert keys[0] == keys[1]


@given(st.sets(agency_days, max_size=200))
def test_every_agency_day_is_planned_exactly_once(found: set[AgencyDay]) -> None:
    runs = plan_runs(
        [BacklogDay(key, STAGES[0], "s", rows=1) for key in found],
        (),
        {},
        AGENCIES,
        STAGES,
        TODAY,
        NOW_S,
    ).runs
    planned = [one.key for run in runs for one in run.work]
    assert len(planned) == len(set(planned))
    assert len(runs) == MAX_ACTIVE_RUNS or set(planned) == found


def test_a_week_of_all_agencies_is_few_runs() -> None:
    days = [backlog_day(agency, age) for agency in range(160) for age in range(7)]
    runs = plan(*days).runs
    assert {one for run in runs for one in run.work} == set(days)
    assert len(runs) <= 2 * len(days) / MAX_ROWS


def test_no_run_has_so_much_work_that_new_articles_wait_for_long() -> None:
    days = [
        replace(backlog_day(agency, age), rows=60)
        for agency in range(10)
        for age in (1, 2)
    ]
    assert [len(run.work) for run in plan(*days).runs] == [1] * 20


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


def test_the_state_of_an_agency_day_covers_all_its_work() -> None:
    first, second = backlog_days(
        work(
            ("a", "1", "search_index", "v"),
            ("a", "2", "enriched_articles", "v"),
            ("b", "3", "search_index", "v"),
        ),
        STAGES,
    )
    assert (first.key, first.stage, second.key, second.stage) == (
        AgencyDay("a", TODAY),
        "enriched_articles",
        AgencyDay("b", TODAY),
        "search_index",
    )
    (changed, _) = backlog_days(
        work(
            ("a", "1", "search_index", "w"),
            ("a", "2", "enriched_articles", "v"),
            ("b", "3", "search_index", "v"),
        ),
        STAGES,
    )
    assert changed.state != first.state


def test_given_up_work_becomes_failures_of_its_own_agency_days() -> None:
    rows = work(("a", "1", "search_index", "v"), ("b", "3", "search_index", "v"))
    (failure,) = given_up_failures(
        "d", backlog_days(rows, STAGES)[:1], rows, datetime(2026, 11, 21, tzinfo=UTC)
    )
    assert (
        failure.article_id,
        failure.stage,
        failure.version,
        failure.attempts,
        failure.next_try_at,
    ) == (
        "1",
        "search_index",
        "v",
        RUN.max_attempts,
        None,
    )


@given(
    st.dictionaries(
        agency_days,
        st.builds(LastRun, st.integers(0, 12), st.floats(0, 2e9), st.text(max_size=16)),
    )
)
def test_last_runs_survive_the_round_trip_through_json(
    last_runs: dict[AgencyDay, LastRun],
) -> None:
    assert last_runs_from_json(last_runs_to_json(last_runs)) == last_runs  # type: ignore[arg-type]
