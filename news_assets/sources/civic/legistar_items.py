"""The items of Legistar's events: `events/{id}/eventitems`, with attachments and
outcomes.

Votes are answers of their own; some saved answers have them added to the items.

Persons, bodies, offices, votes and sponsors are one small answer each. Votes and
sponsors do not always repeat whose they are: the address of the request says it.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Body,
    ItemVotes,
    MatterSponsors,
    MeetingListing,
    Office,
    Outcome,
    Person,
    Roster,
    Vote,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.moments import day_of_text
from news_assets.sources.civic.reading.page_values import Object, objects, text_at
from news_assets.text.urls import web_url

_OUTCOME = ("EventItemPassedFlagName", "EventItemActionName", "EventItemMover")
_TITLES = (
    "EventItemTitle",
    "EventItemMatterName",
    "EventItemActionText",
    "EventItemAgendaNote",
)
_SECTION_WORDS = 12  # a heading has a short title and no matter


def items_by_event(
    rows: Iterable[Object], page: Page
) -> dict[str, tuple[AgendaItem, ...]]:
    """Return the items of each event, in the agenda's order, then those that are in the
    minutes only.
    """
    by_event: dict[str, list[Object]] = {}
    for row in rows:
        if "EventItemId" in row:
            by_event.setdefault(text_at(row, "EventItemEventId"), []).append(row)
    return {event: _items(found, page) for event, found in by_event.items()}


def _items(rows: list[Object], page: Page) -> tuple[AgendaItem, ...]:
    """Return the items, each with the heading above it.

    A heading of an agenda with numbers has none; of one without, it is recognised by
    its words, and stays an item.
    """
    ordered = sorted(rows, key=_place)
    if any(text_at(row, "EventItemAgendaNumber") for row in ordered):
        return _numbered_items(ordered, page)
    found: list[AgendaItem] = []
    section = ""
    for sequence, row in enumerate(ordered, start=1):
        title = text_at(row, *_TITLES)
        if _may_be_heading(row, title):
            found.append(_item(row, sequence, title, "", page))
            section = title
        else:
            found.append(_item(row, sequence, title, section, page))
    return tuple(found)


def _numbered_items(rows: Sequence[Object], page: Page) -> tuple[AgendaItem, ...]:
    """Return the items of an agenda with numbers; a row without one, followed by a row
    with one, is a heading.
    """
    found: list[AgendaItem] = []
    section = ""
    for row, following in zip(rows, [*rows[1:], {}], strict=False):
        title = text_at(row, *_TITLES)
        is_above_items = _is_unnumbered(row) and not _is_unnumbered(following)
        if is_above_items and _may_be_heading(row, title):
            section = title
        else:
            found.append(_item(row, len(found) + 1, title, section, page))
    return tuple(found)


def _may_be_heading(row: Object, title: str) -> bool:
    if row.get("EventItemMatterId"):
        return False
    if row.get("EventItemMatterAttachments"):
        return False
    return 0 < len(title.split()) <= _SECTION_WORDS


def _is_unnumbered(row: Object) -> bool:
    return not text_at(row, "EventItemAgendaNumber")


def _place(row: Object) -> list[int]:
    """Return where an item stands; one without a place in the agenda comes last."""
    names = ("EventItemAgendaSequence", "EventItemMinutesSequence")
    places = [text_at(row, name) for name in names]
    return [int(place) if place.isdigit() else 1_000_000 for place in places]


def _item(
    row: Object, sequence: int, title: str, section: str, page: Page
) -> AgendaItem:
    votes = objects(row.get("EventItemVoteInfo") or row.get("EventItemVotes"))
    return AgendaItem(
        sequence=sequence,
        vendor_id=text_at(row, "EventItemId"),
        number=text_at(row, "EventItemAgendaNumber").rstrip("."),
        title=title,
        section=section,
        matter_file=text_at(row, "EventItemMatterFile") or None,
        matter_id=text_at(row, "EventItemMatterId") or None,
        matter_type=text_at(row, "EventItemMatterType") or None,
        votes=_votes_of(votes),
        attachments=tuple(_attachments(row, page)),
        outcome=_outcome(row),
        matter_status=text_at(row, "EventItemMatterStatus"),
        version=_version(row),
    )


def _outcome(row: Object) -> Outcome:
    return Outcome(
        action=text_at(row, "EventItemActionName"),
        result=text_at(row, "EventItemPassedFlagName"),
        tally=text_at(row, "EventItemTally"),
        mover=text_at(row, "EventItemMover", "EventItemMoverName"),
        seconder=text_at(row, "EventItemSeconder", "EventItemSeconderName"),
    )


def _version(row: Object) -> str:
    """Return the item's id with a hash of its date of change and its outcome; some
    clients state no dates.
    """
    names = (
        "EventItemLastModifiedUtc",
        "EventItemMatterId",
        "EventItemTally",
        *_OUTCOME,
    )
    state = "\n".join(text_at(row, name) for name in names)
    return f"{text_at(row, 'EventItemId')}@{hashlib.sha256(state.encode()).hexdigest()[:16]}"


def _attachments(row: Object, page: Page) -> Iterable[Attachment]:
    for one in objects(row.get("EventItemMatterAttachments")):
        link = text_at(one, "MatterAttachmentHyperlink")
        url = web_url(_full(link, page), page.final_url) if link else None
        if url:
            name = text_at(one, "MatterAttachmentName") or link
            yield Attachment(name=name, url=url)


def _full(link: str, page: Page) -> str:
    """Return an attachment's address; a bare file name lies in the client's folder."""
    if "/" in link:
        return link
    client = page.url.partition("/v1/")[2].partition("/")[0].lower()
    return f"https://{client}.legistar1.com/{client}/attachments/{quote(link)}"


# --- people ---------------------------------------------------------------------------

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
    match = _VOTES.search(page.url)
    if match:
        votes = ItemVotes(item_id=match[1], votes=_votes_of(rows))
        return MeetingListing(votes=(votes,))
    match = _SPONSORS.search(page.url)
    if match:
        sponsors = MatterSponsors(matter_id=match[1], sponsors=_sponsors(rows))
        return MeetingListing(sponsors=(sponsors,))
    roster = _roster(rows)
    if not roster:
        return None
    return MeetingListing(roster=roster)


def _roster(rows: Sequence[Object]) -> Roster:
    """Return the bodies, persons and offices of these rows."""
    bodies: list[Body] = []
    persons: list[Person] = []
    offices: list[Office] = []
    for row in rows:
        if text_at(row, "BodyName"):
            bodies.append(_body(row))
        if text_at(row, "PersonFullName"):
            persons.append(_person(row))
        if text_at(row, "OfficeRecordFullName"):
            offices.append(_office(row))
    return Roster(bodies=tuple(bodies), persons=tuple(persons), offices=tuple(offices))


def _votes_of(rows: Iterable[Object]) -> tuple[Vote, ...]:
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
    if text.isdecimal() and len(text) < 10:
        return int(text)
    return 0


def _body(row: Object) -> Body:
    return Body(
        body_id=text_at(row, "BodyId"),
        name=text_at(row, "BodyName"),
        kind=text_at(row, "BodyTypeName"),
        is_active=text_at(row, "BodyActiveFlag") != "0",
    )


def _person(row: Object) -> Person:
    return Person(
        person_id=text_at(row, "PersonId"),
        name=text_at(row, "PersonFullName"),
        email=text_at(row, "PersonEmail"),
        phone=text_at(row, "PersonPhone"),
        website=text_at(row, "PersonWWW"),
        is_active=text_at(row, "PersonActiveFlag") != "0",
    )


def _office(row: Object) -> Office:
    return Office(
        office_id=text_at(row, "OfficeRecordId"),
        name=text_at(row, "OfficeRecordFullName"),
        person_id=text_at(row, "OfficeRecordPersonId"),
        body=text_at(row, "OfficeRecordBodyName"),
        title=text_at(row, "OfficeRecordTitle", "OfficeRecordMemberType"),
        first_day=day_of_text(text_at(row, "OfficeRecordStartDate")),
        last_day=day_of_text(text_at(row, "OfficeRecordEndDate")),
    )
