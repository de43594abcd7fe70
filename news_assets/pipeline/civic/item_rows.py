"""Makes the rows of agenda items from a poll's answer, and the rows of their matters: the
same file in several meetings of an agency. Ids of items never change with a title.

Each appearance of a matter keeps the summary of its own text, so that the past reads as
it was; the matter has the newest. An equal text is enriched once, because results are
cached by their input.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Final

from news_assets.pipeline.civic.item_words import (
    Filtered,
    filtered,
    matter_key,
    topics_of_item,
)
from news_assets.ports.services import Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    ItemOutcome,
    Matter,
    PolledMeetings,
    StoredItem,
    StoredMeeting,
    Vote,
)
from news_assets.sources.civic.identity import item_id
from news_assets.text.fingerprint import sha256
from news_assets.text.limits import line

REMOVED: Final = "no longer on the agenda"
PACKET_PART: Final = "item="  # fragment of a packet's address: the pages of one item
# in place of an item's vendor id: the agenda or packet of a meeting whose items are not
# known
_WHOLE: Final = "agenda"
_MINUTES: Final = "minutes"  # in place of an item's vendor id: the minutes of a meeting


@dataclass(frozen=True, slots=True)
class PollToStore:
    """A poll of a civic source that is stored: what it found, and its time."""

    source: Source
    found: PolledMeetings
    now: datetime
    trace_id: str


def item_rows(
    poll: PollToStore,
    meeting: StoredMeeting,
    key: str | None,
    before: Sequence[StoredItem],
) -> list[StoredItem]:
    """Return the rows of the items of a meeting, listed with this key; None if it is
    not listed.

    They stay, on its day, where its items were not read, and where an answer has none
    of those that are known: an agenda is revised item by item.
    """
    same_day = [replace(item, day=meeting.day) for item in before]
    if key is None:
        return same_day
    if key not in poll.found.read_agendas:
        return same_day
    of_agenda = [item for item in same_day if not is_minutes(item)]
    known = {item.item_id: item for item in before}
    listed = poll.found.meetings[key].items
    if not listed:
        rows = _without_items(poll, meeting, of_agenda)
        return rows + _minutes_rows(poll, meeting, len(rows), known)
    keys = item_ids(meeting.meeting_id, listed, before)
    rows = _listed_rows(poll, meeting, dict(zip(keys, listed, strict=True)), known)
    for known_item in of_agenda:
        if known_item.item_id not in keys:
            rows.append(_removed(known_item))
    return rows + _minutes_rows(poll, meeting, len(listed), known)


def _listed_rows(
    poll: PollToStore,
    meeting: StoredMeeting,
    listed: Mapping[str, AgendaItem],
    known: Mapping[str, StoredItem],
) -> list[StoredItem]:
    """Return the rows of the listed items of a meeting; both by item_id."""
    packet_url = meeting.packet_url
    if any(item.attachments for item in listed.values()):
        packet_url = None
    rows: list[StoredItem] = []
    for own_id, item in listed.items():
        stored = known.get(own_id)
        item = _with_former_details(item, stored)
        if packet_url is not None:
            item = _with_packet_pages(poll, item, own_id, packet_url)
        rows.append(_item_row(poll, meeting, item, own_id, stored))
    return rows


def _with_packet_pages(
    poll: PollToStore, item: AgendaItem, own_id: str, packet_url: str
) -> AgendaItem:
    """Return an item with its pages of the packet as the attachment, unless it is
    filtered.
    """
    if _filtered(item, poll.found.filters) is not None:
        return item
    part = f"{packet_url}#{PACKET_PART}{own_id.rpartition('/')[2]}"
    pages = Attachment(name="Agenda packet", url=part)
    return replace(item, attachments=(pages,))


def _without_items(
    poll: PollToStore, meeting: StoredMeeting, before: Sequence[StoredItem]
) -> list[StoredItem]:
    """Return the known items of a meeting, or without any the row that stands for its
    agenda.
    """
    if any(not is_whole_agenda(item) for item in before):
        return list(before)
    agenda = _whole_agenda(meeting)
    if agenda is None:
        return [_removed(item) for item in before]
    known = before[0] if before else None
    own_id = item_id(meeting.meeting_id, agenda)
    return [_item_row(poll, meeting, agenda, own_id, known)]


def item_ids(
    of_meeting: str, items: Sequence[AgendaItem], before: Sequence[StoredItem]
) -> list[str]:
    """Return the id of each item. One without a vendor's id keeps that of the same
    file, title or number.

    A new one gets its id from its title, so that another item that is inserted before
    it changes nothing.
    """
    named = {item_id(of_meeting, item) for item in items if item.vendor_id}
    found = _kept_keys(items, [row for row in before if row.item_id not in named])
    known = named | set(found.values()) | {row.item_id for row in before}
    keys: dict[str, None] = {}
    for place, item in enumerate(items):
        own_id = found.get(place) or item_id(of_meeting, item)
        if place in found or item.vendor_id:
            taken: set[str] = set(keys)
        else:
            taken = known | keys.keys()
        keys[_free_key(own_id, taken)] = None
    return list(keys)


def _kept_keys(
    items: Sequence[AgendaItem], before: Sequence[StoredItem]
) -> dict[int, str]:
    """Return the ids that items without a vendor's id keep, by their place."""
    unused = {row.item_id: row for row in before}
    found: dict[int, str] = {}
    for trait in (_file_of, _title_of, _number_of):
        for place, item in enumerate(items):
            value = trait(item)
            if item.vendor_id:
                continue
            if place in found:
                continue
            if not value:
                continue
            same = [key for key, row in unused.items() if trait(row) == value]
            is_certain = len(same) == 1 or trait is _title_of
            if not same:
                continue
            if is_certain:
                found[place] = same[0]
                del unused[same[0]]
    return found


def _free_key(key: str, taken: Collection[str]) -> str:
    """Return a key that no other item has: a matter may be twice on an agenda."""
    if key not in taken:
        return key
    number = 2
    while f"{key}-{number}" in taken:
        number += 1
    return f"{key}-{number}"


def _file_of(item: AgendaItem | StoredItem) -> str:
    return item.matter_file or ""


def _title_of(item: AgendaItem | StoredItem) -> str:
    return " ".join(item.title.lower().split())


def _number_of(item: AgendaItem | StoredItem) -> str:
    return item.number


def _whole_agenda(meeting: StoredMeeting) -> AgendaItem | None:
    """Return an item that stands for the agenda of a meeting without items; None
    without an agenda.
    """
    if meeting.status == "cancelled":
        return None
    if meeting.packet_url:
        attachment = Attachment(name="Agenda packet", url=meeting.packet_url)
    elif meeting.agenda_url is not None:
        attachment = Attachment(name="Agenda", url=meeting.agenda_url)
    else:
        return None
    return AgendaItem(
        sequence=0,
        title=meeting.title or meeting.body,
        vendor_id=_WHOLE,
        attachments=(attachment,),
    )


def _minutes_rows(
    poll: PollToStore,
    meeting: StoredMeeting,
    item_count: int,
    known: Mapping[str, StoredItem],
) -> list[StoredItem]:
    """Return the row that stands for the minutes of a meeting, after those of its
    agenda, if there are minutes.
    """
    if meeting.minutes_url is None:
        return []
    if meeting.status == "cancelled":
        return []
    title = f"Minutes: {meeting.title or meeting.body}"
    attachment = Attachment(name="Minutes", url=meeting.minutes_url)
    item = AgendaItem(
        sequence=item_count + 1,
        title=title,
        vendor_id=_MINUTES,
        attachments=(attachment,),
    )
    key = item_id(meeting.meeting_id, item)
    return [_item_row(poll, meeting, item, key, known.get(key))]


def _removed(item: StoredItem) -> StoredItem:
    if item.filter_tier == "dropped":
        return item
    return replace(item, filter_tier="not_enriched", filter_reason=REMOVED)


def _item_row(
    poll: PollToStore,
    meeting: StoredMeeting,
    item: AgendaItem,
    key: str,
    before: StoredItem | None,
) -> StoredItem:
    why = _filtered(item, poll.found.filters)
    names = [line(one.name, "name") or "" for one in item.attachments]
    urls = [one.url for one in item.attachments]
    votes = [asdict(one) for one in item.votes]
    row = StoredItem(
        item_id=key,
        meeting_id=meeting.meeting_id,
        desk=poll.source.desk,
        agency=poll.source.agency,
        day=meeting.day,
        sequence=item.sequence,
        number=item.number,
        title=line(item.title, "title") or "",
        section=line(item.section, "name") or "",
        matter="" if item.vendor_id == _MINUTES else matter_key(item),
        matter_file=item.matter_file,
        matter_id=item.matter_id,
        matter_type=item.matter_type,
        sponsors=item.sponsors,
        votes_json=json.dumps(votes),
        votes_version=item.version if item.has_votes else "",
        **asdict(item.outcome),
        matter_status=item.matter_status,
        attachment_names=tuple(names),
        attachment_urls=tuple(urls),
        document_ids=tuple(map(_document_id, urls, names)),
        topics=_topics(item, why, before),
        filter_tier=why.tier if why else None,
        filter_reason=why.reason if why else None,
        article_id=None,
        first_seen_at=poll.now,
        last_seen_at=poll.now,
    )
    if before is None:
        return row
    return _with_former(row, before, item.has_votes)


def _with_former(row: StoredItem, before: StoredItem, has_votes: bool) -> StoredItem:
    """Return a row with what stays of the one before: its votes too, if this poll has
    none.
    """
    row = replace(
        row,
        decision=before.decision,
        article_id=before.article_id,
        first_seen_at=before.first_seen_at,
    )
    if has_votes:
        return row
    if not before.votes_version:
        return row
    return replace(
        row,
        sponsors=before.sponsors,
        votes_json=before.votes_json,
        votes_version=before.votes_version,
    )


def _with_former_details(item: AgendaItem, before: StoredItem | None) -> AgendaItem:
    """Return an item whose own pages were not all read this time with what they stated
    before.
    """
    if not item.details_urls:
        return item
    if before is None:
        return item
    attachments = dict.fromkeys(item.attachments)
    for name, url in zip(before.attachment_names, before.attachment_urls, strict=True):
        attachments[Attachment(name=name, url=url)] = None
    votes = [Vote(**vote) for vote in json.loads(before.votes_json)]
    return replace(
        item,
        matter_file=item.matter_file or before.matter_file,
        matter_id=item.matter_id or before.matter_id,
        matter_type=item.matter_type or before.matter_type,
        sponsors=item.sponsors or before.sponsors,
        attachments=tuple(attachments),
        votes=item.votes or tuple(votes),
        outcome=item.outcome.completed(_outcome_of(before)),
    )


def _outcome_of(item: StoredItem) -> ItemOutcome:
    return ItemOutcome(
        action=item.action,
        result=item.result,
        tally=item.tally,
        mover=item.mover,
        seconder=item.seconder,
    )


def _topics(
    item: AgendaItem, why: Filtered | None, before: StoredItem | None
) -> tuple[str, ...]:
    """Return the topics by the title; those by the summary of an item with the same
    title stay.
    """
    if item.vendor_id in (_WHOLE, _MINUTES):
        return ()
    if why is not None and why.tier == "dropped":
        return ()
    title = line(item.title, "title") or ""
    if before is not None and before.topics and before.title == title:
        return before.topics
    return topics_of_item(title)


def _filtered(item: AgendaItem, filters: ItemFilters) -> Filtered | None:
    if item.vendor_id in (_WHOLE, _MINUTES):
        return None
    if not item.title.strip():
        return Filtered("dropped", "without a title")
    return filtered(item.title, filters)


def _document_id(url: str, name: str) -> str:
    """Return the id of an attachment."""
    return sha256(f"{url}\n{name}")


def is_whole_agenda(item: StoredItem) -> bool:
    """Whether an item stands for the agenda of a meeting whose items are not known."""
    return item.item_id.endswith(f"/{_WHOLE}")


def is_minutes(item: StoredItem) -> bool:
    """Whether an item stands for the minutes of a meeting."""
    return item.item_id.endswith(f"/{_MINUTES}")


# --- matters --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Appearances:
    """The agenda items of one matter, by day, and the newest of their articles that has
    a summary, if any.
    """

    items: Sequence[StoredItem]
    summarised: EnrichedArticle | None


def _appearances(
    reader: Reader, desk: str, agency: str, keys: Collection[str]
) -> list[_Appearances]:
    """Return the appearances of each of these matters that has any."""
    items: dict[str, list[StoredItem]] = {}
    articles = set[str]()
    for item in reader.read(StoredItem, desk=[desk], agency=[agency], matter=keys):
        items.setdefault(item.matter, []).append(item)
        if item.article_id:
            articles.add(item.article_id)
    enriched = _with_summary(reader, articles)
    return [_of_matter(of_matter, enriched) for of_matter in items.values()]


def _with_summary(
    reader: Reader, articles: Collection[str]
) -> dict[str, EnrichedArticle]:
    """Return the articles that are shown and have a summary, by article_id."""
    found = reader.frame(
        RawArticle,
        None,
        ("article_id", "filter_reason"),
        article_id=articles,
        outcome=["ok"],
    )
    shown: set[str] = set()
    for article_id, filter_reason in found.iter_rows():
        if not filter_reason:
            shown.add(article_id)
    enriched: dict[str, EnrichedArticle] = {}
    for row in reader.read(EnrichedArticle, article_id=shown, outcome=["ok"]):
        if row.summary:
            enriched[row.article_id] = row
    return enriched


def _of_matter(
    items: Iterable[StoredItem], enriched: Mapping[str, EnrichedArticle]
) -> _Appearances:
    ordered = sorted(items, key=lambda item: (item.day or date.max, item.item_id))
    newest = None
    for item in ordered:
        newest = enriched.get(item.article_id or "", newest)
    return _Appearances(ordered, newest)


def refresh_matters(rows: Rows, desk: str, agency: str, keys: Collection[str]) -> None:
    """Make the rows of these matters of an agency again; those without an item any more
    are deleted.
    """
    if not keys:
        return
    matters = [_matter_row(one) for one in _appearances(rows, desk, agency, keys)]
    gone = set(keys) - {row.matter for row in matters}
    if gone:
        rows.delete(Matter, desk=[desk], agency=[agency], matter=gone)
    rows.upsert(matters)


def refresh_matters_of(
    rows: Rows, articles: Iterable[RawArticle | EnrichedArticle]
) -> None:
    """Make the rows of the matters of these articles again; articles of news have none."""
    keys: dict[tuple[str, str], set[str]] = {}
    columns = ("desk", "agency", "matter")
    found = rows.frame(
        StoredItem,
        None,
        columns,
        article_id=[article.article_id for article in articles],
    )
    for desk, agency, matter in found.iter_rows():
        keys.setdefault((desk, agency), set()).add(matter)
    for (desk, agency), of_agency in keys.items():
        refresh_matters(rows, desk, agency, of_agency - {""})


def _matter_row(one: _Appearances) -> Matter:
    last = one.items[-1]
    days: list[date] = []
    for item in one.items:
        if item.day:
            days.append(item.day)
    statuses = ["", *(item.matter_status for item in one.items if item.matter_status)]
    attachment_hash = ""
    if last.document_ids:
        attachment_hash = sha256("\n".join(sorted(last.document_ids)))
    return Matter(
        desk=last.desk,
        agency=last.agency,
        matter=last.matter,
        title=last.title,
        matter_file=last.matter_file,
        matter_type=last.matter_type,
        item_ids=tuple(item.item_id for item in one.items),
        article_ids=tuple(item.article_id for item in one.items if item.article_id),
        first_day=days[0] if days else None,
        last_day=days[-1] if days else None,
        attachment_hash=attachment_hash,
        summary=one.summarised.summary if one.summarised else None,
        summary_of=one.summarised.article_id if one.summarised else None,
        status=statuses[-1],
    )


# --- after enrichment: topics of items, and summaries of matters ----------------------


def refresh_items_of(rows: Rows, enriched: Sequence[EnrichedArticle]) -> None:
    """Store the topics of the items of these articles, by title and summary, and make
    their matters again.
    """
    summaries = {row.article_id: row.summary for row in enriched}
    items = rows.read(StoredItem, article_id=summaries)
    if not items:  # articles of news
        return
    changed: list[StoredItem] = []
    for item in items:
        summary = summaries[item.article_id or ""]
        if not summary:
            continue
        if is_whole_agenda(item):
            continue
        if is_minutes(item):
            continue
        topics = topics_of_item(item.title, summary)
        if topics != item.topics:
            changed.append(replace(item, topics=topics))
    rows.upsert(changed)
    refresh_matters_of(rows, enriched)
