"""Votes, sponsors, persons, bodies and offices of Legistar's Web API, one small answer
each.

Votes and sponsors do not always repeat whose they are: the address of the request says
it.
"""

import re
from collections.abc import Iterable, Sequence

from news_assets.records.meetings import (
    AgendaItem,
    ItemVotes,
    MatterSponsors,
    MeetingListing,
    Vote,
)
from news_assets.records.reading import Page
from news_assets.records.rosters import Body, Office, Person, Roster
from news_assets.sources.civic.reading.moments import day_of_text
from news_assets.sources.civic.reading.pages import Object, text_at

ROSTER_PATHS = ("/bodies", "/persons", "/officerecords")
_VOTES = re.compile(r"/eventitems/(\d{1,12})/votes(?:\?|$)", re.IGNORECASE)
_SPONSORS = re.compile(r"/matters/(\d{1,12})/sponsors(?:\?|$)", re.IGNORECASE)


def item_paths(item: AgendaItem) -> Iterable[str]:
    """Yield the paths with an item's votes, once there is an outcome, and with the
    sponsors of its matter.
    """
    if item.outcome:
        yield f"/eventitems/{item.vendor_id}/votes"
    if item.matter_id:
        yield f"/matters/{item.matter_id}/sponsors"


def people_of(rows: Sequence[Object], page: Page) -> MeetingListing | None:
    """Return what an answer says about people; None for another answer."""
    if match := _VOTES.search(page.url):
        return MeetingListing(
            votes=(ItemVotes(item_id=match[1], votes=votes_of(rows)),)
        )
    if match := _SPONSORS.search(page.url):
        return MeetingListing(
            sponsors=(MatterSponsors(matter_id=match[1], sponsors=_sponsors(rows)),)
        )
    roster = Roster(
        bodies=tuple(_body(row) for row in rows if text_at(row, "BodyName")),
        persons=tuple(_person(row) for row in rows if text_at(row, "PersonFullName")),
        offices=tuple(
            _office(row) for row in rows if text_at(row, "OfficeRecordFullName")
        ),
    )
    return MeetingListing(roster=roster) if roster else None


def votes_of(rows: Iterable[Object]) -> tuple[Vote, ...]:
    """Return the votes of these rows in the vendor's order."""
    ordered = sorted(rows, key=lambda row: _number(row, "VoteSort"))
    return tuple(
        Vote(
            person=text_at(row, "VotePersonName"),
            value=text_at(row, "VoteValueName"),
            person_id=text_at(row, "VotePersonId"),
        )
        for row in ordered
        if text_at(row, "VotePersonName")
    )


def _sponsors(rows: Iterable[Object]) -> tuple[str, ...]:
    ordered = sorted(rows, key=lambda row: _number(row, "MatterSponsorSequence"))
    return tuple(
        dict.fromkeys(
            name for row in ordered if (name := text_at(row, "MatterSponsorName"))
        )
    )


def _number(row: Object, name: str) -> int:
    text = text_at(row, name)
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _body(row: Object) -> Body:
    return Body(
        vendor_id=text_at(row, "BodyId"),
        name=text_at(row, "BodyName"),
        kind=text_at(row, "BodyTypeName"),
        is_active=text_at(row, "BodyActiveFlag") != "0",
    )


def _person(row: Object) -> Person:
    return Person(
        vendor_id=text_at(row, "PersonId"),
        name=text_at(row, "PersonFullName"),
        email=text_at(row, "PersonEmail"),
        phone=text_at(row, "PersonPhone"),
        website=text_at(row, "PersonWWW"),
        is_active=text_at(row, "PersonActiveFlag") != "0",
    )


def _office(row: Object) -> Office:
    return Office(
        vendor_id=text_at(row, "OfficeRecordId"),
        name=text_at(row, "OfficeRecordFullName"),
        person_id=text_at(row, "OfficeRecordPersonId"),
        body=text_at(row, "OfficeRecordBodyName"),
        title=text_at(row, "OfficeRecordTitle", "OfficeRecordMemberType"),
        first_day=day_of_text(text_at(row, "OfficeRecordStartDate")),
        last_day=day_of_text(text_at(row, "OfficeRecordEndDate")),
    )
