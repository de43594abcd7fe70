"""Fetches and reads the attachments of agenda items. Each content is read once, under whatever addresses it is listed.

An attachment that was read is not requested again: vendors give a new document a new address. Where a meeting has one
packet and no attachments, an item's document is the pages of the packet that the item begins on.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final
from urllib.parse import urldefrag

from news_assets.errors import FetchError, NewsAssetsError
from news_assets.pipeline.civic.storing import PACKET_PART
from news_assets.pipeline.documents.packet import cut_packet
from news_assets.pipeline.documents.skipping import skip_by_name
from news_assets.pipeline.stage_state.declaration import Stage, of_articles, sha256
from news_assets.pipeline.stage_state.failures import failure_of_work, record_failures
from news_assets.ports.lake import Lake, Rows
from news_assets.ports.reading import Fetcher, PageRequest, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure
from news_assets.records.desks import Access, Desk
from news_assets.records.documents import ReadDocument, StoredDocument
from news_assets.records.meetings import StoredItem
from news_assets.records.polling import FeedEntry
from news_assets.records.reading import AgencyDays, Page, Validators

BATCH_DOCUMENTS: Final = 10  # stored in one transaction; a killed run reads at most these again
NOT_IN_PACKET: Final = "not found in the packet"


@dataclass(frozen=True, slots=True)
class _Attachment:
    """One attachment to read, the entry of the item that it is read for, and its row so far."""

    document_id: str
    url: str
    name: str
    item: StoredItem
    entry: FeedEntry
    before: StoredDocument | None

    @property
    def is_part(self) -> bool:
        """Whether it is the item's pages of a packet."""
        return urldefrag(self.url).fragment.startswith(PACKET_PART)


def read_attachments(
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
    """Read the attachments of these agency-days that are not read yet; return how many rows were written.

    Articles that are composed already are due again once one of their documents is there or has changed. With `refetch`
    all are requested again, with the validators of the last answer.
    """
    items = [item for item in lake.read(StoredItem, keys) if item.article_id and item.filter_tier is None]
    entries = {entry.article_id: entry for entry in lake.read(FeedEntry, keys, **of_articles(only))}
    due = _due(lake, stage, items, entries, clock(), refetch=refetch)
    access = {source.source_id: source.access for agency in desk.agencies for source in agency.sources}
    written = 0
    reading = _read_all(lake, due, items, access, desk, fetcher, sandbox, clock)
    while read := list(islice(reading, BATCH_DOCUMENTS)):
        found = [row for rows in read for row in rows]
        lake.transact(lambda rows: _store(rows, found, due, clock()))  # noqa: B023 - runs at once
        written += len(found)
    tried = {one.entry.article_id: one.entry for one in due}
    if tried:
        lake.transact(lambda rows: _record(rows, stage, desk, items, tried, clock()))
    return written


def _due(
    lake: Lake,
    stage: Stage,
    items: Iterable[StoredItem],
    entries: dict[str, FeedEntry],
    now: datetime,
    *,
    refetch: bool,
) -> list[_Attachment]:
    """Return the attachments to read, each once; one that failed waits until its article's next attempt."""
    wanted = [item for item in items if item.article_id in entries]
    ids = {one for item in wanted for one in item.document_ids}
    stored = {row.document_id: row for row in lake.read(StoredDocument, document_id=ids)} if ids else {}
    failures = lake.read(Failure, stage=[stage.name], article_id=entries) if entries else []
    held_back = {
        one.article_id
        for one in failures
        if (one.next_try_at is None or one.next_try_at > now) and one.version == entries[one.article_id].entry_hash
    }
    due: dict[str, _Attachment] = {}
    for item in wanted:
        for key, url, name in zip(item.document_ids, item.attachment_urls, item.attachment_names, strict=True):
            before = stored.get(key)
            is_due_again = before is not None and before.outcome == "failed" and item.article_id not in held_back
            if before is None or is_due_again or refetch:
                due.setdefault(key, _Attachment(key, url, name, item, entries[item.article_id or ""], before))
    return list(due.values())


# --- fetch and read --------------------------------------------------------------------------------------------------


def _read_all(
    lake: Lake,
    due: Sequence[_Attachment],
    items: Sequence[StoredItem],
    access: dict[str, Access],
    desk: Desk,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
) -> Iterator[list[StoredDocument]]:
    """Yield the rows of the attachments at each address; an address of several attachments is requested once."""
    by_url: dict[str, list[_Attachment]] = {}
    for one in due:
        if reason := skip_by_name(one.name):
            yield [_row(one, ReadDocument(kind="unknown", outcome="skipped", reason=reason), None, clock())]
        else:
            by_url.setdefault(urldefrag(one.url).url, []).append(one)
    requests = [
        PageRequest(
            url,
            validators=_validators(of_url),
            retries_connection=True,
            access=access.get(of_url[0].entry.source_id, Access()),
        )
        for url, of_url in by_url.items()
    ]
    originals: dict[str, StoredDocument] = {}
    languages = {agency.key: agency.language for agency in desk.agencies}
    for request, answer in fetcher.fetch_all(requests):
        found = by_url[request.url]
        if isinstance(answer, FetchError):
            failed = ReadDocument(kind="unknown", outcome="failed", reason=answer.reason)
            yield [_row(one, failed, None, clock()) for one in found]
        elif answer.is_unchanged:
            yield [replace(one.before, fetched_at=answer.fetched_at) for one in found if one.before]
        else:
            yield list(_rows_of_page(lake, answer, found, items, languages[found[0].item.agency], sandbox, originals))


def _validators(of_url: Sequence[_Attachment]) -> Validators:
    """Return the validators of the last answer if all attachments at an address were read from it."""
    found = {
        Validators(one.before.etag, one.before.last_modified) if one.before and one.before.content_hash else None
        for one in of_url
    }
    return (found.pop() if len(found) == 1 else None) or Validators()


def _rows_of_page(
    lake: Lake,
    page: Page,
    found: Sequence[_Attachment],
    items: Sequence[StoredItem],
    language: str,
    sandbox: Sandbox,
    originals: dict[str, StoredDocument],
) -> Iterator[StoredDocument]:
    """Yield the rows of the attachments at one address; `originals` are the documents read by this run, by content."""
    content = hashlib.sha256(page.body).hexdigest()
    wholes = [one for one in found if not one.is_part]
    if wholes and content not in originals:
        for row in lake.read(StoredDocument, content_hash=[content], outcome=["ok", "skipped"]):
            if row.copy_of is None:
                originals[content] = row
    for one in wholes:
        original = originals.get(content)
        if original is not None and original.document_id != one.document_id:
            yield _copy(one, original, page)
            continue
        read = sandbox.read_document(page.body, page.content_type, one.name, language)
        row = _row(one, read, page, page.fetched_at, content)
        if row.outcome != "failed":
            originals[content] = row
        yield row
    if parts := [one for one in found if one.is_part]:
        yield from _parts(page, content, parts, items, language, sandbox)


def _parts(
    page: Page,
    content: str,
    found: Sequence[_Attachment],
    items: Sequence[StoredItem],
    language: str,
    sandbox: Sandbox,
) -> Iterator[StoredDocument]:
    """Yield the pages of a packet that belong to each item. It is cut by the titles of all items of its meeting."""
    meetings = {one.item.meeting_id for one in found}
    agenda = sorted((item for item in items if item.meeting_id in meetings), key=lambda item: item.sequence)
    read = sandbox.read_document(page.body, page.content_type, "", language)
    [parts] = sandbox.run(cut_packet, [(page.body, [item.title for item in agenda])])
    if read.outcome != "ok" or isinstance(parts, NewsAssetsError):
        reason = read.reason if read.outcome != "ok" else str(parts)
        why = ReadDocument(kind=read.kind, outcome="skipped" if read.outcome == "skipped" else "failed", reason=reason)
        yield from (_row(one, why, page, page.fetched_at) for one in found)
        return
    pages = {agenda[part.item].item_id: (part.first_page, part.last_page) for part in parts}
    for one in found:
        first, last = pages.get(one.item.item_id, (1, 0))
        if not last:
            missing = ReadDocument(kind=read.kind, outcome="skipped", reason=NOT_IN_PACKET)
            yield _row(one, missing, page, page.fetched_at, sha256(f"{content} {one.document_id}"))
            continue
        part = replace(
            read,
            texts=read.texts[first - 1 : last],
            pages=last - first + 1,
            scanned_pages=tuple(number - first + 1 for number in read.scanned_pages if first <= number <= last),
            ocr_pages=tuple(number - first + 1 for number in read.ocr_pages if first <= number <= last),
            reason=f"pages {first} to {last} of the packet",
        )
        yield _row(one, part, page, page.fetched_at, sha256(f"{content} {first} {last}"))


# --- rows ------------------------------------------------------------------------------------------------------------


def _row(
    one: _Attachment, read: ReadDocument, page: Page | None, fetched_at: datetime, content_hash: str | None = None
) -> StoredDocument:
    text = read.text if read.outcome == "ok" else None
    return StoredDocument(
        document_id=one.document_id,
        article_id=one.entry.article_id,
        desk=one.entry.desk,
        agency=one.entry.agency,
        day=one.entry.day,
        url=one.url,
        name=one.name,
        kind=read.kind,
        content_hash=content_hash,
        title=read.title,
        pages=read.pages,
        characters=len(text or ""),
        text=text,
        is_scanned=read.is_scanned,
        outcome=read.outcome,
        reason=read.reason,
        copy_of=None,
        etag=page.validators.etag if page else None,
        last_modified=page.validators.last_modified if page else None,
        fetched_at=fetched_at,
        trace_id=one.entry.trace_id,
    )


def _copy(one: _Attachment, original: StoredDocument, page: Page) -> StoredDocument:
    """Return the row of an attachment whose content was read already."""
    return replace(
        original,
        document_id=one.document_id,
        article_id=one.entry.article_id,
        desk=one.entry.desk,
        agency=one.entry.agency,
        day=one.entry.day,
        url=one.url,
        name=one.name,
        copy_of=original.document_id,
        etag=page.validators.etag,
        last_modified=page.validators.last_modified,
        fetched_at=page.fetched_at,
        trace_id=one.entry.trace_id,
    )


def _store(rows: Rows, read: Sequence[StoredDocument], due: Sequence[_Attachment], now: datetime) -> None:
    """Store documents; the articles that are composed already are due again where a text changed."""
    rows.upsert(read)
    texts = {one.document_id: one.before.text if one.before else None for one in due}
    changed = {row.document_id for row in read if row.text != texts[row.document_id]}
    if not changed:
        return
    agencies, days = {row.agency for row in read}, {row.day for row in read}
    items = rows.read(StoredItem, agency=agencies, day=days)
    ids = {item.article_id for item in items if item.article_id and changed & set(item.document_ids)}
    articles = rows.read(RawArticle, article_id=ids) if ids else []
    if composed := [replace(article, next_try_at=now) for article in articles if article.outcome == "ok"]:
        rows.upsert(composed)


def _record(
    rows: Rows, stage: Stage, desk: Desk, items: Iterable[StoredItem], tried: dict[str, FeedEntry], now: datetime
) -> None:
    """Store which of these articles have a document that could not be read, with the time of the next attempt."""
    wanted = {item.article_id: item.document_ids for item in items if item.article_id in tried}
    ids = {one for of_item in wanted.values() for one in of_item}
    columns = ("document_id", "name", "outcome", "reason")
    found = rows.frame(StoredDocument, None, columns, document_id=ids, outcome=["failed"])
    reasons = {key: f"{name}: {reason}" for key, name, _, reason in found.iter_rows()}
    failed = [
        failure_of_work(
            {
                "article_id": article_id,
                "agency": tried[article_id].agency,
                "day": tried[article_id].day,
                "version": tried[article_id].entry_hash,
                "trace_id": tried[article_id].trace_id,
            },
            stage.name,
            desk.key,
            "; ".join(why),
            now,
        )
        for article_id, ids_of_item in wanted.items()
        if article_id and (why := [reasons[one] for one in ids_of_item if one in reasons])
    ]
    record_failures(rows, stage, failed, tried)
