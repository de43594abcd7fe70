"""Memory, open files and connections of a profile's long-lived processes over time."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

MAX_GROWTH = 0.05  # of memory, from the third to the last quarter of the time
MAX_MORE = 8  # open files, connections or threads
_NAMES = {
    "dagster api grpc": "code server",
    "dagster-daemon": "daemon",
    "dagster-webserver": "web server",
    "sandbox.child": "sandbox",
    "instance.worker": "worker",
    "supervisord": "supervisor",
}


@dataclass(frozen=True)
class Sample:
    """What one process uses at one time. Memory is resident, without what it shares
    with others.
    """

    memory_mb: float
    files: int
    connections: int
    threads: int


class Watched:
    """The samples of every process of a profile, by process id."""

    def __init__(self) -> None:
        # by number of the round
        self._samples: defaultdict[int, dict[int, Sample]] = defaultdict(dict)
        self._names: dict[int, str] = {}
        self.rounds = 0

    def measure(self, processes: Collection[psutil.Process]) -> None:
        """Take a sample of each process."""
        for process in processes:
            with suppress(psutil.Error):
                name = self._names.setdefault(process.pid, _name_of(process))
                if name:
                    self._samples[process.pid][self.rounds] = _sample(process)
        self.rounds += 1

    def total_mb(self) -> float:
        """Return the memory of all processes in the last round."""
        return sum(
            samples[self.rounds - 1].memory_mb
            for samples in self._samples.values()
            if self.rounds - 1 in samples
        )

    def rows(self) -> Iterator[tuple[str, int, Sample, Sample]]:
        """Yield name, id, and the medians of the third and last quarter, of each
        process that lived through both.
        """
        half, last = self.rounds // 2, self.rounds * 3 // 4
        for pid, samples in self._samples.items():
            third, fourth = (
                [samples[n] for n in range(*span) if n in samples]
                for span in ((half, last), (last, self.rounds))
            )
            if (
                len(third) == last - half
                and len(fourth) == self.rounds - last
                and third
            ):
                yield self._names[pid], pid, _median(third), _median(fourth)

    def course_mb(self, pid: int) -> list[int]:
        """Return the largest memory of a process in each tenth of the time, in MB, to
        see whether growth ends.
        """
        samples, tenths = self._samples[pid], range(10)
        spans = [
            range(self.rounds * tenth // 10, self.rounds * (tenth + 1) // 10)
            for tenth in tenths
        ]
        return [
            round(max((samples[n].memory_mb for n in span if n in samples), default=0))
            for span in spans
        ]


def broken(before: Sample, after: Sample) -> list[str]:
    """Return what grew by more than it may."""
    found = ["memory"] if after.memory_mb > before.memory_mb * (1 + MAX_GROWTH) else []
    names = ("files", "connections", "threads")
    return found + [
        name
        for name in names
        if getattr(after, name) > getattr(before, name) + MAX_MORE
    ]


def lock_files(home: Path) -> int:
    """Return the number of lock files below a folder."""
    return sum(1 for _ in home.rglob("*.lock"))


def _name_of(process: psutil.Process) -> str:
    command = " ".join(process.cmdline())
    name = next((name for words, name in _NAMES.items() if words in command), "")
    if name == "sandbox":
        return (
            f"sandbox of {_name_of(parent)}" if (parent := process.parent()) else name
        )
    return (
        command.partition("--hostname ")[2].partition("@")[0] or name
        if name == "worker"
        else name
    )


def _sample(process: psutil.Process) -> Sample:
    with process.oneshot():
        return Sample(
            process.memory_full_info().uss / 1e6,
            process.num_fds(),
            len(process.net_connections()),
            process.num_threads(),
        )


def _median(samples: Sequence[Sample]) -> Sample:
    return Sample(
        median(one.memory_mb for one in samples),
        max(one.files for one in samples),
        max(one.connections for one in samples),
        max(one.threads for one in samples),
    )
