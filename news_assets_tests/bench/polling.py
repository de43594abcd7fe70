"""Cost of polling 2,000 feeds on as many hosts, 95 % answering 304 and 5 % with one new
entry; and of parsing.

    python -m news_assets_tests.bench.polling [--feeds 2000] [--profile FILE]

Runs `poll_agencies` with the real fetcher and lake and no host delay. A first poll
finds everything new; a second one, in its own process, is measured. Prints CPU seconds
(user and system, all threads), wall time and peak memory, and how much of CPU time and
memory the interpreter, its imports and opening the lake take. Then prints the
milliseconds to parse a feed of 50 entries, and feedparser's time for the same feed.
Exits 1 above a target.
"""

import argparse
import cProfile
import json
import pstats
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import feedparser  # type: ignore[import-untyped]

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.pipeline.poll.poll import poll_agencies
from news_assets.records.desks import Agency, Desk, Source
from news_assets.records.reading import Page
from news_assets.sources import feed
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.support.feed_server import NEWS_EVERY, feed_server, feed_url, rss
from news_assets_tests.support.inline_sandbox import InlineSandbox

MAX_CPU_S, MAX_PEAK_MB, MAX_PARSE_MS = 6.0, 200.0, 35.0
# summaries only, which the target is for, and full texts
PARSED_ENTRIES, TEXT_CHARS = (
    50,
    (0, 3000),
)


def desk_of(feeds: int, port: int) -> Desk:
    """Return a desk with this many agencies, each with one feed."""
    locale: dict[str, Any] = {"timezone": "America/Sao_Paulo", "language": "pt-BR"}
    agencies = []
    for number in range(feeds):
        key = f"a{number:04}"
        source = Source(
            source_id=f"d/{key}",
            desk="d",
            agency=key,
            kind="feed",
            url=feed_url(number, port),
            **locale,
        )
        agencies.append(Agency(key=key, name=key, sources=(source,), **locale))
    return Desk(key="d", first_day=date(2026, 1, 1), agencies=tuple(agencies), **locale)


def poll(
    folder: Path, feeds: int, port: int, profile: cProfile.Profile | None = None
) -> dict[str, Any]:
    """Poll once and return the costs."""
    desk = desk_of(feeds, port)
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        HttpFetcher(
            user_agent="bench",
            delay_s=0,
            state_dir=folder / "hosts",
            allow_private_hosts=("127.0.0.0/8",),
        ) as fetcher,
    ):
        before_mb, before_s, started = peak_mb(), cpu_s(), time.perf_counter()
        if profile:
            profile.enable()
        polls = list(
            poll_agencies(
                lake,
                desk,
                {agency.key for agency in desk.agencies},
                fetcher,
                InlineSandbox(),
                adapter_of,
                lambda: datetime.now(UTC),
                "bench",
            )
        )
        if profile:
            profile.disable()
        wall_s, cpu = time.perf_counter() - started, cpu_s() - before_s
    return {
        "outcomes": Counter(f"{one.outcome}, {one.new_count} new" for one in polls),
        "cpu_s": cpu,
        "wall_s": wall_s,
        "start_cpu_s": before_s,
        "start_mb": before_mb,
        "peak_mb": peak_mb(),
    }


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    """Return the peak memory of this process; `ru_maxrss` would include that of its
    parent.
    """
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def run_child(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, *arguments],
        check=True,
        stdout=subprocess.PIPE,
    )
    costs: dict[str, Any] = json.loads(done.stdout)
    return costs


def measure_polling(feeds: int, profile_file: Path | None) -> bool:
    """Poll twice and print the costs of the second poll; return whether they are within
    the targets.
    """
    with tempfile.TemporaryDirectory() as folder, feed_server() as port:
        arguments = ("--feeds", str(feeds), "--poll", folder, "--port", str(port))
        first = run_child(*arguments)
        costs = run_child(
            *arguments, *(("--profile", str(profile_file)) if profile_file else ())
        )
    unchanged, new = (
        costs["outcomes"].get("unchanged, 0 new", 0),
        costs["outcomes"].get("ok, 1 new", 0),
    )
    is_correct = bool(new == -(-feeds // NEWS_EVERY) and unchanged == feeds - new)
    print(
        f"{feeds} feeds: {unchanged} unchanged, {new} with one new entry{'' if is_correct else f'; WRONG: {costs}'}\n"
        f"  CPU   {costs['cpu_s']:6.2f} s, {1000 * costs['cpu_s'] / feeds:.2f} ms per feed (target {MAX_CPU_S:.0f} s); "
        f"startup {costs['start_cpu_s']:.2f} s\n"
        f"  wall  {costs['wall_s']:6.2f} s\n"
        f"  peak  {costs['peak_mb']:6.0f} MB, of which {costs['start_mb']:.0f} MB at startup "
        f"(target {MAX_PEAK_MB:.0f} MB)\n"
        f"  first poll, everything new: {first['cpu_s']:.0f} s CPU, {first['peak_mb']:.0f} MB",
        flush=True,
    )
    return is_correct and bool(
        costs["cpu_s"] <= MAX_CPU_S and costs["peak_mb"] <= MAX_PEAK_MB
    )


def measure_parsing(text_chars: int) -> bool:
    """Print the time to parse one feed, and feedparser's; return whether it is within
    the target.
    """
    site = "http://feed.example.org"
    body = rss(site, range(PARSED_ENTRIES), text_chars)
    page = Page(
        url=site,
        final_url=site,
        status=200,
        body=body,
        fetched_at=datetime(2026, 11, 21, tzinfo=UTC),
    )
    source = desk_of(1, 80).sources[0]
    assert len(feed.parse(page, source).entries) == PARSED_ENTRIES
    ours = median_ms(lambda: feed.parse(page, source))
    theirs = median_ms(lambda: feedparser.parse(body))
    print(
        f"one feed of {PARSED_ENTRIES} entries, {len(body) / 1000:.0f} kB: {ours:.1f} ms "
        f"(target {MAX_PARSE_MS:.0f} ms); feedparser {theirs:.1f} ms; {ours / theirs:.2f} x feedparser"
    )
    return ours <= MAX_PARSE_MS


def median_ms(work: Callable[[], object]) -> float:
    took = []
    for _ in range(20):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return statistics.median(took) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--feeds", type=int, default=2000)
    parser.add_argument(
        "--profile", type=Path, help="file for a cProfile of the main thread"
    )
    parser.add_argument("--poll", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.poll is None:
        is_within_target, _ = (measure_parsing(text_chars) for text_chars in TEXT_CHARS)
        sys.exit(
            not all([is_within_target, measure_polling(options.feeds, options.profile)])
        )
    profile = cProfile.Profile() if options.profile else None
    print(json.dumps(poll(options.poll, options.feeds, options.port, profile)))
    if profile:
        pstats.Stats(profile).dump_stats(options.profile)


if __name__ == "__main__":
    main()
