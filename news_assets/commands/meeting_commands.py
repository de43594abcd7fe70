"""The commands about meetings: `meeting` and `text` (one meeting with its agenda, documents
and topics, and the whole text of a document, an article or a meeting), and `export
meetings`.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.commands.opening import check_names, open_lake
from news_assets.commands.terminal import (
    Days,
    Json,
    Terminal,
    write_document,
    write_line,
)
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.exports import Zones, calendar_of, ocd_event, zones_of
from news_assets.pipeline.civic.item_words import (
    topics_of_item,
    topics_of_meeting,
    topics_taxonomy,
)
from news_assets.ports.search_index import Filters
from news_assets.records.articles import RawArticle
from news_assets.records.meetings import StoredDocument, StoredItem, StoredMeeting
from news_assets.search import open_index
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.copies import items_like
from news_assets.store.queries.stored_meetings import (
    ItemDetails,
    MeetingDetails,
    agendas_of,
    last_changes,
    meeting_details,
    selected_meetings,
)
from news_assets.store.queries.stored_meetings import with_text as with_stored_text
from news_assets.text.dates import zone_info
from news_assets.text.defuse import json_of

_FIRST_LINES, _FIRST_CHARS = 3, 300
_SHORTEST_ID = 8  # of a document's id, which is a hash
_LINKS = ("agenda_url", "packet_url", "minutes_url", "video_url", "url")


_MeetingId = Annotated[
    str, typer.Argument(help="meeting_id, as in the table `meetings`")
]
_WithText = Annotated[
    bool, typer.Option("--text", help="also the first lines of each document")
]


def meeting(
    meeting_id: _MeetingId,
    with_text: _WithText = False,
    as_json: Json = False,
) -> None:
    """Print a meeting; with its texts, also the first lines of each document.

    Raises:
        NewsAssetsError: No such meeting.
    """
    with open_lake() as lake:
        details = meeting_details(lake, meeting_id)
    if details is None:
        raise NewsAssetsError(
            f"no meeting `{meeting_id}`; `news-assets export meetings` lists them with their ids"
        )
    topics = [topics_of_item(one.item.title, one.summary) for one in details.items]
    if as_json:
        write_line(_line(details, topics, with_text=with_text))
        return
    key = (details.meeting.desk, details.meeting.agency)
    timezone = _agency_zones().get(key, "UTC")
    _show(details, topics, timezone, with_text=with_text)


def _line(
    details: MeetingDetails, topics: list[tuple[str, ...]], *, with_text: bool
) -> dict[str, Any]:
    row = asdict(details.meeting)
    row["links"] = json.loads(row.pop("links_json"))
    row["participation"] = json.loads(row.pop("participation_json"))
    row["topics"] = dict(topics_of_meeting(_kept(details, topics)))
    row["items"] = []
    for one, found in zip(details.items, topics, strict=True):
        item = asdict(one.item) | {"topics": found, "summary": one.summary}
        item["documents"] = []
        for document in one.documents:
            item["documents"].append(_document(document, with_text=with_text))
        row["items"].append(item)
    return row


def _document(document: StoredDocument, *, with_text: bool) -> dict[str, Any]:
    row = asdict(document)
    text = row.pop("text")
    if with_text:
        row["first_lines"] = _first_lines(text)
    return row


def _kept(
    details: MeetingDetails, topics: list[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Return the topics of the items that are business of the meeting, not procedure."""
    kept = []
    for one, found in zip(details.items, topics, strict=True):
        if one.item.filter_tier != "dropped":
            kept.append(found)
    return kept


def _first_lines(text: str | None) -> str:
    if not text:
        return ""
    beginning = text[: 20 * _FIRST_CHARS].splitlines()
    lines = list(filter(None, map(str.strip, beginning)))
    return " / ".join(lines[:_FIRST_LINES])[:_FIRST_CHARS]


# --- terminal output ------------------------------------------------------------------


def _show(
    details: MeetingDetails,
    topics: list[tuple[str, ...]],
    timezone: str,
    *,
    with_text: bool,
) -> None:
    terminal, row = Terminal(), details.meeting
    terminal.print_line(row.title or row.body, style="bold")
    for line in _head(row, timezone):
        terminal.print_line(line)
    for fact in json.loads(row.participation_json):
        purpose = f" ({fact['purpose']})" if fact.get("purpose") else ""
        terminal.print_line(f"{fact['kind']}: {fact['value']}{purpose}")
    counted = topics_of_meeting(_kept(details, topics))
    if counted:
        named = [f"{_label(code)} {count}" for code, count in counted]
        terminal.print_line(f"topics: {', '.join(named)}")
    if not details.items:
        terminal.print("no agenda items")
        return
    terminal.print(_items_table(details, topics, with_text=with_text))


def _items_table(
    details: MeetingDetails, topics: list[tuple[str, ...]], *, with_text: bool
) -> Table:
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column("number", no_wrap=True)
    table.add_column("item", overflow="fold")
    for one, found in zip(details.items, topics, strict=True):
        table.add_row(one.item.number, Group(*_item(one, found, with_text=with_text)))
    return table


def _head(row: StoredMeeting, timezone: str) -> Iterator[str]:
    begin = str(row.day or "no day")
    if row.starts_at is not None and not row.is_all_day:
        begin = f"{row.starts_at.astimezone(zone_info(timezone)):%Y-%m-%d %H:%M %Z}"
    body = row.body if row.body != row.title else ""
    facts = (begin, row.status, row.status_reason, f"{row.desk}/{row.agency}", body)
    yield " · ".join(filter(None, facts))
    place = ", ".join(filter(None, (row.location_name, row.location_address)))
    if place:
        yield place
    for name in _LINKS:
        if url := getattr(row, name):
            yield f"{name.removesuffix('_url')}: {url}"


def _item(
    one: ItemDetails, topics: tuple[str, ...], *, with_text: bool
) -> Iterator[Text]:
    item = one.item
    yield Text(item.title, style="dim" if item.filter_tier else "bold")
    facts = " · ".join(filter(None, _facts_of_item(item, topics)))
    if facts:
        yield Text(facts, style="dim")
    if one.summary:
        yield Text(one.summary)
    for document in one.documents:
        yield from _document_lines(document, with_text=with_text)
    for name in _waiting_names(one):
        yield Text(f"waiting {name}")


def _waiting_names(one: ItemDetails) -> Iterator[str]:
    """Yield the names of the attachments that are not read yet."""
    item = one.item
    known = {document.url for document in one.documents}
    for name, url in zip(item.attachment_names, item.attachment_urls, strict=True):
        if url not in known:
            yield name


def _facts_of_item(item: StoredItem, topics: tuple[str, ...]) -> Iterator[str | None]:
    yield item.section
    if item.matter_file:
        yield f"file {item.matter_file}"
    yield item.matter_type
    yield ", ".join(item.sponsors)
    if item.filter_tier != "dropped":
        yield from map(_label, topics)
    yield item.filter_reason


def _document_lines(document: StoredDocument, *, with_text: bool) -> Iterator[Text]:
    size = f"{document.characters} characters"
    if document.pages:
        size = f"{document.pages} pages"
    yield Text(
        f"{document.outcome:7} {document.name} ({document.kind}, {size})"
        f" {document.document_id[:12]}"
    )
    if document.reason:
        yield Text(f"        {document.reason}", style="dim")
    if with_text and (lines := _first_lines(document.text)):
        yield Text(f"        {lines}", style="dim")


def _label(code: str) -> str:
    return topics_taxonomy().themes[code].label("en")


# --- whole texts ----------------------------------------------------------------------


_TextId = Annotated[
    str,
    typer.Argument(help="document_id or its beginning, article_id, or meeting_id"),
]
_Output = Annotated[
    Path | None, typer.Option(help="file to write; default: standard output")
]


def text(
    text_id: _TextId,
    output: _Output = None,
) -> None:
    """Write the text with this id; an existing file is replaced at once or not at all.

    Raises:
        NewsAssetsError: Nothing has this id, it has no text, or the file cannot be
            written.
    """
    with open_lake() as lake:
        found = _text_of(lake, text_id)
    if not found.strip():
        raise NewsAssetsError(
            f"`{text_id}` has no text; `news-assets meeting ID` shows the outcome of documents"
        )
    write_document((found.rstrip("\n") + "\n").encode(), output)


def _text_of(lake: Lake, text_id: str) -> str:
    documents = with_stored_text(lake, _documents(lake, text_id))
    if documents:
        return documents[0].text or ""
    articles = lake.read(RawArticle, article_id=[text_id])
    if articles:
        return articles[0].text or ""
    details = meeting_details(lake, text_id)
    if details is not None:
        return _of_meeting(details)
    raise NewsAssetsError(
        f"no document, article or meeting `{text_id}`; `news-assets meeting ID` shows the documents"
        " of a meeting"
    )


def _documents(lake: Lake, text_id: str) -> list[StoredDocument]:
    """Return the document whose id begins so."""
    if len(text_id) < _SHORTEST_ID:
        return []
    found = lake.query(
        "SELECT document_id FROM documents WHERE starts_with(document_id, ?) LIMIT 2",
        [text_id],
    )
    if found.height > 1:
        raise NewsAssetsError(
            f"several documents begin with `{text_id}`; write more of the id"
        )
    if found.is_empty():
        return []
    return lake.read(StoredDocument, document_id=found["document_id"].to_list())


def _of_meeting(details: MeetingDetails) -> str:
    """Return the agenda with the texts of its documents, each document once, as
    Markdown.
    """
    parts = [f"# {details.meeting.title or details.meeting.body}"]
    written = set[str]()
    for one in details.items:
        parts.append(f"## {one.item.number} {one.item.title}".replace("##  ", "## "))
        for document in one.documents:
            key = document.copy_of or document.document_id
            if document.text and key not in written:
                written.add(key)
                parts += [f"### {document.name}", document.text]
    return "\n\n".join(parts)


# --- calendars and events -------------------------------------------------------------


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
        ids = {meeting.meeting_id for meeting in meetings}
        items = agendas_of(lake, ids)
        changes = last_changes(lake, ids)
    if not meetings:
        raise NewsAssetsError(
            "no such meetings; `news-assets export meetings` writes all of them as rows"
        )
    zones = _agency_zones()
    if is_calendar:
        write_document(calendar_of(meetings, items, zones, changes), output)
        return
    lines = []
    for meeting in meetings:
        event = ocd_event(meeting, items.get(meeting.meeting_id, ()), zones)
        lines.append(json_of(event) + "\n")
    write_document("".join(lines).encode(), output)


def _agency_zones() -> Zones:
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
