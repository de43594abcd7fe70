"""`export meetings --format ical` and `ocd`: meetings by body and day, or those with
items that a search finds.
"""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from news_assets.commands.lake import check_names, open_lake
from news_assets.commands.options import Form
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.exports import Zones, calendar_of, ocd_event, zones_of
from news_assets.search import Filters, open_index
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.civic.appearances import items_like
from news_assets.store.queries.civic.meetings import agendas_of, selected_meetings
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
    days: tuple[date | None, date | None] = (None, None)
    words: str | None = None


def export_meetings(selection: Selection, form: Form, output: Path | None) -> None:
    """Write the meetings as one calendar, or as JSON lines of events.

    Raises:
        NewsAssetsError: No meeting is selected.
    """
    check_names(selection.desk, selection.agency)
    with open_lake() as lake:
        found = (
            None
            if selection.words is None
            else _items_with(lake, selection.words, selection)
        )
        meetings = selected_meetings(
            lake,
            desk=selection.desk,
            agency=selection.agency,
            body=selection.body,
            days=selection.days,
            article_ids=found,
        )
        items = agendas_of(lake, {meeting.meeting_id for meeting in meetings})
    if not meetings:
        raise NewsAssetsError(
            "no such meetings; `news-assets export meetings` writes all of them as rows"
        )
    zones = agency_zones()
    if form is Form.ICAL:
        data = calendar_of(meetings, items, zones)
    else:
        events = (
            ocd_event(meeting, items.get(meeting.meeting_id, ()), zones)
            for meeting in meetings
        )
        data = "".join(json_of(event) + "\n" for event in events).encode()
    write_document(data, output)


def agency_zones() -> Zones:
    """Return the time zones of all agencies of the desk files, by desk and agency."""
    return zones_of(load_desks(Settings.read().desks, ALL_KINDS))


def _items_with(lake: Lake, words: str, selection: Selection) -> set[str]:
    with open_index() as index:
        found = index.articles_with(
            words, Filters(desk=selection.desk, agency=selection.agency)
        )
    return found | items_like(lake, found)
