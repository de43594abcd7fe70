"""Fetches the pages of due entries, and stores them with their articles and revisions."""

import gzip
import hashlib
import time
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime

from news_assets.errors import FetchError, NewsAssetsError
from news_assets.pipeline.articles.dedupe import store_marked
from news_assets.pipeline.articles.ownership import Owners
from news_assets.pipeline.articles.rows import article_row, revision_of, with_owner
from news_assets.pipeline.articles.withdrawal import is_confirmed, withdraw_removed
from news_assets.pipeline.batches import store_apart, with_ticks
from news_assets.pipeline.civic.composing import compose_articles
from news_assets.pipeline.page.extract import rule_on
from news_assets.pipeline.page.readers import (
    READERS,
    ReadEntry,
    has_full_text,
    read_entry,
    unread,
    with_document,
)
from news_assets.pipeline.stage_state.declaration import Stage, of_articles
from news_assets.pipeline.stage_state.failures import record_article_outcomes
from news_assets.pipeline.stage_state.retries import (
    first_entries,
    has_news,
    is_due,
    with_pause_stated,
)
from news_assets.ports.services import (
    Fetcher,
    Lake,
    PageReader,
    PageRequest,
    Reader,
    Rows,
    Sandbox,
)
from news_assets.records.articles import FeedEntry, RawArticle, StoredPage
from news_assets.records.desks import Access, Agency, Desk
from news_assets.records.reading import WITHDRAWN, AgencyDays, Page, Validators

# stored in one transaction; a killed run fetches at most these again
BATCH_ARTICLES = 50
BATCH_BYTES = 16 << 20  # compressed pages held in memory until they are stored
# of waiting for slow pages, after which those that were read are stored
_BATCH_S = 20.0
_TICK_S = 0.5


@dataclass(frozen=True, slots=True)
class FetchedEntry:
    """One entry with its page or error, what was read, and the page as it is stored."""

    entry: FeedEntry
    result: Page | FetchError
    read: ReadEntry
    page: StoredPage | None


def fetch_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    *,
    fetcher: Fetcher,
    sandbox: Sandbox,
    only: Collection[str] | None = None,
    refetch: bool = False,
) -> int:
    """Fetch and extract the due entries of these agency-days; return how many articles
    were written.

    Articles are stored every few pages, so that a killed run repeats little. Those of
    agenda items are composed.
    """
    with lake.latest() as reader:
        entries = reader.read(FeedEntry, keys, **of_articles(only))
        rows = reader.read(
            RawArticle, article_id={entry.article_id for entry in entries}
        )
    stored = {article.article_id: article for article in rows}
    due = due_entries(entries, stored, clock(), refetch=refetch)
    civic = {
        source.source_id
        for agency in desk.agencies
        for source in agency.sources
        if source.is_civic
    }
    languages = {agency.key: agency.language for agency in desk.agencies}
    written = compose_articles(
        stage,
        lake,
        [one for one in due if one.source_id in civic],
        languages,
        clock,
        sandbox,
    )
    due = [one for one in due if one.source_id not in civic]
    if desk.caps.pages:
        due = sorted(due, key=lambda entry: entry.day, reverse=True)[: desk.caps.pages]
    validators = {} if refetch else _stored_validators(lake, due, stored)

    def store(batch: Sequence[FetchedEntry]) -> list[RawArticle]:
        now = clock()
        return lake.transact(lambda rows: store_articles(rows, stage, desk, batch, now))

    for batch in in_batches(
        fetch_entries(due, desk, fetcher, sandbox, validators=validators)
    ):
        written += len(store_apart(batch, store, _unstored))
    return written


def _unstored(one: FetchedEntry, reason: str) -> FetchedEntry:
    """Return the entry as one whose page could not be had, so that a row states the
    reason.
    """
    return FetchedEntry(
        one.entry,
        FetchError(one.entry.url, reason, is_transient=True),
        ReadEntry(),
        None,
    )


def due_entries(
    entries: Iterable[FeedEntry],
    stored: Mapping[str, RawArticle],
    now: datetime,
    *,
    refetch: bool = False,
) -> list[FeedEntry]:
    """Return the entries to fetch, by `refetches.is_due`; with `refetch` all but those
    of withdrawn articles.

    `stored` is by article id.
    """
    wanted = [
        one
        for one in first_entries(entries).values()
        if not _is_withdrawn(stored.get(one.article_id))
    ]
    return [
        entry
        for entry in wanted
        if refetch or is_due(entry, stored.get(entry.article_id), now)
    ]


def _is_withdrawn(article: RawArticle | None) -> bool:
    return article is not None and article.outcome == WITHDRAWN


def _stored_validators(
    lake: Reader, due: Iterable[FeedEntry], stored: Mapping[str, RawArticle]
) -> dict[str, Validators]:
    """Return the validators of the pages of articles that stay as they are if their
    page is unchanged, by article id.

    These have the text of their page, and nothing but the text of the listing changed.
    """
    hashes = {
        entry.article_id: article.page_hash
        for entry in due
        if (article := stored.get(entry.article_id))
        and _is_of_its_page(article)
        and _has_only_text(entry, article)
    }
    columns = ("article_id", "page_hash", "etag", "last_modified")
    pages = lake.frame(StoredPage, None, columns, article_id=hashes) if hashes else None
    rows = pages.iter_rows() if pages is not None else ()
    return {
        article_id: Validators(etag, last_modified)
        for article_id, page_hash, etag, last_modified in rows
        if hashes[article_id] == page_hash and (etag or last_modified)
    }


def _is_of_its_page(article: RawArticle) -> bool:
    return (
        article.outcome == "ok"
        and article.text_origin == "page"
        and not article.attempts
    )


def _has_only_text(entry: FeedEntry, article: RawArticle) -> bool:
    return entry.day == article.day and not has_news(entry, article)


def fetch_entries(
    entries: Sequence[FeedEntry],
    desk: Desk,
    fetcher: Fetcher,
    sandbox: Sandbox,
    readers: Mapping[str, PageReader] = READERS,
    validators: Mapping[str, Validators] | None = None,
) -> Generator[FetchedEntry, None, None]:
    """Yield each entry with its page and what was read, as pages arrive; a URL of
    several entries is fetched once.

    `validators` are by article id. They are sent for a URL if all its entries have the
    same.
    """
    agencies = {agency.key: agency for agency in desk.agencies}
    by_url: dict[str, list[FeedEntry]] = {}
    for entry in entries:
        by_url.setdefault(entry.url, []).append(entry)
    access = {
        source.source_id: source.access
        for agency in desk.agencies
        for source in agency.sources
    }
    requests = [
        PageRequest(
            url,
            validators=_common(of_url, validators or {}),
            retries_connection=True,
            access=access.get(of_url[0].source_id, Access()),
        )
        for url, of_url in by_url.items()
    ]
    for request, result in fetcher.fetch_all(requests):
        for entry in by_url[request.url]:
            if isinstance(result, Page) and result.is_unchanged:
                yield FetchedEntry(entry, result, ReadEntry(), None)
                continue
            read = _read(
                entry,
                result,
                agencies[entry.agency],
                sandbox,
                readers,
                desk.caps.text_chars,
            )
            yield FetchedEntry(
                entry,
                result,
                read,
                _stored_page(entry, result) if isinstance(result, Page) else None,
            )


def _common(
    entries: Iterable[FeedEntry], validators: Mapping[str, Validators]
) -> Validators:
    found = {validators.get(entry.article_id, Validators()) for entry in entries}
    return found.pop() if len(found) == 1 else Validators()


def _read(
    entry: FeedEntry,
    result: Page | FetchError,
    agency: Agency,
    sandbox: Sandbox,
    readers: Mapping[str, PageReader],
    max_chars: int,
) -> ReadEntry:
    """Return what was read of the page and the listed text; an error of reading fails
    the page.
    """
    page = None
    if isinstance(result, Page):
        page = replace(
            result, rule=rule_on(agency.page_rules, entry.day), listed_title=entry.title
        )
    if page is None and not has_full_text(entry.content_html):
        return ReadEntry()
    page = page and with_document(page, sandbox, agency.language, readers)
    listed = entry.content_html
    [read] = sandbox.run(
        read_entry,
        [(page, listed, agency.timezone, agency.language, readers, max_chars)],
    )
    if not isinstance(read, NewsAssetsError):
        return read
    return ReadEntry() if page is None else ReadEntry(unread(page, "failed", str(read)))


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
        etag=page.validators.etag,
        last_modified=page.validators.last_modified,
        fetched_at=page.fetched_at,
    )


def in_batches(
    fetched: Generator[FetchedEntry, None, None], max_s: float = _BATCH_S
) -> Iterator[list[FetchedEntry]]:
    """Yield lists of at most BATCH_ARTICLES entries and about BATCH_BYTES, no later
    than about `max_s` after the first.

    The time counts also while no page arrives, or one is being read.
    """
    batch: list[FetchedEntry] = []
    held_bytes, due_at = 0, 0.0
    with closing(with_ticks(fetched, _TICK_S)) as arrivals:
        for one in arrivals:
            if one is not None:
                due_at = due_at if batch else time.monotonic() + max_s
                batch.append(one)
                held_bytes += len(one.page.body_gzip) if one.page else 0
            is_full = len(batch) >= BATCH_ARTICLES or held_bytes >= BATCH_BYTES
            if is_full or (batch and time.monotonic() >= due_at):
                yield batch
                batch, held_bytes = [], 0
    if batch:
        yield batch


def store_articles(
    rows: Rows, stage: Stage, desk: Desk, batch: Sequence[FetchedEntry], now: datetime
) -> list[RawArticle]:
    """Store one batch with its pages and revisions; return the articles that were
    written.

    What was withdrawn meanwhile is left out; what its publisher removed is withdrawn.
    Revisions and duplicates are determined from the rows stored at this moment, not
    from those read before fetching.
    """
    owners = Owners.of(desk)
    ids = [one.entry.article_id for one in batch]
    stored = {
        article.article_id: article for article in rows.read(RawArticle, article_id=ids)
    }
    batch = [
        one for one in batch if not _is_withdrawn(stored.get(one.entry.article_id))
    ]
    made = [
        (one, row)
        for one in batch
        if (row := _row_of(one, stored.get(one.entry.article_id), owners, now))
    ]
    removed = [row for one, row in made if is_confirmed(one.result, row)]
    articles = store_marked(
        rows, [row for one, row in made if not is_confirmed(one.result, row)], stored
    )
    revisions = [
        revision_of(stored[new.article_id], new, now)
        for new in articles
        if new.article_id in stored
    ]
    pages = [
        one.page
        for one in batch
        if one.page and not _is_stored(one.page, stored.get(one.page.article_id))
    ]
    for written in (pages, [r for r in revisions if r]):
        if written:
            rows.upsert(written)
    record_article_outcomes(rows, stage, articles)
    return articles + [
        row for article in removed for row in withdraw_removed(rows, article, now)
    ]


def _row_of(
    one: FetchedEntry, previous: RawArticle | None, owners: Owners, now: datetime
) -> RawArticle | None:
    """Return the article's row; None after a 304 for a row that is gone meanwhile: the
    next run fetches the page.
    """
    if isinstance(one.result, Page) and one.result.is_unchanged:
        if previous is None or not _is_of_its_page(previous):
            return None
        page_hash = previous.page_hash
    else:
        page_hash = one.page.page_hash if one.page else None
    read, owner = with_owner(owners, one.entry, one.result, one.read)
    row = article_row(one.entry, one.result, read, previous, now, owner)
    return with_pause_stated(replace(row, page_hash=page_hash))


def _is_stored(page: StoredPage, previous: RawArticle | None) -> bool:
    return previous is not None and (previous.page_hash, previous.day) == (
        page.page_hash,
        page.day,
    )
