"""Meetings with their items, articles and documents; meetings in parts, the ones to come
first; the meeting of an article; and a person of an agency with the votes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Annotated, Any, Final

from news_assets.pipeline.civic.item_rows import REMOVED, is_minutes
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.content import ItemId, MeetingDay, MeetingId
from news_assets.records.councils import (
    PersonKey,
    StoredMember,
    StoredOffice,
    StoredVote,
)
from news_assets.records.derived import EnrichedArticle
from news_assets.records.meetings import (
    StoredDocument,
    StoredItem,
    StoredMeeting,
)
from news_assets.store.lake import Lake
from news_assets.store.tables import made_of, stated
from news_assets.store.transaction import Snapshot

_WHOLE_AGENDA: Final = slice(None)
# A body's name; where no body has this name, a part of it or of the title.
_OF_BODY = """
    CASE WHEN EXISTS (SELECT 1 FROM meetings WHERE lower(body) = lower($body))
        THEN lower(body) = lower($body)
    ELSE contains(lower(body), lower($body)) OR contains(lower(title), lower($body)) END
"""
_BODIES = (
    f"SELECT DISTINCT body FROM meetings WHERE body <> '' AND {_OF_BODY} ORDER BY ALL"
)
CONDITIONS = {
    "desk": "desk = $desk",
    "agency": "agency = $agency",
    "body": _OF_BODY,
    "first": "day >= $first",
    "last": "day <= $last",
    "ids": "meeting_id IN "
    "(SELECT meeting_id FROM agenda_items WHERE list_contains($ids, article_id))",
}


_LAST_CHANGES: Final = """
    SELECT meeting_id, item_id, max(changed_at) FROM meeting_changes
    WHERE list_contains($ids, meeting_id) GROUP BY ALL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDetails:
    """An agenda item with its documents, in their order, and with the summary and text
    of its article, if any.
    """

    item: StoredItem
    documents: tuple[StoredDocument, ...] = ()
    summary: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingDetails:
    """A meeting with items in the order of the agenda, and the item that stands for its
    minutes, if it has any.

    `agenda` are all items, `items` a part of them with what belongs to them.
    """

    meeting: StoredMeeting
    agenda: tuple[StoredItem, ...]
    items: tuple[ItemDetails, ...]
    minutes: StoredItem | None = None


def meeting_details(
    lake: Reader, meeting_id: str, part: slice = _WHOLE_AGENDA
) -> MeetingDetails | None:
    """Return a meeting with a part of its items; None for an unknown id."""
    found = lake.read(StoredMeeting, meeting_id=[meeting_id])
    if not found:
        return None
    items = _items_of(lake, [meeting_id])
    minutes = next((item for item in items if is_minutes(item)), None)
    agenda = tuple(item for item in items if not is_minutes(item))
    return MeetingDetails(
        meeting=found[0],
        agenda=agenda,
        items=tuple(item_details(lake, agenda[part])),
        minutes=minutes,
    )


def agendas_of(
    lake: Reader, meeting_ids: Collection[str]
) -> dict[str, list[StoredItem]]:
    """Return the items of each of these meetings that has any, in the order of its
    agenda; without the minutes.
    """
    items: dict[str, list[StoredItem]] = defaultdict(list)
    for item in _items_of(lake, meeting_ids):
        if not is_minutes(item):
            items[item.meeting_id].append(item)
    return dict(items)


def _items_of(lake: Reader, meeting_ids: Collection[str]) -> list[StoredItem]:
    return sorted(
        lake.read(StoredItem, meeting_id=meeting_ids),
        key=lambda item: (item.sequence, item.item_id),
    )


def item_details(lake: Reader, items: Sequence[StoredItem]) -> list[ItemDetails]:
    """Return these items, in the same order, with their documents, summaries and texts."""
    articles = set[str]()
    document_ids = set[str]()
    for item in items:
        document_ids.update(item.document_ids)
        if item.article_id:
            articles.add(item.article_id)
    texts: dict[str | None, str | None] = {}
    for article in lake.read(RawArticle, article_id=articles):
        texts[article.article_id] = article.text
    summaries: dict[str | None, str | None] = {}
    for enriched in lake.read(EnrichedArticle, article_id=articles):
        summaries[enriched.article_id] = enriched.summary
    stored = lake.read(StoredDocument, document_id=document_ids)
    documents = {row.document_id: row for row in with_text(lake, stored)}
    details = []
    for item in items:
        of_item = [documents[key] for key in item.document_ids if key in documents]
        details.append(
            ItemDetails(
                item=item,
                documents=tuple(of_item),
                summary=summaries.get(item.article_id) or "",
                text=texts.get(item.article_id) or "",
            )
        )
    return details


def with_text(
    lake: Reader, documents: Sequence[StoredDocument]
) -> list[StoredDocument]:
    """Return the documents, copies with the text of the document that was read in their
    place.
    """
    originals = {row.copy_of for row in documents if row.copy_of and row.text is None}
    texts: dict[str | None, str | None] = {}
    for original in lake.read(StoredDocument, document_id=originals):
        texts[original.document_id] = original.text
    found = []
    for row in documents:
        is_copy = row.copy_of in texts
        found.append(replace(row, text=texts[row.copy_of]) if is_copy else row)
    return found


def bodies_named(lake: Lake, name: str) -> list[str]:
    """Return the names of the bodies that a name, or a part of one, selects, as
    `_OF_BODY` does.
    """
    return lake.query(_BODIES, {"body": name})["body"].to_list()


def selected_sql(conditions: Iterable[str]) -> str:
    """Return the query for the meetings with a day that pass these conditions."""
    where = " AND ".join(CONDITIONS[name] for name in conditions) or "true"
    return f"SELECT meeting_id FROM meetings WHERE day IS NOT NULL AND {where}"


def selected_meetings(
    lake: Lake,
    *,
    desk: str | None = None,
    agency: str | None = None,
    body: str | None = None,
    days: tuple[date | None, date | None] = (None, None),
    article_ids: Collection[str] | None = None,
) -> list[StoredMeeting]:
    """Return meetings with a day, by day and begin.

    Args:
        lake: The lake.
        desk: Key of the desk.
        agency: Key of the agency.
        body: Name of a body in any case; where no body has this name, a part of it or
            of the title.
        days: First and last day.
        article_ids: Of agenda items; only their meetings are returned.
    """
    values = {
        "desk": desk,
        "agency": agency,
        "body": body,
        "first": days[0],
        "last": days[1],
        "ids": None if article_ids is None else list(article_ids),
    }
    given = stated(values)
    ids = lake.query(selected_sql(given), given)["meeting_id"].to_list()
    rows = lake.read(StoredMeeting, meeting_id=ids) if ids else []
    return sorted(
        rows, key=lambda row: (str(row.day), str(row.starts_at or ""), row.meeting_id)
    )


# --- meetings in parts ----------------------------------------------------------------


# days from the one that the list begins at, begin in seconds since 1970, meeting_id
Position = tuple[int, int, str]

# days: past meetings come after all to come, and those without a day last
_BEHIND = 1_000_000
_NEAREST = f"""
    WITH about AS (
        SELECT meeting_id FROM agenda_items
        WHERE ($topic IS NULL OR list_contains(topics, $topic))
            AND coalesce(filter_reason, '') <> '{REMOVED}'
            AND ($article_ids IS NULL OR list_contains($article_ids, article_id))
    )
    SELECT meeting_id, distance, begin FROM (
        SELECT meeting_id, coalesce(epoch(starts_at), 0)::BIGINT AS begin, CASE
            WHEN day IS NULL THEN 2 * {_BEHIND}
            WHEN day >= $first_day::DATE THEN day - $first_day::DATE
            ELSE {_BEHIND} + ($first_day::DATE - day)
        END AS distance
        FROM meetings
        WHERE ($desk IS NULL OR desk = $desk) AND ($agency IS NULL OR agency = $agency)
            AND ($status IS NULL OR status = $status)
            AND ($body IS NULL OR {_OF_BODY})
            AND (($topic IS NULL AND $article_ids IS NULL) OR 
                meeting_id IN (SELECT meeting_id FROM about))
            AND ($from_day IS NULL OR day >= $from_day::DATE)
            AND ($to_day IS NULL OR day <= $to_day::DATE)
    )
    WHERE $distance IS NULL
        OR (distance, begin, meeting_id) > ($distance::BIGINT, $begin::BIGINT, $meeting_id)
    ORDER BY distance, begin, meeting_id LIMIT $limit
"""
_PLACE = """
    SELECT i.item_id, i.meeting_id, i.desk, i.agency, i.matter, m.title, m.body, m.day, m.status
    FROM agenda_items i JOIN meetings m USING (meeting_id) WHERE i.article_id = $article_id
    ORDER BY i.item_id LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgendaPlace:
    """The agenda item that an article is made of, and its meeting."""

    item_id: ItemId
    meeting_id: MeetingId
    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    matter: Annotated[
        str, "key of the matter within the agency; empty for an item without one"
    ]
    title: Annotated[str, "title of the meeting in the listing"]
    body: Annotated[str, "council, board or committee that meets"]
    day: MeetingDay
    status: Annotated[str, "status of the meeting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingFilters:
    """Which meetings are listed; None is no filter.

    `desk` and `agency` are keys; `body` is a part of the body's name or of the title,
    in any case; no meeting is before `from_day` or after `to_day`. `topic` is one of an
    item on the agenda. Of `article_ids`, an item is one of these articles, and has the
    topic.
    """

    desk: str | None = None
    agency: str | None = None
    body: str | None = None
    status: str | None = None
    from_day: date | None = None
    to_day: date | None = None
    topic: str | None = None
    article_ids: Sequence[str] | None = None


def nearest_meetings(
    lake: Lake,
    first_day: date,
    filters: MeetingFilters,
    *,
    after: Position | None = None,
    limit: int,
) -> list[tuple[Position, StoredMeeting]]:
    """Return up to `limit` meetings with their positions: from `first_day` on, then
    earlier ones, the nearest day first; only those after the position `after`.
    """
    distance, begin, meeting_id = after or (None, None, None)
    given = asdict(filters) | {
        "first_day": first_day,
        "distance": distance,
        "begin": begin,
        "meeting_id": meeting_id,
        "limit": limit,
    }
    with lake.latest() as snapshot:
        found = snapshot.query(_NEAREST, given)
        ids = found["meeting_id"].to_list()
        meetings = snapshot.read(StoredMeeting, meeting_id=ids)
    by_id = {row.meeting_id: row for row in meetings}
    nearest = []
    for key, distance, begin in found.iter_rows():
        if key in by_id:
            nearest.append(((distance, begin, key), by_id[key]))
    return nearest


def place_of_article(lake: Snapshot, article_id: str) -> AgendaPlace | None:
    """Return the agenda item that an article is made of; None for an article of news."""
    found = lake.query(_PLACE, {"article_id": article_id})
    return next(iter(made_of(AgendaPlace, found)), None)


def last_changes(
    lake: Reader, meeting_ids: Iterable[str]
) -> dict[tuple[str, str], datetime]:
    """Return when these meetings and their items changed last, by meeting_id and item_id;
    an empty item_id is for the meeting itself. None that never changed.
    """
    found = lake.query(_LAST_CHANGES, {"ids": list(meeting_ids)})
    return {(meeting, item): at for meeting, item, at in found.iter_rows()}


# --- persons --------------------------------------------------------------------------


_IS_PERSON = """
    v.desk = $desk AND v.agency = $agency AND (
        v.person = $person OR (v.person_id <> '' AND v.person_id IN (
        SELECT person_id FROM members WHERE desk = $desk AND agency = $agency AND person = $person
    )))
"""
_VOTES = f"""
    SELECT v.item_id, v.meeting_id, v.day, v.name, v.value, i.number, i.title, i.matter,
        i.matter_file, i.article_id,
        i.action, i.result, m.body
    FROM votes v JOIN agenda_items i USING (item_id) JOIN meetings m ON m.meeting_id = v.meeting_id
    WHERE {_IS_PERSON} AND ($day IS NULL OR (v.day, v.item_id) < ($day::DATE, $item_id))
    ORDER BY v.day DESC, v.item_id DESC LIMIT $limit
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteOfPerson:
    """A vote of a person with its agenda item."""

    item_id: ItemId
    meeting_id: MeetingId
    day: MeetingDay
    name: Annotated[str, "name of the member, in the vendor's words"]
    value: Annotated[str, "vote, in the vendor's words"]
    number: Annotated[str, "number in the agenda"]
    title: Annotated[str, "title of the item"]
    matter: Annotated[
        str, "key of the matter within the agency; empty for an item without one"
    ]
    matter_file: Annotated[str | None, "public number of the matter"]
    article_id: Annotated[str | None, "id of the item's article"]
    action: Annotated[str, "what the body did, in the vendor's words"]
    result: Annotated[str, "result of the vote, in the vendor's words"]
    body: Annotated[str, "council, board or committee that met"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PersonDetails:
    """A person: the row of the member, if the vendor lists one, the offices, and votes."""

    person: PersonKey
    member: StoredMember | None
    offices: list[StoredOffice]
    votes: list[VoteOfPerson]


def _end_and_body(office: StoredOffice) -> tuple[date, str]:
    """Return the last day of an office, the latest possible of a present one."""
    return office.last_day or date.max, office.body


def person_details(
    lake: Lake,
    desk: str,
    agency: str,
    person: str,
    after: tuple[date, str] | None,
    limit: int,
) -> _PersonDetails | None:
    """Return a person with votes; None for one who is not known.

    Args:
        lake: The lake.
        desk: Key of the desk.
        agency: Key of the agency.
        person: Key of the person.
        after: Day and item_id of a vote; only older ones follow.
        limit: How many votes.
    """
    where: dict[str, Any] = {"desk": [desk], "agency": [agency], "person": [person]}
    day, item_id = after or (None, None)
    given = {
        "desk": desk,
        "agency": agency,
        "person": person,
        "day": day,
        "item_id": item_id,
        "limit": limit,
    }
    with lake.latest() as snapshot:
        members = snapshot.read(StoredMember, **where)
        offices = snapshot.read(StoredOffice, **where)
        votes = made_of(VoteOfPerson, snapshot.query(_VOTES, given))
        has_rows = any((members, offices, votes))
        if not has_rows and not snapshot.read(StoredVote, **where):
            return None
    offices.sort(key=_end_and_body, reverse=True)
    return _PersonDetails(
        person=person,
        member=members[0] if members else None,
        offices=offices,
        votes=votes,
    )
