"""Fetches the pages of due entries, and stores them with their articles and revisions."""

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from news_assets.errors import FetchError
from news_assets.pipeline.articles.dedupe import KnownArticle, mark_duplicates
from news_assets.pipeline.articles.rows import article_row, revision_of
from news_assets.pipeline.page.readers import READERS, read_page
from news_assets.pipeline.stage_state.failures import article_failures, note_failures
from news_assets.pipeline.stage_state.versions import content_hash
from news_assets.ports import Fetcher, PageReader, PageRequest, Rows
from news_assets.records import (
    ArticleEmbedding,
    Desk,
    EnrichedArticle,
    ExtractedArticle,
    FeedEntry,
    IndexedDocument,
    Page,
    RawArticle,
    StoredPage,
)

BATCH_ARTICLES = 50  # stored in one transaction; a killed run fetches at most these again
BATCH_BYTES = 16 << 20  # compressed pages held in memory until they are stored


@dataclass(frozen=True, slots=True)
class FetchedEntry:
    """One entry with its page or error, the page's article, and the page as it is stored."""

    entry: FeedEntry
    result: Page | FetchError
    extracted: ExtractedArticle | None
    page: StoredPage | None


def due_entries(
    entries: Iterable[FeedEntry], stored: Mapping[str, RawArticle], now: datetime, *, refetch: bool = False
) -> list[FeedEntry]:
    """Return the entries to fetch: never fetched, changed or moved to another day since, or due for a retry.

    Of several entries for one article, only the one seen first is fetched. `stored` is by article id.
    """
    first: dict[str, FeedEntry] = {}
    for entry in sorted(entries, key=lambda entry: (entry.first_seen_at, entry.source_id, entry.entry_id)):
        first.setdefault(entry.article_id, entry)
    return [entry for entry in first.values() if refetch or _is_due(entry, stored.get(entry.article_id), now)]


def _is_due(entry: FeedEntry, article: RawArticle | None, now: datetime) -> bool:
    if article is None or (article.entry_hash, article.day) != (entry.entry_hash, entry.day):
        return True
    return article.next_try_at is not None and article.next_try_at <= now


def fetch_entries(
    entries: Sequence[FeedEntry], desk: Desk, fetcher: Fetcher, readers: Mapping[str, PageReader] = READERS
) -> Iterator[FetchedEntry]:
    """Yield each entry with its page and article, as pages arrive; a URL of several entries is fetched once."""
    agencies = {agency.key: agency for agency in desk.agencies}
    by_url: dict[str, list[FeedEntry]] = {}
    for entry in entries:
        by_url.setdefault(entry.url, []).append(entry)
    for request, result in fetcher.fetch_all([PageRequest(url) for url in by_url]):
        for entry in by_url[request.url]:
            if isinstance(result, FetchError):
                yield FetchedEntry(entry, result, None, None)
            else:
                agency = agencies[entry.agency]
                extracted = read_page(result, agency.timezone, agency.language, readers)
                yield FetchedEntry(entry, result, extracted, _stored_page(entry, result))


def _stored_page(entry: FeedEntry, page: Page) -> StoredPage:
    return StoredPage(
        article_id=entry.article_id,
        desk=entry.desk,
        agency=entry.agency,
        day=entry.day,
        url=page.url,
        final_url=page.final_url,
        status=page.status,
        content_type=page.content_type,
        encoding=page.encoding,
        page_hash=hashlib.sha256(page.body).hexdigest(),
        body_gzip=gzip.compress(page.body, compresslevel=5, mtime=0),
        body_bytes=len(page.body),
        fetched_at=page.fetched_at,
    )


def in_batches(fetched: Iterable[FetchedEntry]) -> Iterator[list[FetchedEntry]]:
    """Yield lists of at most BATCH_ARTICLES entries and about BATCH_BYTES."""
    batch: list[FetchedEntry] = []
    for one in fetched:
        batch.append(one)
        held_bytes = sum(len(other.page.body_gzip) for other in batch if other.page)
        if len(batch) >= BATCH_ARTICLES or held_bytes >= BATCH_BYTES:
            yield batch
            batch = []
    if batch:
        yield batch


def store_articles(rows: Rows, desk: Desk, batch: Sequence[FetchedEntry], now: datetime) -> list[RawArticle]:
    """Store one batch with its pages and revisions; return the articles that were written.

    Revisions and duplicates are determined from the rows stored at this moment, not from those read before fetching.
    """
    ids = [one.entry.article_id for one in batch]
    stored = {article.article_id: article for article in rows.read(RawArticle, article_id=ids)}
    articles = [
        article_row(one.entry, one.result, one.extracted, stored.get(one.entry.article_id), now) for one in batch
    ]
    articles = mark_duplicates(articles, _known_articles(rows, desk, articles))
    articles = [replace(article, content_hash=content_hash(article)) for article in articles]
    revisions = [revision_of(stored[new.article_id], new, now) for new in articles if new.article_id in stored]
    _delete_derived_of_moved(rows, articles, stored)
    for written in (articles, [one.page for one in batch if one.page], [r for r in revisions if r]):
        if written:
            rows.upsert(written)
    note_failures(rows, "raw_articles", article_failures(articles), ids)
    return articles


def _known_articles(rows: Rows, desk: Desk, articles: Sequence[RawArticle]) -> list[KnownArticle]:
    """Return the desk's articles with these URLs or texts, of any agency and day."""
    columns = ("article_id", "url_hash", "text_hash", "duplicate_of")
    urls = {article.url_hash for article in articles}
    texts = {article.text_hash for article in articles if article.text_hash}
    found: dict[str, KnownArticle] = {}
    for lookup in ({"url_hash": urls}, {"text_hash": texts}):
        frame = rows.frame(RawArticle, None, columns, desk=[desk.key], outcome=["ok"], **lookup)
        found |= {row[0]: KnownArticle(*row) for row in frame.iter_rows()}
    return list(found.values())


def _delete_derived_of_moved(rows: Rows, articles: Sequence[RawArticle], stored: Mapping[str, RawArticle]) -> None:
    """Delete the derived rows of articles that moved to another day, whose run makes them again from the cache."""
    moved = [new.article_id for new in articles if (old := stored.get(new.article_id)) and old.day != new.day]
    if moved:
        for record in (EnrichedArticle, ArticleEmbedding, IndexedDocument):
            rows.delete(record, article_id=moved)
