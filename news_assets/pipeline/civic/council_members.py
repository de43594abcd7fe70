"""Stores how members voted, and the bodies, members and offices of an agency, in the
transaction of a poll.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from news_assets.ports.services import Rows
from news_assets.records.councils import (
    Roster,
    StoredBody,
    StoredMember,
    StoredOffice,
    StoredVote,
)
from news_assets.records.desks import Source
from news_assets.records.meetings import StoredItem
from news_assets.text.fingerprint import normal_words
from news_assets.text.limits import line

Listed = TypeVar("Listed", StoredBody, StoredMember, StoredOffice)


def person_key(name: str) -> str:
    """Return the key of a person within an agency: the name in lower case without
    accents, with hyphens.
    """
    return "-".join(normal_words(name))


# --- votes ----------------------------------------------------------------------------


def store_votes(
    rows: Rows, items: Sequence[StoredItem], before: Mapping[str, StoredItem]
) -> None:
    """Store the votes on those of these items whose votes or day changed; `before` are
    the stored items by id.
    """
    known: list[str] = []
    votes: list[StoredVote] = []
    for item in items:
        stored = before.get(item.item_id)
        of_item = _votes_of(item)
        if stored is None:
            votes += of_item
        elif of_item != _votes_of(stored):
            known.append(item.item_id)
            votes += of_item
    if known:
        rows.delete(StoredVote, item_id=known)
    rows.upsert(votes)


def _votes_of(item: StoredItem) -> list[StoredVote]:
    votes: list[StoredVote] = []
    for vote in json.loads(item.votes_json):
        person = person_key(vote["person"])
        if not person:
            continue
        votes.append(
            StoredVote(
                item_id=item.item_id,
                meeting_id=item.meeting_id,
                desk=item.desk,
                agency=item.agency,
                day=item.day,
                person=person,
                name=line(vote["person"], "name") or "",
                person_id=vote.get("person_id", ""),
                value=line(vote["value"], "name") or "",
            )
        )
    return votes


# --- bodies, members and offices ------------------------------------------------------


def store_roster(rows: Rows, source: Source, roster: Roster, now: datetime) -> None:
    """Store the bodies, members and offices that a poll listed and that are new or
    changed; none are deleted.
    """
    owner = {"desk": source.desk, "agency": source.agency}
    bodies = [
        StoredBody(
            **owner,
            name=one.name,
            kind=one.kind,
            is_active=one.is_active,
            body_id=one.vendor_id,
            listed_at=now,
        )
        for one in roster.bodies
    ]
    members = [
        StoredMember(
            **owner,
            person=person_key(one.name),
            name=one.name,
            person_id=one.vendor_id,
            email=one.email,
            phone=one.phone,
            website=one.website,
            is_active=one.is_active,
            listed_at=now,
        )
        for one in roster.persons
    ]
    offices = [
        StoredOffice(
            **owner,
            office_id=one.vendor_id,
            person=person_key(one.name),
            name=one.name,
            person_id=one.person_id,
            body=one.body,
            title=one.title,
            first_day=one.first_day,
            last_day=one.last_day,
            listed_at=now,
        )
        for one in roster.offices
        if one.vendor_id
    ]
    _store(rows, StoredMember, [one for one in members if one.person], "person")
    _store(rows, StoredBody, bodies, "name")
    _store(rows, StoredOffice, [one for one in offices if one.person], "office_id")


def _store(
    rows: Rows, record: type[Listed], listed: Sequence[Listed], key: str
) -> None:
    """Store the rows that say something new. Of several with one key, such as
    namesakes, the active one counts.
    """
    if not listed:
        return
    found: dict[str, Listed] = {}
    for row in sorted(listed, key=lambda row: getattr(row, "is_active", True)):
        found[getattr(row, key)] = row
    of_agency = rows.read(record, desk=[listed[0].desk], agency=[listed[0].agency])
    for stored in of_agency:
        name = getattr(stored, key)
        row = found.get(name, stored)
        if replace(stored, listed_at=row.listed_at) == row:
            found.pop(name, None)  # listed as it is stored
    rows.upsert(list(found.values()))
