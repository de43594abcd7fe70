"""The civic desk of one council: its polls and stages over a lake, with the real HTTP
client.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.pipeline.poll.poll import PollOptions, poll_agencies
from news_assets.pipeline.stages import stage_named, stage_names
from news_assets.ports.search_index import SearchIndex
from news_assets.records.articles import FeedEntry, Poll
from news_assets.records.desks import Agency, Desk, Source
from news_assets.records.reading import AgencyDays, Embedded, Enrichment
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.support.inline_sandbox import InlineSandbox

NOW = datetime(2026, 3, 2, 15, tzinfo=UTC)  # a Monday morning in Springfield
ZONE = "America/Chicago"


def desk_of(url: str, kind: str = "legistar") -> Desk:
    source = Source(
        source_id=f"civic/springfieldIL/{kind}",
        desk="civic",
        agency="springfieldIL",
        kind=kind,
        url=url,
        timezone=ZONE,
        language="en",
        is_civic=True,
    )
    agency = Agency(
        key="springfieldIL",
        name="Springfield",
        timezone=ZONE,
        language="en",
        sources=(source,),
    )
    return Desk(
        key="civic",
        timezone=ZONE,
        language="en",
        first_day=date(2026, 1, 1),
        agencies=(agency,),
    )


@dataclass
class CountingEnricher:
    """An enricher and embedder that keeps the titles it was asked for."""

    asked: list[str] = field(default_factory=list)
    name: str = "counting"
    model: str = "1"
    prompt_version: str = "1"
    taxonomy_version: str = "1"
    dim: int = 2

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        self.asked.append(title)
        return Enrichment(summary=f"About: {title}", word_count=len(text.split()))

    def embed(self, texts: Any) -> list[Embedded]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> Embedded:
        return Embedded((1.0, 0.0), len(query.split()), is_cut=False)


@dataclass
class CouncilRoom:
    """The desk's polls and stages at the time `now`."""

    lake: Lake
    index: SearchIndex
    url: str
    folder: Path
    kind: str = "legistar"
    now: datetime = NOW
    enricher: CountingEnricher = field(default_factory=CountingEnricher)
    documents_read: int = 0

    def __post_init__(self) -> None:
        self.desk = desk_of(self.url, self.kind)
        self.fetcher = HttpFetcher(
            user_agent="test",
            delay_s=0,
            state_dir=self.folder,
            allow_private_hosts=("127.0.0.1",),
            retry_pauses_s=(),
            clock=lambda: self.now,
        )
        self.sandbox = _CountingSandbox(self)

    def poll(self, after: timedelta = timedelta(0), **options: Any) -> list[Poll]:
        """Poll the council's source so much later."""
        self.now += after
        return list(
            poll_agencies(
                self.lake,
                self.desk,
                ["springfieldIL"],
                self.fetcher,
                self.sandbox,
                adapter_of,
                lambda: self.now,
                "trace",
                options=PollOptions(**options),
            )
        )

    def run(self, *names: str, days: Collection[date] | None = None) -> None:
        """Run these stages, or all, over every agency-day with an entry, or those of
        these days.
        """
        found = frozenset(
            (one.agency, one.day)
            for one in self.lake.read(FeedEntry)
            if days is None or one.day in days
        )
        keys = AgencyDays("civic", found)
        ports = {
            "fetcher": self.fetcher,
            "sandbox": self.sandbox,
            "enricher": self.enricher,
            "embedder": self.enricher,
            "search": self.index,
        }
        for name in names or stage_names(self.desk):
            stage_named(name).run_batch(
                self.lake, self.desk, keys, lambda: self.now, ports
            )


class _CountingSandbox(InlineSandbox):
    def __init__(self, room: CouncilRoom) -> None:
        self._room = room

    def read_document(self, *args: Any, **options: Any) -> Any:
        self._room.documents_read += 1
        return super().read_document(*args, **options)


class Killed(BaseException):
    """What ends a process, which nothing catches."""


class DyingLake:
    """A lake that dies before it stores its n-th transaction."""

    def __init__(self, lake: Lake, lives: int) -> None:
        self._lake, self._lives = lake, lives

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lake, name)

    def transact(self, work: Callable[[Any], Any]) -> Any:
        self._lives -= 1
        if self._lives < 0:
            raise Killed
        return self._lake.transact(work)
