"""Meetings in parts, the ones to come first, and the meeting of an article."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from news_assets.pipeline.civic.item_rows import REMOVED
from news_assets.records.content import ItemId, MeetingDay, MeetingId
from news_assets.records.meetings import StoredMeeting
from news_assets.store.lake import Lake
from news_assets.store.queries.civic.meetings import OF_BODY
from news_assets.store.transaction import Snapshot

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
            AND ($body IS NULL OR {OF_BODY})
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


def nearest_meetings(
    lake: Lake,
    first_day: date,
    *,
    desk: str | None = None,
    agency: str | None = None,
    body: str | None = None,
    status: str | None = None,
    from_day: date | None = None,
    to_day: date | None = None,
    topic: str | None = None,
    article_ids: Collection[str] | None = None,
    after: Position | None = None,
    limit: int,
) -> list[tuple[Position, StoredMeeting]]:
    """Return meetings with their positions: those of `first_day` and later, then
    earlier ones, the nearest day first.

    `body` is a part of the body's name or the title, in any case. `topic` is that of an
    item on the agenda, and `article_ids` are the articles of items of which one is on
    it; with both, of the same item. With `after` only those that come after it.
    """
    distance, begin, meeting_id = after or (None, None, None)
    given: dict[str, Any] = {
        "desk": desk,
        "agency": agency,
        "body": body,
        "status": status,
        "from_day": from_day,
        "to_day": to_day,
        "topic": topic,
        "article_ids": None if article_ids is None else list(article_ids),
    }
    given |= {
        "first_day": first_day,
        "distance": distance,
        "begin": begin,
        "meeting_id": meeting_id,
        "limit": limit,
    }
    with lake.latest() as snapshot:
        found = snapshot.query(_NEAREST, given)
        rows = {
            row.meeting_id: row
            for row in snapshot.read(
                StoredMeeting, meeting_id=found["meeting_id"].to_list()
            )
        }
    return [
        ((far, at, key), rows[key]) for key, far, at in found.iter_rows() if key in rows
    ]


def place_of_article(lake: Snapshot, article_id: str) -> AgendaPlace | None:
    """Return the agenda item that an article is made of; None for an article of news."""
    found = lake.query(_PLACE, {"article_id": article_id})
    return next((AgendaPlace(**row) for row in found.iter_rows(named=True)), None)
