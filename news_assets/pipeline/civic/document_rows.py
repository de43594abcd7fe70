"""Makes the rows of documents from what the address of an attachment answers; each content is read once.

Several attachments may have one address: under several names, or as the parts of one packet.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import urldefrag

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.items import PACKET_PART
from news_assets.pipeline.documents.packet import cut_packet
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


def rows_of_page(
    lake: Lake,
    page: Page,
    found: Sequence[Attachment],
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
    """Yield the pages of a packet that belong to each item. It is cut by the titles of all items of its meeting."""
    meetings = {one.item.meeting_id for one in found}
    agenda = sorted((item for item in items if item.meeting_id in meetings), key=lambda item: item.sequence)
    read = sandbox.read_document(page.body, page.content_type, "", language)
    [parts] = sandbox.run(cut_packet, [(page.body, [item.title for item in agenda])])
    if read.outcome != "ok" or isinstance(parts, NewsAssetsError):
        reason = read.reason if read.outcome != "ok" else str(parts)
        why = ReadDocument(kind=read.kind, outcome="skipped" if read.outcome == "skipped" else "failed", reason=reason)
        yield from (document_row(one, why, page, page.fetched_at) for one in found)
        return
    pages = {agenda[part.item].item_id: (part.first_page, part.last_page) for part in parts}
    for one in found:
        first, last = pages.get(one.item.item_id, (1, 0))
        if not last:
            missing = ReadDocument(kind=read.kind, outcome="skipped", reason=NOT_IN_PACKET)
            yield document_row(one, missing, page, page.fetched_at, sha256(f"{content} {one.document_id}"))
            continue
        part = replace(
            read,
            texts=read.texts[first - 1 : last],
            pages=last - first + 1,
            scanned_pages=tuple(number - first + 1 for number in read.scanned_pages if first <= number <= last),
            ocr_pages=tuple(number - first + 1 for number in read.ocr_pages if first <= number <= last),
            reason=f"pages {first} to {last} of the packet",
        )
        yield document_row(one, part, page, page.fetched_at, sha256(f"{content} {first} {last}"))


def document_row(
    one: Attachment, read: ReadDocument, page: Page | None, fetched_at: datetime, content_hash: str | None = None
) -> StoredDocument:
    """Return the row of an attachment that was read, or of which `read` says why not; `page` is what its text is of."""
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


def _copy(one: Attachment, original: StoredDocument, page: Page) -> StoredDocument:
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
