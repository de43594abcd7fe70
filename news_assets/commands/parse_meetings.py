"""The command `parse-meetings`: saved answers of civic vendors in, meetings with their
items out.
"""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from news_assets.clients.sandbox import ProcessSandbox
from news_assets.commands.jsonlines import (
    Item,
    read_file,
    read_items,
    text_in,
    write_results,
)
from news_assets.errors import NewsAssetsError, SourceError
from news_assets.records.meetings import AgendaItem, Meeting

_MAX_FILES = 2000  # of one client; they are read together


def parse_meetings() -> None:
    """Read the saved answers of civic vendors that standard input names."""
    from news_assets.sources.civic.reading.identity import owner_of
    from news_assets.sources.civic.reading.meetings import ParseContext
    from news_assets.sources.civic.vendors import read_answers

    with ProcessSandbox() as sandbox:

        def parse(item: Item) -> Item:
            kind, url = str(item["kind"]), text_in(item, "url")
            answers = _answers(Path(str(item["path"])))
            timezone, now = _present(item)
            context = ParseContext(timezone=timezone, now=now)
            [listing] = sandbox.run(read_answers, [(kind, answers, url, context)])
            if isinstance(listing, NewsAssetsError):
                raise listing
            meetings = []
            for meeting in listing.meetings:
                meetings.append(_line(meeting, kind, owner_of(url)))
            problems = list(listing.problems)
            return {"id": item["id"], "meetings": meetings, "problems": problems}

        write_results(read_items("id", "kind", "path"), parse, "reading meetings")


def _answers(path: Path) -> list[tuple[str, bytes]]:
    """Return name and bytes of the saved answers: of a file, or of each file in a
    folder, by name.
    """
    if not path.is_dir():
        return [(path.name, read_file(str(path)))]
    files = sorted(filter(Path.is_file, path.rglob("*")))
    if len(files) > _MAX_FILES:
        raise SourceError(f"{path}: more than {_MAX_FILES} files")
    return [(file.name, read_file(str(file))) for file in files]


def _present(item: Item) -> tuple[str, datetime]:
    """Return the zone and the present that an item states."""
    timezone = text_in(item, "timezone", "UTC")
    try:
        zone = ZoneInfo(timezone)
    except (LookupError, ValueError, OSError) as error:
        raise SourceError(
            f"unknown time zone {timezone!r}; take an IANA name such as America/Chicago"
        ) from error
    return timezone, _now(item.get("now"), zone)


def _now(stated: object, zone: ZoneInfo) -> datetime:
    """Return the present that an item states, local without an offset; the real one if
    it states none.
    """
    if not stated:
        return datetime.now(UTC)
    try:
        now = datetime.fromisoformat(str(stated))
    except ValueError as error:
        raise SourceError(
            f"now {str(stated)[:60]!r} is not a time in ISO 8601"
        ) from error
    return now if now.tzinfo else now.replace(tzinfo=zone)


def _line(meeting: Meeting, kind: str, owner: str) -> Item:
    from news_assets.sources.civic.reading.identity import meeting_id

    return {
        "meeting_id": meeting_id(owner or kind, kind, meeting),
        "body": meeting.body,
        "title": meeting.title,
        "starts_at": meeting.starts_at,
        "ends_at": meeting.ends_at,
        "all_day": meeting.all_day,
        "status": meeting.status,
        "location": {
            "name": meeting.location.name,
            "address": meeting.location.address,
        },
        "agenda_url": meeting.agenda_url,
        "packet_url": meeting.packet_url,
        "minutes_url": meeting.minutes_url,
        "links": [{"title": link.title, "href": link.href} for link in meeting.links],
        "items": list(map(_item, meeting.items)),
    }


def _item(item: AgendaItem) -> Item:
    return {
        "sequence": item.sequence,
        "number": item.number,
        "title": item.title,
        "matter_file": item.matter_file,
        "matter_id": item.matter_id,
        "attachments": [{"name": one.name, "url": one.url} for one in item.attachments],
    }
