"""A site that does not answer, beside quick ones: these are polled in time, and what a
run does not begin stays due.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.pipeline.poll.poll import PollOptions, poll_agencies
from news_assets.records.articles import Poll as PollRow
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk, Source
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.pipeline.poll.poll_cases import SOURCE
from news_assets_tests.support.inline_sandbox import InlineSandbox

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FEED = b"<rss version='2.0'><channel><item><title>1</title><link>https://example.org/1</link></item></channel></rss>"


def stall(connection: object, _: object) -> None:
    time.sleep(20.0)


@pytest.fixture
def sources() -> Iterator[list[Source]]:
    """Two sources of a site that does not answer, and three of quick sites."""
    with ExitStack() as stack:
        slow, *quick = [Site(f"127.0.2.{number + 1}") for number in range(4)]
        for site in (slow, *quick):
            stack.callback(site.close)
            site.put("*", answer(FEED))
        urls = {f"slow-{number}": slow.put(f"/{number}", stall) for number in range(2)}
        urls |= {
            f"quick-{number}": f"{site.url}/feed" for number, site in enumerate(quick)
        }
        yield [
            replace(SOURCE, source_id=key, url=url, every_minutes=5)
            for key, url in urls.items()
        ]


@pytest.mark.slow  # waits for a site that hangs
def test_quick_sites_are_polled_while_one_hangs_and_what_is_not_begun_stays_due(
    sources: list[Source], tmp_path: Path
) -> None:
    agency = Agency(
        key="mec", name="MEC", timezone="UTC", language="pt", sources=tuple(sources)
    )
    desk = Desk(
        key="govbr",
        timezone="UTC",
        language="pt",
        first_day=date(2026, 1, 1),
        agencies=(agency,),
    )
    options = {
        "user_agent": "t",
        "delay_s": 0,
        "allow_private_hosts": ("127.0.0.0/8",),
        "state_dir": tmp_path / "hosts",
    }

    def polled(lake: Lake, now: datetime) -> dict[str, str]:
        """Poll what is due, in the order in which the polls are stored."""
        with HttpFetcher(
            **options, read_s=4.0, max_workers=2, clock=lambda: now
        ) as fetcher:
            polls = poll_agencies(
                lake,
                desk,
                {"mec"},
                fetcher,
                InlineSandbox(),
                adapter_of,
                lambda: now,
                "t",
                options=PollOptions(only_due=True, run_s=3.0),
            )
            return {poll.source_id: poll.outcome for poll in polls}

    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        first = polled(lake, NOW)
        states = {state.source_id: state for state in lake.read(SourceState)}
        second = polled(lake, NOW + timedelta(minutes=2))
        third = polled(lake, NOW + timedelta(hours=5))
        rows = lake.read(PollRow)

    quick = {f"quick-{number}": "ok" for number in range(3)}
    assert first == {**quick, "slow-0": "failed", "slow-1": "skipped"}
    assert list(first)[-2:] == ["slow-0", "slow-1"]
    assert "slow-1" not in states
    assert (
        (states["slow-0"].elapsed_ms or 0) >= 4000 > (states["quick-0"].elapsed_ms or 0)
    )
    assert second == {"slow-1": "failed"}
    assert {key: third[key] for key in quick} == dict.fromkeys(quick, "unchanged")
    assert list(third)[-2:] == ["slow-0", "slow-1"]
    assert {row.source_id for row in rows if row.outcome == "skipped"} == set()
