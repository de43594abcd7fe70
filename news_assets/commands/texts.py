"""Commands that run one step of the pipeline on JSON lines: feeds, pages, documents, URLs,
articles, texts, and saved answers of civic vendors.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from news_assets.clients.sandbox import ProcessSandbox
from news_assets.commands.terminal import (
    MAX_DOCUMENT_BYTES,
    Item,
    documents,
    input_lines,
    progress,
    read_file,
    read_items,
    text_in,
    write_line,
    write_results,
)
from news_assets.errors import EmbedError, NewsAssetsError, SourceError
from news_assets.ports.services import Sandbox
from news_assets.records.desks import Source
from news_assets.records.meetings import AgendaItem, Meeting
from news_assets.records.reading import ListedEntry, Page
from news_assets.settings import Settings

_T = TypeVar("_T")

_BATCH_TEXTS = 64
_EXTRACTED = (
    *(
        "url",
        "canonical_url",
        "title",
        "subtitle",
        "authors",
        "published_at",
        "updated_at",
        "language",
    ),
    *("section", "tags", "image_url", "text", "outcome", "reason", "published_origin"),
)
_COMPARED = ("id", "duplicate_of", "reason", "score")
_DOCUMENT = ("kind", "pages", "text", "is_scanned", "outcome", "reason")


def parse_feed() -> None:
    """Read the feeds that standard input names."""
    from news_assets.sources.feed import read

    with ProcessSandbox() as sandbox:

        def parse(item: Item) -> Item:
            listing = _call(sandbox, read, _page_of(item), _source_of(item))
            return {
                "id": item["id"],
                "title": listing.title,
                "language": listing.language,
                "entries": list(map(_entry, listing.entries)),
                "problems": list(listing.problems),
            }

        write_results(read_items("id", "path"), parse, "reading feeds")


def _call(sandbox: Sandbox, work: Callable[..., _T], *arguments: object) -> _T:
    """Return `work(*arguments)`, called in the sandbox. Raises NewsAssetsError."""
    [answer] = sandbox.run(work, [arguments])
    if isinstance(answer, NewsAssetsError):
        raise answer
    return answer


def _entry(entry: ListedEntry) -> Item:
    return {
        "entry_id": entry.entry_id,
        "url": entry.url or None,
        "title": entry.title,
        "published_at": entry.published_at,
        "updated_at": entry.updated_at,
        "authors": list(entry.authors),
        "summary": entry.summary,
        "categories": list(entry.categories),
    }


def extract() -> None:
    """Extract the articles of the saved pages that standard input names."""
    from news_assets.pipeline.page.readers import read_page, with_document

    with ProcessSandbox() as sandbox:

        def extract_one(item: Item) -> Item:
            timezone = text_in(item, "timezone", "UTC")
            language = item.get("language")
            page = with_document(_page_of(item), sandbox, language)
            found = _call(sandbox, read_page, page, timezone, language)
            return _line_of(item, found, _EXTRACTED)

        write_results(read_items("id", "path"), extract_one, "extracting")


def read_document() -> None:
    """Read the documents that standard input names."""
    with ProcessSandbox() as sandbox:

        def read_one(item: Item) -> Item:
            path = str(item["path"])
            body = read_file(path, MAX_DOCUMENT_BYTES)
            name = Path(path).name
            found = sandbox.read_document(
                body, text_in(item, "content_type"), name, item.get("language")
            )
            return _line_of(item, found, _DOCUMENT)

        write_results(read_items("id", "path"), read_one, "reading documents")


def _line_of(item: Item, found: object, names: Sequence[str]) -> Item:
    line = {"id": item["id"]}
    for name in names:
        line[name] = getattr(found, name)
    return line


def canonical_url() -> None:
    """Write the canonical form of each URL of standard input."""
    from news_assets.text.urls import canonical_url as canonical

    for line in input_lines():
        documents.write(canonical(line.rstrip("\r\n")) + "\n")


def dedupe() -> None:
    """Find the duplicates among the articles of standard input."""
    from news_assets.pipeline.articles.likeness import dedupe_stream

    items = progress(read_items("id", "text"), "comparing")
    for found in dedupe_stream(items):
        write_line(dict(zip(_COMPARED, found, strict=True)))


def classify() -> None:
    """Find the themes of the articles of standard input."""
    from news_assets.clients.factory import local_enricher, open_ports

    settings = Settings.read()
    with open_ports(settings, ("sandbox", "embedder")) as ports:
        local = local_enricher(settings, ports["sandbox"], ports["embedder"].open)
        enricher = local.with_vectors()

        def classify_one(item: Item) -> Item:
            found = enricher.enrich(
                text_in(item, "title"), text_in(item, "text"), item.get("language")
            )
            path = list(found.theme_path)
            return {
                "id": item["id"],
                "theme_code": path[-1] if path else None,
                "theme_path": path,
                "theme_labels": list(found.theme_labels),
                "score": round(found.theme_score, 4),
                "theme_reason": found.theme_reason,
                "enricher": enricher.name,
            }

        write_results(read_items("id"), classify_one, "classifying")


def embed() -> None:
    """Embed the texts of standard input."""
    from news_assets.clients.embedding.embedder import OnnxEmbedder

    settings = Settings.read()
    embedder = OnnxEmbedder.open(
        settings.embedding_model, settings.models_dir, settings.threads
    )
    items = iter(progress(read_items("id", "text"), "embedding"))
    while batch := list(islice(items, _BATCH_TEXTS)):
        for line in _embedded(embedder, batch):
            write_line(line)


def _embedded(embedder: Any, batch: list[Item]) -> Iterator[Item]:
    """Yield one line per item; the items of a failed batch are embedded one by one, so
    that only the bad ones fail.
    """
    try:
        vectors = embedder.embed([str(item["text"]) for item in batch])
    except EmbedError as error:
        if len(batch) == 1:
            yield {"id": batch[0]["id"], "error": str(error)}
            return
        for item in batch:
            yield from _embedded(embedder, [item])
        return
    for item, found in zip(batch, vectors, strict=True):
        of_model = {"model": embedder.model, "dim": embedder.dim}
        yield {"id": item["id"]} | of_model | _vector_line(found)


def _vector_line(found: Any) -> Item:
    return {
        "vector": [round(float(x), 7) for x in found.vector],
        "token_count": found.token_count,
        "is_cut": found.is_cut,
    }


def _page_of(item: Item) -> Page:
    url = text_in(item, "url")
    return Page(
        url=url,
        final_url=url,
        status=200,
        body=read_file(str(item["path"])),
        content_type=text_in(item, "content_type"),
        encoding=item.get("encoding"),
        fetched_at=datetime.now(UTC),
    )


def _source_of(item: Item) -> Source:
    return Source(
        source_id="command-line",
        desk="command-line",
        agency="command-line",
        kind="feed",
        url=text_in(item, "url"),
        timezone=text_in(item, "timezone", "UTC"),
        language=text_in(item, "language", "und"),
    )


_MAX_FILES = 2000  # of one client; they are read together


def parse_meetings() -> None:
    """Read the saved answers of civic vendors that standard input names."""
    from news_assets.sources.civic.identity import owner_of
    from news_assets.sources.civic.vendor_meetings import ParseContext
    from news_assets.sources.civic.vendors import read_saved_answers

    with ProcessSandbox() as sandbox:

        def parse(item: Item) -> Item:
            kind = str(item["kind"])
            url = text_in(item, "url")
            answers = _answers(Path(str(item["path"])))
            timezone, now = _stated_present(item)
            context = ParseContext(timezone=timezone, now=now)
            [listing] = sandbox.run(read_saved_answers, [(kind, answers, url, context)])
            if isinstance(listing, NewsAssetsError):
                raise listing
            meetings = []
            for meeting in listing.meetings:
                meetings.append(_meeting_line(meeting, kind, owner_of(url)))
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


def _stated_present(item: Item) -> tuple[str, datetime]:
    """Return the zone and the present that an item states."""
    timezone = text_in(item, "timezone", "UTC")
    try:
        zone = ZoneInfo(timezone)
    except (LookupError, ValueError, OSError) as error:
        raise SourceError(
            f"unknown time zone {timezone!r}; take an IANA name such as America/Chicago"
        ) from error
    return timezone, _present(item.get("now"), zone)


def _present(stated: object, zone: ZoneInfo) -> datetime:
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
    if now.tzinfo:
        return now
    return now.replace(tzinfo=zone)


def _meeting_line(meeting: Meeting, kind: str, owner: str) -> Item:
    from news_assets.sources.civic.identity import meeting_id

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
        "items": list(map(_item_line, meeting.items)),
    }


def _item_line(item: AgendaItem) -> Item:
    return {
        "sequence": item.sequence,
        "number": item.number,
        "title": item.title,
        "matter_file": item.matter_file,
        "matter_id": item.matter_id,
        "attachments": [{"name": one.name, "url": one.url} for one in item.attachments],
    }
