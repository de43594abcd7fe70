"""Makes the rows of documents from what the address of an attachment answers; each
content is read once.

Several attachments may have one address: under several names, or as the parts of one
packet.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import urldefrag

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.item_rows import PACKET_PART
from news_assets.pipeline.documents.pdf.packet import cut_packet
from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.ports.lake import Lake
from news_assets.ports.reading import Sandbox
from news_assets.records.documents import ReadDocument, StoredDocument
from news_assets.records.meetings import StoredItem
from news_assets.records.polling import FeedEntry
from news_assets.records.reading import Page

NOT_IN_PACKET: Final = "not found in the packet"


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attachment to read, the entry of the item that it is read for, and its row so
    far.

    With `by_head` it is requested by HEAD first; `head` is an answer to that which
    shows another file than was read.
    """

    document_id: str
    url: str
    name: str
    item: StoredItem
    entry: FeedEntry
    before: StoredDocument | None
    by_head: bool = False
    head: Page | None = None

    @property
    def is_part(self) -> bool:
        """Whether it is the item's pages of a packet."""
        return urldefrag(self.url).fragment.startswith(PACKET_PART)


def is_other_file(before: StoredDocument, head: Page) -> bool:
    """Whether the answer to a HEAD request differs, in a header that both state, from
    the answer that was read.
    """
    known = (before.content_length, before.last_modified, before.etag)
    stated = (head.content_length, head.validators.last_modified, head.validators.etag)
    return any(
        old is not None and new is not None and old != new
        for old, new in zip(known, stated, strict=True)
    )


def same_file(before: StoredDocument, head: Page) -> StoredDocument:
    """Return the row of a document whose file did not change, with what the answer to a
    HEAD request states of it.
    """
    return replace(
        before,
        etag=head.validators.etag or before.etag,
        last_modified=head.validators.last_modified or before.last_modified,
        content_length=(
            before.content_length
            if head.content_length is None
            else head.content_length
        ),
        fetched_at=head.fetched_at,
    )


def rows_of_page(
    lake: Lake,
    page: Page,
    found: Sequence[Attachment],
    items: Sequence[StoredItem],
    language: str,
    sandbox: Sandbox,
    originals: dict[str, StoredDocument],
) -> Iterator[StoredDocument]:
    """Yield the rows of the attachments at one address; `originals` are the documents
    read by this run, by content.
    """
    content = hashlib.sha256(page.body).hexdigest()
    wholes = [one for one in found if not one.is_part]
    if wholes and content not in originals:
        for row in lake.read(
            StoredDocument, content_hash=[content], outcome=["ok", "skipped"]
        ):
            if row.copy_of is None:
                originals[content] = row
    for one in wholes:
        original = originals.get(content)
        if original is not None and original.document_id != one.document_id:
            yield _copy(one, original, page)
            continue
        read = sandbox.read_document(page.body, page.content_type, one.name, language)
        row = document_row(one, read, page, page.fetched_at, content)
        if row.outcome != "failed":
            originals[content] = row
        yield row
    if parts := [one for one in found if one.is_part]:
        yield from _parts(page, content, parts, items, language, sandbox)


def _parts(
    page: Page,
    content: str,
    found: Sequence[Attachment],
    items: Sequence[StoredItem],
    language: str,
    sandbox: Sandbox,
) -> Iterator[StoredDocument]:
    """Yield the pages of a packet that belong to each item. It is cut by the titles of
    all items of its meeting.
    """
    meetings = {one.item.meeting_id for one in found}
    agenda = sorted(
        (item for item in items if item.meeting_id in meetings),
        key=lambda item: item.sequence,
    )
    read = sandbox.read_document(page.body, page.content_type, "", language)
    [parts] = sandbox.run(cut_packet, [(page.body, [item.title for item in agenda])])
    if read.outcome != "ok" or isinstance(parts, NewsAssetsError):
        reason = read.reason if read.outcome != "ok" else str(parts)
        why = ReadDocument(
            kind=read.kind,
            outcome="skipped" if read.outcome == "skipped" else "failed",
            reason=reason,
        )
        yield from (document_row(one, why, page, page.fetched_at) for one in found)
        return
    pages = {
        agenda[part.item].item_id: (part.first_page, part.last_page) for part in parts
    }
    for one in found:
        first, last = pages.get(one.item.item_id, (1, 0))
        if not last:
            missing = ReadDocument(
                kind=read.kind, outcome="skipped", reason=NOT_IN_PACKET
            )
            yield document_row(
                one,
                missing,
                page,
                page.fetched_at,
                sha256(f"{content} {one.document_id}"),
            )
            continue
        part = replace(
            read,
            texts=read.texts[first - 1 : last],
            pages=last - first + 1,
            scanned_pages=tuple(
                number - first + 1
                for number in read.scanned_pages
                if first <= number <= last
            ),
            ocr_pages=tuple(
                number - first + 1
                for number in read.ocr_pages
                if first <= number <= last
            ),
            reason=f"pages {first} to {last} of the packet",
        )
        yield document_row(
            one, part, page, page.fetched_at, sha256(f"{content} {first} {last}")
        )


def document_row(
    one: Attachment,
    read: ReadDocument,
    page: Page | None,
    fetched_at: datetime,
    content_hash: str | None = None,
) -> StoredDocument:
    """Return the row of an attachment that was read, or of which `read` says why not;
    `page` is what its text is of.
    """
    text = read.text if read.outcome == "ok" else None
    stated = (
        one.head or page
    )  # some servers answer HEAD with other headers: the next HEAD is compared with this one
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
        etag=stated.validators.etag if stated else None,
        last_modified=stated.validators.last_modified if stated else None,
        content_length=stated.content_length if stated else None,
        fetched_at=fetched_at,
        trace_id=one.entry.trace_id,
    )


def _copy(one: Attachment, original: StoredDocument, page: Page) -> StoredDocument:
    """Return the row of an attachment whose content was read already."""
    stated = one.head or page
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
        etag=stated.validators.etag,
        last_modified=stated.validators.last_modified,
        content_length=stated.content_length,
        fetched_at=page.fetched_at,
        trace_id=one.entry.trace_id,
    )
