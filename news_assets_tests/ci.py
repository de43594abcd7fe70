"""`make ci`: runs lint and the tests, keeps their numbers and those of the structure of
the code, and says which moved since the newest kept run.

A run is a JSON file like those of `make bench`, in the folder `$CI_ARTIFACTS` or
`.news/ci`. A missed goal of the structure is no failure.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from news_assets_tests.benchmarks import (
    MOVED,
    Run,
    figures_of,
    keep,
    kept_runs,
    new_run,
    output_of,
    report,
)


@dataclass(frozen=True, slots=True)
class Step:
    """A command; the numbers of the lines of its output that hold `kept` are kept."""

    name: str
    command: Sequence[str]
    kept: str = ""
    is_check: bool = True


STEPS: Final = (
    # each of the two keeps one processor busy
    Step("lint", ("make", "--jobs", "2", "lint", "compiled"), kept="no issues found"),
    Step(
        "structure",
        (sys.executable, "-m", "news_assets_tests.quality.structure"),
        is_check=False,
    ),
    Step("tests", ("make", "test"), kept="minutes of CPU"),
    Step("system tests", ("make", "test-system"), kept="minutes of CPU"),
)


def run_steps(run: Run, steps: Sequence[Step]) -> None:
    """Run the steps, also after one that failed, and add their numbers to the run."""
    for step in steps:
        print(f"== {step.name}", flush=True)
        started = time.monotonic()
        code, text = output_of(step.command)
        seconds = round(time.monotonic() - started, 1)
        lines = [line for line in text.splitlines() if step.kept in line]
        figures = figures_of("\n".join(lines))
        run.figures[step.name] = {**figures, "seconds: #": [seconds]}
        run.seconds[step.name] = seconds
        if code and step.is_check:
            run.failed.append(step.name)


def keep_and_compare(run: Run, folder: Path) -> None:
    """Keep a run, and print what moved."""
    earlier = kept_runs(folder)
    file = keep(run, folder)
    print(f"== what moved by more than {MOVED:.0%}; kept in {file}")
    print("\n".join(report(run, earlier)))


def main() -> int:
    """Run everything; return 1 if lint or a test failed."""
    run = new_run()
    run_steps(run, STEPS)
    keep_and_compare(run, Path(os.environ.get("CI_ARTIFACTS", ".news/ci")))
    if run.failed:
        print(f"failed: {', '.join(run.failed)}")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
