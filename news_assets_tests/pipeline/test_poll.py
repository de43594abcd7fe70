import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.errors import FetchError, ListingChangedError, SourceError
from news_assets.pipeline.entries import EntryChanges, entry_changes
from news_assets.pipeline.poll import (
    QUIET_TOGETHER,
    AdapterOf,
    Polled,
    next_state,
    poll_row,
    poll_sources,
    store_polls,
    stored_together,
)
from news_assets.pipeline.stages import poll_agencies
from news_assets.ports import PageRequest
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
from news_assets.sources.adapter import Adapter, Parse
from news_assets.store.lake import Lake

NOW = datetime(2026, 9, 8, 12, 0, tzinfo=UTC)
SOURCE = Source(
    source_id="mec-1",
    desk="govbr",
    agency="mec",
    kind="feed",
    url="https://example.org/feed",
    timezone="America/Sao_Paulo",
    language="pt-BR",
)
BODY = b"https://example.org/1\nhttps://example.org/2"
NONE = EntryChanges()
STATE = SourceState(
    source_id="mec-1",
    desk="govbr",
    agency="mec",
    url="https://example.org/feed",
    etag='"old"',
    last_modified=None,
    document_hash="0" * 64,
    last_polled_at=NOW - timedelta(hours=1),
    last_new_at=NOW - timedelta(hours=1),
    next_poll_at=NOW,
    interval_s=3600.0,
    failure_points=1.5,
    last_outcome="failed",
    last_reason="no answer in time",
)


class Answers:
    """A fetcher that has one answer for each address."""

    def __init__(self, **by_key: Page | FetchError) -> None:
        self.by_key = by_key
        self.asked: list[PageRequest] = []

    def fetch(self, request: PageRequest) -> Page:
        raise NotImplementedError

    def fetch_all(self, requests: Iterable[PageRequest]) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        for request in requests:
            self.asked.append(request)
            yield request, self.by_key[request.key.replace("-", "_")]


def page(body: bytes = BODY, status: int = 200, **changes: object) -> Page:
    values = {
        "url": SOURCE.url,
        "final_url": SOURCE.url,
        "status": status,
        "body": body,
        "content_type": "text/html",
        "validators": Validators('"new"', "today"),
        "fetched_at": NOW,
        "elapsed_ms": 12,
    }
    return Page(**{**values, **changes})  # type: ignore[arg-type]


def parse(document: Page, source: Source) -> Listing:
    if document.body.startswith(b"<html"):
        raise SourceError("no feed")
    lines = document.body.decode().split()
    return Listing(entries=tuple(ListedEntry(entry_id=line, url=line) for line in lines if line.startswith("http")))


def reads(parse: Parse) -> AdapterOf:
    """Return the adapters of a world where every source is read in one way."""
    return lambda source: Adapter(parse=parse)


def poll(answer: Page | FetchError, state: SourceState | None = None) -> tuple[Polled, PageRequest]:
    fetcher = Answers(mec_1=answer)
    (polled,) = poll_sources([SOURCE], {state.source_id: state} if state else {}, reads(parse), fetcher)
    return polled, fetcher.asked[0]


# --- asking ----------------------------------------------------------------------------------------------------------


def test_a_source_is_asked_with_what_it_gave_last_time_and_without_robots_txt() -> None:
    polled, asked = poll(page(), STATE)
    assert asked == PageRequest(SOURCE.url, "mec-1", Validators('"old"', None), obeys_robots=False)
    assert polled == Polled(source=SOURCE, outcome="ok", page=page(), listing=parse(page(), SOURCE))


@pytest.mark.parametrize(
    "state",
    [
        None,
        replace(STATE, url="https://example.org/old-address"),
        replace(STATE, last_new_at=NOW - timedelta(days=4)),
    ],
)
def test_a_new_a_moved_and_a_long_silent_source_are_asked_for_the_whole_document(state: SourceState | None) -> None:
    assert poll(page(), state)[1].validators == Validators()


def test_a_304_and_the_same_bytes_again_are_both_unchanged() -> None:
    not_modified = page(b"", 304)
    assert poll(not_modified, STATE)[0] == Polled(source=SOURCE, outcome="unchanged", page=not_modified)
    state = replace(STATE, document_hash=hashlib.sha256(BODY).hexdigest())
    assert poll(page(), state)[0] == Polled(source=SOURCE, outcome="unchanged", page=page())


def test_one_sources_error_stays_its_own() -> None:
    sources = [replace(SOURCE, source_id=name) for name in ("a", "b", "c")]
    gone = FetchError(SOURCE.url, "gone", status=410)
    answers = Answers(a=gone, b=page(b"<html>log in</html>"), c=page())
    polled = {one.source.source_id: one for one in poll_sources(sources, {}, reads(parse), answers)}
    assert {name: (one.outcome, one.reason) for name, one in polled.items()} == {
        "a": ("gone", "gone"),
        "b": ("failed", "no feed"),
        "c": ("ok", None),
    }


def test_a_mistake_in_an_adapter_is_its_sources_failed_poll_and_the_others_go_on() -> None:
    def mistaken(document: Page, source: Source) -> Listing:
        return parse(document, source) if source.source_id == "b" else Listing(entries=({}["a\nb" * 500],))

    sources = [replace(SOURCE, source_id=name) for name in ("a", "b")]
    broken, fine = poll_sources(sources, {}, reads(mistaken), Answers(a=page(), b=page()))
    assert (broken.outcome, type(broken.error), fine.outcome) == ("failed", SourceError, "ok")
    assert str(broken.reason).startswith("a mistake in the adapter of `feed`: KeyError: ")
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
def test_a_large_document_without_an_entry_is_no_quiet_day(body: bytes, error: type[Exception]) -> None:
    assert type(poll(page(body))[0].error) is error


# --- rows ------------------------------------------------------------------------------------------------------------


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
    assert next_state(source, STATE, polled, NONE, NOW).next_poll_at == NOW + timedelta(minutes=10)
    assert next_state(source, None, polled, NONE, NOW).next_poll_at <= NOW + timedelta(minutes=10)


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


def test_a_poll_with_a_listing_is_stored_at_once_and_those_without_together() -> None:
    news = poll(page())[0]
    asked = iter([quiet(0), news, quiet(1), *(quiet(number) for number in range(2, QUIET_TOGETHER + 1))])
    groups = stored_together(asked)
    assert next(groups) == [news]
    assert next(asked).source.source_id == "s1"  # nothing beyond the listing had been asked for
    assert [len(group) for group in groups] == [QUIET_TOGETHER]
    assert [len(group) for group in stored_together(quiet(number) for number in range(QUIET_TOGETHER + 3))] == [
        QUIET_TOGETHER,
        3,
    ]
    assert list(stored_together(iter(()))) == []


def test_what_a_long_listing_has_beyond_the_cap_is_taken_by_the_next_polls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("news_assets.pipeline.entries.MAX_NEW", 20)  # 2,000 take seconds to store
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
        assert lake.snapshot() - before == 2
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
