"""A source, its state, and a fetcher with one answer per source, for tests of polls."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from math import inf

from news_assets.errors import FetchError, SourceError
from news_assets.pipeline.poll.entry_rows import EntryChanges
from news_assets.pipeline.poll.listings import (
    AdapterOf,
    KnownHashes,
    listing_polls,
    nothing_known,
)
from news_assets.pipeline.poll.poll_loop import Polled, run_polls
from news_assets.ports.services import Clock, Fetcher, PageRequest, Sandbox
from news_assets.records.articles import SourceState
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page, Validators
from news_assets.sources.source_kinds import Adapter, Parse
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

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
NO_CHANGES = EntryChanges()
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


class Answers(ScriptedFetcher):
    """A fetcher with one answer for each source, by its id with `_` for `-`."""

    def __init__(self, **by_key: Page | FetchError) -> None:
        self.by_key = by_key
        self.requests: list[PageRequest] = []

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.requests.append(request)
        return self.by_key[request.key.replace("-", "_")]


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
    return Listing(
        entries=tuple(
            ListedEntry(entry_id=line, url=line)
            for line in lines
            if line.startswith("http")
        )
    )


def adapters(parse: Parse) -> AdapterOf:
    """Return adapters that read every source with one parser."""
    return lambda source: Adapter(parse=parse)


def poll_sources(
    sources: Sequence[Source],
    states: Mapping[str, SourceState],
    adapter_of: AdapterOf,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Clock,
    known: KnownHashes = nothing_known,
    first_day: date | None = None,
    begin_within_s: float = inf,
) -> Iterator[Polled]:
    """Yield the polls of these sources."""
    polls = listing_polls(sources, states, adapter_of, sandbox, clock, known, first_day)
    return run_polls(polls, fetcher, begin_within_s)


def poll(
    answer: Page | FetchError, state: SourceState | None = None
) -> tuple[Polled, PageRequest]:
    """Poll SOURCE with this state; return the poll and the request it made."""
    fetcher = Answers(mec_1=answer)
    (polled,) = poll_sources(
        [SOURCE],
        {state.source_id: state} if state else {},
        adapters(parse),
        fetcher,
        InlineSandbox(),
        lambda: NOW,
    )
    return polled, fetcher.requests[0]
