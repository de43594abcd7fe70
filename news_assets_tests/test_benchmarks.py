"""What `make bench` keeps of the benchmarks' output, and what it says has moved."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from news_assets_tests.benchmarks import (
    Move,
    Run,
    figures_of,
    keep,
    kept_runs,
    main,
    moves,
    names_of_scripts,
    output_of,
    report,
)

PRINTED = """\
import dagster: 1.05 s of CPU; load 12.3
  news-assets status                    0.35   goal 0.4
e5 vectors of 384: 1,200 articles, 12.5ms each, p95 20 ms (80%)
no figure in this line
http://127.0.0.1:8970/stories 2026-11-28
  news-assets status                    0.50   goal 0.4
"""
RUN = Run(at="2026-11-28T05:00:00+00:00", commit="abc", machine="2 cores", load=1.0)


def test_the_numbers_of_a_line_are_kept_by_its_words() -> None:
    assert figures_of(PRINTED) == {
        "import dagster: # s of CPU;": [1.05],
        "news-assets status # goal #": [0.35, 0.4],
        "e5 vectors of #: # articles, #ms each, p95 # ms (#%)": [384, 1200, 12.5, 20, 80],
        "news-assets status # goal # [2]": [0.5, 0.4],
    }  # fmt: skip


def test_a_number_has_moved_if_it_is_another_by_more_than_a_fifth() -> None:
    before = {"a # of #": [10.0, 100.0], "b #": [0.0], "only before #": [1.0]}
    after = {"a # of #": [11.9, 79.0], "b #": [3.0], "only after #": [1.0]}

    found = moves(before, after)

    assert found == [Move("a # of #", 100.0, 79.0), Move("b #", 0.0, 3.0)]
    assert [str(one) for one in found] == ["a # of #: 100 → 79 (-21%)", "b #: 0 → 3"]


def test_a_benchmark_is_compared_with_the_newest_kept_run_that_has_it(
    tmp_path: Path,
) -> None:
    runs = [
        replace(RUN, at=f"2026-11-2{day}T05:00:00+00:00", figures=figures)
        for day, figures in (
            (6, {"lake": {"read #": [1.0]}, "web": {"page #": [5.0]}}),
            (7, {"lake": {"read #": [2.0]}}),
        )
    ]
    for run in runs:
        keep(run, tmp_path)
    figures = {
        "lake": {"read #": [1.0]},
        "web": {"page #": [5.1]},
        "idle": {"cpu #": [1.0]},
    }
    now = replace(RUN, machine="4 cores", load=3.0, figures=figures)

    assert kept_runs(tmp_path) == runs[::-1]
    assert report(now, kept_runs(tmp_path)) == [
        "lake: 1 moved since 2026-11-27T05:00:00+00:00 on 2 cores; load 1.0 then, 3.0 now",
        "  read #: 2 → 1 (-50%)",
        "web: 0 moved since 2026-11-26T05:00:00+00:00 on 2 cores; load 1.0 then, 3.0 now",
        "idle: nothing to compare with",
    ]


def test_output_is_passed_on_and_returned(capfd: pytest.CaptureFixture[str]) -> None:
    program = "print('read 1.5 ms'); raise SystemExit(3)"

    assert output_of([sys.executable, "-c", program]) == (3, "read 1.5 ms\n")
    assert capfd.readouterr().out == "read 1.5 ms\n"


def test_an_unknown_benchmark_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert {"lake", "startup", "stories"} <= set(names_of_scripts())
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "no benchmark nothing; there are: alerts, " in capfd.readouterr().err
