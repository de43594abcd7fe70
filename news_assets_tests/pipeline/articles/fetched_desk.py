"""Articles that were fetched from pages in memory, and that another extractor may have
read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from news_assets.errors import FetchError
from news_assets.pipeline.articles.replayed_article import (
    Replayed,
    replay_articles,
    store_replayed,
)
from news_assets.pipeline.page.readers import READERS
from news_assets.pipeline.stage_declaration import content_hash
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import PageReader, PageRequest
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import Page
from news_assets.store.lake import Lake
from news_assets.text.fingerprint import text_hash
from news_assets.text.words import words
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.small_desk import DESK, NOW, Newsroom, Pages, entry

STAGE = stage_named("raw_articles")
LATER = NOW + timedelta(hours=1)
STORY = (
    "The city council voted on Tuesday to keep the night buses running for another year, after four hours of debate "
    "in the town hall. Nurses and bakers had asked for them, and the mayor had not. "
)


@dataclass
class Site(Pages):
    """Pages by the number of their entry; any other is not found."""

    texts: dict[int, str] = field(default_factory=dict)
    at: datetime = NOW

    def answer(self, request: PageRequest) -> Page | FetchError:
        number = int(request.url.rpartition("/")[2])
        if number not in self.texts:
            return FetchError(request.url, "not found (404)", status=404)
        body = f"<html><head><title>Buses {number}</title></head><body><article>{self.texts[number]}</article></body>"
        return Page(
            url=request.url,
            final_url=request.url,
            status=200,
            body=body.encode(),
            fetched_at=self.at,
        )


def story(number: int, times: int = 4) -> str:
    return f"<p>{STORY} This is line {number}.</p>" * times


@dataclass
class FetchedDesk:
    """The desk with articles of some entries; `site` may change before the next fetch."""

    lake: Lake
    site: Site = field(default_factory=Site)
    desk: Desk = DESK

    def fetch(self, *entries: FeedEntry, at: datetime = NOW) -> None:
        """List and fetch these entries."""
        self.site.at = at
        room = Newsroom(self.lake, FakeSearchIndex(), self.site, now=at, desk=self.desk)
        room.list(*entries)
        room.run("raw_articles")

    def fetch_stories(self, *numbers: int) -> None:
        self.site.texts |= {number: story(number) for number in numbers}
        self.fetch(*map(entry, numbers))

    def articles(self) -> dict[str, RawArticle]:
        return {article.article_id: article for article in self.lake.read(RawArticle)}

    def store_otherwise(
        self, article_id: str, text: str | None, **changes: Any
    ) -> RawArticle:
        """Store an article as another extractor would have read it; return the row of
        before.
        """
        before = self.articles()[article_id]
        now = replace(
            before,
            text=text,
            text_chars=len(text or ""),
            text_hash=text_hash(text or ""),
            word_count=len(words(text or "")),
            **changes,
        )
        self.lake.transact(
            lambda rows: rows.upsert([replace(now, content_hash=content_hash(now))])
        )
        return before

    def replay(
        self, readers: Mapping[str, PageReader] = READERS
    ) -> dict[str, Replayed]:
        articles = self.lake.read(RawArticle)
        batches = replay_articles(
            self.lake, self.desk, articles, InlineSandbox(), readers
        )
        return {one.article.article_id: one for batch in batches for one in batch}

    def changes(self) -> dict[str, str]:
        return {article_id: one.change for article_id, one in self.replay().items()}

    def store(
        self, replayed: Sequence[Replayed], at: datetime = LATER
    ) -> list[Replayed]:
        return self.lake.transact(
            lambda rows: store_replayed(rows, STAGE, self.desk, replayed, at)
        )
