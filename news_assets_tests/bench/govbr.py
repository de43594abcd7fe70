"""Time to poll the whole desk `govbr` against a local replica of its structure, at one
request a second per host.

    python -m news_assets_tests.bench.govbr [--one-host]

Runs `poll_agencies` with the real fetcher into an empty lake. Each agency has its own
host; all entries have to be stored within 60 s. The server's log shows whether two
requests came to one host within a second. Exits 1 if a target is missed.

With --one-host the hosts are those of the real sites: all but two of the agencies are
on www.gov.br. The desk then takes at least as many seconds as it has sources.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.pipeline.poll.poll import poll_agencies
from news_assets.records.articles import FeedEntry, Poll
from news_assets.records.desks import Desk
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.support.govbr_replica import LISTED, govbr_server, local_desk
from news_assets_tests.support.inline_sandbox import InlineSandbox

MAX_S, HOST_DELAY_S = 60.0, 1.0


def poll(desk: Desk, folder: Path) -> tuple[float, list[Poll], Counter[str]]:
    """Poll the desk into a new lake; return the seconds, the polls, and the stored
    entries by agency.
    """
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        HttpFetcher(
            user_agent="bench",
            delay_s=HOST_DELAY_S,
            state_dir=folder / "hosts",
            allow_private_hosts=("127.0.0.0/8",),
        ) as fetcher,
    ):
        started = time.perf_counter()
        agencies = {agency.key for agency in desk.agencies}
        polls = list(
            poll_agencies(
                lake,
                desk,
                agencies,
                fetcher,
                InlineSandbox(),
                adapter_of,
                lambda: datetime.now(UTC),
                "bench",
            )
        )
        return (
            time.perf_counter() - started,
            polls,
            Counter(lake.frame(FeedEntry, None, ("agency",))["agency"]),
        )


def closest_s(log: Path) -> tuple[int, float]:
    """Return the number of requests, and the shortest time between two to one host."""
    requests_of: dict[str, list[float]] = defaultdict(list)
    for line in log.read_text().splitlines():
        at, host, _ = line.split(" ", 2)
        requests_of[host].append(float(at))
    pauses = [
        after - before
        for times in requests_of.values()
        for before, after in pairwise(times)
    ]
    return sum(map(len, requests_of.values())), min(pauses, default=float("inf"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--one-host",
        action="store_true",
        help="all of www.gov.br on one host; takes about three minutes",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, govbr_server() as (port, log):
        desk = local_desk(port, is_one_host=options.one_host)
        seconds, polls, stored = poll(desk, Path(folder))
        requests, pause_s = closest_s(log)
    expected = Counter({source.agency: 0 for source in desk.sources})
    expected.update(
        {
            agency: sum(LISTED[s.kind] for s in desk.sources if s.agency == agency)
            for agency in expected
        }
    )
    failed = [poll for poll in polls if poll.outcome != "ok"]
    is_whole = stored == expected and len(polls) == len(desk.sources)
    max_s = requests * HOST_DELAY_S * 1.1 + 10 if options.one_host else MAX_S
    print(
        f"govbr, {'real hosts' if options.one_host else 'one host per agency'}: {len(desk.sources)} sources of "
        f"{len(expected)} agencies\n"
        f"  all entries stored after {seconds:.1f} s (target {max_s:.0f} s), {stored.total()} of {expected.total()}; "
        f"{len(failed)} polls failed{''.join(f'; {poll.source_id}: {poll.reason}' for poll in failed[:3])}\n"
        f"  {requests} requests; "
        + (
            f"two to one host at least {pause_s:.3f} s apart"
            if pause_s < float("inf")
            else "one to each host"
        )
    )
    sys.exit(
        not (is_whole and not failed and seconds <= max_s and pause_s >= HOST_DELAY_S)
    )


if __name__ == "__main__":
    main()
