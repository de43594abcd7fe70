from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from news_assets.errors import FetchError
from news_assets.pipeline.poll.poll import PollOptions, poll_agencies
from news_assets.ports.services import PageRequest
from news_assets.records.articles import FeedEntry, Poll, SourceState
from news_assets.records.desks import Agency, Caps, Desk, Source
from news_assets.records.reading import ListedEntry, Listing, Page, Validators
from news_assets.sources.source_kinds import Adapter, Parse
from news_assets.store.lake import Lake
from news_assets_tests.pipeline.poll import paged_site
from news_assets_tests.pipeline.poll.poll_cases import (
    NOW,
    SOURCE,
    STATE,
    Answers,
    adapters,
    page,
    parse,
)
from news_assets_tests.support.inline_sandbox import InlineSandbox

URL = "https://example.org"


def desk_of(*sources: Source) -> Desk:
    agency = Agency(
        key="mec", name="MEC", timezone="UTC", language="pt", sources=sources
    )
    return Desk(
        key="govbr",
        timezone="UTC",
        language="pt",
        first_day=date(2026, 1, 1),
        agencies=(agency,),
    )


def test_entries_of_a_long_listing_beyond_the_cap_are_stored_by_the_next_polls(
    lake: Lake,
) -> None:
    desk = replace(desk_of(SOURCE), caps=Caps(new_entries=20))
    count = 50
    body = "\n".join(f"https://example.org/{n}" for n in range(count)).encode()
    stored, pauses, validators = [], [], []
    for _ in range(4):
        answers = Answers(mec_1=page(body, max_age_s=7200.0))
        polls = list(
            poll_agencies(
                lake,
                desk,
                {"mec"},
                answers,
                InlineSandbox(),
                adapters(parse),
                lambda: NOW,
                "t",
            )
        )
        stored.append(polls[0].new_count)
        validators.append(answers.requests[0].validators)
        (state,) = lake.read(SourceState)
        pauses.append(state.next_poll_at - NOW)
    assert lake.frame(FeedEntry, None, ("entry_id",)).height == count
    assert stored == [20, 20, 10, 0]
    assert pauses == [
        timedelta(minutes=5),
        timedelta(minutes=5),
        timedelta(hours=2),
        timedelta(hours=2),
    ]
    assert validators == [
        Validators(),
        Validators(),
        Validators(),
        Validators('"new"', "today"),
    ]


def test_sources_without_new_entries_share_a_transaction_and_each_keeps_its_own_state(
    lake: Lake,
) -> None:
    sources = [replace(SOURCE, source_id=f"s{number}") for number in range(6)]
    busy = FetchError(SOURCE.url, "busy", status=503)
    answers = Answers(
        s0=page(),
        s1=busy,
        s2=page(b"<html>"),
        s3=page(b"", 304),
        s4=busy,
        s5=page(b"", 304),
    )
    states = [
        replace(STATE, source_id=f"s{number}", failure_points=float(number))
        for number in range(6)
    ]
    lake.transact(lambda rows: rows.upsert(states))
    before = lake.snapshot()
    polls = list(
        poll_agencies(
            lake,
            desk_of(*sources),
            {"mec"},
            answers,
            InlineSandbox(),
            adapters(parse),
            lambda: NOW,
            "t",
        )
    )
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
    assert [
        (state.last_outcome, state.failure_points) for state in lake.read(SourceState)
    ] == [
        ("ok", 0.0),
        ("failed", 1.5),
        ("failed", 3.0),
        ("unchanged", 0.0),
        ("failed", 4.5),
        ("unchanged", 0.0),
    ]


# --- the time of the answer -----------------------------------------------------------


class LateAnswers(Answers):
    """A fetcher whose answers arrive at the times in `at`, one after the other; `clock`
    shows the time.
    """

    def __init__(
        self, started_at: datetime, at: Sequence[datetime], **by_key: Page | FetchError
    ) -> None:
        super().__init__(**by_key)
        self.now, self._at = started_at, iter(at)

    def clock(self) -> datetime:
        return self.now

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.now = next(self._at)
        answer = super().answer(request)
        return (
            replace(answer, fetched_at=self.now) if isinstance(answer, Page) else answer
        )


BEFORE_MIDNIGHT = datetime(2026, 9, 9, 2, 59, tzinfo=UTC)  # 23:59 in São Paulo
AFTER_MIDNIGHT = BEFORE_MIDNIGHT + timedelta(minutes=4)


def test_an_entry_without_a_date_is_filed_under_the_day_of_the_answer_not_of_the_start(
    lake: Lake,
) -> None:
    sources = [
        replace(SOURCE, source_id=f"s{number}", url=f"{URL}/{number}")
        for number in range(3)
    ]
    answered_at = [
        BEFORE_MIDNIGHT + timedelta(seconds=30),
        AFTER_MIDNIGHT,
        AFTER_MIDNIGHT + timedelta(minutes=1),
    ]
    bodies = {f"s{number}": page(f"{URL}/{number}/a".encode()) for number in range(3)}
    web = LateAnswers(BEFORE_MIDNIGHT, answered_at, **bodies)
    polls = list(
        poll_agencies(
            lake,
            desk_of(*sources),
            {"mec"},
            web,
            InlineSandbox(),
            adapters(parse),
            web.clock,
            "t",
        )
    )
    assert [poll.polled_at for poll in polls] == answered_at
    assert [(row.day.day, row.first_seen_at) for row in lake.read(FeedEntry)] == list(
        zip([8, 9, 9], answered_at, strict=True)
    )
    states = lake.read(SourceState)
    assert [(state.last_polled_at, state.last_new_at) for state in states] == [
        (at, at) for at in answered_at
    ]
    assert all(
        state.next_poll_at >= state.last_polled_at + timedelta(minutes=5)
        for state in states
    )


def test_five_minutes_and_retry_after_count_from_the_answer(lake: Lake) -> None:
    busy = FetchError(URL, "busy", status=503, retry_after_s=7200.0, weight=0.0)
    sources = [
        replace(SOURCE, source_id="s0", every_minutes=5),
        replace(SOURCE, source_id="s1", url=f"{URL}/1"),
    ]
    answered_at = [NOW + timedelta(minutes=4), NOW + timedelta(minutes=6)]
    web = LateAnswers(NOW, answered_at, s0=page(), s1=busy)
    list(
        poll_agencies(
            lake,
            desk_of(*sources),
            {"mec"},
            web,
            InlineSandbox(),
            adapters(parse),
            web.clock,
            "t",
        )
    )
    quick, refused = lake.read(SourceState)
    assert quick.next_poll_at >= answered_at[0] + timedelta(minutes=5)
    assert refused.next_poll_at == answered_at[1] + timedelta(hours=2)


def test_a_listing_with_several_pages_has_the_time_of_its_last_page(lake: Lake) -> None:
    class Pages(LateAnswers):
        def answer(self, request: PageRequest) -> Page | FetchError:
            self.by_key[request.key] = replace(page(b"page"), url=request.url)
            return super().answer(request)

    lake.transact(lambda rows: rows.upsert([paged_site.STATE]))
    times = [NOW + timedelta(minutes=minute) for minute in range(4)]
    web, desk = Pages(NOW, times), desk_of(paged_site.source())
    desk = replace(desk, first_day=(paged_site.NOW - timedelta(days=2)).date())
    (poll,) = poll_agencies(
        lake, desk, {"mec"}, web, InlineSandbox(), paged_site.adapter_of, web.clock, "t"
    )
    assert (poll.polled_at, lake.read(SourceState)[0].last_polled_at) == (
        times[-1],
        times[-1],
    )


CIVIC = replace(SOURCE, pace="civic")


def dated(*ages: int) -> Parse:
    """Return a parser of listings with one entry for each age in days."""

    def listing(document: Page, source: Source) -> Listing:
        times = ((ago, NOW - timedelta(days=ago)) for ago in ages)
        entries = (
            ListedEntry(entry_id=str(ago), url=f"{URL}/{ago}", published_at=at)
            for ago, at in times
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
def test_a_civic_interval_is_half_a_day_at_first_and_then_follows_the_entries_of_four_weeks(
    lake: Lake, ages: Sequence[int], every_minutes: int | None, hours: int
) -> None:
    desk, intervals = desk_of(replace(CIVIC, every_minutes=every_minutes)), []
    for answer in (page(), page(b"", 304), FetchError(SOURCE.url, "no answer in time")):
        list(
            poll_agencies(
                lake,
                desk,
                {"mec"},
                Answers(mec_1=answer),
                InlineSandbox(),
                adapters(dated(*ages)),
                lambda: NOW,
                "t",
            )
        )
        intervals.append(lake.read(SourceState)[0].interval_s / 3600)
    assert intervals == [1 if every_minutes else 12, hours, hours]


def test_signals_come_faster_after_a_change_and_slower_without(lake: Lake) -> None:
    desk, intervals = desk_of(replace(SOURCE, pace="signals")), []
    for answer in (page(), page(b"", 304), page(b"", 304), page(b"<new>")):
        adapter = adapters(
            dated(1) if answer.status == 304 or not intervals else dated(1, 2)
        )
        list(
            poll_agencies(
                lake,
                desk,
                {"mec"},
                Answers(mec_1=answer),
                InlineSandbox(),
                adapter,
                lambda: NOW,
                "t",
                options=PollOptions(only_due=False),
            )
        )
        intervals.append(lake.read(SourceState)[0].interval_s / 60)
    assert intervals == [10, 15, 15, 10], NOW.isoformat()


def test_a_source_polled_a_moment_ago_is_skipped_and_nothing_is_stored(
    lake: Lake,
) -> None:
    desk, later = desk_of(CIVIC), NOW + timedelta(seconds=12)

    def polled(now: datetime, **options: Any) -> list[tuple[str, str | None]]:
        polls = poll_agencies(
            lake,
            desk,
            {"mec"},
            Answers(mec_1=page(fetched_at=now)),
            InlineSandbox(),
            adapters(parse),
            lambda: now,
            "t",
            options=PollOptions(**options),
        )
        return [(one.outcome, one.reason) for one in polls]

    minute = timedelta(minutes=1)
    assert polled(NOW, cooldown=minute) == [("ok", None)]
    before = lake.snapshot()
    reason = "polled 12 s ago; again from 12:01:00 UTC, or with `ask_again: true`"
    assert polled(later, cooldown=minute) == [("skipped", reason)]
    assert polled(later, cooldown=minute, only_due=True) == []
    assert lake.snapshot() == before
    assert polled(later) == [("unchanged", None)]
    assert polled(later + minute, cooldown=minute) == [("unchanged", None)]


# --- past days ------------------------------------------------------------------------


def poll_past(lake: Lake, day: date, parse: Parse) -> list[Poll]:
    adapter = Adapter(
        parse=parse, day_url=lambda source, day: f"{source.url}?day={day}"
    )
    desk = desk_of(paged_site.source())
    return list(
        poll_agencies(
            lake,
            desk,
            {"mec"},
            paged_site.Site(),
            InlineSandbox(),
            lambda one: adapter,
            lambda: NOW,
            "t",
            options=PollOptions(past=(day, day)),
        )
    )


def test_an_undated_entry_of_a_past_day_is_filed_under_the_day_in_its_url(
    lake: Lake,
) -> None:
    def parse_sitemap(page: Page, source: Source) -> Listing:
        urls = (f"{source.url}2026/05/04/nota", f"{source.url}nota")
        return Listing(
            entries=tuple(ListedEntry(entry_id=url, url=url) for url in urls)
        )

    poll_past(lake, date(2026, 5, 4), parse_sitemap)
    assert [(row.day, row.published_at) for row in lake.read(FeedEntry)] == [
        (date(2026, 5, 4), None)
    ]


def test_past_days_are_stored_and_leave_the_state_as_it_was(lake: Lake) -> None:
    def parse_day(page: Page, source: Source) -> Listing:
        at = datetime.fromisoformat(f"{page.url.rpartition('=')[2]}T09:00+00:00")
        return Listing(
            entries=(ListedEntry(entry_id="1", url=f"{source.url}1", published_at=at),)
        )

    lake.transact(lambda rows: rows.upsert([paged_site.STATE]))
    day = NOW.date() - timedelta(days=200)
    polls = poll_past(lake, day, parse_day)
    assert [poll.new_count for poll in polls] == [1]
    assert [row.day for row in lake.read(FeedEntry)] == [day]
    assert lake.read(SourceState) == [paged_site.STATE]
    assert lake.read(Poll) == polls


def test_a_listing_that_cannot_be_stored_costs_only_itself(lake: Lake) -> None:
    def parse_odd(document: Page, source: Source) -> Listing:
        listing = parse(document, source)
        odd: Any = 1 << 70  # no text, and no number that a column can hold
        bad = replace(
            listing,
            entries=tuple(replace(one, image_url=odd) for one in listing.entries),
        )
        return bad if source.source_id == "mec-2" else listing

    sources = [
        replace(SOURCE, source_id=f"mec-{n}", url=f"https://example.org/{n}")
        for n in (1, 2, 3)
    ]
    answers = Answers(
        mec_1=page(),
        mec_2=page(b"https://example.org/x"),
        mec_3=page(b"https://example.org/y"),
    )
    adapter, desk = adapters(parse_odd), desk_of(*sources)
    polls = list(
        poll_agencies(
            lake, desk, {"mec"}, answers, InlineSandbox(), adapter, lambda: NOW, "t"
        )
    )
    assert {poll.source_id: poll.outcome for poll in polls} == {
        "mec-1": "ok",
        "mec-2": "failed",
        "mec-3": "ok",
    }
    assert [str(poll.reason)[:19] for poll in polls if poll.reason] == [
        "could not be stored"
    ]
    states = {state.source_id: state.last_outcome for state in lake.read(SourceState)}
    assert states == {"mec-1": "ok", "mec-2": "failed", "mec-3": "ok"}
    assert {one.source_id for one in lake.read(FeedEntry)} == {"mec-1", "mec-3"}
