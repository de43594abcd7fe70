"""Makes the rows of documents from what the address of an attachment answers; each
content is read once.

Several attachments may have one address: under several names, or as the parts of one
packet.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import urldefrag

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.item_rows import PACKET_PART
from news_assets.pipeline.documents.pdf.packet import cut_packet
from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.ports.services import Lake, Sandbox
from news_assets.records.articles import FeedEntry
from news_assets.records.meetings import StoredItem
from news_assets.records.reading import PacketPart, Page, ReadDocument, StoredDocument

_NOT_IN_PACKET: Final = "not found in the packet"


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
    pairs = zip(known, stated, strict=True)
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def same_file(before: StoredDocument, head: Page) -> StoredDocument:
    """Return the row of a document whose file did not change, with what the answer to a
    HEAD request states of it.
    """
    row = replace(
        before,
        etag=head.validators.etag or before.etag,
        last_modified=head.validators.last_modified or before.last_modified,
        fetched_at=head.fetched_at,
    )
    if head.content_length is None:
        return row
    return replace(row, content_length=head.content_length)


def rows_of_page(
    lake: Lake,
    page: Page,
    found: Sequence[Attachment],
    items: Sequence[StoredItem],
    language: str,
    sandbox: Sandbox,
    originals: dict[str, StoredDocument],
) -> list[StoredDocument]:
    """Return the rows of the attachments at one address.

    Args:
        lake: Where former documents are read.
        page: What the address answered.
        found: The attachments with this address.
        items: All items of their meetings: a packet is cut by their titles.
        language: Of the agency (BCP 47), for text recognition.
        sandbox: Reads the document.
        originals: The documents read by this run, by content; new ones are added.
    """
    content = hashlib.sha256(page.body).hexdigest()
    wholes = [one for one in found if not one.is_part]
    if wholes and content not in originals:
        known = lake.read(
            StoredDocument, content_hash=[content], outcome=["ok", "skipped"]
        )
        for row in known:
            if row.copy_of is None:
                originals[content] = row
    rows: list[StoredDocument] = []
    for one in wholes:
        original = originals.get(content)
        if original is not None and original.document_id != one.document_id:
            rows.append(_copy(one, original, page))
            continue
        read = sandbox.read_document(page.body, page.content_type, one.name, language)
        row = document_row(one, read, page, page.fetched_at, content)
        if row.outcome != "failed":
            originals[content] = row
        rows.append(row)
    parts = [one for one in found if one.is_part]
    if parts:
        rows += _parts(page, content, parts, items, language, sandbox)
    return rows


def _parts(
    page: Page,
    content: str,
    found: Sequence[Attachment],
    items: Sequence[StoredItem],
    language: str,
    sandbox: Sandbox,
) -> list[StoredDocument]:
    """Return the pages of a packet that belong to each item. It is cut by the titles of
    all items of its meeting.
    """
    read = sandbox.read_document(page.body, page.content_type, "", language)
    if read.outcome != "ok":
        unread = ReadDocument(
            kind=read.kind,
            outcome="skipped" if read.outcome == "skipped" else "failed",
            reason=read.reason,
        )
        return [document_row(one, unread, page, page.fetched_at) for one in found]
    meetings = {one.item.meeting_id for one in found}
    agenda = [item for item in items if item.meeting_id in meetings]
    agenda.sort(key=lambda item: item.sequence)
    [cut] = sandbox.run(cut_packet, [(page.body, [item.title for item in agenda])])
    if isinstance(cut, NewsAssetsError):
        uncut = ReadDocument(kind=read.kind, outcome="failed", reason=str(cut))
        return [document_row(one, uncut, page, page.fetched_at) for one in found]
    pages = {agenda[part.item].item_id: part for part in cut}
    rows: list[StoredDocument] = []
    for one in found:
        text, state = _part(read, one, pages.get(one.item.item_id))
        hashed = sha256(f"{content} {state}")
        rows.append(document_row(one, text, page, page.fetched_at, hashed))
    return rows


def _part(
    read: ReadDocument, one: Attachment, part: PacketPart | None
) -> tuple[ReadDocument, str]:
    """Return the pages of an item, and what tells them apart within the packet."""
    if part is None:
        missing = ReadDocument(kind=read.kind, outcome="skipped", reason=_NOT_IN_PACKET)
        return missing, one.document_id
    pages = _pages_of(read, part.first_page, part.last_page)
    return pages, f"{part.first_page} {part.last_page}"


def _pages_of(read: ReadDocument, first: int, last: int) -> ReadDocument:
    """Return the pages from the first to the last of a document, counted from 1."""
    pages = range(first, last + 1)
    scanned = [number - first + 1 for number in read.scanned_pages if number in pages]
    recognised = [number - first + 1 for number in read.ocr_pages if number in pages]
    return replace(
        read,
        texts=read.texts[first - 1 : last],
        pages=len(pages),
        scanned_pages=tuple(scanned),
        ocr_pages=tuple(recognised),
        reason=f"pages {first} to {last} of the packet",
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
    row = StoredDocument(
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
        etag=None,
        last_modified=None,
        content_length=None,
        fetched_at=fetched_at,
        trace_id=one.entry.trace_id,
    )
    return row if page is None and one.head is None else _with_headers(row, one, page)


def _with_headers(
    row: StoredDocument, one: Attachment, page: Page | None
) -> StoredDocument:
    """Return a row with what the next HEAD is compared with: some servers answer HEAD
    with other headers, so those of a HEAD count first.
    """
    stated = one.head or page
    assert stated is not None
    return replace(
        row,
        etag=stated.validators.etag,
        last_modified=stated.validators.last_modified,
        content_length=stated.content_length,
    )


def _copy(one: Attachment, original: StoredDocument, page: Page) -> StoredDocument:
    """Return the row of an attachment whose content was read already."""
    row = replace(
        original,
        document_id=one.document_id,
        article_id=one.entry.article_id,
        desk=one.entry.desk,
        agency=one.entry.agency,
        day=one.entry.day,
        url=one.url,
        name=one.name,
        copy_of=original.document_id,
        fetched_at=page.fetched_at,
        trace_id=one.entry.trace_id,
    )
    return _with_headers(row, one, page)
