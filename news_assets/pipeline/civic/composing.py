"""Composes the article of an agenda item from what is listed and from the text of its
documents; nothing is fetched.

The text has only what the matter has in each of its meetings, so that a matter is
enriched once: number, section, day and votes are columns, and stay out of it. A
document that several items of a meeting have is in the text of each; of a long one only
what is about the item.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.articles.rows import composed_row, revision_of
from news_assets.pipeline.civic.item_rows import is_minutes, is_whole_agenda
from news_assets.pipeline.civic.meeting_rows import facts_json
from news_assets.pipeline.failures import record_article_outcomes
from news_assets.pipeline.page.readers import ArticleText
from news_assets.pipeline.stage_declaration import Stage, content_hash
from news_assets.ports.services import Clock, Lake, Rows, Sandbox
from news_assets.records.articles import ArticleRevision, FeedEntry, RawArticle
from news_assets.records.derived import Failure
from news_assets.records.meetings import (
    ParticipationFact,
    StoredDocument,
    StoredItem,
    StoredMeeting,
)
from news_assets.records.reading import WITHDRAWN
from news_assets.sources.civic.meeting_prose import (
    ItemName,
    decisions_of,
    participation_of,
)
from news_assets.text.fingerprint import normal_words
from news_assets.text.limits import clean_text, most

_logger = logging.getLogger(__name__)

_BATCH_ARTICLES: Final = 50  # stored in one transaction
_DOCUMENTS_STAGE: Final = "documents"
_MAX_REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class _Composed:
    """One entry with its item, its meeting, its text, and which of its documents could
    not be read.

    `facts` are what an agenda says about taking part, `decisions` what minutes say
    about the items, by item_id.
    """

    entry: FeedEntry
    item: StoredItem
    meeting: StoredMeeting
    text: ArticleText | None
    unread: str | None
    facts: tuple[ParticipationFact, ...] = ()
    decisions: Mapping[str, str] = field(default_factory=dict)


def compose_articles(
    stage: Stage,
    lake: Lake,
    entries: Sequence[FeedEntry],
    languages: Mapping[str, str],
    clock: Clock,
    sandbox: Sandbox,
) -> int:
    """Compose the articles of these entries of agenda items; return how many were
    written.

    An item waits until each of its documents is read, or reading them has failed.

    Args:
        stage: The stage that fetches articles, for its failures.
        lake: Where items, meetings and documents are read, and articles stored.
        entries: The entries that are due.
        languages: Of the agencies (BCP 47), for texts that are too short to tell.
        clock: The time of a batch.
        sandbox: Reads the texts.
    """
    written = 0
    for start in range(0, len(entries), _BATCH_ARTICLES):
        batch = entries[start : start + _BATCH_ARTICLES]
        composed = _composed(lake, batch, languages, sandbox)
        if composed:
            now = clock()
            lake.transact(lambda rows: _store(rows, stage, composed, now))  # noqa: B023 - runs at once
            written += len(composed)
    return written


class _Ready(NamedTuple):
    """An entry that can be composed: its item, and the documents wanted and read."""

    entry: FeedEntry
    item: StoredItem
    wanted: Sequence[str]
    documents: Mapping[str, StoredDocument]

    def text(self, shared: Collection[tuple[str, str]]) -> str:
        """Return the text of the item."""
        read: list[StoredDocument] = []
        for one in self.wanted:
            if one in self.documents:
                read.append(self.documents[one])
        return _item_text(self.item, read, shared)


def _composed(
    lake: Lake,
    entries: Sequence[FeedEntry],
    languages: Mapping[str, str],
    sandbox: Sandbox,
) -> list[_Composed]:
    own = lake.read(StoredItem, item_id=[entry.entry_id for entry in entries])
    ready = _ready(lake, entries, own)
    meeting_ids = {item.meeting_id for item in own}
    rows = lake.read(StoredMeeting, meeting_id=meeting_ids)
    meetings = {row.meeting_id: row for row in rows}
    agendas = lake.read(StoredItem, meeting_id=meeting_ids)
    shared = _shared_documents(agendas)
    calls = [(one.text(shared), languages.get(one.entry.agency)) for one in ready]
    texts = sandbox.run(ArticleText.of, calls)
    composed: list[_Composed] = []
    for one, text in zip(ready, texts, strict=True):
        meeting = meetings[one.item.meeting_id]
        article = _Composed(one.entry, one.item, meeting, None, _unread(one))
        if not isinstance(text, NewsAssetsError):
            article = replace(article, text=text)
        composed.append(_with_contents(article, agendas, sandbox))
    return composed


def _ready(
    lake: Lake, entries: Sequence[FeedEntry], items: Iterable[StoredItem]
) -> list[_Ready]:
    """Return the entries whose documents are all read, or could not be."""
    own = {item.item_id: item for item in items}
    documents = _stored_documents(lake, own.values())
    articles = [entry.article_id for entry in entries]
    failures = lake.read(Failure, stage=[_DOCUMENTS_STAGE], article_id=articles)
    have_failed = {row.article_id for row in failures}
    ready: list[_Ready] = []
    for entry in entries:
        item = own.get(entry.entry_id)
        if item is None:
            continue
        of_item = list(dict.fromkeys(_documents_of(item)))
        if entry.article_id in have_failed or documents.keys() >= set(of_item):
            ready.append(_Ready(entry, item, of_item, documents))
        else:
            _logger.debug("%s: waits for its documents", entry.article_id)
    return ready


def _stored_documents(
    lake: Lake, items: Iterable[StoredItem]
) -> dict[str, StoredDocument]:
    """Return the documents of these items that have a row, by document_id."""
    ids = set[str]()
    for item in items:
        ids.update(_documents_of(item))
    if not ids:
        return {}
    return {row.document_id: row for row in lake.read(StoredDocument, document_id=ids)}


def _with_contents(
    one: _Composed, agendas: Sequence[StoredItem], sandbox: Sandbox
) -> _Composed:
    """Return an agenda or minutes with what they say about the meeting and its items."""
    if is_whole_agenda(one.item):
        return _with_facts(one, sandbox)
    if is_minutes(one.item):
        return _with_decisions(one, agendas, sandbox)
    return one


def _with_facts(one: _Composed, sandbox: Sandbox) -> _Composed:
    """Return the agenda of a meeting without items with what it says about taking part."""
    [facts] = sandbox.run(participation_of, [(one.text.text if one.text else "",)])
    if isinstance(facts, NewsAssetsError):
        return one
    return replace(one, facts=tuple(replace(fact, text="agenda") for fact in facts))


def _with_decisions(
    one: _Composed, agendas: Sequence[StoredItem], sandbox: Sandbox
) -> _Composed:
    names: list[ItemName] = []
    for item in agendas:
        if item.meeting_id != one.item.meeting_id:
            continue
        if is_minutes(item):
            continue
        name = ItemName(
            item_id=item.item_id,
            number=item.number,
            title=item.title,
            matter_file=item.matter_file,
        )
        names.append(name)
    text = one.text.text if one.text else ""
    [decisions] = sandbox.run(decisions_of, [(text, names)])
    if isinstance(decisions, NewsAssetsError):
        return one
    return replace(one, decisions=decisions)


def _documents_of(item: StoredItem) -> tuple[str, ...]:
    return item.document_ids if item.filter_tier is None else ()


def _shared_documents(items: Iterable[StoredItem]) -> set[tuple[str, str]]:
    """Return meeting_id and document_id of the documents that several items of a
    meeting have.
    """
    users = Counter[tuple[str, str]]()
    for item in items:
        for document_id in set(_documents_of(item)):
            users[item.meeting_id, document_id] += 1
    return {key for key, count in users.items() if count > 1}


def _item_text(
    item: StoredItem,
    documents: Iterable[StoredDocument],
    shared: Collection[tuple[str, str]],
) -> str:
    """Return the text of an item: its title, what is stated of its matter, and its
    documents in their order.

    Of a long document that it shares with other items it has what is about it.
    """
    parts = [item.title, _stated_of_matter(item)]
    for one in documents:
        text = one.text or ""
        if (item.meeting_id, one.document_id) in shared:
            text = excerpt_about(text, item.title, item.matter_file)
        if text:
            parts.append(f"## {one.name}\n\n{text}")
    whole = "\n\n".join(filter(None, parts))
    return clean_text(whole[: most("text")])


def _stated_of_matter(item: StoredItem) -> str:
    """Return the file and the sponsors of an item's matter as sentences."""
    facts: list[str] = []
    if item.matter_file:
        kind = f" ({item.matter_type})" if item.matter_type else ""
        facts.append(f"File {item.matter_file}{kind}.")
    if item.sponsors:
        facts.append(f"Sponsors: {', '.join(item.sponsors)}.")
    return " ".join(facts)


def _unread(one: _Ready) -> str | None:
    """Return which of an item's documents have no text, and why."""
    names = dict(zip(one.item.document_ids, one.item.attachment_names, strict=True))
    without: list[str] = []
    for key in one.wanted:
        document = one.documents.get(key)
        if document is None:
            without.append(names[key])
        elif not document.text:
            without.append(f"{names[key]}: {document.reason or document.outcome}")
    if not without:
        return None
    return f"without {'; '.join(without)}"[:_MAX_REASON_CHARS]


def _store(
    rows: Rows, stage: Stage, composed: Sequence[_Composed], now: datetime
) -> None:
    """Store the articles and the texts that they replace."""
    articles = [one.entry.article_id for one in composed]
    stored = {row.article_id: row for row in rows.read(RawArticle, article_id=articles)}
    kept: list[_Composed] = []
    made: list[RawArticle] = []
    revisions: list[ArticleRevision] = []
    for one in composed:
        before = stored.get(one.entry.article_id)
        if before is not None and before.outcome == WITHDRAWN:  # meanwhile
            continue
        row = _row(one, before, now)
        kept.append(one)
        made.append(row)
        if before is None:
            continue
        revision = revision_of(before, row, now)
        if revision is not None:
            revisions.append(revision)
    rows.upsert(made)
    rows.upsert(revisions)
    record_article_outcomes(rows, stage, made)
    _store_decisions(rows, kept)
    _store_facts(rows, kept)


def _store_facts(rows: Rows, composed: Iterable[_Composed]) -> None:
    """Store what agendas say about taking part with their meetings."""
    facts: dict[str, tuple[ParticipationFact, ...]] = {}
    for one in composed:
        if one.facts:
            facts[one.meeting.meeting_id] = one.facts
    changed: list[StoredMeeting] = []
    for row in rows.read(StoredMeeting, meeting_id=facts):
        stated = facts_json("agenda", facts[row.meeting_id], row.participation_json)
        changed.append(replace(row, participation_json=stated))
    rows.upsert(changed)


def _store_decisions(rows: Rows, composed: Iterable[_Composed]) -> None:
    """Store what minutes say was decided with the items; what former minutes said of
    other items goes.
    """
    minutes: dict[str, Mapping[str, str]] = {}
    for one in composed:
        if is_minutes(one.item):
            minutes[one.item.meeting_id] = one.decisions
    changed: list[StoredItem] = []
    for item in rows.read(StoredItem, meeting_id=minutes):
        decision = minutes[item.meeting_id].get(item.item_id, "")
        if decision != item.decision:
            changed.append(replace(item, decision=decision))
    rows.upsert(changed)


def _row(one: _Composed, previous: RawArticle | None, now: datetime) -> RawArticle:
    row = composed_row(one.entry, one.text, previous, now)
    row = replace(
        row,
        title=one.item.title,
        section=one.item.section or None,
        body=one.meeting.body,
        matter=one.item.matter,
        meeting_id=one.item.meeting_id,
        meeting_status=one.meeting.status,
        filter_reason=one.item.filter_reason or "",
        video_url=one.meeting.video_url,
        reason=one.unread or row.reason,
    )
    return replace(row, content_hash=content_hash(row))


# --- what a shared document says about one item ---------------------------------------

MAX_SHARED_CHARS: Final = 6_000  # of a shared document in the text of one item
_BEGIN_CHARS: Final = 500  # says what the document is
_MIN_WORD_CHARS: Final = 4
_OMITTED: Final = "[…]"


def excerpt_about(text: str, title: str, matter_file: str | None) -> str:
    """Return a text, or of a long one its begin and the paragraphs with most words of a
    title or a file number.

    So a language model is paid for about one reading of a document, however many items
    have it.
    """
    if len(text) <= MAX_SHARED_CHARS:
        return text
    parts_of_text = map(str.strip, text.replace("\r", "").split("\n\n"))
    paragraphs = list(filter(None, parts_of_text))
    words = normal_words(f"{title} {matter_file or ''}")
    wanted = {word for word in words if len(word) >= _MIN_WORD_CHARS}
    kept = _best(paragraphs, wanted)
    parts: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        if number in kept:
            parts.append(paragraph[:MAX_SHARED_CHARS])
        elif parts and parts[-1] != _OMITTED:
            parts.append(_OMITTED)
    return "\n\n".join(parts)[:MAX_SHARED_CHARS]


def _best(paragraphs: Sequence[str], wanted: set[str]) -> set[int]:
    """Return the numbers of the paragraphs of the begin, and of those with most of
    these words, that have room.
    """
    kept = set[int]()
    room = MAX_SHARED_CHARS
    for number, paragraph in enumerate(paragraphs):
        if MAX_SHARED_CHARS - room >= _BEGIN_CHARS:
            break
        kept.add(number)
        room -= len(paragraph)
    counts: dict[int, int] = {}
    for number, paragraph in enumerate(paragraphs):
        count = len(wanted & set(normal_words(paragraph)))
        if not count:
            continue
        if number not in kept:
            counts[number] = count
    for number in sorted(counts, key=lambda number: -counts[number]):
        length = len(paragraphs[number])
        if length <= room:
            kept.add(number)
            room -= length
    return kept
