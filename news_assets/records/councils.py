"""Who sits on the bodies of an agency, as vendors list them and as rows of the lake; and
how they voted.

A person's key within an agency is made of the name, so that one who is only named in
votes and minutes has a key too.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from news_assets.records.content import Agency_, Desk_, ItemId, MeetingDay, MeetingId

PersonKey = Annotated[
    str, "key of the person within the agency: the name in lower case, with hyphens"
]
_PersonId = Annotated[str, "the vendor's id of the person; empty without one"]
_BodyName = Annotated[str, "council, board or committee"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body in a vendor's list."""

    body_id: str
    name: str
    kind: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person in a vendor's list."""

    person_id: str
    name: str
    email: str = ""
    phone: str = ""
    website: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """An office in a vendor's list."""

    office_id: str
    name: str
    person_id: str
    body: str
    title: str = ""
    first_day: date | None = None
    last_day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The bodies, persons and offices of one or several answers."""

    bodies: tuple[Body, ...] = ()
    persons: tuple[Person, ...] = ()
    offices: tuple[Office, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.bodies or self.persons or self.offices)


# --- rows of the lake -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBody:
    """A council, board or committee of an agency, as its vendor lists it."""

    desk: Desk_
    agency: Agency_
    name: _BodyName
    kind: Annotated[str, "kind, in the vendor's words"]
    is_active: Annotated[bool, "whether the vendor calls it active"]
    body_id: Annotated[str, "the vendor's id of the body"]
    listed_at: Annotated[datetime, "time of the answer that first stated this"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMember:
    """A person that a vendor lists: members of bodies, former ones too, and officers."""

    desk: Desk_
    agency: Agency_
    person: PersonKey
    name: Annotated[str, "full name"]
    person_id: _PersonId
    email: Annotated[str, "e-mail address of the office"]
    phone: Annotated[str, "telephone number of the office"]
    website: Annotated[str, "page of the person"]
    is_active: Annotated[bool, "whether the vendor calls the person active"]
    listed_at: Annotated[datetime, "time of the answer that first stated this"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOffice:
    """An office of a person in a body, with its term."""

    desk: Desk_
    agency: Agency_
    office_id: Annotated[str, "the vendor's id of the record"]
    person: PersonKey
    name: Annotated[str, "full name of the person"]
    person_id: _PersonId
    body: _BodyName
    title: Annotated[str, "office in the body, such as Chair; in the vendor's words"]
    first_day: Annotated[date | None, "first day of the term"]
    last_day: Annotated[date | None, "last day of the term; none if no end is stated"]
    listed_at: Annotated[datetime, "time of the answer that first stated this"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVote:
    """How one member voted on one agenda item."""

    item_id: ItemId
    meeting_id: MeetingId
    desk: Desk_
    agency: Agency_
    day: MeetingDay
    person: PersonKey
    name: Annotated[str, "name of the member, in the vendor's words"]
    person_id: _PersonId
    value: Annotated[str, "vote, in the vendor's words"]
