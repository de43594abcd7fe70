"""Fetches and reads the attachments of agenda items. Each content is read once, under
whatever addresses it is listed.

An attachment that was read is not requested again, because most vendors give a new
document a new address. Those of the next two weeks, and with `checks_documents` of all
meetings to come, are requested by HEAD after each nightly pass, and fetched where the
headers show another file. Where a meeting has one packet and no attachments, an item's
document is the pages of the packet that the item begins on.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import islice
from typing import Final
from urllib.parse import urldefrag

from news_assets.errors import FetchError
from news_assets.pipeline.civic.document_rows import (
    Attachment,
    document_row,
    is_other_file,
    rows_of_page,
    same_file,
)
from news_assets.pipeline.civic.document_takedown import withdrawn_documents
from news_assets.pipeline.civic.pace import COMPARED
from news_assets.pipeline.documents.document_kinds import skip_by_name
from news_assets.pipeline.stage_state.declaration import Stage, of_articles
from news_assets.pipeline.stage_state.failures import (
    drop_failures,
    failure_of_work,
    record_failures,
)
from news_assets.ports.lake import Lake, Rows
from news_assets.ports.reading import Fetcher, PageRequest, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure
from news_assets.records.desks import Access, Desk
from news_assets.records.documents import ReadDocument, StoredDocument
from news_assets.records.meetings import StoredItem
from news_assets.records.polling import FeedEntry, SourceState
from news_assets.records.reading import WITHDRAWN, AgencyDays, Page, Validators
from news_assets.text.dates import day_of

BATCH_DOCUMENTS: Final = (
    10  # stored in one transaction; a killed run reads at most these again
)
_READ: Final = (
    "ok",
    "skipped",
)  # outcomes of documents that were fetched, or are not worth it


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
    """Read the attachments of these agency-days that are not read yet or changed;
    return how many rows were written.

    Articles that are composed already are due again once one of their documents is
    there or has changed. With `refetch` all but withdrawn ones are requested again,
    with the validators of the last answer. What was read is kept if it cannot be
    fetched again.
    """
    items = [
        item
        for item in lake.read(StoredItem, keys)
        if item.article_id and item.filter_tier is None
    ]
    entries = {
        entry.article_id: entry
        for entry in lake.read(FeedEntry, keys, **of_articles(only))
    }
    due = _due(lake, stage, desk, items, entries, clock(), refetch=refetch)
    access = {
        source.source_id: source.access
        for agency in desk.agencies
        for source in agency.sources
    }
    written = 0
    reading = _read_all(lake, due, items, access, desk, fetcher, sandbox, clock)
    while read := list(islice(reading, BATCH_DOCUMENTS)):
        found = [row for rows in read for row in rows]
        lake.transact(lambda rows: _store(rows, stage, found, due, clock()))  # noqa: B023 - runs at once
        written += len(found)
    tried = {one.entry.article_id: one.entry for one in due}
    if tried:
        lake.transact(lambda rows: _record(rows, stage, desk, items, tried, clock()))
    return written


def _due(
    lake: Lake,
    stage: Stage,
    desk: Desk,
    items: Iterable[StoredItem],
    entries: dict[str, FeedEntry],
    now: datetime,
    *,
    refetch: bool,
) -> list[Attachment]:
    """Return the attachments to read, or to check for changes, each once.

    One that failed waits until its article's next attempt.
    """
    articles = lake.frame(
        RawArticle, None, ("article_id",), article_id=entries, outcome=[WITHDRAWN]
    )
    wanted = [
        item
        for item in items
        if item.article_id in entries.keys() - set(articles["article_id"])
    ]
    ids = {one for item in wanted for one in item.document_ids}
    stored = (
        {row.document_id: row for row in lake.read(StoredDocument, document_id=ids)}
        if ids
        else {}
    )
    failures = (
        lake.read(Failure, stage=[stage.name], article_id=entries) if entries else []
    )
    held_back = {
        one.article_id
        for one in failures
        if (one.next_try_at is None or one.next_try_at > now)
        and one.version == entries[one.article_id].entry_hash
    }
    passed_at = _last_passes(lake, desk)
    checking = {source.source_id for source in desk.sources if source.checks_documents}
    due: dict[str, Attachment] = {}
    for item in wanted:
        entry = entries[item.article_id or ""]
        check_from = (
            None
            if refetch
            else _check_from(passed_at, checking, entry, day_of(now, desk.timezone))
        )
        for key, url, name in zip(
            item.document_ids, item.attachment_urls, item.attachment_names, strict=True
        ):
            before = stored.get(key)
            one = Attachment(key, url, name, item, entry, before)
            is_due_again = (
                before is not None
                and before.outcome == "failed"
                and item.article_id not in held_back
            )
            is_withdrawn = before is not None and before.outcome == WITHDRAWN
            if before is None or is_due_again or (refetch and not is_withdrawn):
                due.setdefault(key, one)
            elif (
                check_from
                and before.outcome in _READ
                and before.content_hash
                and before.fetched_at < check_from
            ):
                due.setdefault(key, replace(one, by_head=True))
    return list(due.values())


def _last_passes(lake: Lake, desk: Desk) -> dict[str, datetime]:
    """Return the time of the last pass of each source, by source_id."""
    states = lake.read(
        SourceState, source_id=[source.source_id for source in desk.sources]
    )
    return {state.source_id: state.passed_at for state in states if state.passed_at}


def _check_from(
    passed_at: Mapping[str, datetime],
    checking: Collection[str],
    entry: FeedEntry,
    today: date,
) -> datetime | None:
    """Return the time since which a document should have been compared; None for one
    that is not compared.
    """
    is_near = today <= entry.day <= today + COMPARED
    is_checked = entry.source_id in checking and entry.day >= today
    return passed_at.get(entry.source_id) if is_near or is_checked else None


# --- fetch and read -------------------------------------------------------------------


def _read_all(
    lake: Lake,
    due: Sequence[Attachment],
    items: Sequence[StoredItem],
    access: dict[str, Access],
    desk: Desk,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
) -> Iterator[list[StoredDocument]]:
    """Yield the rows of the attachments at each address; an address of several
    attachments is requested once.
    """
    wanted, unchecked = list[Attachment](), list[Attachment]()
    for one in due:
        if reason := skip_by_name(one.name):
            yield [
                document_row(
                    one,
                    ReadDocument(kind="unknown", outcome="skipped", reason=reason),
                    None,
                    clock(),
                )
            ]
        else:
            (unchecked if one.by_head else wanted).append(one)
    for found, answer in _answers(fetcher, unchecked, access):
        compared = [_compared(one, answer, clock()) for one in found]
        wanted += [one for one in compared if isinstance(one, Attachment)]
        yield [row for row in compared if isinstance(row, StoredDocument)]
    originals: dict[str, StoredDocument] = {}
    languages = {agency.key: agency.language for agency in desk.agencies}
    for found, answer in _answers(fetcher, wanted, access):
        if isinstance(answer, FetchError):
            yield [_unfetched(one, answer, clock()) for one in found]
        elif answer.is_unchanged:
            yield [
                replace(one.before, fetched_at=answer.fetched_at)
                for one in found
                if one.before
            ]
        else:
            yield list(
                rows_of_page(
                    lake,
                    answer,
                    found,
                    items,
                    languages[found[0].item.agency],
                    sandbox,
                    originals,
                )
            )


def _answers(
    fetcher: Fetcher, wanted: Iterable[Attachment], access: Mapping[str, Access]
) -> Iterator[tuple[list[Attachment], Page | FetchError]]:
    """Yield the attachments at each address with its answer."""
    by_url: dict[str, list[Attachment]] = {}
    for one in wanted:
        by_url.setdefault(urldefrag(one.url).url, []).append(one)
    requests = [
        PageRequest(
            url,
            validators=_validators(of_url),
            retries_connection=True,
            access=access.get(of_url[0].entry.source_id, Access()),
            is_head=of_url[0].by_head and of_url[0].head is None,
        )
        for url, of_url in by_url.items()
    ]
    for request, answer in fetcher.fetch_all(requests):
        yield by_url[request.url], answer


def _compared(
    one: Attachment, head: Page | FetchError, now: datetime
) -> Attachment | StoredDocument:
    """Return an attachment with the answer that shows another file, or the row of one
    whose file is the same.

    Nothing is inferred from an answer that failed; the next one follows the next pass.
    """
    assert one.before is not None
    if isinstance(head, FetchError):
        return replace(one.before, fetched_at=now)
    return (
        replace(one, head=head)
        if is_other_file(one.before, head)
        else same_file(one.before, head)
    )


def _unfetched(one: Attachment, error: FetchError, now: datetime) -> StoredDocument:
    """Return the row of an attachment that could not be fetched; what was read of it
    before is kept.
    """
    if one.before is not None and one.before.outcome in _READ:
        return replace(one.before, fetched_at=now)
    return document_row(
        one,
        ReadDocument(kind="unknown", outcome="failed", reason=error.reason),
        None,
        now,
    )


def _validators(of_url: Sequence[Attachment]) -> Validators:
    """Return the validators of the last answer if all attachments at an address were
    read from it.
    """
    found = {
        (
            Validators(before.etag, before.last_modified)
            if (before := one.before) and before.content_hash and not one.by_head
            else None
        )
        for one in of_url
    }
    return (found.pop() if len(found) == 1 else None) or Validators()


# --- store ----------------------------------------------------------------------------


def _store(
    rows: Rows,
    stage: Stage,
    read: Sequence[StoredDocument],
    due: Sequence[Attachment],
    now: datetime,
) -> None:
    """Store documents; the articles of all days that are composed already are due again
    where a text changed.
    """
    withdrawn = withdrawn_documents(
        rows, [row.document_id for row in read]
    )  # meanwhile
    read = [row for row in read if row.document_id not in withdrawn]
    if not read:
        return
    rows.upsert(read)
    texts = {one.document_id: one.before.text if one.before else None for one in due}
    changed = {row.document_id for row in read if row.text != texts[row.document_id]}
    if changed:
        _make_due(rows, stage, read, changed, now)


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
    columns = (
        "article_id",
        "document_ids",
    )  # a document belongs to items of several meetings
    listed = rows.frame(
        StoredItem,
        None,
        columns,
        desk={row.desk for row in read},
        agency={row.agency for row in read},
    )
    documents = {
        article: set(ids)
        for article, ids in listed.iter_rows()
        if article and not changed.isdisjoint(ids)
    }
    wanted = set[str]().union(*documents.values())
    failed = rows.frame(
        StoredDocument, None, ("document_id",), document_id=wanted, outcome=["failed"]
    )["document_id"]
    drop_failures(
        rows,
        stage,
        {
            article
            for article, of_item in documents.items()
            if of_item.isdisjoint(failed)
        },
    )
    articles = (
        rows.read(RawArticle, article_id=documents, outcome=["ok"]) if documents else []
    )
    if articles:
        rows.upsert([replace(article, next_try_at=now) for article in articles])


def _record(
    rows: Rows,
    stage: Stage,
    desk: Desk,
    items: Iterable[StoredItem],
    tried: dict[str, FeedEntry],
    now: datetime,
) -> None:
    """Store which of these articles have a document that could not be read, with the
    time of the next attempt.
    """
    wanted = {
        item.article_id: item.document_ids for item in items if item.article_id in tried
    }
    ids = {one for of_item in wanted.values() for one in of_item}
    columns = ("document_id", "name", "outcome", "reason")
    found = rows.frame(
        StoredDocument, None, columns, document_id=ids, outcome=["failed"]
    )
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
        if article_id
        and (why := [reasons[one] for one in ids_of_item if one in reasons])
    ]
    record_failures(rows, stage, failed, tried)
