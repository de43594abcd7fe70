"""How long a poll of the whole desk `govbr` takes against a local copy of its structure, at one request a second.

    python -m news_assets_tests.bench.govbr [--one-host]

The real path, with a pause of a second at each host: `poll_agencies` with the real fetcher and lake, never asked
before. Each agency has a host of its own, as far as the pause goes; all entries have to be stored within 60 s. The
server's log says whether two requests ever came to one host within a second. Exits 1 where a target is missed.

With --one-host the hosts are as they are: all but two of the agencies are on www.gov.br, so that at one request a
second the desk takes as many seconds as there are sources, whatever the program does.
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
from news_assets.records import Desk, FeedEntry, Poll
from news_assets.sources.kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.support.govbr_replica import LISTED, govbr_server, local_desk

MAX_S, HOST_DELAY_S = 60.0, 1.0


def poll(desk: Desk, folder: Path) -> tuple[float, list[Poll], Counter[str]]:
    """Poll the desk into a new lake; return the seconds, the polls, and the stored entries by agency."""
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        HttpFetcher(
            user_agent="bench", delay_s=HOST_DELAY_S, state_dir=folder / "hosts", allow_private_hosts=("127.0.0.0/8",)
        ) as fetcher,
    ):
        started = time.perf_counter()
        agencies = {agency.key for agency in desk.agencies}
        polls = list(poll_agencies(lake, desk, agencies, fetcher, adapter_of, datetime.now(UTC), "bench"))
        return time.perf_counter() - started, polls, Counter(lake.frame(FeedEntry, None, ("agency",))["agency"])


def closest_s(log: Path) -> tuple[int, float]:
    """Return how many requests there were, and the least time between two to one host."""
    asked: dict[str, list[float]] = defaultdict(list)
    for line in log.read_text().splitlines():
        at, host, _ = line.split(" ", 2)
        asked[host].append(float(at))
    pauses = [after - before for times in asked.values() for before, after in pairwise(times)]
    return sum(map(len, asked.values())), min(pauses, default=float("inf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one-host", action="store_true", help="all of www.gov.br on one host: some three minutes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, govbr_server() as (port, log):
        desk = local_desk(port, is_one_host=given.one_host)
        seconds, polls, stored = poll(desk, Path(folder))
        requests, pause_s = closest_s(log)
    expected = Counter({source.agency: 0 for source in desk.sources})
    expected.update({agency: sum(LISTED[s.kind] for s in desk.sources if s.agency == agency) for agency in expected})
    failed = [poll for poll in polls if poll.outcome != "ok"]
    is_whole = stored == expected and len(polls) == len(desk.sources)
    max_s = requests * HOST_DELAY_S * 1.1 + 10 if given.one_host else MAX_S
    print(
        f"govbr, {'hosts as they are' if given.one_host else 'a host an agency'}: {len(desk.sources)} sources of "
        f"{len(expected)} agencies\n"
        f"  all entries stored after {seconds:.1f} s (target {max_s:.0f} s), {stored.total()} of {expected.total()}; "
        f"{len(failed)} polls failed{''.join(f'; {poll.source_id}: {poll.reason}' for poll in failed[:3])}\n"
        f"  {requests} requests; "
        + (f"two to one host at least {pause_s:.3f} s apart" if pause_s < float("inf") else "one to each host")
    )
    sys.exit(not (is_whole and not failed and seconds <= max_s and pause_s >= HOST_DELAY_S))


if __name__ == "__main__":
    main()
