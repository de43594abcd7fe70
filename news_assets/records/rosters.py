"""Bodies, persons and offices as a vendor lists them. Ids are the vendor's own; an
empty text means unknown.
"""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body in a vendor's list."""

    vendor_id: str
    name: str
    kind: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person in a vendor's list."""

    vendor_id: str
    name: str
    email: str = ""
    phone: str = ""
    website: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """An office in a vendor's list."""

    vendor_id: str
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


NO_ROSTER = Roster()
