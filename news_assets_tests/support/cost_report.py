"""A pytest plugin: CPU time of every test, the most expensive ones, the sum of each
folder and the files that took longest, in one file. What the quick and the slow tests
cost is printed.

CPU time of the test process and of its children that have ended, in seconds. It says
more than the wall time, which other processes on the machine change.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FILE = "test_costs.txt"  # in pytest's cache folder
MOST = 20


@dataclass
class Kind:
    """What the quick or the slow tests cost and how they ended."""

    outcomes: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0

    def __str__(self) -> str:
        ends = ", ".join(
            f"{self.outcomes[outcome]} {outcome}"
            for outcome in ("passed", "skipped", "failed")
        )
        return f"{ends}; {self.cpu_s / 60:.1f} minutes of CPU"


class CostReport:
    """Measures in each worker and writes in the process that collects their reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._cpu_s: Counter[str] = Counter()
        self._wall_s: Counter[str] = Counter()  # by file
        self._kinds = {"quick": Kind(), "slow": Kind()}
        self._last_s = _cpu_s()

    def pytest_runtest_logstart(self) -> None:
        self._last_s = _cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Any:
        report = yield
        now_s = _cpu_s()
        # an extra attribute reaches the collecting process
        report.cpu_s = now_s - self._last_s
        self._last_s = now_s
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cpu_s = getattr(report, "cpu_s", 0.0)
        self._cpu_s[report.nodeid] += cpu_s
        self._wall_s[report.nodeid.partition("::")[0]] += report.duration
        kind = self._kinds["slow" if "slow" in report.keywords else "quick"]
        kind.cpu_s += cpu_s
        if report.when == "call" or not report.passed:
            kind.outcomes[report.outcome] += 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        cache = getattr(self._config, "cache", None)  # none with `-p no:cacheprovider`
        if (
            cache is None
            or hasattr(self._config, "workerinput")
            or len(self._cpu_s) < MOST
        ):
            return
        file = Path(cache.mkdir("costs")) / FILE
        lines = report_of(self._cpu_s, self._wall_s)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name, kind in self._kinds.items():
            terminalreporter.line(f"{name} tests: {kind}")
        terminalreporter.line(f"what the CPU time went to: {file}")


def report_of(cpu_s: Counter[str], wall_s: Counter[str]) -> list[str]:
    """Return the lines of the report."""
    folders: Counter[str] = Counter()
    for name, seconds in cpu_s.items():
        folders["/".join(name.partition("::")[0].split("/")[1:3])] += seconds
    lines = [
        f"{len(cpu_s)} tests, {cpu_s.total() / 60:.1f} minutes of CPU",
        "",
        "minutes by folder",
    ]
    lines += [f"{seconds / 60:8.2f}  {name}" for name, seconds in folders.most_common()]
    lines += ["", f"seconds of the {MOST} most expensive tests"]
    lines += [f"{seconds:8.1f}  {name}" for name, seconds in cpu_s.most_common(MOST)]
    lines += ["", f"seconds of the {MOST} files that took longest"]
    lines += [f"{seconds:8.1f}  {name}" for name, seconds in wall_s.most_common(MOST)]
    return lines


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_configure(config: pytest.Config) -> None:
    """Register the report."""
    config.pluginmanager.register(CostReport(config))
