"""Makes the rows of documents from what the address of an attachment answers, and
withdraws them.

Each content is read once. Several attachments may have one address: under several
names, or as the parts of one packet.

A document of a withdrawn article that an item of another article has too stays until
that one is withdrawn. The row of a withdrawn document stays, so that it is not read
again.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import urldefrag

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.item_rows import (
    PACKET_PART,
    is_minutes,
    is_whole_agenda,
    refresh_matters_of,
)
from news_assets.pipeline.civic.meeting_rows import facts_json
from news_assets.pipeline.documents.packet import cut_packet
from news_assets.ports.services import Lake, Reader, Rows, Sandbox
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.content import without_content
from news_assets.records.meetings import StoredDocument, StoredItem, StoredMeeting
from news_assets.records.reading import WITHDRAWN, PacketPart, Page, ReadDocument
from news_assets.text.fingerprint import sha256

_NOT_IN_PACKET: Final = "not found in the packet"


@dataclass(frozen=True, slots=True)
class WantedDocument:
    """An attachment to read, the entry of the item that it is read for, and its row so
    far.

    With `is_check` it was read, and HEAD is requested to see whether the file changed;
    `head` is an answer to that which shows another file than was read.
    """

    document_id: str
    url: str
    name: str
    item: StoredItem
    entry: FeedEntry
    before: StoredDocument | None
    is_check: bool = False
    head: Page | None = None

    @property
    def is_part(self) -> bool:
        """Whether it is the item's pages of a packet."""
        return urldefrag(self.url).fragment.startswith(PACKET_PART)


def is_other_file(before: StoredDocument, head: Page) -> bool:
    """Whether the answer to a HEAD request differs, in a header that both state, from
    the answer that was read.
    """
    headers = (
        (before.content_length, head.content_length),
        (before.last_modified, head.validators.last_modified),
        (before.etag, head.validators.etag),
    )
    for known, stated in headers:
        if known is None:
            continue
        if stated is None:
            continue
        if known != stated:
            return True
    return False


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
    found: Sequence[WantedDocument],
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
    parts = [one for one in found if one.is_part]
    wholes = [one for one in found if not one.is_part]
    if wholes and content not in originals:
        _add_original(lake, content, originals)
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
    if parts:
        rows += _parts(page, content, parts, items, language, sandbox)
    return rows


def _add_original(
    lake: Lake, content: str, originals: dict[str, StoredDocument]
) -> None:
    """Add the stored document that was read from this content, if there is one."""
    outcomes = ["ok", "skipped"]
    for row in lake.read(StoredDocument, content_hash=[content], outcome=outcomes):
        if row.copy_of is None:
            originals[content] = row


def _parts(
    page: Page,
    content: str,
    found: Sequence[WantedDocument],
    items: Sequence[StoredItem],
    language: str,
    sandbox: Sandbox,
) -> list[StoredDocument]:
    """Return the pages of a packet that belong to each item. It is cut by the titles of
    all items of its meeting.
    """
    read = sandbox.read_document(page.body, page.content_type, "", language)
    if read.outcome != "ok":
        return _uncut(page, read, read.reason, found)
    meetings = {one.item.meeting_id for one in found}
    agenda = [item for item in items if item.meeting_id in meetings]
    agenda.sort(key=lambda item: item.sequence)
    pages = _cut(page, agenda, sandbox)
    if isinstance(pages, NewsAssetsError):
        failed = replace(read, outcome="failed")
        return _uncut(page, failed, str(pages), found)
    rows: list[StoredDocument] = []
    for one in found:
        text, state = _part(read, one, pages.get(one.item.item_id))
        hashed = sha256(f"{content} {state}")
        rows.append(document_row(one, text, page, page.fetched_at, hashed))
    return rows


def _uncut(
    page: Page,
    read: ReadDocument,
    reason: str | None,
    found: Sequence[WantedDocument],
) -> list[StoredDocument]:
    """Return the rows of a packet that was not cut, with the reason."""
    unread = ReadDocument(kind=read.kind, outcome=read.outcome, reason=reason)
    return [document_row(one, unread, page, page.fetched_at) for one in found]


def _cut(
    page: Page, agenda: Sequence[StoredItem], sandbox: Sandbox
) -> dict[str, PacketPart] | NewsAssetsError:
    """Return the pages of a packet by item_id, or why it cannot be cut."""
    titles = [item.title for item in agenda]
    [parts] = sandbox.run(cut_packet, [(page.body, titles)])
    if isinstance(parts, NewsAssetsError):
        return parts
    return {agenda[part.item].item_id: part for part in parts}


def _part(
    read: ReadDocument, one: WantedDocument, part: PacketPart | None
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
    scanned: list[int] = []
    for number in read.scanned_pages:
        if number in pages:
            scanned.append(number - first + 1)
    recognised: list[int] = []
    for number in read.ocr_pages:
        if number in pages:
            recognised.append(number - first + 1)
    return replace(
        read,
        texts=read.texts[first - 1 : last],
        pages=len(pages),
        scanned_pages=tuple(scanned),
        ocr_pages=tuple(recognised),
        reason=f"pages {first} to {last} of the packet",
    )


def document_row(
    one: WantedDocument,
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
    if page is None and one.head is None:
        return row
    return _with_headers(row, one, page)


def _with_headers(
    row: StoredDocument, one: WantedDocument, page: Page | None
) -> StoredDocument:
    """Return a row with what the next HEAD is compared with: some servers answer HEAD
    with other headers, so the headers of a HEAD count first.
    """
    stated = one.head or page
    assert stated is not None
    return replace(
        row,
        etag=stated.validators.etag,
        last_modified=stated.validators.last_modified,
        content_length=stated.content_length,
    )


def _copy(one: WantedDocument, original: StoredDocument, page: Page) -> StoredDocument:
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


# --- withdrawal -----------------------------------------------------------------------


def withdraw_documents(rows: Rows, articles: Sequence[RawArticle], reason: str) -> None:
    """Remove the texts of the documents that only withdrawn articles have; these
    articles are withdrawn already.
    """
    ids = [article.article_id for article in articles]
    items = rows.read(StoredItem, article_id=ids)
    if not items:
        return
    documents: list[StoredDocument] = []
    for row in rows.read(StoredDocument, document_id=_only_withdrawn(rows, items)):
        bare = without_content(row)
        documents.append(replace(bare, outcome=WITHDRAWN, reason=reason))
    rows.upsert(documents)
    meetings: list[StoredMeeting] = []
    for meeting in _meetings_of_agendas(rows, items):
        others = facts_json("agenda", (), meeting.participation_json)
        meetings.append(replace(meeting, participation_json=others))
    rows.upsert(meetings)
    _store_decisions(rows, items, {})
    refresh_matters_of(rows, articles)


def _with_former_facts(
    rows: Rows, former: Reader, items: Sequence[StoredItem]
) -> list[StoredMeeting]:
    """Return the meetings of these agendas with the facts that they have in `former`."""
    stated: dict[str, str] = {}
    for row in _meetings_of_agendas(former, items):
        stated[row.meeting_id] = row.participation_json
    changed: list[StoredMeeting] = []
    for row in _meetings_of_agendas(rows, items):
        if row.meeting_id in stated:
            changed.append(_with_facts_of(row, stated[row.meeting_id]))
    return changed


def bring_documents_back(
    rows: Rows, former: Reader, articles: Sequence[RawArticle]
) -> None:
    """Store the withdrawn documents of these articles as they are in `former`, the
    reads of the commit before.
    """
    ids = [article.article_id for article in articles]
    items = rows.read(StoredItem, article_id=ids)
    if not items:
        return
    withdrawn = withdrawn_documents(rows, _ids(items))
    rows.upsert(former.read(StoredDocument, document_id=withdrawn))
    rows.upsert(_with_former_facts(rows, former, items))
    former_items = former.read(StoredItem, meeting_id=_meetings_of_minutes(items))
    decisions = {item.item_id: item.decision for item in former_items}
    _store_decisions(rows, items, decisions)
    refresh_matters_of(rows, articles)


def withdrawn_documents(rows: Reader, document_ids: Collection[str]) -> set[str]:
    """Return which of these documents are withdrawn."""
    found = rows.frame(
        StoredDocument,
        None,
        ("document_id",),
        document_id=document_ids,
        outcome=[WITHDRAWN],
    )
    return set(found["document_id"])


def _only_withdrawn(rows: Reader, items: Iterable[StoredItem]) -> set[str]:
    """Return the documents of these items that no item of another article has."""
    wanted = _ids(items)
    agencies = {item.agency for item in items}
    columns = ("article_id", "document_ids")
    listed = rows.frame(StoredItem, None, columns, agency=agencies)
    users = listed.explode("document_ids").drop_nulls()
    users = users.filter(users["document_ids"].is_in(list(wanted)))
    withdrawn = rows.frame(
        RawArticle,
        None,
        ("article_id",),
        article_id=users["article_id"],
        outcome=[WITHDRAWN],
    )
    others = users.join(withdrawn, on="article_id", how="anti")
    return wanted - set(others["document_ids"])


def _ids(items: Iterable[StoredItem]) -> set[str]:
    ids: set[str] = set()
    for item in items:
        ids.update(item.document_ids)
    return ids


def _meetings_of_agendas(
    rows: Reader, items: Iterable[StoredItem]
) -> list[StoredMeeting]:
    """Return the meetings whose whole agenda is one of these items."""
    ids: set[str] = set()
    for item in items:
        if is_whole_agenda(item):
            ids.add(item.meeting_id)
    return rows.read(StoredMeeting, meeting_id=ids)


def _meetings_of_minutes(items: Iterable[StoredItem]) -> set[str]:
    found: set[str] = set()
    for item in items:
        if is_minutes(item):
            found.add(item.meeting_id)
    return found


def _store_decisions(
    rows: Rows, items: Iterable[StoredItem], decisions: Mapping[str, str]
) -> None:
    """Store these decisions, by item_id, with all items of the meetings of which one of
    `items` is the minutes.
    """
    of_meetings = rows.read(StoredItem, meeting_id=_meetings_of_minutes(items))
    decided: list[StoredItem] = []
    for item in of_meetings:
        decided.append(replace(item, decision=decisions.get(item.item_id, "")))
    if changed := [
        now for now, before in zip(decided, of_meetings, strict=True) if now != before
    ]:
        rows.upsert(changed)


def _with_facts_of(row: StoredMeeting, former_json: str) -> StoredMeeting:
    """Return a meeting with the facts about taking part that its agenda stated
    formerly.
    """
    facts = [fact for fact in json.loads(former_json) if fact["text"] == "agenda"]
    current = json.loads(row.participation_json)
    facts += [fact for fact in current if fact["text"] != "agenda"]
    return replace(row, participation_json=json.dumps(facts))
