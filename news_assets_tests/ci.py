"""`make ci`: runs lint beside the tests, keeps the numbers of both and of the structure
of the code, and says which moved since the newest kept run.

A run is a JSON file like those of `make bench`, and beside it what the tests cost, in
the folder `$CI_ARTIFACTS` or `.news/ci`. A missed goal of the structure is no failure.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from news_assets_tests.support.cost_report import FILE

COSTS: Final = Path(".pytest_cache/d/costs") / FILE


@dataclass(frozen=True, slots=True)
class Step:
    """A command; the numbers of the lines of its output that hold `kept` are kept."""

    name: str
    command: Sequence[str]
    kept: str = ""
    is_check: bool = True


LINT: Final = Step("lint", ("make", "lint"), kept="no issues found")
STRUCTURE: Final = Step(
    "structure",
    (sys.executable, "-m", "news_assets_tests.quality.structure"),
    is_check=False,
)
# One process compiles what all tests import. Four that begin together would each compile
# all of it: a minute of CPU.
COLLECTION: Final = Step(
    "collection",
    (sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not exhaustive"),
    kept=" collected in ",
)
TESTS: Final = Step("tests", ("make", "test", "SLOW=1"), kept="minutes of CPU")


def add(run: Run, step: Step, run_command: Callable[..., tuple[int, str]]) -> str:
    """Run a step, add its numbers to the run, and return its output."""
    started = time.monotonic()
    code, text = run_command(step.command)
    seconds = round(time.monotonic() - started, 1)
    lines = [line for line in text.splitlines() if step.kept in line]
    figures = figures_of("\n".join(lines))
    run.figures[step.name] = {**figures, "seconds: #": [seconds]}
    run.seconds[step.name] = seconds
    if code and step.is_check:
        run.failed.append(step.name)
    return text


def quiet_output_of(command: Sequence[str]) -> tuple[int, str]:
    """Run a command, and return its exit code and what it printed."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def run_steps(
    run: Run, beside: Sequence[Step], before: Sequence[Step], shown: Step
) -> None:
    """Run the steps `beside` one after the other, and at the same time those `before`
    and then the one that shows its output. Those beside it print theirs at the end.
    """
    with ThreadPoolExecutor(1) as pool:
        waiting = [pool.submit(add, run, step, quiet_output_of) for step in beside]
        for step in before:
            add(run, step, quiet_output_of)
        add(run, shown, output_of)
    for step, done in zip(beside, waiting, strict=True):
        print(f"== {step.name}\n{done.result()}", end="")


def keep_and_compare(run: Run, folder: Path, costs: Path) -> None:
    """Keep a run with the costs of its tests, and print what moved."""
    earlier = kept_runs(folder)
    file = keep(run, folder)
    if costs.exists():
        shutil.copyfile(costs, file.with_suffix(".txt"))
    print(f"== what moved by more than {MOVED:.0%}; kept in {file}")
    print("\n".join(report(run, earlier)))


def main() -> int:
    """Run everything; return 1 if lint or a test failed."""
    run = new_run()
    run_steps(run, [LINT, STRUCTURE], [COLLECTION], TESTS)
    keep_and_compare(run, Path(os.environ.get("CI_ARTIFACTS", ".news/ci")), COSTS)
    if run.failed:
        print(f"failed: {', '.join(run.failed)}")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
