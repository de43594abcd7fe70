"""Puts votes and sponsors, which some vendors state in answers of their own, to the
items of meetings.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from news_assets.records.meetings import AgendaItem, Meeting, MeetingListing


def with_votes(
    meeting: Meeting,
    listings: Sequence[MeetingListing],
    versions: Collection[str] | None = None,
) -> Meeting:
    """Return a meeting with the votes and sponsors of these answers.

    Items with one of these versions count as requested; without `versions` those that
    an answer is about.
    """
    votes = {one.item_id: one.votes for listing in listings for one in listing.votes}
    sponsors = {
        one.matter_id: one.sponsors for listing in listings for one in listing.sponsors
    }

    def completed(item: AgendaItem) -> AgendaItem:
        is_known = item.vendor_id in votes or item.matter_id in sponsors
        return replace(
            item,
            votes=votes.get(item.vendor_id, item.votes),
            sponsors=sponsors.get(item.matter_id or "", item.sponsors),
            has_votes=is_known if versions is None else item.version in versions,
        )

    return replace(meeting, items=tuple(map(completed, meeting.items)))
