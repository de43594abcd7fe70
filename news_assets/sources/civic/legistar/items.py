"""The items of Legistar's events: `events/{id}/eventitems`, with attachments and
outcomes.

Votes are answers of their own; some saved answers have them added to the items.
"""

import hashlib
from collections.abc import Iterable
from urllib.parse import quote

from news_assets.records.meetings import AgendaItem, Attachment, Outcome
from news_assets.records.reading import Page
from news_assets.sources.civic.legistar.people import votes_of
from news_assets.sources.civic.reading.pages import Object, objects, text_at
from news_assets.text.urls import web_url

_OUTCOME = ("EventItemPassedFlagName", "EventItemActionName", "EventItemMover")
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
    has_numbers = any(text_at(row, "EventItemAgendaNumber") for row in ordered)
    found: list[AgendaItem] = []
    section = ""
    for place, row in enumerate(ordered):
        title = text_at(
            row,
            "EventItemTitle",
            "EventItemMatterName",
            "EventItemActionText",
            "EventItemAgendaNote",
        )
        may_be_heading = _may_be_heading(row, title)
        has_items = place + 1 < len(ordered) and not (
            has_numbers and _is_unnumbered(ordered[place + 1])
        )
        if may_be_heading and has_numbers and _is_unnumbered(row) and has_items:
            section = title
            continue
        is_heading = may_be_heading and not has_numbers
        found.append(
            _item(row, len(found) + 1, title, "" if is_heading else section, page)
        )
        section = title if is_heading and title else section
    return tuple(found)


def _may_be_heading(row: Object, title: str) -> bool:
    has_matter = row.get("EventItemMatterId") or row.get("EventItemMatterAttachments")
    return bool(title) and not has_matter and len(title.split()) <= _SECTION_WORDS


def _is_unnumbered(row: Object) -> bool:
    return not text_at(row, "EventItemAgendaNumber")


def _place(row: Object) -> tuple[int, int]:
    """Return where an item stands; one without a place in the agenda comes last."""
    places = (
        text_at(row, "EventItemAgendaSequence"),
        text_at(row, "EventItemMinutesSequence"),
    )
    on_agenda, in_minutes = (
        int(place) if place.isdigit() else 1_000_000 for place in places
    )
    return on_agenda, in_minutes


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
        votes=votes_of(votes),
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
        name, link = (
            text_at(one, "MatterAttachmentName"),
            text_at(one, "MatterAttachmentHyperlink"),
        )
        url = web_url(_full(link, page), page.final_url) if link else None
        if url:
            yield Attachment(name=name or link, url=url)


def _full(link: str, page: Page) -> str:
    """Return an attachment's address; a bare file name lies in the client's folder."""
    if "/" in link:
        return link
    client = page.url.partition("/v1/")[2].partition("/")[0].lower()
    return f"https://{client}.legistar1.com/{client}/attachments/{quote(link)}"
