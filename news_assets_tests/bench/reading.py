"""The cost of reading pages in the sandbox: `python -m news_assets_tests.bench.reading
[ROUNDS]`.

Each page is read in this process and in the sandbox, in turn, so that other load on the
machine affects both. Pages are those of the labelled sets, or made ones where the sets
are missing.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise

import psutil

from news_assets.clients.sandbox import ProcessSandbox
from news_assets.pipeline.page.readers import read_entry
from news_assets.records.reading import Page
from news_assets_tests.quality import extraction

MAX_MS = 2.0  # of extra time per page
MAX_RATIO = 1.05
_NOW = datetime(2026, 9, 1, tzinfo=UTC)


def pages() -> list[Page]:
    """Return the pages of every labelled set; without them made ones."""
    if extraction.CORPUS.is_dir():
        # whose pages are larger than news
        names = [name for name in extraction.FLOORS if name != "article_wcxb"]
        return [
            extraction.page(*case) for name in names for case in extraction.cases(name)
        ]
    paragraph = "<p>The city council voted on Tuesday to keep the night buses running for another year.</p>"
    body = f"<html><body><article>{paragraph * 40}</article></body></html>".encode()
    url = "https://example.org/"
    return [
        Page(
            url=url,
            final_url=url,
            status=200,
            body=body,
            content_type="text/html",
            fetched_at=_NOW,
        )
    ] * 300


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    found = pages()
    here, there, extra_ms, cpu_here, cpu_parent = 0.0, 0.0, [], 0.0, 0.0
    with ProcessSandbox() as sandbox:
        _compare(found, sandbox)  # loads libraries on both sides
        (pid,) = sandbox.run(os.getpid, [()])
        child = psutil.Process(int(str(pid)))
        before = _cpu_s(child)
        for _ in range(rounds):
            for (wall, cpu), (other_wall, other_cpu) in _compare(found, sandbox):
                here, there = here + wall, there + other_wall
                cpu_here, cpu_parent = cpu_here + cpu, cpu_parent + other_cpu
                extra_ms.append(1000 * (other_wall - wall))
        cpu_there = cpu_parent + _cpu_s(child) - before
    reads = rounds * len(found)
    print(
        f"{len(found)} pages: {1000 * cpu_here / reads:.1f} ms of processor time each, {1000 * here / reads:.1f} ms"
    )
    print(
        f"in the sandbox {cpu_there / cpu_here:.3f} times the processor time ({1000 * cpu_parent / reads:.2f} ms here) "
        f"and {there / here:.3f} times as long: {statistics.mean(extra_ms):.2f} ms more, median "
        f"{statistics.median(extra_ms):.2f} ms"
    )
    sys.exit(cpu_there / cpu_here > MAX_RATIO or statistics.median(extra_ms) > MAX_MS)


def _compare(
    found: list[Page], sandbox: ProcessSandbox
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return wall and processor time in seconds for each page: read here, and this
    process's share in the sandbox.
    """
    return [
        _timed(lambda: [read_entry(*call)], lambda: sandbox.run(read_entry, [call]))  # noqa: B023
        for call in map(_call, found)
    ]


def _call(page: Page) -> tuple[Page, None, str, str]:
    return page, None, "America/Sao_Paulo", "pt"


def _timed(
    one: Callable[[], object], other: Callable[[], object]
) -> tuple[tuple[float, float], tuple[float, float]]:
    marks, results = [(time.perf_counter(), time.process_time())], []
    for run in (one, other):
        results.append(run())
        marks.append((time.perf_counter(), time.process_time()))
    assert results[0] == results[1]
    first, second = ((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(marks))
    return first, second


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
