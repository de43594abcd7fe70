"""A desk of two agencies with pages, enricher and embedder in memory; the stages
themselves are the real ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

from news_assets.errors import EmbedError, EnrichError, FetchError
from news_assets.pipeline.stages import stage_named, stage_names
from news_assets.ports.search_index import SearchIndex
from news_assets.ports.services import PageRequest
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Agency, Desk
from news_assets.records.reading import AgencyDays, Embedded, Enrichment, Page
from news_assets.store.lake import Lake
from news_assets.text.urls import url_hash
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
TODAY = NOW.date()
AGENCIES = tuple(
    Agency(key=key, name=f"Câmara {key}", timezone="UTC", language="en", sources=())
    for key in ("a", "b")
)
DESK = Desk(
    key="d",
    timezone="UTC",
    language="en",
    first_day=date(2026, 1, 1),
    agencies=AGENCIES,
)
_STORY = "The city council voted on Tuesday to keep bus line{number} running for another year, after hours of debate. "


def entry(
    number: int, agency: str = "a", day: date = TODAY, **changes: Any
) -> FeedEntry:
    url = f"https://example.org/{number}"
    made = FeedEntry(
        entry_id=str(number),
        source_id=f"d/{agency}/feed",
        desk="d",
        agency=agency,
        day=day,
        article_id=f"{agency}-{number}",
        url=url,
        url_hash=url_hash(url),
        title=f"Bus {number} stays",
        summary=None,
        content_html=None,
        authors=(),
        categories=(),
        image_url=None,
        published_at=NOW,
        updated_at=None,
        is_future_dated=False,
        is_moved=False,
        entry_hash="one",
        first_seen_at=NOW,
        last_seen_at=NOW,
        trace_id="t",
    )
    return replace(made, **changes)


@dataclass
class Pages(ScriptedFetcher):
    """A fetcher with a page for every address that is not `missing`, nor `refused` with
    a status.
    """

    missing: set[str] = field(default_factory=set)
    refused: dict[str, int] = field(default_factory=dict)
    words: str = "Night and day. "

    def answer(self, request: PageRequest) -> Page | FetchError:
        if request.url in self.missing:
            return FetchError(request.url, "not found (404)", status=404)
        if status := self.refused.get(request.url):
            return FetchError(request.url, f"refused ({status})", status=status)
        number = request.url.rpartition("/")[2]
        # without them, all pages were copies of one text
        own = " ".join(f"stop{number}x{n}" for n in range(60))
        text = (
            f"<p>{_STORY.format(number=number)}</p><p>{own}</p><p>{self.words * 20}</p>"
            * 2
        )
        body = f"<html><head><title>Bus</title></head><body><article>{text}</article></body></html>"
        return Page(
            url=request.url,
            final_url=request.url,
            status=200,
            body=body.encode(),
            fetched_at=NOW,
        )


@dataclass
class Words:
    """An enricher and embedder that refuses texts with one of the `refused` words."""

    refused: set[str] = field(default_factory=set)
    name: str = "words"
    model: str = "1"
    prompt_version: str = "1"
    taxonomy_version: str = "1"
    dim: int = 2

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        if self._refuses(text):
            raise EnrichError("no answer")
        return Enrichment(summary=title, word_count=len(text.split()))

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> Embedded:
        if self._refuses(query):
            raise EmbedError("too odd")
        return Embedded((1.0, 0.0), len(query.split()), is_cut=False)

    def _refuses(self, text: str) -> bool:
        return any(word in text for word in self.refused)


@dataclass
class Newsroom:
    """The desk's stages over a lake and an index, at the time `now`."""

    lake: Lake
    index: SearchIndex
    pages: Pages = field(default_factory=Pages)
    enricher: Words = field(default_factory=Words)
    embedder: Words = field(default_factory=Words)
    now: datetime = NOW
    desk: Desk = DESK

    def list(self, *entries: FeedEntry) -> None:
        """Store entries as a poll does."""
        self.lake.transact(lambda rows: rows.upsert(entries))

    def run(self, *stages: str) -> None:
        """Run these stages, or all, over every agency-day that has an entry."""
        keys = AgencyDays(
            "d", frozenset((one.agency, one.day) for one in self.lake.read(FeedEntry))
        )
        for stage in stages or stage_names():
            self.run_stage(stage, keys)

    def run_stage(self, name: str, keys: AgencyDays) -> int:
        """Run one stage over these agency-days; return how many rows it wrote."""
        ports = {
            "fetcher": self.pages,
            "sandbox": InlineSandbox(),
            "enricher": self.enricher,
            "embedder": self.embedder,
            "search": self.index,
        }
        return stage_named(name).run_batch(
            self.lake, self.desk, keys, lambda: self.now, ports
        )
