"""Processes that poll a synthetic desk with pages in memory and run every stage over
it, on a lake and an index.

`write` is one process's work: it polls the agencies and brings all stages up to date,
as the runs of sensors do. Its writes can be reported, so that another process knows
when to kill it. Time stands still, so that the rows are the same however often a
process starts again.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.desks.desk_files import load_desks
from news_assets.errors import FetchError
from news_assets.pipeline.poll.poll import poll_agencies
from news_assets.pipeline.stages import STAGES
from news_assets.ports.search_index import SearchDocument
from news_assets.ports.services import PageRequest
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Page
from news_assets.sources.source_kinds import KINDS, adapter_of
from news_assets.store.lake import Lake
from news_assets.store.maintenance import maintain
from news_assets.store.transaction import Transaction
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.lakes import Place
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher
from news_assets_tests.support.small_desk import Words
from news_assets_tests.support.synthetic_desk import (
    Article,
    Shelf,
    agency_keys,
    desk_file,
)

T = TypeVar("T")

SITE = "https://news.example"
FIRST_DAY = date(2026, 11, 1)
NOW = datetime(2026, 11, 30, tzinfo=UTC)
PER_ROUND = 2  # articles that each agency publishes before a process starts
BEGUN, ENDED = "begun", "ended"  # of one write
_ROUNDS_PER_DAY = 20
_ROUNDS_PER_MAINTENANCE = 6


@dataclass(frozen=True)
class Newsroom:
    """The place of a lake and an index, and the number of agencies that publish."""

    place: Place
    folder: Path
    agencies: int = 3

    @property
    def desk(self) -> Desk:
        self.folder.mkdir(parents=True, exist_ok=True)
        return load_desks(
            [str(desk_file(self.folder, FIRST_DAY, SITE, self.agencies))], KINDS
        )[0]

    @property
    def index_path(self) -> Path:
        return self.folder / "search.sqlite"


class ShelfPages(ScriptedFetcher):
    """The site of the desk in memory, with all articles up to a round."""

    def __init__(self, agencies: int, last_round: int) -> None:
        articles = (
            Article(
                agency,
                FIRST_DAY + timedelta(days=number // _ROUNDS_PER_DAY),
                number % _ROUNDS_PER_DAY * 10 + n,
            )
            for number in range(last_round + 1)
            for agency in agency_keys(agencies)
            for n in range(PER_ROUND)
        )
        self._shelf = Shelf(SITE, iter(articles), paragraphs=2)

    def answer(self, request: PageRequest) -> Page | FetchError:
        status, content_type, body = self._shelf.answer(urlsplit(request.url).path)
        return Page(
            url=request.url,
            final_url=request.url,
            status=status,
            body=body,
            content_type=content_type,
            fetched_at=NOW,
        )


class ReportingLake(Lake):
    """A lake that reports the beginning and the end of each write."""

    report: Callable[[str], None]

    def transact(self, work: Callable[[Transaction], T]) -> T:
        self.report(BEGUN)
        result = super().transact(work)
        self.report(ENDED)
        return result


class ReportingIndex(SqliteSearchIndex):
    """An index that reports the beginning and the end of each write."""

    report: Callable[[str], None]

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        self.report(BEGUN)
        rejected = super().upsert(documents)
        self.report(ENDED)
        return rejected


def write(
    room: Newsroom,
    rounds: Sequence[int],
    agencies: Collection[str] | None = None,
    reports: "Connection[str, str] | None" = None,
) -> None:
    """Poll these agencies, or all, and run every stage over all that is stored of them;
    once for each round.
    """
    desk = room.desk
    chosen = sorted(agencies or agency_keys(room.agencies))
    with (
        ReportingLake.open(*room.place) as lake,
        ReportingIndex.open(room.index_path) as index,
    ):
        lake.report = index.report = reports.send if reports else lambda _: None
        for number in rounds:
            pages = ShelfPages(room.agencies, number)
            # so that no agency's entries leave its feed before they are stored
            first = number % len(chosen)
            for agency in chosen[first:] + chosen[:first]:
                list(
                    poll_agencies(
                        lake,
                        desk,
                        {agency},
                        pages,
                        InlineSandbox(),
                        adapter_of,
                        lambda: NOW,
                        f"run {number}",
                    )
                )
            _run_stages(lake, desk, chosen, pages, index)
            if (
                number % _ROUNDS_PER_MAINTENANCE == _ROUNDS_PER_MAINTENANCE - 1
                and agencies is None
            ):
                maintain(lake, now=datetime.now(UTC), keep_days=0)


def _run_stages(
    lake: Lake,
    desk: Desk,
    agencies: Collection[str],
    pages: ShelfPages,
    index: SqliteSearchIndex,
) -> None:
    listed = lake.frame(FeedEntry, None, ("agency", "day"), agency=agencies)
    keys = AgencyDays(desk.key, frozenset(listed.unique().iter_rows()))
    words = Words()
    ports: dict[str, Any] = {
        "fetcher": pages,
        "sandbox": InlineSandbox(),
        "enricher": words,
        "embedder": words,
        "search": index,
    }
    for stage in STAGES:
        stage.run_batch(lake, desk, keys, lambda: NOW, ports)
