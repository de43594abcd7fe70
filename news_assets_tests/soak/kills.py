"""Kills processes at random moments inside their writes; what they leave has to equal
the work of one process.

    python -m news_assets_tests.soak.kills [sqlite postgres] [--kills 200] [--seed 1]

Each process first stores a batch. A kill counts if it hits a write: a transaction of
the lake, from the wait for its lock to its commit, or an upsert of the index. The next
process goes on where the killed one stopped.
"""

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from news_assets_tests.soak.promises import broken_promises
from news_assets_tests.soak.writers import BEGUN, ENDED, Newsroom, write
from news_assets_tests.support.lakes import Catalogs, PostgresCatalogs, SqliteCatalogs
from news_assets_tests.support.servers import postgres

FORKING = multiprocessing.get_context("forkserver")
# A third of a process's time is its imports. These start no threads, so that the fork
# server can fork.
FORKING.set_forkserver_preload(
    ["lxml.html", "nh3", "numpy", "py3langid.langid", "rensa", "trafilatura", "yaml"]
)
_FEED_ROUNDS = 10  # whose articles a feed lists at once
_MAX_SPAN_S = 5.0
_START_S = 120.0  # until the first write, on a busy machine


@dataclass
class Kills:
    """How many processes were killed inside a write and between two, and how many ended
    before.
    """

    inside: int = 0
    between: int = 0
    ended: int = 0

    @property
    def processes(self) -> int:
        return self.inside + self.between + self.ended


def kill_writers(room: Newsroom, kills: int, rng: random.Random) -> Kills:
    """Run processes one after another and kill them, until so many were killed inside a
    write; the last one ends.
    """
    counts, span_s = Kills(), 1.0
    while counts.inside < kills:
        last = _killed_after(room, counts.processes, rng.uniform(0, span_s))
        if last is None:
            counts.ended += 1
            span_s *= 0.9  # a process works so long after its first batch
        else:
            counts.inside += last == BEGUN
            counts.between += last == ENDED
            span_s = min(span_s * 1.05, _MAX_SPAN_S)
    write_side_by_side(room, counts.processes, [None])
    return counts


def _killed_after(room: Newsroom, number: int, delay_s: float) -> str | None:
    """Kill a process so long after its first stored batch and return its last report;
    None if it ended before.
    """
    received, sent = FORKING.Pipe(duplex=False)
    process = FORKING.Process(target=write, args=(room, [number], None, sent))
    process.start()
    sent.close()
    last = ""
    while last != ENDED and received.poll(_START_S):
        last = received.recv()
    process.join(delay_s)
    process.kill()
    process.join()
    with suppress(EOFError):
        while True:
            last = received.recv()
    received.close()
    return last if process.exitcode != 0 else None


def write_side_by_side(
    room: Newsroom, number: int, shares: Sequence[Collection[str] | None]
) -> None:
    """Run a process for each share of the agencies, all at once; None is all agencies."""
    processes = [
        FORKING.Process(target=write, args=(room, [number], share)) for share in shares
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


def undisturbed(
    catalogs: Catalogs, folder: Path, last_round: int, agencies: int = Newsroom.agencies
) -> Newsroom:
    """Return the newsroom of one process that nothing disturbed."""
    room = Newsroom(catalogs.new(folder), folder, agencies)
    write(room, sorted({*range(0, last_round, _FEED_ROUNDS), last_round}))
    return room


def measure(catalogs: Catalogs, folder: Path, kills: int, seed: int) -> list[str]:
    """Print the kills and what they broke, and return the latter."""
    started = time.monotonic()
    room = Newsroom(catalogs.new(folder / "killed"), folder / "killed")
    counts = kill_writers(room, kills, random.Random(seed))
    broken = broken_promises(
        room, undisturbed(catalogs, folder / "undisturbed", counts.processes)
    )
    took_s = time.monotonic() - started
    print(
        f"{type(catalogs).__name__}, seed {seed}: {counts.inside} processes killed inside a write, {counts.between} "
        f"between two, {counts.ended} ended before, in {took_s:.0f} s; broken: {broken or 'nothing'}",
        flush=True,
    )
    return broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catalogs", nargs="*", default=["sqlite", "postgres"])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    options = parser.parse_args()
    broken: list[str] = []
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="news-kills-"))
        )
        for name in options.catalogs:
            server = (
                stack.enter_context(postgres(folder / "server"))
                if name == "postgres"
                else None
            )
            home = folder / name
            catalogs = (
                PostgresCatalogs(home, server) if server else SqliteCatalogs(home)
            )
            broken += measure(catalogs, home, options.kills, options.seed)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
