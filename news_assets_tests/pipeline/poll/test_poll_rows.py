import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from news_assets.errors import FetchError
from news_assets.pipeline.poll.entry_rows import entry_changes
from news_assets.pipeline.poll.poll_rows import next_state, poll_row, store_polls
from news_assets.pipeline.publishing_habits import PublishingRates
from news_assets.records.articles import FeedEntry, Poll, SourceState
from news_assets.records.reading import Page, Validators
from news_assets.store.lake import Lake
from news_assets_tests.pipeline.poll.poll_cases import (
    BODY,
    NO_CHANGES,
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


def test_after_an_answer_the_state_has_the_validators_and_hash_of_the_document() -> (
    None
):
    polled, _ = poll(page(max_age_s=7200.0), STATE)
    changes = entry_changes(SOURCE, polled.listing, (), NOW, "t")
    assert next_state(STATE, polled, changes) == replace(
        STATE,
        etag='"new"',
        last_modified="today",
        document_hash=hashlib.sha256(BODY).hexdigest(),
        last_polled_at=NOW,
        last_new_at=NOW,
        next_poll_at=NOW + timedelta(hours=2),
        failure_points=0.0,
        last_outcome="ok",
        last_reason=None,
        elapsed_ms=12,
    )


def test_an_unchanged_source_gets_the_interval_of_its_habit_and_keeps_its_hash() -> (
    None
):
    # 0.4 minutes of waiting at 0.3 an hour: 12 min 39 s
    rates = PublishingRates("UTC", np.full(168, 0.3))
    polled, _ = poll(page(b"", 304, validators=Validators('"old"', "newer")), STATE)
    state = next_state(STATE, polled, NO_CHANGES, rates=rates)
    assert state.interval_s == pytest.approx(3600 * (2 * 0.4 / 60 / 0.3) ** 0.5)
    assert state == replace(
        STATE,
        last_modified="newer",
        last_polled_at=NOW,
        next_poll_at=NOW + timedelta(seconds=state.interval_s),
        interval_s=state.interval_s,
        failure_points=0.0,
        last_outcome="unchanged",
        last_reason=None,
        elapsed_ms=12,
    )


@pytest.mark.parametrize(
    ("answer", "points", "pause", "reason"),
    [
        (
            FetchError(SOURCE.url, "not found (404)", status=404),
            2.0,
            timedelta(hours=4),
            "not found (404)",
        ),
        (
            FetchError(
                SOURCE.url, "busy", status=503, retry_after_s=86_400, weight=0.5
            ),
            2.0,
            timedelta(days=1),
            "busy",
        ),
        (page(b"<html>"), 2.5, timedelta(hours=1) * 2**2.5, "no feed"),
    ],
)
def test_an_error_keeps_the_validators_and_lengthens_the_pause(
    answer: Page | FetchError, points: float, pause: timedelta, reason: str
) -> None:
    polled, _ = poll(answer, STATE)
    assert next_state(STATE, polled, NO_CHANGES) == replace(
        STATE,
        last_polled_at=NOW,
        next_poll_at=NOW + pause,
        failure_points=points,
        last_reason=reason,
        elapsed_ms=answer.elapsed_ms,
    )


def test_a_first_poll_creates_the_state() -> None:
    error = FetchError(SOURCE.url, "host not found", weight=0.25)
    failed = next_state(None, poll(error)[0], NO_CHANGES)
    assert (
        failed.etag,
        failed.document_hash,
        failed.last_new_at,
        failed.interval_s,
    ) == (None, None, None, 1800.0)
    answered = next_state(None, poll(page())[0], NO_CHANGES)
    assert answered.interval_s == 1800.0
    assert timedelta(minutes=15) <= answered.next_poll_at - NOW <= timedelta(minutes=30)


def test_sources_first_polled_together_are_due_at_different_times() -> None:
    sources = [replace(SOURCE, source_id=f"mec-{n}") for n in range(160)]
    polled, _ = poll(page())
    due = {
        next_state(None, replace(polled, source=source), NO_CHANGES).next_poll_at
        for source in sources
    }
    minutes = [
        sum(timedelta(minutes=n) <= at - NOW < timedelta(minutes=n + 1) for at in due)
        for n in range(15, 30)
    ]
    assert (len(due), sum(minutes), max(minutes) < 25) == (160, 160, True)


def test_a_stated_interval_wins_over_max_age() -> None:
    source = replace(SOURCE, every_minutes=10)
    polled = replace(poll(page(max_age_s=7200.0))[0], source=source)
    state = next_state(None, polled, NO_CHANGES)
    later = replace(polled, polled_at=state.next_poll_at + timedelta(seconds=40))
    again = next_state(state, later, NO_CHANGES)
    assert again.next_poll_at == state.next_poll_at + timedelta(minutes=10)


def test_the_ttl_of_a_feed_holds_while_it_is_unchanged_and_until_a_document_without_one() -> (
    None
):
    def state_after(
        state: SourceState, answer: Page, ttl_s: float | None = None
    ) -> SourceState:
        parse_ttl = lambda document, source: replace(  # noqa: E731
            parse(document, source), ttl_s=ttl_s
        )
        (polled,) = poll_sources(
            [SOURCE],
            {SOURCE.source_id: state},
            adapters(parse_ttl),
            Answers(mec_1=answer),
            InlineSandbox(),
            lambda: NOW,
        )
        return next_state(state, polled, NO_CHANGES)

    with_ttl = state_after(STATE, page(), 6 * 3600)
    unchanged = state_after(with_ttl, page(b"", 304))
    failed = next_state(
        unchanged, poll(FetchError(SOURCE.url, "no answer in time"))[0], NO_CHANGES
    )
    without_ttl = state_after(failed, page(BODY + b"\n"))
    assert [state.ttl_s for state in (with_ttl, unchanged, failed, without_ttl)] == [
        21_600,
        21_600,
        21_600,
        None,
    ]
    assert (with_ttl.next_poll_at, unchanged.next_poll_at) == (
        NOW + timedelta(hours=6),
    ) * 2
    assert without_ttl.next_poll_at < NOW + timedelta(hours=3)


def test_a_source_with_another_url_gets_a_new_state() -> None:
    state = replace(STATE, url="https://example.org/old-address")
    polled, _ = poll(FetchError(SOURCE.url, "no answer in time"))
    assert next_state(state, polled, NO_CHANGES) == next_state(None, polled, NO_CHANGES)


def test_the_row_of_a_poll() -> None:
    polled, _ = poll(page())
    row = Poll(
        source_id="mec-1",
        desk="govbr",
        agency="mec",
        polled_at=NOW,
        outcome="ok",
        reason=None,
        status=200,
        entry_count=2,
        new_count=2,
        updated_count=0,
        body_bytes=len(BODY),
        elapsed_ms=12,
    )
    assert poll_row(polled, entry_changes(SOURCE, polled.listing, (), NOW, "t")) == row
    failed, _ = poll(FetchError(SOURCE.url, "gone", status=410))
    assert poll_row(failed, NO_CHANGES) == replace(
        row,
        outcome="gone",
        reason="gone",
        status=410,
        entry_count=0,
        new_count=0,
        body_bytes=0,
        elapsed_ms=0,
    )


# --- stored ---------------------------------------------------------------------------


def test_a_poll_stores_entries_state_and_row_for_the_next_one(tmp_path: Path) -> None:
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake:

        def store(answer: Page | FetchError, now: datetime) -> Poll:
            states = {state.source_id: state for state in lake.read(SourceState)}
            answers = Answers(
                mec_1=replace(answer, fetched_at=now)
                if isinstance(answer, Page)
                else answer
            )
            (polled,) = poll_sources(
                [SOURCE], states, adapters(parse), answers, InlineSandbox(), lambda: now
            )
            (stored,) = lake.transact(
                lambda rows: store_polls(rows, [polled], f"poll-{now:%H}")
            )
            return stored

        polls = [
            store(page(), NOW),
            store(page(BODY + b"\nhttps://example.org/3"), NOW + timedelta(hours=1)),
            store(
                FetchError(SOURCE.url, "no answer in time"), NOW + timedelta(hours=2)
            ),
        ]
        assert [(row.outcome, row.entry_count, row.new_count) for row in polls] == [
            ("ok", 2, 2),
            ("ok", 3, 1),
            ("failed", 0, 0),
        ]
        assert lake.read(Poll) == polls
        entries = lake.read(FeedEntry)
        assert [
            (row.entry_id[-1], row.trace_id, row.last_seen_at.hour) for row in entries
        ] == [
            ("1", "poll-12", 13),
            ("2", "poll-12", 13),
            ("3", "poll-13", 13),
        ]
        (state,) = lake.read(SourceState)
        assert (state.etag, state.failure_points, state.last_outcome) == (
            '"new"',
            0.5,
            "failed",
        )


def test_two_listings_of_one_agency_in_one_batch_share_their_articles(
    tmp_path: Path,
) -> None:
    both = [
        poll(page())[0],
        replace(poll(page())[0], source=replace(SOURCE, source_id="other")),
    ]
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        stored = lake.transact(lambda rows: store_polls(rows, both, "t"))
        entries = lake.read(FeedEntry)
    assert [poll.new_count for poll in stored] == [len(entries) // 2] * 2
    assert len({entry.article_id for entry in entries}) == len(entries) // 2
