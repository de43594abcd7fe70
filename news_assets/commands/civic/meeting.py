"""The command `meeting`: one meeting with its agenda, documents and topics."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.commands.civic.export_meetings import agency_zones
from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import open_lake
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.topics import (
    topics_of_item,
    topics_of_meeting,
    topics_taxonomy,
)
from news_assets.records.documents import StoredDocument
from news_assets.records.meetings import StoredMeeting
from news_assets.store.queries.civic.meetings import (
    ItemDetails,
    MeetingDetails,
    meeting_details,
)
from news_assets.terminal import Terminal
from news_assets.text.zones import zone_info

_FIRST_LINES, _FIRST_CHARS = 3, 300
_LINKS = ("agenda_url", "packet_url", "minutes_url", "video_url", "url")


def meeting(meeting_id: str, *, with_text: bool, as_json: bool) -> None:
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
    else:
        timezone = agency_zones().get(
            (details.meeting.desk, details.meeting.agency), "UTC"
        )
        _show(details, topics, timezone, with_text=with_text)


def _line(
    details: MeetingDetails, topics: list[tuple[str, ...]], *, with_text: bool
) -> dict[str, Any]:
    row = asdict(details.meeting)
    links, participation = (
        json.loads(row.pop("links_json")),
        json.loads(row.pop("participation_json")),
    )
    return row | {
        "links": links,
        "participation": participation,
        "topics": dict(topics_of_meeting(_kept(details, topics))),
        "items": [
            asdict(one.item)
            | {
                "topics": found,
                "summary": one.summary,
                "documents": [
                    _document(document, with_text=with_text)
                    for document in one.documents
                ],
            }
            for one, found in zip(details.items, topics, strict=True)
        ],
    }


def _document(document: StoredDocument, *, with_text: bool) -> dict[str, Any]:
    row = asdict(document)
    text = row.pop("text")
    return row | ({"first_lines": _first_lines(text)} if with_text else {})


def _kept(
    details: MeetingDetails, topics: list[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Return the topics of the items that are business of the meeting, not procedure."""
    return [
        found
        for one, found in zip(details.items, topics, strict=True)
        if one.item.filter_tier != "dropped"
    ]


def _first_lines(text: str | None) -> str:
    lines = [
        line.strip()
        for line in (text or "")[: 20 * _FIRST_CHARS].splitlines()
        if line.strip()
    ]
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
        terminal.print_line(
            "topics: " + ", ".join(f"{_label(code)} {count}" for code, count in counted)
        )
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column("number", no_wrap=True)
    table.add_column("item", overflow="fold")
    for one, found in zip(details.items, topics, strict=True):
        table.add_row(one.item.number, Group(*_item(one, found, with_text=with_text)))
    terminal.print(table if details.items else "no agenda items")


def _head(row: StoredMeeting, timezone: str) -> Iterator[str]:
    begin = str(row.day or "no day")
    if row.starts_at is not None and not row.is_all_day:
        begin = f"{row.starts_at.astimezone(zone_info(timezone)):%Y-%m-%d %H:%M %Z}"
    body = row.body if row.body != row.title else ""
    yield " · ".join(
        filter(
            None,
            (begin, row.status, row.status_reason, f"{row.desk}/{row.agency}", body),
        )
    )
    place = ", ".join(filter(None, (row.location_name, row.location_address)))
    if place:
        yield place
    yield from (
        f"{name.removesuffix('_url')}: {url}"
        for name in _LINKS
        if (url := getattr(row, name))
    )


def _item(
    one: ItemDetails, topics: tuple[str, ...], *, with_text: bool
) -> Iterator[Text]:
    item = one.item
    yield Text(item.title, style="dim" if item.filter_tier else "bold")
    about = (
        item.section,
        item.matter_file and f"file {item.matter_file}",
        item.matter_type,
        ", ".join(item.sponsors),
    )
    named = [] if item.filter_tier == "dropped" else [_label(code) for code in topics]
    if facts := " · ".join(filter(None, (*about, *named, item.filter_reason))):
        yield Text(facts, style="dim")
    if one.summary:
        yield Text(one.summary)
    known = {document.url for document in one.documents}
    for document in one.documents:
        size = (
            f"{document.pages} pages"
            if document.pages
            else f"{document.characters} characters"
        )
        yield Text(
            f"{document.outcome:7} {document.name} ({document.kind}, {size})"
            f" {document.document_id[:12]}"
        )
        if document.reason:
            yield Text(f"        {document.reason}", style="dim")
        if with_text and (lines := _first_lines(document.text)):
            yield Text(f"        {lines}", style="dim")
    waiting = zip(item.attachment_names, item.attachment_urls, strict=True)
    yield from (Text(f"waiting {name}") for name, url in waiting if url not in known)


def _label(code: str) -> str:
    return topics_taxonomy().themes[code].label("en")
