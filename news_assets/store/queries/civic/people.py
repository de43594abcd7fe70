"""A person of an agency with the votes, the newest first."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from news_assets.records.content import ItemId, MeetingDay, MeetingId
from news_assets.records.councils import (
    PersonKey,
    StoredMember,
    StoredOffice,
    StoredVote,
)
from news_assets.store.lake import Lake

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


def person_details(
    lake: Lake,
    desk: str,
    agency: str,
    person: str,
    after: tuple[date, str] | None,
    limit: int,
) -> _PersonDetails | None:
    """Return a person with so many votes after the one of a day and item_id; None for
    one who is not known.
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
        votes = [
            VoteOfPerson(**row)
            for row in snapshot.query(_VOTES, given).iter_rows(named=True)
        ]
        is_known = bool(
            members or offices or votes or snapshot.read(StoredVote, **where)
        )
    if not is_known:
        return None
    offices.sort(
        key=lambda office: (office.last_day or date.max, office.body), reverse=True
    )
    return _PersonDetails(
        person=person,
        member=members[0] if members else None,
        offices=offices,
        votes=votes,
    )
