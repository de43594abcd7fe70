"""Fetches and reads the attachments of agenda items. Each content is read once, under
whatever addresses it is listed.

An attachment that was read is not requested again, because most vendors give a new
document a new address. Those of the next two weeks, and with `checks_documents` of all
meetings to come, are requested by HEAD after each nightly pass, and fetched where the
headers show another file. Where a meeting has one packet and no attachments, an item's
document is the pages of the packet that the item begins on.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import chain, islice
from typing import Final, NamedTuple
from urllib.parse import urldefrag

from news_assets.errors import FetchError
from news_assets.pipeline.civic.document_rows import (
    WantedDocument,
    document_row,
    is_other_file,
    rows_of_page,
    same_file,
    withdrawn_documents,
)
from news_assets.pipeline.documents.document_kinds import skip_by_name
from news_assets.pipeline.failures import (
    drop_failures,
    failure_of,
    record_failures,
)
from news_assets.pipeline.schedule import CHECKED_AHEAD
from news_assets.pipeline.stage_declaration import Stage, of_articles
from news_assets.ports.services import Clock, Fetcher, Lake, PageRequest, Rows, Sandbox
from news_assets.records.articles import FeedEntry, RawArticle, SourceState
from news_assets.records.derived import Failure
from news_assets.records.desks import Access, Desk
from news_assets.records.meetings import StoredDocument, StoredItem
from news_assets.records.reading import (
    WITHDRAWN,
    AgencyDays,
    Page,
    ReadDocument,
    Validators,
)
from news_assets.text.dates import day_of

_logger = logging.getLogger(__name__)

# stored in one transaction; a killed run reads at most these again
_BATCH_DOCUMENTS: Final = 10
# outcomes of documents that were fetched, or are not worth it
_READ: Final = (
    "ok",
    "skipped",
)


class _Work(NamedTuple):
    """What all attachments of a run are read with."""

    lake: Lake
    stage: Stage
    desk: Desk
    fetcher: Fetcher
    sandbox: Sandbox
    clock: Clock


def read_attachments(
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
    """Read the attachments of these agency-days that are not read yet or changed;
    return how many rows were written.

    Articles that are composed already are due again once one of their documents is
    there or has changed. What was read is kept if it cannot be fetched again.

    Args:
        stage: The stage that reads documents.
        lake: Where items are read, and documents stored.
        desk: The desk of the agencies.
        keys: The agency-days.
        clock: The time of a batch.
        fetcher: Sends the requests.
        sandbox: Reads the documents.
        only: Ids of the articles, if not all.
        refetch: Request all but withdrawn documents again, with the validators of the
            last answer.
    """
    work = _Work(lake, stage, desk, fetcher, sandbox, clock)
    listed = lake.read(StoredItem, keys)
    items = [one for one in listed if one.article_id and one.filter_tier is None]
    of_run = lake.read(FeedEntry, keys, **of_articles(only))
    entries = {entry.article_id: entry for entry in of_run}
    due = _due(work, items, entries, refetch=refetch)
    written = _read_and_store(work, due, items)
    tried = {one.entry.article_id: one.entry for one in due}
    if tried:
        lake.transact(lambda rows: _record(rows, work, items, tried))
    return written


def _read_and_store(
    work: _Work, due: Sequence[WantedDocument], items: Sequence[StoredItem]
) -> int:
    """Read these documents and store them batch by batch; return how many rows were
    written.
    """
    written = 0
    reading = _read_all(work, due, items)
    while read := list(islice(reading, _BATCH_DOCUMENTS)):
        written += _store_batch(work, list(chain.from_iterable(read)), due)
    return written


def _store_batch(
    work: _Work, read: Sequence[StoredDocument], due: Sequence[WantedDocument]
) -> int:
    """Store documents in one transaction; return their number."""
    work.lake.transact(lambda rows: _store(rows, work.stage, read, due, work.clock()))
    return len(read)


def _due(
    work: _Work,
    items: Iterable[StoredItem],
    entries: Mapping[str, FeedEntry],
    *,
    refetch: bool,
) -> list[WantedDocument]:
    """Return the attachments to read, or to check for changes, each once.

    One that failed waits until its article's next attempt.
    """
    now = work.clock()
    wanted = _not_withdrawn(work.lake, items, entries)
    stored = _stored(work.lake, wanted)
    held_back = _held_back(work, entries, now)
    checks = _Checks.of(work, now)
    due: dict[str, WantedDocument] = {}
    for item in wanted:
        entry = entries[item.article_id or ""]
        check_from = None if refetch else checks.since(entry)
        waits = item.article_id in held_back
        if waits:
            _logger.debug("%s: failed documents wait", item.article_id)
        for one in _attachments_of(item, entry, stored):
            if _is_due(one.before, refetch=refetch, waits=waits):
                due.setdefault(one.document_id, one)
            elif _is_to_check(one.before, check_from):
                due.setdefault(one.document_id, replace(one, is_check=True))
    return list(due.values())


def _not_withdrawn(
    lake: Lake, items: Iterable[StoredItem], entries: Mapping[str, FeedEntry]
) -> list[StoredItem]:
    """Return the items of these entries whose articles are not withdrawn."""
    withdrawn = lake.frame(
        RawArticle, None, ("article_id",), article_id=entries, outcome=[WITHDRAWN]
    )
    articles = entries.keys() - set(withdrawn["article_id"])
    return [item for item in items if item.article_id in articles]


def _stored(lake: Lake, items: Iterable[StoredItem]) -> dict[str, StoredDocument]:
    """Return the documents of these items that have a row, by document_id."""
    ids: set[str] = set()
    for item in items:
        ids.update(item.document_ids)
    if not ids:
        return {}
    return {row.document_id: row for row in lake.read(StoredDocument, document_id=ids)}


def _attachments_of(
    item: StoredItem, entry: FeedEntry, stored: Mapping[str, StoredDocument]
) -> list[WantedDocument]:
    ids = item.document_ids
    urls = item.attachment_urls
    names = item.attachment_names
    found: list[WantedDocument] = []
    for key, url, name in zip(ids, urls, names, strict=True):
        found.append(WantedDocument(key, url, name, item, entry, stored.get(key)))
    return found


def _is_due(before: StoredDocument | None, *, refetch: bool, waits: bool) -> bool:
    """Whether a document is fetched: it is new, failed and is tried again, or all are."""
    if before is None:
        return True
    if before.outcome == "failed" and not waits:
        return True
    if not refetch:
        return False
    return before.outcome != WITHDRAWN


def _is_to_check(before: StoredDocument | None, check_from: datetime | None) -> bool:
    """Whether HEAD is requested to see if a document that was read has changed."""
    if before is None:
        return False
    if check_from is None:
        return False
    if not before.content_hash:
        return False
    if before.outcome not in _READ:
        return False
    return before.fetched_at < check_from


def _held_back(
    work: _Work, entries: Mapping[str, FeedEntry], now: datetime
) -> set[str]:
    """Return the articles whose next attempt is not due yet, or never."""
    if not entries:
        return set()
    found = set[str]()
    failures = work.lake.read(Failure, stage=[work.stage.name], article_id=entries)
    for one in failures:
        is_later = one.next_try_at is None or one.next_try_at > now
        if not is_later:
            continue
        if one.version == entries[one.article_id].entry_hash:
            found.add(one.article_id)
    return found


class _Checks(NamedTuple):
    """Which documents are checked for changes after each pass.

    `passed_at` are the times of the last passes, by source_id; `checking` the sources
    whose documents are checked for all meetings to come.
    """

    passed_at: Mapping[str, datetime]
    checking: Collection[str]
    today: date

    @classmethod
    def of(cls, work: _Work, now: datetime) -> "_Checks":
        """Return the checks of a desk at a time."""
        sources = work.desk.sources
        ids = [source.source_id for source in sources]
        passed_at: dict[str, datetime] = {}
        for state in work.lake.read(SourceState, source_id=ids):
            if state.passed_at:
                passed_at[state.source_id] = state.passed_at
        checking: set[str] = set()
        for source in sources:
            if source.checks_documents:
                checking.add(source.source_id)
        return cls(passed_at, checking, day_of(now, work.desk.timezone))

    def since(self, entry: FeedEntry) -> datetime | None:
        """Return the time since which a document should have been checked; None for one
        that is not checked.
        """
        passed_at = self.passed_at.get(entry.source_id)
        if entry.day < self.today:
            return None
        if entry.day <= self.today + CHECKED_AHEAD:
            return passed_at
        if entry.source_id in self.checking:
            return passed_at
        return None


# --- fetch and read -------------------------------------------------------------------


def _read_all(
    work: _Work, due: Sequence[WantedDocument], items: Sequence[StoredItem]
) -> Iterator[list[StoredDocument]]:
    """Yield the rows of the attachments at each address; an address of several
    attachments is requested once.
    """
    wanted: list[WantedDocument] = []
    unchecked: list[WantedDocument] = []
    for one in due:
        reason = skip_by_name(one.name)
        if reason:
            _logger.debug("%s: not read: %s", one.document_id, reason)
            skipped = ReadDocument(kind="unknown", outcome="skipped", reason=reason)
            yield [document_row(one, skipped, None, work.clock())]
        elif one.is_check:
            unchecked.append(one)
        else:
            wanted.append(one)
    for found, answer in _answers(work, unchecked):
        changed, unchanged = _checked(found, answer, work.clock())
        wanted += changed
        yield unchanged
    originals: dict[str, StoredDocument] = {}
    for found, answer in _answers(work, wanted):
        yield _rows_of_answer(work, found, answer, items, originals)


def _checked(
    found: Sequence[WantedDocument], answer: Page | FetchError, now: datetime
) -> tuple[list[WantedDocument], list[StoredDocument]]:
    """Return the attachments at one address whose file changed, with the answer that
    shows it, and the rows of the others.

    Nothing is inferred from an answer that failed; the next check follows the next
    pass.
    """
    changed: list[WantedDocument] = []
    unchanged: list[StoredDocument] = []
    for one in found:
        assert one.before is not None
        if isinstance(answer, FetchError):
            unchanged.append(replace(one.before, fetched_at=now))
        elif is_other_file(one.before, answer):
            changed.append(replace(one, head=answer))
        else:
            unchanged.append(same_file(one.before, answer))
    return changed, unchanged


def _rows_of_answer(
    work: _Work,
    found: Sequence[WantedDocument],
    answer: Page | FetchError,
    items: Sequence[StoredItem],
    originals: dict[str, StoredDocument],
) -> list[StoredDocument]:
    """Return the rows of the attachments at one address."""
    if isinstance(answer, FetchError):
        return [_unfetched(one, answer, work.clock()) for one in found]
    if answer.is_unchanged:
        unchanged: list[StoredDocument] = []
        for one in found:
            if one.before:
                unchanged.append(replace(one.before, fetched_at=answer.fetched_at))
        return unchanged
    languages = {agency.key: agency.language for agency in work.desk.agencies}
    language = languages[found[0].item.agency]
    return rows_of_page(
        work.lake, answer, found, items, language, work.sandbox, originals
    )


def _answers(
    work: _Work, wanted: Iterable[WantedDocument]
) -> Iterator[tuple[list[WantedDocument], Page | FetchError]]:
    """Yield the attachments at each address with its answer."""
    access = _access_by_source(work.desk)
    by_url: dict[str, list[WantedDocument]] = {}
    for one in wanted:
        by_url.setdefault(urldefrag(one.url).url, []).append(one)
    requests: list[PageRequest] = []
    for url, of_url in by_url.items():
        requests.append(_request(url, of_url, access))
    for request, answer in work.fetcher.fetch_all(requests):
        yield by_url[request.url], answer


def _access_by_source(desk: Desk) -> dict[str, Access]:
    access: dict[str, Access] = {}
    for agency in desk.agencies:
        for source in agency.sources:
            access[source.source_id] = source.access
    return access


def _request(
    url: str, of_url: Sequence[WantedDocument], access: Mapping[str, Access]
) -> PageRequest:
    """Return the request for an address with these attachments; `access` is by
    source_id.
    """
    first = of_url[0]
    return PageRequest(
        url,
        validators=_validators(of_url),
        retries_connection=True,
        access=access.get(first.entry.source_id, Access()),
        is_head=first.is_check and first.head is None,
    )


def _unfetched(one: WantedDocument, error: FetchError, now: datetime) -> StoredDocument:
    """Return the row of an attachment that could not be fetched; what was read of it
    before is kept.
    """
    if one.before is not None and one.before.outcome in _READ:
        return replace(one.before, fetched_at=now)
    unread = ReadDocument(kind="unknown", outcome="failed", reason=error.reason)
    return document_row(one, unread, None, now)


def _validators(of_url: Sequence[WantedDocument]) -> Validators:
    """Return the validators of the last answer if all attachments at an address were
    read from it.
    """
    found = set[Validators]()
    for one in of_url:
        before = one.before
        if before is None or not before.content_hash or one.is_check:
            return Validators()
        found.add(Validators(before.etag, before.last_modified))
    if len(found) == 1:
        return found.pop()
    return Validators()


# --- store ----------------------------------------------------------------------------


def _store(
    rows: Rows,
    stage: Stage,
    read: Sequence[StoredDocument],
    due: Sequence[WantedDocument],
    now: datetime,
) -> None:
    """Store documents; the articles of all days that are composed already are due again
    where a text changed.
    """
    withdrawn = withdrawn_documents(rows, [row.document_id for row in read])
    read = [row for row in read if row.document_id not in withdrawn]  # meanwhile
    if not read:
        return
    rows.upsert(read)
    changed = _changed(read, due)
    if changed:
        _make_due(rows, stage, read, changed, now)


def _changed(read: Iterable[StoredDocument], due: Iterable[WantedDocument]) -> set[str]:
    """Return the ids of the documents with another text than before."""
    texts: dict[str, str | None] = {}
    for one in due:
        if one.before:
            texts[one.document_id] = one.before.text
    changed = set[str]()
    for row in read:
        if row.text != texts.get(row.document_id):
            changed.add(row.document_id)
    return changed


def _make_due(
    rows: Rows,
    stage: Stage,
    read: Sequence[StoredDocument],
    changed: set[str],
    now: datetime,
) -> None:
    """Let the articles with a changed document be composed again; those that lack none
    now have not failed any more.
    """
    documents = _documents_with(rows, read, changed)
    failed = _failed_documents(rows, documents.values()).keys()
    complete = {key for key, ids in documents.items() if failed.isdisjoint(ids)}
    drop_failures(rows, stage, complete)
    articles = rows.read(RawArticle, article_id=documents, outcome=["ok"])
    rows.upsert([replace(article, next_try_at=now) for article in articles])


def _documents_with(
    rows: Rows, read: Sequence[StoredDocument], changed: set[str]
) -> dict[str, set[str]]:
    """Return the documents of each article that has a changed one, by article_id.

    A document belongs to items of several meetings.
    """
    columns = ("article_id", "document_ids")
    desks = {row.desk for row in read}
    agencies = {row.agency for row in read}
    listed = rows.frame(StoredItem, None, columns, desk=desks, agency=agencies)
    documents: dict[str, set[str]] = {}
    for article, ids in listed.iter_rows():
        if not article:
            continue
        if not changed.isdisjoint(ids):
            documents[article] = set(ids)
    return documents


def _record(
    rows: Rows,
    work: _Work,
    items: Iterable[StoredItem],
    tried: dict[str, FeedEntry],
) -> None:
    """Store which of these articles have a document that could not be read, with the
    time of the next attempt.
    """
    wanted: dict[str, Sequence[str]] = {}
    for item in items:
        if item.article_id in tried:
            wanted[item.article_id] = item.document_ids
    reasons = _failed_documents(rows, wanted.values())
    now = work.clock()
    failed: list[Failure] = []
    for article_id, ids in wanted.items():
        why = "; ".join(reasons[one] for one in ids if one in reasons)
        if why:
            entry = tried[article_id]
            version = entry.entry_hash
            failed.append(failure_of(entry, work.stage.name, version, why, now))
    record_failures(rows, work.stage, failed, tried)


def _failed_documents(
    rows: Rows, document_ids: Iterable[Iterable[str]]
) -> dict[str, str]:
    """Return why documents could not be read, by document_id, of those that failed."""
    found = rows.frame(
        StoredDocument,
        None,
        ("document_id", "name", "outcome", "reason"),
        document_id=set(chain.from_iterable(document_ids)),
        outcome=["failed"],
    )
    return {key: f"{name}: {reason}" for key, name, _, reason in found.iter_rows()}
