import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from news_assets.errors import FetchError
from news_assets.pipeline.poll.agencies import poll_agencies
from news_assets.pipeline.poll.entries import entry_changes
from news_assets.pipeline.poll.poll import Polled, poll_sources
from news_assets.pipeline.poll.storing import (
    QUIET_TOGETHER,
    next_state,
    poll_row,
    store_polls,
    stored_together,
)
from news_assets.records import (
    Agency,
    Desk,
    FeedEntry,
    ListedEntry,
    Listing,
    Page,
    Poll,
    Source,
    SourceState,
    Validators,
)
from news_assets.sources.adapter import Parse
from news_assets.store.lake import Lake
from news_assets_tests.pipeline.poll.asked import BODY, NONE, NOW, SOURCE, STATE, Answers, page, parse, poll, reads

URL = "https://example.org"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as opened:
        yield opened


def test_after_an_answer_the_state_is_that_of_the_stored_document() -> None:
    polled, _ = poll(page(max_age_s=7200.0), STATE)
    changes = entry_changes(SOURCE, polled.listing, (), NOW, "t")
    assert next_state(SOURCE, STATE, polled, changes, NOW) == replace(
        STATE,
        etag='"new"',
        last_modified="today",
        document_hash=hashlib.sha256(BODY).hexdigest(),
        last_polled_at=NOW,
        last_new_at=NOW,
        next_poll_at=NOW + timedelta(hours=2),
        interval_s=1800.0,
        failure_points=0.0,
        last_outcome="ok",
        last_reason=None,
    )


def test_an_unchanged_source_is_asked_less_often_and_keeps_its_hash() -> None:
    polled, _ = poll(page(b"", 304, validators=Validators('"old"', "newer")), STATE)
    assert next_state(SOURCE, STATE, polled, NONE, NOW) == replace(
        STATE,
        last_modified="newer",
        last_polled_at=NOW,
        next_poll_at=NOW + timedelta(minutes=75),
        interval_s=4500.0,
        failure_points=0.0,
        last_outcome="unchanged",
        last_reason=None,
    )


@pytest.mark.parametrize(
    ("answer", "points", "pause", "reason"),
    [
        (FetchError(SOURCE.url, "not found (404)", status=404), 2.0, timedelta(hours=4), "not found (404)"),
        (
            FetchError(SOURCE.url, "busy", status=503, retry_after_s=86_400, weight=0.5),
            2.0,
            timedelta(days=1),
            "busy",
        ),
        (page(b"<html>"), 2.5, timedelta(hours=1) * 2**2.5, "no feed"),
    ],
)
def test_after_an_error_the_old_validators_stay_and_the_pause_grows(
    answer: Page | FetchError, points: float, pause: timedelta, reason: str
) -> None:
    polled, _ = poll(answer, STATE)
    assert next_state(SOURCE, STATE, polled, NONE, NOW) == replace(
        STATE, last_polled_at=NOW, next_poll_at=NOW + pause, failure_points=points, last_reason=reason
    )


def test_a_first_poll_makes_a_first_state() -> None:
    error = FetchError(SOURCE.url, "host not found", weight=0.25)
    failed = next_state(SOURCE, None, poll(error)[0], NONE, NOW)
    assert (failed.etag, failed.document_hash, failed.last_new_at, failed.interval_s) == (None, None, None, 1800.0)
    answered = next_state(SOURCE, None, poll(page())[0], NONE, NOW)
    assert answered.interval_s == 1800.0
    assert timedelta(minutes=15) <= answered.next_poll_at - NOW <= timedelta(minutes=30)


def test_sources_that_begin_together_are_soon_asked_at_different_times() -> None:
    sources = [replace(SOURCE, source_id=f"mec-{n}") for n in range(160)]
    polled, _ = poll(page())
    due = {next_state(source, None, replace(polled, source=source), NONE, NOW).next_poll_at for source in sources}
    minutes = [sum(timedelta(minutes=n) <= at - NOW < timedelta(minutes=n + 1) for at in due) for n in range(15, 30)]
    assert (len(due), sum(minutes), max(minutes) < 25) == (160, 160, True)


def test_every_minutes_is_kept_whatever_the_server_asks_for() -> None:
    source = replace(SOURCE, every_minutes=10)
    polled = replace(poll(page(max_age_s=7200.0))[0], source=source)
    state = next_state(source, None, polled, NONE, NOW)
    again = next_state(source, state, polled, NONE, state.next_poll_at + timedelta(seconds=40))
    assert again.next_poll_at == state.next_poll_at + timedelta(minutes=10)


def test_the_pause_that_a_feed_asks_for_is_kept_while_it_is_unchanged_and_forgotten_when_it_is_taken_back() -> None:
    def state_after(state: SourceState, answer: Page, ttl_s: float | None = None) -> SourceState:
        asks = lambda document, source: replace(parse(document, source), ttl_s=ttl_s)  # noqa: E731 - a parser
        (polled,) = poll_sources([SOURCE], {SOURCE.source_id: state}, reads(asks), Answers(mec_1=answer))
        return next_state(SOURCE, state, polled, NONE, NOW)

    asked = state_after(STATE, page(), 6 * 3600)
    unchanged = state_after(asked, page(b"", 304))
    failed = next_state(SOURCE, unchanged, poll(FetchError(SOURCE.url, "no answer in time"))[0], NONE, NOW)
    taken_back = state_after(failed, page(BODY + b"\n"))
    assert [state.ttl_s for state in (asked, unchanged, failed, taken_back)] == [21_600, 21_600, 21_600, None]
    assert (asked.next_poll_at, unchanged.next_poll_at) == (NOW + timedelta(hours=6),) * 2
    assert taken_back.next_poll_at < NOW + timedelta(hours=3)


def test_a_source_with_another_address_starts_anew() -> None:
    state = replace(STATE, url="https://example.org/old-address")
    polled, _ = poll(FetchError(SOURCE.url, "no answer in time"))
    assert next_state(SOURCE, state, polled, NONE, NOW) == next_state(SOURCE, None, polled, NONE, NOW)


def test_a_poll_is_a_row() -> None:
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
    assert poll_row(polled, entry_changes(SOURCE, polled.listing, (), NOW, "t"), NOW) == row
    failed, _ = poll(FetchError(SOURCE.url, "gone", status=410))
    assert poll_row(failed, NONE, NOW) == replace(
        row, outcome="gone", reason="gone", status=410, entry_count=0, new_count=0, body_bytes=0, elapsed_ms=0
    )


# --- in the lake -----------------------------------------------------------------------------------------------------


def test_a_poll_is_stored_whole_and_the_next_one_knows_it(tmp_path: Path) -> None:
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake:

        def store(answer: Page | FetchError, now: datetime) -> Poll:
            states = {state.source_id: state for state in lake.read(SourceState)}
            (polled,) = poll_sources([SOURCE], states, reads(parse), Answers(mec_1=answer))
            (stored,) = lake.transact(lambda rows: store_polls(rows, [polled], now, f"poll-{now:%H}"))
            return stored

        polls = [
            store(page(), NOW),
            store(page(BODY + b"\nhttps://example.org/3"), NOW + timedelta(hours=1)),
            store(FetchError(SOURCE.url, "no answer in time"), NOW + timedelta(hours=2)),
        ]
        assert [(row.outcome, row.entry_count, row.new_count) for row in polls] == [
            ("ok", 2, 2),
            ("ok", 3, 1),
            ("failed", 0, 0),
        ]
        assert lake.read(Poll) == polls
        entries = lake.read(FeedEntry)
        assert [(row.entry_id[-1], row.trace_id, row.last_seen_at.hour) for row in entries] == [
            ("1", "poll-12", 13),
            ("2", "poll-12", 13),
            ("3", "poll-13", 13),
        ]
        (state,) = lake.read(SourceState)
        assert (state.etag, state.failure_points, state.last_outcome) == ('"new"', 0.5, "failed")


def quiet(number: int) -> Polled:
    return Polled(source=replace(SOURCE, source_id=f"s{number}"), outcome="unchanged", page=page(b"", 304))


def test_a_listing_is_stored_at_once_and_what_comes_without_one_waits_for_the_next() -> None:
    news, late = poll(page())[0], threading.Event()

    def asked() -> Iterator[Polled]:
        yield news
        assert late.wait(5)
        yield from map(quiet, range(QUIET_TOGETHER))
        yield news

    groups = stored_together(asked())
    assert next(groups) == [news]  # while the next answer is late
    late.set()
    assert [polled for group in groups for polled in group] == [*map(quiet, range(QUIET_TOGETHER)), news]
    assert list(stored_together(iter(()))) == []


def test_two_listings_of_one_agency_that_are_stored_together_make_one_article(tmp_path: Path) -> None:
    both = [poll(page())[0], replace(poll(page())[0], source=replace(SOURCE, source_id="other"))]
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        stored = lake.transact(lambda rows: store_polls(rows, both, NOW, "t"))
        entries = lake.read(FeedEntry)
    assert [poll.new_count for poll in stored] == [len(entries) // 2] * 2
    assert len({entry.article_id for entry in entries}) == len(entries) // 2


def test_what_a_long_listing_has_beyond_the_cap_is_taken_by_the_next_polls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("news_assets.pipeline.poll.entries.MAX_NEW", 20)  # 2,000 take seconds to store
    count = 50
    body = "\n".join(f"https://example.org/{n}" for n in range(count)).encode()
    agency = Agency(key="mec", name="MEC", timezone="UTC", language="pt", sources=(SOURCE,))
    desk = Desk(key="govbr", timezone="UTC", language="pt", first_day=NOW.date(), agencies=(agency,))
    stored, pauses, asked = [], [], []
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake:
        for _ in range(4):
            answers = Answers(mec_1=page(body, max_age_s=7200.0))
            polls = list(poll_agencies(lake, desk, {"mec"}, answers, reads(parse), NOW, "t"))
            stored.append(polls[0].new_count)
            asked.append(answers.asked[0].validators)
            (state,) = lake.read(SourceState)
            pauses.append(state.next_poll_at - NOW)
        assert lake.frame(FeedEntry, None, ("entry_id",)).height == count
    assert stored == [20, 20, 10, 0]
    assert pauses == [timedelta(minutes=5), timedelta(minutes=5), timedelta(hours=2), timedelta(hours=2)]
    assert asked == [Validators(), Validators(), Validators(), Validators('"new"', "today")]


def test_sources_without_news_share_a_transaction_and_each_keeps_its_own_state(tmp_path: Path) -> None:
    sources = tuple(replace(SOURCE, source_id=f"s{number}") for number in range(6))
    agency = Agency(key="mec", name="MEC", timezone="UTC", language="pt", sources=sources)
    desk = Desk(key="govbr", timezone="UTC", language="pt", first_day=NOW.date(), agencies=(agency,))
    busy = FetchError(SOURCE.url, "busy", status=503)
    answers = Answers(s0=page(), s1=busy, s2=page(b"<html>"), s3=page(b"", 304), s4=busy, s5=page(b"", 304))
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake:
        states = [
            replace(STATE, source_id=source.source_id, failure_points=float(source.source_id[1])) for source in sources
        ]
        lake.transact(lambda rows: rows.upsert(states))
        before = lake.snapshot()
        polls = list(poll_agencies(lake, desk, {"mec"}, answers, reads(parse), NOW, "t"))
        assert lake.snapshot() - before <= 2
        assert [(row.source_id, row.outcome) for row in polls] == [
            ("s0", "ok"),
            ("s1", "failed"),
            ("s2", "failed"),
            ("s3", "unchanged"),
            ("s4", "failed"),
            ("s5", "unchanged"),
        ]
        assert sorted(lake.read(Poll), key=lambda row: row.source_id) == polls
        assert [(state.last_outcome, state.failure_points) for state in lake.read(SourceState)] == [
            ("ok", 0.0),
            ("failed", 1.5),
            ("failed", 3.0),
            ("unchanged", 0.0),
            ("failed", 4.5),
            ("unchanged", 0.0),
        ]


def civic_desk(every_minutes: int | None = None) -> Desk:
    source = replace(SOURCE, pace="civic", every_minutes=every_minutes)
    agency = Agency(key="mec", name="MEC", timezone="UTC", language="pt", sources=(source,))
    return Desk(key="govbr", timezone="UTC", language="pt", first_day=NOW.date(), agencies=(agency,))


def dated(*ages: int) -> Parse:
    """Return a parser that lists one entry for each age in days."""

    def listing(document: Page, source: Source) -> Listing:
        entries = (
            ListedEntry(entry_id=str(ago), url=f"{URL}/{ago}", published_at=NOW - timedelta(days=ago)) for ago in ages
        )
        return Listing(entries=tuple(entries))

    return listing


@pytest.mark.parametrize(
    ("ages", "every_minutes", "hours"),
    [
        (range(1, 100, 3), None, 12),
        (range(1, 100, 7), None, 24),
        (range(30, 100), None, 7 * 24),
        (range(30, 100), 60, 1),
    ],
)
def test_a_civic_source_begins_with_half_a_day_and_then_its_meetings_of_four_weeks_count(
    lake: Lake, ages: Sequence[int], every_minutes: int | None, hours: int
) -> None:
    desk, intervals = civic_desk(every_minutes), []
    for answer in (page(), page(b"", 304), FetchError(SOURCE.url, "no answer in time")):
        list(poll_agencies(lake, desk, {"mec"}, Answers(mec_1=answer), reads(dated(*ages)), NOW, "t"))
        intervals.append(lake.read(SourceState)[0].interval_s / 3600)
    assert intervals == [1 if every_minutes else 12, hours, hours]


def test_a_source_asked_a_moment_ago_is_passed_over_and_nothing_is_stored(lake: Lake) -> None:
    desk, later = civic_desk(), NOW + timedelta(seconds=12)

    def polled(now: datetime, **how: Any) -> list[tuple[str, str | None]]:
        polls = poll_agencies(lake, desk, {"mec"}, Answers(mec_1=page()), reads(parse), now, "t", **how)
        return [(one.outcome, one.reason) for one in polls]

    minute = timedelta(minutes=1)
    assert polled(NOW, cooldown=minute) == [("ok", None)]
    before = lake.snapshot()
    reason = "asked 12 s ago; again from 12:01:00 UTC, or with `ask_again: true`"
    assert polled(later, cooldown=minute) == [("skipped", reason)]
    assert polled(later, cooldown=minute, only_due=True) == []
    assert lake.snapshot() == before
    assert polled(later) == [("unchanged", None)]
    assert polled(later + minute, cooldown=minute) == [("unchanged", None)]
