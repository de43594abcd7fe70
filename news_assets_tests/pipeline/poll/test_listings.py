import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.errors import FetchError, ListingChangedError, SourceError
from news_assets.pipeline.poll.listings import past_polls
from news_assets.pipeline.poll.poll_loop import SOURCE_S, Polled, run_polls
from news_assets.ports.services import PageRequest
from news_assets.records.articles import SourceState
from news_assets.records.desks import Source
from news_assets.records.reading import Listing, Page, Validators
from news_assets.sources.source_kinds import Adapter
from news_assets_tests.pipeline.poll import paged_site
from news_assets_tests.pipeline.poll.poll_cases import (
    BODY,
    NOW,
    SOURCE,
    STATE,
    Answers,
    adapters,
    page,
    parse,
    poll,
    poll_sources,
)
from news_assets_tests.support.inline_sandbox import InlineSandbox


def test_a_poll_sends_the_validators_of_the_last_one_and_does_not_read_robots_txt() -> (
    None
):
    polled, request = poll(page(), STATE)
    assert request == PageRequest(
        SOURCE.url,
        "mec-1",
        Validators('"old"', None),
        obeys_robots=False,
        max_s=SOURCE_S,
    )
    assert polled == Polled(
        source=SOURCE,
        polled_at=NOW,
        elapsed_ms=12,
        outcome="ok",
        page=page(),
        listing=parse(page(), SOURCE),
    )


@pytest.mark.parametrize(
    "state",
    [
        None,
        replace(STATE, url="https://example.org/old-address"),
        replace(STATE, last_new_at=NOW - timedelta(days=4)),
    ],
)
def test_no_validators_are_sent_to_a_new_a_moved_and_a_long_silent_source(
    state: SourceState | None,
) -> None:
    assert poll(page(), state)[1].validators == Validators()


def test_a_304_and_the_same_bytes_are_both_unchanged() -> None:
    not_modified = page(b"", 304)
    assert poll(not_modified, STATE)[0] == Polled(
        source=SOURCE,
        polled_at=NOW,
        elapsed_ms=12,
        outcome="unchanged",
        page=not_modified,
    )
    state = replace(STATE, document_hash=hashlib.sha256(BODY).hexdigest())
    assert poll(page(), state)[0] == Polled(
        source=SOURCE, polled_at=NOW, elapsed_ms=12, outcome="unchanged", page=page()
    )


def test_an_error_of_one_source_does_not_affect_the_others() -> None:
    sources = [replace(SOURCE, source_id=name) for name in ("a", "b", "c")]
    gone = FetchError(SOURCE.url, "gone", status=410)
    answers = Answers(a=gone, b=page(b"<html>log in</html>"), c=page())
    polled = {
        one.source.source_id: one
        for one in poll_sources(
            sources, {}, adapters(parse), answers, InlineSandbox(), lambda: NOW
        )
    }
    assert {name: (one.outcome, one.reason) for name, one in polled.items()} == {
        "a": ("gone", "gone"),
        "b": ("failed", "no feed"),
        "c": ("ok", None),
    }


def test_a_bug_in_an_adapter_fails_only_its_source() -> None:
    def broken_parse(document: Page, source: Source) -> Listing:
        return (
            parse(document, source)
            if source.source_id == "b"
            else Listing(entries=({}["a\nb" * 500],))
        )

    sources = [replace(SOURCE, source_id=name) for name in ("a", "b")]
    broken, fine = poll_sources(
        sources,
        {},
        adapters(broken_parse),
        Answers(a=page(), b=page()),
        InlineSandbox(),
        lambda: NOW,
    )
    assert (broken.outcome, type(broken.error), fine.outcome) == (
        "failed",
        SourceError,
        "ok",
    )
    assert str(broken.reason).startswith("`feed`: could not be read: KeyError: ")
    assert len(str(broken.reason)) < 400


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"x " * 3000, ListingChangedError),
        (b"", SourceError),
        (b" \n", SourceError),
        (b"<rss></rss>", type(None)),
    ],
)
def test_an_empty_or_a_large_document_without_entries_is_an_error(
    body: bytes, error: type[Exception]
) -> None:
    assert type(poll(page(body))[0].error) is error


# --- past days ------------------------------------------------------------------------

TODAY = paged_site.NOW.date()
BY_DAY = Adapter(
    parse=paged_site.parse, day_url=lambda source, day: f"{source.url}day/{day}"
)
FROM_TODAY = Adapter(parse=paged_site.parse, day_url=lambda source, day: source.url)


def test_a_source_with_a_listing_per_day_is_polled_for_each_day_and_a_feed_is_not() -> (
    None
):
    def parse_day(page: Page, source: Source) -> Listing:
        return replace(paged_site.parse(page, source), next_urls=())

    def adapter_of(source: Source) -> Adapter:
        return (
            replace(BY_DAY, parse=parse_day)
            if source.source_id == "a"
            else Adapter(parse=parse_day)
        )

    site, day = paged_site.Site(), TODAY - timedelta(days=9)
    sources = [paged_site.source("a"), paged_site.source("b")]
    found = list(
        run_polls(
            past_polls(
                sources,
                day - timedelta(days=1),
                day,
                adapter_of,
                InlineSandbox(),
                lambda: NOW,
            ),
            site,
        )
    )
    assert site.requested == [
        f"https://a.example.org/day/{day - timedelta(days=ago)}" for ago in (0, 1)
    ]
    assert [(one.outcome, one.is_of_past) for one in found] == [("ok", True)] * 2


def test_a_listing_without_days_is_read_back_to_before_the_first_day() -> None:
    site, day = paged_site.Site(), TODAY - timedelta(days=3)
    (found,) = run_polls(
        past_polls(
            [paged_site.source()],
            day,
            day + timedelta(days=1),
            lambda one: FROM_TODAY,
            InlineSandbox(),
            lambda: NOW,
        ),
        site,
    )
    assert site.pages() == [0, 1, 2, 3, 4]
    assert found.listing is not None
    assert found.is_of_past


def test_a_poll_of_past_days_leaves_undated_entries_out() -> None:
    def parse_some(page: Page, source: Source) -> Listing:
        listing = paged_site.parse(page, source)
        number = int(page.url.rpartition("=")[2]) if "=" in page.url else 0
        undated = [replace(entry, published_at=None) for entry in listing.entries]
        return replace(
            listing,
            entries=(*listing.entries[:2], *undated[2:])
            if number < 2
            else tuple(undated),
        )

    adapter, site, day = (
        replace(FROM_TODAY, parse=parse_some),
        paged_site.Site(),
        TODAY - timedelta(days=9),
    )
    (found,) = run_polls(
        past_polls(
            [paged_site.source()],
            day,
            day,
            lambda one: adapter,
            InlineSandbox(),
            lambda: NOW,
        ),
        site,
    )
    assert found.listing is not None
    assert [entry.entry_id for entry in found.listing.entries] == [
        "0-0",
        "0-1",
        "1-0",
        "1-1",
    ]
    assert found.listing.problems == (
        "stopped at https://s.example.org/?page=2: none of 5 entries has a date or a day in its URL",
    )
