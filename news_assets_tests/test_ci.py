"""What `make ci` keeps of its steps, and what the tests' costs say."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from news_assets_tests.benchmarks import Run, kept_runs
from news_assets_tests.ci import Step, keep_and_compare, run_steps
from news_assets_tests.support.cost_report import Kind, report_of


def step(name: str, program: str, *, kept: str = "", is_check: bool = True) -> Step:
    return Step(name, (sys.executable, "-c", program), kept, is_check)


def new_run(at: str = "2026-11-28T05:00:00+00:00") -> Run:
    return Run(at=at, commit="abc", machine="2 cores", load=1.0)


def test_numbers_of_the_named_lines_are_kept_and_only_checks_fail(
    capfd: pytest.CaptureFixture[str],
) -> None:
    run = new_run()
    run_steps(
        run,
        [
            step("lint", "print('373 files'); raise SystemExit(1)"),
            step("size", "print('size 7'); raise SystemExit(1)", is_check=False),
            step("tests", "print('[ 10%]'); print('quick: 3 passed')", kept="passed"),
        ],
    )

    words = {"lint": "# files", "size": "size #", "tests": "quick: # passed"}
    assert {name: list(figures) for name, figures in run.figures.items()} == {
        name: [line, "seconds: #"] for name, line in words.items()
    }
    assert run.failed == ["lint"]
    assert "== lint\n373 files\n== size\nsize 7\n" in capfd.readouterr().out


def test_a_run_is_kept_and_compared_with_the_newest_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ci"
    first, second = new_run(), new_run("2026-11-28T06:00:00+00:00")
    first.figures["tests"] = {"quick: # passed; # minutes": [10, 15.0]}
    second.figures["tests"] = {"quick: # passed; # minutes": [11, 20.0]}

    keep_and_compare(first, folder)
    keep_and_compare(second, folder)

    assert kept_runs(folder) == [second, first]
    assert json.loads(next(folder.glob("*.json")).read_text())["commit"] == "abc"
    printed = capfd.readouterr().out
    assert "tests: nothing to compare with" in printed
    assert "  quick: # passed; # minutes: 15 → 20 (+33%)" in printed


def test_costs_are_summed_by_folder_and_kind() -> None:
    names = ["t/store/test_a.py::b", "t/store/test_a.py::c", "t/web/test_d.py::e"]
    cpu_s = Counter(dict(zip(names, (60.0, 30.0, 6.0), strict=True)))
    lines = report_of(cpu_s, Counter({"t/web/test_d.py": 90.0}))

    assert lines[:5] == [
        "3 tests, 1.6 minutes of CPU",
        "",
        "minutes by folder",
        "    1.50  store/test_a.py",
        "    0.10  web/test_d.py",
    ]
    assert lines[-1] == "    90.0  t/web/test_d.py"
    kind = Kind(Counter(passed=3, skipped=1), cpu_s=90.0)
    assert str(kind) == "3 passed, 1 skipped, 0 failed; 1.5 minutes of CPU"
