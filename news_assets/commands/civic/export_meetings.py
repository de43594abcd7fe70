"""`export meetings --format ical` and `ocd`: meetings by body and day, or those with
items that a search finds.
"""

from dataclasses import dataclass
from pathlib import Path

from news_assets.commands.opening import check_names, open_lake
from news_assets.commands.options import Days
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.exports import Zones, calendar_of, ocd_event, zones_of
from news_assets.search import Filters, open_index
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.copies import items_like
from news_assets.store.queries.stored_meetings import agendas_of, selected_meetings
from news_assets.terminal import write_document
from news_assets.text.tabular.cells import json_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which meetings: of this desk, agency and body, of these days, and with items that
    have these words.
    """

    desk: str | None = None
    agency: str | None = None
    body: str | None = None
    days: Days = (None, None)
    words: str | None = None


def export_meetings(
    selection: Selection, output: Path | None, *, is_calendar: bool
) -> None:
    """Write the meetings as one calendar, or as JSON lines of events.

    Raises:
        NewsAssetsError: No meeting is selected.
    """
    check_names(selection.desk, selection.agency)
    with open_lake() as lake:
        meetings = selected_meetings(
            lake,
            desk=selection.desk,
            agency=selection.agency,
            body=selection.body,
            days=selection.days,
            article_ids=_items_with(lake, selection),
        )
        items = agendas_of(lake, {meeting.meeting_id for meeting in meetings})
    if not meetings:
        raise NewsAssetsError(
            "no such meetings; `news-assets export meetings` writes all of them as rows"
        )
    zones = agency_zones()
    if is_calendar:
        write_document(calendar_of(meetings, items, zones), output)
        return
    lines = []
    for meeting in meetings:
        event = ocd_event(meeting, items.get(meeting.meeting_id, ()), zones)
        lines.append(json_of(event) + "\n")
    write_document("".join(lines).encode(), output)


def agency_zones() -> Zones:
    """Return the time zones of all agencies of the desk files, by desk and agency."""
    return zones_of(load_desks(Settings.read().desks, ALL_KINDS))


def _items_with(lake: Lake, selection: Selection) -> set[str] | None:
    """Return the ids of the agenda items that have the words; None without words."""
    if selection.words is None:
        return None
    filters = Filters(desk=selection.desk, agency=selection.agency)
    with open_index() as index:
        found = index.articles_with(selection.words, filters)
    return found | items_like(lake, found)
