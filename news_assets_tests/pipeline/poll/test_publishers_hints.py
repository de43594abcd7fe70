"""TTL, Cache-Control, Expires and Retry-After: from the bytes on the wire to when the
source is due.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.pipeline.poll.entry_rows import EntryChanges
from news_assets.pipeline.poll.poll_rows import next_state
from news_assets.records.articles import SourceState
from news_assets.sources.source_kinds import adapter_of
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.pipeline.poll.poll_cases import NOW, SOURCE, STATE, poll_sources
from news_assets_tests.support.inline_sandbox import InlineSandbox

SYNDICATION = "http://purl.org/rss/1.0/modules/syndication/"
HALF_HOUR, HOUR, DAY = timedelta(minutes=30), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


def feed(hint: str = "") -> bytes:
    items = "".join(
        f"<item><title>{n}</title><link>https://example.org/{n}</link></item>"
        for n in range(3)
    )
    return f'<rss version="2.0" xmlns:sy="{SYNDICATION}"><channel>{hint}{items}</channel></rss>'.encode()


def next_after(
    site: Site, folder: Path, state: SourceState, wire: bytes
) -> SourceState:
    """Poll the site once and return the next state; none of the entries is new."""
    source = replace(SOURCE, url=site.put("/feed", wire))
    state = replace(state, url=source.url)
    with HttpFetcher(
        user_agent="t",
        delay_s=0,
        state_dir=folder,
        allow_private_hosts=("127.0.0.1",),
        clock=lambda: NOW,
    ) as fetcher:
        (polled,) = poll_sources(
            [source],
            {source.source_id: state},
            adapter_of,
            fetcher,
            InlineSandbox(),
            lambda: NOW,
        )
    return next_state(state, polled, EntryChanges())


QUIET = replace(STATE, interval_s=HALF_HOUR.total_seconds(), failure_points=0.0)
ONE_HOUR_LATER = "Tue, 08 Sep 2026 13:00:00 GMT"


def test_a_feed_without_hints_is_due_after_its_own_interval(
    site: Site, tmp_path: Path
) -> None:
    assert (
        next_after(site, tmp_path, QUIET, answer(feed())).next_poll_at
        == NOW + HALF_HOUR
    )


@pytest.mark.parametrize(
    ("hint", "pause"),
    [
        ("<ttl>60</ttl>", HOUR),
        ("<ttl>5</ttl>", HALF_HOUR),
        ("<ttl>100000</ttl>", DAY),
        ("<ttl>soon</ttl>", HALF_HOUR),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", HOUR),
        (
            "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>12</sy:updateFrequency>",
            2 * HOUR,
        ),
        ("<sy:updatePeriod>yearly</sy:updatePeriod>", DAY),
        ("<sy:updatePeriod>often</sy:updatePeriod>", HALF_HOUR),
    ],
)
def test_ttl_and_update_period_lengthen_the_pause_also_while_the_feed_answers_304(
    site: Site, tmp_path: Path, hint: str, pause: timedelta
) -> None:
    first = next_after(site, tmp_path, QUIET, answer(feed(hint), etag='"a"'))
    assert first.next_poll_at == NOW + pause
    unchanged = next_after(
        site, tmp_path, replace(first, interval_s=QUIET.interval_s), answer(status=304)
    )
    assert (unchanged.last_outcome, unchanged.next_poll_at) == (
        "unchanged",
        NOW + pause,
    )
    assert site.requests[-1][2]["if-none-match"] == '"a"'


@pytest.mark.parametrize("status", [200, 304])
@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"cache-control": "public, max-age=3600"}, HOUR),
        ({"cache-control": "max-age=7200", "age": "3600"}, HOUR),
        ({"cache-control": "max-age=31536000"}, DAY),
        ({"cache-control": "no-cache, max-age=0"}, HALF_HOUR),
        ({"expires": ONE_HOUR_LATER}, HOUR),
        ({"expires": ONE_HOUR_LATER, "cache-control": "max-age=60"}, HALF_HOUR),
        ({"expires": "0"}, HALF_HOUR),
        ({"retry-after": "7200"}, HALF_HOUR),
    ],
)
def test_the_freshness_headers_lengthen_the_pause(
    site: Site, tmp_path: Path, headers: dict[str, str], pause: timedelta, status: int
) -> None:
    wire = answer(feed() if status == 200 else b"", status=status, **headers)
    assert next_after(site, tmp_path, QUIET, wire).next_poll_at == NOW + pause


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("retry_after", "pause"),
    [
        ("7200", 2 * HOUR),
        (ONE_HOUR_LATER, HOUR),
        ("60", None),
        ("31536000", 30 * DAY),
        ("soon", None),
    ],
)
def test_the_pause_after_a_refusal_is_retry_after_or_the_back_off_if_longer(
    site: Site, tmp_path: Path, status: int, retry_after: str, pause: timedelta | None
) -> None:
    failed = next_after(
        site, tmp_path, QUIET, answer(status=status, retry_after=retry_after)
    )
    own = timedelta(seconds=QUIET.interval_s * 2**0.5)
    assert (failed.last_outcome, failed.failure_points) == ("failed", 0.5)
    assert failed.next_poll_at == NOW + (pause or own)
