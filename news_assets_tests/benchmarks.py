"""`make bench`: runs the benchmarks, keeps the numbers that they print, and says which
moved since the last time.

A run is a JSON file in a folder, with the commit and the machine. Each benchmark is
compared with the newest kept run that has it; a number has moved if it is another one
by more than a fifth. Names choose some of the benchmarks:
`python -m news_assets_tests.benchmarks startup lake`.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

FOLDER: Final = Path(".news/bench")
MOVED: Final = 0.2
_SCRIPTS: Final = Path(__file__).parent / "bench"
# a number that is no part of a word; its unit may follow at once
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/-])(-?\d[\d,]*(?:\.\d+)?)(?=(?:[a-zµ]{1,2}|[kMG]B|%)?(?!\w|[.,:/-]\w))"
)
_LOAD: Final = re.compile(r"\bload \d+(\.\d+)?")  # of the machine

Figures = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of benchmarks: `figures` are the numbers of each line that one printed, by
    its words; `seconds` how long each took; `failed` those that missed a target.
    """

    at: str
    commit: str
    machine: str
    load: float
    figures: dict[str, Figures] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Move:
    """A number of a line that is another one than in an earlier run."""

    line: str
    before: float
    after: float

    def __str__(self) -> str:
        change = ""
        if self.before:
            change = f" ({(self.after - self.before) / self.before:+.0%})"
        return f"{self.line}: {self.before:g} → {self.after:g}{change}"


def figures_of(text: str) -> dict[str, list[float]]:
    """Return the numbers of each line by its words, with # for each number; a line with
    the same words as an earlier one has its place behind them.
    """
    found: dict[str, list[float]] = {}
    seen: Counter[str] = Counter()
    for line in _LOAD.sub("", text).splitlines():
        numbers = _NUMBER.findall(line)
        if not numbers:
            continue
        words = " ".join(_NUMBER.sub("#", line).split())
        seen[words] += 1
        if seen[words] > 1:
            words = f"{words} [{seen[words]}]"
        found[words] = [float(number.replace(",", "")) for number in numbers]
    return found


def moves(before: Figures, after: Figures) -> list[Move]:
    """Return the numbers that moved by more than a fifth, of the lines that both have."""
    found: list[Move] = []
    for line, numbers in after.items():
        known = before.get(line, ())
        for old, new in zip(known, numbers, strict=False):
            if abs(new - old) > MOVED * abs(old):
                found.append(Move(line, old, new))
    return found


def output_of(command: Sequence[str]) -> tuple[int, str]:
    """Run a command, pass its output on line by line, and return its exit code and what
    it printed.
    """
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def kept_runs(folder: Path) -> list[Run]:
    """Return the kept runs, the newest first."""
    files = sorted(folder.glob("*.json"), reverse=True)
    return [Run(**json.loads(file.read_text())) for file in files]


def keep(run: Run, folder: Path) -> Path:
    """Store a run; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{run.at.translate({ord(':'): None})}.json"
    file.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n")
    return file


def report(run: Run, earlier: Sequence[Run]) -> list[str]:
    """Return what moved in each benchmark, as lines."""
    lines: list[str] = []
    for name, figures in run.figures.items():
        known = next((one for one in earlier if name in one.figures), None)
        if known is None:
            lines.append(f"{name}: nothing to compare with")
            continue
        moved = moves(known.figures[name], figures)
        place = "" if known.machine == run.machine else f" on {known.machine}"
        loads = f"load {known.load:.1f} then, {run.load:.1f} now"
        lines.append(f"{name}: {len(moved)} moved since {known.at}{place}; {loads}")
        lines += [f"  {one}" for one in moved]
    return lines


def new_run() -> Run:
    """Return a run that begins now on this machine."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return Run(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit.stdout.strip(),
        machine=(
            f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()},"
            f" Python {platform.python_version()}"
        ),
        load=os.getloadavg()[0],
    )


def names_of_scripts() -> list[str]:
    """Return the names of all benchmarks."""
    names = sorted(path.stem for path in _SCRIPTS.glob("*.py"))
    return [name for name in names if name != "__init__"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks; all without any")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of kept runs")
    options = parser.parse_args(arguments)
    known = names_of_scripts()
    if unknown := set(options.names) - set(known):
        parser.error(f"no benchmark {min(unknown)}; there are: {', '.join(known)}")
    earlier = kept_runs(options.folder)
    run = new_run()
    for name in options.names or known:
        print(f"== {name}", flush=True)
        _add(run, name)
    file = keep(run, options.folder)
    print(f"== what moved by more than {MOVED:.0%}; kept in {file}")
    print("\n".join(report(run, earlier)))
    if run.failed:
        print(f"missed a target: {', '.join(run.failed)}")
    return 1 if run.failed else 0


def _add(run: Run, name: str) -> None:
    started = time.monotonic()
    command = [sys.executable, "-m", f"news_assets_tests.bench.{name}"]
    code, text = output_of(command)
    run.figures[name] = figures_of(text)
    run.seconds[name] = round(time.monotonic() - started, 1)
    if code:
        run.failed.append(name)


if __name__ == "__main__":
    sys.exit(main())
