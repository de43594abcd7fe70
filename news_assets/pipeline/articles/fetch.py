"""Fetches the pages of due entries, and stores them with their articles and revisions."""

import gzip
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from news_assets.errors import FetchError
from news_assets.pipeline.articles.dedupe import KnownArticle, mark_duplicates
from news_assets.pipeline.articles.rows import article_row, revision_of
from news_assets.pipeline.page.readers import READERS, read_page
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.failures import record_article_outcomes
from news_assets.pipeline.stage_state.versions import content_hash
from news_assets.ports import Fetcher, Lake, PageReader, PageRequest, Rows
from news_assets.records import (
    AgencyDays,
    Desk,
    ExtractedArticle,
    FeedEntry,
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


def fetch_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    *,
    fetcher: Fetcher,
    refetch: bool = False,
) -> int:
    """Fetch and extract the due entries of these agency-days; return how many articles were written.

    Articles are stored every few pages, so that a killed run repeats little.
    """
    entries = lake.read(FeedEntry, keys)
    stored = lake.read(RawArticle, article_id={entry.article_id for entry in entries})
    due = due_entries(entries, {article.article_id: article for article in stored}, clock(), refetch=refetch)
    written = 0
    for batch in in_batches(fetch_entries(due, desk, fetcher)):
        now = clock()
        written += len(lake.transact(lambda rows: store_articles(rows, stage, desk, batch, now)))  # noqa: B023
    return written


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


def store_articles(
    rows: Rows, stage: Stage, desk: Desk, batch: Sequence[FetchedEntry], now: datetime
) -> list[RawArticle]:
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
    for written in (articles, [one.page for one in batch if one.page], [r for r in revisions if r]):
        if written:
            rows.upsert(written)
    record_article_outcomes(rows, stage, articles)
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
