"""When a sensor evaluates the backlog again."""

from dataclasses import replace

import pytest

from news_assets.defs.sensor_cursor import Cursor

QUIET = Cursor(snapshot=7, evaluated=7, evaluated_at=1000.0, evaluation_s=0.01)
BUSY = replace(QUIET, has_backlog=True)


@pytest.mark.parametrize(
    ("cursor", "snapshot", "after_s", "is_due"),
    [
        (QUIET, 7, 59.0, False),
        (QUIET, 7, 60.0, True),  # work may have become due
        (QUIET, 8, 0.2, True),
        (BUSY, 8, 0.4, False),  # active runs change the lake all the time
        (BUSY, 7, 0.5, True),
        (replace(BUSY, evaluation_s=0.2), 8, 2.4, False),
        (replace(BUSY, evaluation_s=0.2), 8, 2.6, True),
        (replace(BUSY, evaluation_s=0.6), 8, 2.9, False),
        (replace(BUSY, evaluation_s=0.6), 8, 3.1, True),
    ],
)
def test_an_evaluation_is_due_after_a_change_and_less_often_with_a_backlog(
    cursor: Cursor, snapshot: int, after_s: float, is_due: bool
) -> None:
    assert (
        replace(cursor, snapshot=snapshot).is_evaluation_due(1000.0 + after_s) is is_due
    )


@pytest.mark.parametrize(
    ("cursor", "after_s", "tick_s"),
    [
        (replace(QUIET, changed_at=1000.0), 29.0, 4.0),
        (replace(QUIET, changed_at=1000.0), 30.0, 12.0),
        (replace(BUSY, changed_at=1000.0), 30.0, 4.0),
    ],
)
def test_ticks_are_longer_while_nothing_happens(
    cursor: Cursor, after_s: float, tick_s: float
) -> None:
    assert cursor.tick_s(4.0, 1000.0 + after_s) == tick_s


def test_a_later_commit_is_a_change_and_another_mark_alone_is_none() -> None:
    later = QUIET.after((1, 2), 8, 1010.0)
    assert later == replace(QUIET, mark=(1, 2), snapshot=8, changed_at=1010.0)
    assert later.after((3, 4), 8, 1020.0) == replace(later, mark=(3, 4))


@pytest.mark.parametrize(
    ("mark", "after_s", "is_due"),
    [
        ((1, 2), 59.0, False),
        ((1, 2), 60.0, True),
        ((1, 3), 0.2, True),
        (None, 0.2, True),  # the process has not opened the lake yet
    ],
)
def test_a_lake_with_the_same_mark_is_not_looked_at(
    mark: tuple[int, ...] | None, after_s: float, is_due: bool
) -> None:
    assert replace(QUIET, mark=(1, 2)).is_look_due(mark, 1000.0 + after_s) is is_due


def test_sweeps_take_at_most_a_fiftieth_of_the_time() -> None:
    swept = Cursor(swept_at=1000.0, sweep_s=4.0)
    assert (swept.is_sweep_due(1199.0), swept.is_sweep_due(1201.0)) == (False, True)
    assert Cursor(swept_at=1000.0).is_sweep_due(1061.0)


@pytest.mark.parametrize(
    "written", [None, "", "[]", "{", '{"unknown": 1}', '{"attempts": 3}']
)
def test_a_cursor_that_cannot_be_read_is_a_new_one(written: str | None) -> None:
    assert Cursor.from_json(written) == Cursor()


def test_a_cursor_survives_the_round_trip_through_json() -> None:
    cursor = replace(BUSY, mark=(1, 2), swept_at=990.0, sweep_s=0.5)
    assert Cursor.from_json(cursor.to_json()) == cursor
