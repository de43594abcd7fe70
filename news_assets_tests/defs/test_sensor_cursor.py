"""When a sensor looks again."""

from dataclasses import replace

import pytest

from news_assets.defs.sensor_cursor import Cursor

QUIET = Cursor(snapshot=7, evaluated_at=1000.0, evaluation_s=0.01)
BUSY = replace(QUIET, has_backlog=True)


@pytest.mark.parametrize(
    ("cursor", "snapshot", "after_s", "looks"),
    [
        (QUIET, 7, 29.0, False),
        (QUIET, 7, 30.0, True),  # what becomes due by the clock
        (QUIET, 8, 0.2, True),
        (BUSY, 8, 0.9, False),  # runs that are going move the lake all the time
        (BUSY, 7, 1.0, True),
        (replace(BUSY, evaluation_s=0.4), 8, 4.9, False),
        (replace(BUSY, evaluation_s=0.4), 8, 5.1, True),
    ],
)
def test_it_looks_when_the_lake_has_moved_and_less_often_while_runs_move_it(
    cursor: Cursor, snapshot: int, after_s: float, looks: bool
) -> None:
    assert cursor.is_evaluation_due(snapshot, 1000.0 + after_s) is looks


def test_a_sweep_takes_a_fiftieth_of_the_time_at_most() -> None:
    swept = Cursor(swept_at=1000.0, sweep_s=4.0)
    assert (swept.is_sweep_due(1199.0), swept.is_sweep_due(1201.0)) == (False, True)
    assert Cursor(swept_at=1000.0).is_sweep_due(1061.0)


@pytest.mark.parametrize("written", [None, "", "[]", "{", '{"unknown": 1}', '{"attempts": 3}'])
def test_a_cursor_that_cannot_be_read_is_a_new_one(written: str | None) -> None:
    assert Cursor.from_json(written) == Cursor()


def test_a_cursor_is_read_as_it_was_written() -> None:
    cursor = replace(BUSY, swept_at=990.0, sweep_s=0.5)
    assert Cursor.from_json(cursor.to_json()) == cursor
