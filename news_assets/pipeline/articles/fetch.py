"""Fetches the pages of due entries, and stores them with their articles and revisions."""

import gzip
import hashlib
import logging
import time
from collections.abc import (
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
from news_assets.pipeline.articles.attempts import (
    first_entries,
    has_news,
    is_confirmed,
    is_due,
    why_not,
    with_pause_stated,
)
from news_assets.pipeline.articles.dedupe import store_marked
from news_assets.pipeline.articles.ownership import Owners
from news_assets.pipeline.articles.rows import article_row, revisions_of, with_owner
from news_assets.pipeline.articles.withdrawal import withdraw_removed
from news_assets.pipeline.civic.composing import compose_articles
from news_assets.pipeline.failures import record_article_outcomes
from news_assets.pipeline.page.extract import rule_on
from news_assets.pipeline.page.readers import (
    READERS,
    ReadEntry,
    has_full_text,
    read_entry,
    unread,
    with_document,
)
from news_assets.pipeline.stage_declaration import Stage, of_articles
from news_assets.pipeline.storing import store_apart, with_ticks
from news_assets.ports.services import (
    Clock,
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

_logger = logging.getLogger(__name__)

# stored in one transaction; a killed run fetches at most these again
_BATCH_ARTICLES = 50
_BATCH_BYTES = 16 << 20  # compressed pages held in memory until they are stored
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
    clock: Clock,
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

    Args:
        stage: The stage of articles.
        lake: The lake.
        desk: The desk of the agency-days.
        keys: The agency-days.
        clock: Returns the time.
        fetcher: Fetches the pages.
        sandbox: Where they are read.
        only: Ids of the articles to fetch; None for all.
        refetch: Whether entries that are not due are fetched too.
    """
    with lake.latest() as reader:
        entries = reader.read(FeedEntry, keys, **of_articles(only))
        ids = {entry.article_id for entry in entries}
        rows = reader.read(RawArticle, article_id=ids)
    stored = {article.article_id: article for article in rows}
    due = due_entries(entries, stored, clock(), refetch=refetch)
    items, pages = _items_and_pages(due, desk)
    languages = {agency.key: agency.language for agency in desk.agencies}
    written = compose_articles(stage, lake, items, languages, clock, sandbox)
    validators = {} if refetch else _stored_validators(lake, pages, stored)

    def store(batch: Sequence[FetchedEntry]) -> list[RawArticle]:
        now = clock()
        return lake.transact(lambda rows: store_articles(rows, stage, desk, batch, now))

    fetched = fetch_entries(pages, desk, fetcher, sandbox, validators=validators)
    for batch in in_batches(fetched):
        written += len(store_apart(batch, store, _unstored))
    return written


def _items_and_pages(
    due: Iterable[FeedEntry], desk: Desk
) -> tuple[list[FeedEntry], list[FeedEntry]]:
    """Return the entries that are agenda items, and those whose pages are fetched: of
    these the newest, as many as the desk fetches in a run.
    """
    civic: set[str] = set()
    for agency in desk.agencies:
        for source in agency.sources:
            if source.is_civic:
                civic.add(source.source_id)
    items: list[FeedEntry] = []
    pages: list[FeedEntry] = []
    for entry in due:
        if entry.source_id in civic:
            items.append(entry)
        else:
            pages.append(entry)
    if desk.caps.pages:
        pages.sort(key=lambda entry: entry.day, reverse=True)
        pages = pages[: desk.caps.pages]
    return items, pages


def _unstored(one: FetchedEntry, reason: str) -> FetchedEntry:
    """Return the entry with a transient FetchError, so that its row records the reason."""
    error = FetchError(one.entry.url, reason, is_transient=True)
    return FetchedEntry(one.entry, error, ReadEntry(), None)


def due_entries(
    entries: Iterable[FeedEntry],
    stored: Mapping[str, RawArticle],
    now: datetime,
    *,
    refetch: bool = False,
) -> list[FeedEntry]:
    """Return the entries to fetch, by `is_due`; with `refetch` all but those of
    withdrawn articles.

    `stored` is by article id.
    """
    due: list[FeedEntry] = []
    for entry in first_entries(entries).values():
        article = stored.get(entry.article_id)
        if _is_withdrawn(article):
            _logger.debug("%s is not fetched: it is withdrawn", entry.article_id)
        elif refetch or is_due(entry, article, now):
            due.append(entry)
        elif article is not None:
            _logger.debug("%s is not fetched: %s", entry.article_id, why_not(article))
    return due


def _is_withdrawn(article: RawArticle | None) -> bool:
    if article is None:
        return False
    return article.outcome == WITHDRAWN


def _stored_validators(
    lake: Reader, due: Iterable[FeedEntry], stored: Mapping[str, RawArticle]
) -> dict[str, Validators]:
    """Return the validators of the pages of articles that stay as they are if their
    page is unchanged, by article id.

    These have the text of their page, and nothing but the text of the listing changed.
    """
    hashes: dict[str, str | None] = {}
    for entry in due:
        article = stored.get(entry.article_id)
        if article is not None and _stays_if_unchanged(article, entry):
            hashes[entry.article_id] = article.page_hash
    if not hashes:
        return {}
    columns = ("article_id", "page_hash", "etag", "last_modified")
    pages = lake.frame(StoredPage, None, columns, article_id=hashes)
    validators: dict[str, Validators] = {}
    for article_id, page_hash, etag, last_modified in pages.iter_rows():
        if hashes[article_id] != page_hash:
            continue
        if etag or last_modified:
            validators[article_id] = Validators(etag, last_modified)
    return validators


def _stays_if_unchanged(article: RawArticle, entry: FeedEntry) -> bool:
    """Whether an article of this entry stays as it is if its page is unchanged."""
    if not _is_of_its_page(article):
        return False
    if entry.day != article.day:
        return False
    return not has_news(entry, article)


def _is_of_its_page(article: RawArticle) -> bool:
    if article.outcome != "ok":
        return False
    if article.text_origin != "page":
        return False
    return not article.attempts


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

    Args:
        entries: The entries to fetch.
        desk: Their desk.
        fetcher: Fetches the pages.
        sandbox: Where they are read.
        readers: Page readers by content type.
        validators: By article id. They are sent for a URL if all its entries have the
            same.
    """
    agencies = {agency.key: agency for agency in desk.agencies}
    by_url: dict[str, list[FeedEntry]] = {}
    for entry in entries:
        by_url.setdefault(entry.url, []).append(entry)
    requests = _requests(by_url, desk, validators or {})
    max_chars = desk.caps.text_chars
    for request, result in fetcher.fetch_all(requests):
        for entry in by_url[request.url]:
            if isinstance(result, Page) and result.is_unchanged:
                yield FetchedEntry(entry, result, ReadEntry(), None)
                continue
            agency = agencies[entry.agency]
            read = _read(entry, result, agency, sandbox, readers, max_chars)
            page = _stored_page(entry, result) if isinstance(result, Page) else None
            yield FetchedEntry(entry, result, read, page)


def _requests(
    by_url: Mapping[str, Sequence[FeedEntry]],
    desk: Desk,
    validators: Mapping[str, Validators],
) -> list[PageRequest]:
    """Return a request for each URL of these entries."""
    access: dict[str, Access] = {}
    for agency in desk.agencies:
        for source in agency.sources:
            access[source.source_id] = source.access
    requests: list[PageRequest] = []
    for url, of_url in by_url.items():
        request = PageRequest(
            url,
            validators=_common(of_url, validators),
            retries_connection=True,
            access=access.get(of_url[0].source_id, Access()),
        )
        requests.append(request)
    return requests


def _common(
    entries: Iterable[FeedEntry], validators: Mapping[str, Validators]
) -> Validators:
    found = {validators.get(entry.article_id, Validators()) for entry in entries}
    if len(found) == 1:
        return found.pop()
    return Validators()


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

    Args:
        entry: The entry that was fetched.
        result: The page, or the error of fetching it.
        agency: Its agency.
        sandbox: Where both are read.
        readers: Page readers by content type.
        max_chars: The characters of a text that are kept.
    """
    page = None
    if isinstance(result, Page):
        rule = rule_on(agency.page_rules, entry.day)
        page = replace(result, rule=rule, listed_title=entry.title)
        page = with_document(page, sandbox, agency.language, readers)
    elif not has_full_text(entry.content_html):
        return ReadEntry()
    of_agency = agency.timezone, agency.language
    call = (page, entry.content_html, *of_agency, readers, max_chars)
    [read] = sandbox.run(read_entry, [call])
    if isinstance(read, NewsAssetsError):
        if page is None:
            return ReadEntry()
        read = ReadEntry(unread(page, "failed", str(read)))
    extracted = read.extracted
    if extracted is not None and extracted.outcome != "ok":
        _logger.debug("%s: page refused: %s", entry.article_id, extracted.reason)
    return read


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
    """Yield lists of at most _BATCH_ARTICLES entries and about _BATCH_BYTES, no later
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
            is_full = len(batch) >= _BATCH_ARTICLES or held_bytes >= _BATCH_BYTES
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
    ids = [one.entry.article_id for one in batch]
    found = rows.read(RawArticle, article_id=ids)
    stored = {article.article_id: article for article in found}
    batch = [
        one for one in batch if not _is_withdrawn(stored.get(one.entry.article_id))
    ]
    made, removed = _rows_of(batch, stored, desk, now)
    articles = store_marked(rows, made, stored)
    rows.upsert(_new_pages(batch, stored))
    rows.upsert(revisions_of(stored, articles, now))
    record_article_outcomes(rows, stage, articles)
    for article in removed:
        articles += withdraw_removed(rows, article, now)
    return articles


def _rows_of(
    batch: Iterable[FetchedEntry],
    stored: Mapping[str, RawArticle],
    desk: Desk,
    now: datetime,
) -> tuple[list[RawArticle], list[RawArticle]]:
    """Return the rows of these entries, and those of articles whose publisher removed
    them; `stored` are the present ones by article id.
    """
    owners = Owners.of(desk)
    made: list[RawArticle] = []
    removed: list[RawArticle] = []
    for one in batch:
        row = _row_of(one, stored.get(one.entry.article_id), owners, now)
        if row is None:
            continue
        if is_confirmed(one.result, row):
            removed.append(row)
        else:
            made.append(row)
    return made, removed


def _new_pages(
    batch: Iterable[FetchedEntry], stored: Mapping[str, RawArticle]
) -> list[StoredPage]:
    """Return the pages that differ from the stored ones."""
    pages: list[StoredPage] = []
    for one in batch:
        previous = stored.get(one.entry.article_id)
        if one.page is not None and _is_new(one.page, previous):
            pages.append(one.page)
    return pages


def _row_of(
    one: FetchedEntry, previous: RawArticle | None, owners: Owners, now: datetime
) -> RawArticle | None:
    """Return the article's row; None after a 304 for a row that is gone meanwhile: the
    next run fetches the page.
    """
    page_hash = one.page.page_hash if one.page else None
    if isinstance(one.result, Page) and one.result.is_unchanged:
        if previous is None:
            return None
        if not _is_of_its_page(previous):
            return None
        page_hash = previous.page_hash
    read, owner = with_owner(owners, one.entry, one.result, one.read)
    row = article_row(one.entry, one.result, read, previous, now, owner)
    return with_pause_stated(replace(row, page_hash=page_hash))


def _is_new(page: StoredPage, previous: RawArticle | None) -> bool:
    """Whether a page differs from the one that is stored."""
    if previous is None:
        return True
    return (previous.page_hash, previous.day) != (page.page_hash, page.day)
