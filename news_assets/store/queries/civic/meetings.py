"""Meetings with their items, articles and documents."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from news_assets.pipeline.civic.item_rows import is_minutes
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets.records.reading import StoredDocument
from news_assets.store.lake import Lake

_WHOLE_AGENDA: Final = slice(None)
# A body's name; where no body has this name, a part of it or of the title.
OF_BODY = """
    CASE WHEN EXISTS (SELECT 1 FROM meetings WHERE lower(body) = lower($body))
        THEN lower(body) = lower($body)
    ELSE contains(lower(body), lower($body)) OR contains(lower(title), lower($body)) END
"""
_WITH_ITEMS = (
    "meeting_id IN "
    "(SELECT meeting_id FROM agenda_items WHERE list_contains($ids, article_id))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDetails:
    """An agenda item with its documents, in their order, and with the summary and text
    of its article, if any.
    """

    item: StoredItem
    documents: tuple[StoredDocument, ...] = ()
    summary: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingDetails:
    """A meeting with items in the order of the agenda, and the item that stands for its
    minutes, if it has any.

    `agenda` are all items, `items` a part of them with what belongs to them.
    """

    meeting: StoredMeeting
    agenda: tuple[StoredItem, ...]
    items: tuple[ItemDetails, ...]
    minutes: StoredItem | None = None


def meeting_details(
    lake: Reader, meeting_id: str, part: slice = _WHOLE_AGENDA
) -> MeetingDetails | None:
    """Return a meeting with a part of its items; None for an unknown id."""
    found = lake.read(StoredMeeting, meeting_id=[meeting_id])
    if not found:
        return None
    items = _items_of(lake, [meeting_id])
    minutes = next((item for item in items if is_minutes(item)), None)
    agenda = tuple(item for item in items if not is_minutes(item))
    return MeetingDetails(
        meeting=found[0],
        agenda=agenda,
        items=tuple(item_details(lake, agenda[part])),
        minutes=minutes,
    )


def agendas_of(
    lake: Reader, meeting_ids: Collection[str]
) -> dict[str, list[StoredItem]]:
    """Return the items of each of these meetings that has any, in the order of its
    agenda; without the minutes.
    """
    items: dict[str, list[StoredItem]] = defaultdict(list)
    for item in _items_of(lake, meeting_ids):
        if not is_minutes(item):
            items[item.meeting_id].append(item)
    return dict(items)


def _items_of(lake: Reader, meeting_ids: Collection[str]) -> list[StoredItem]:
    return sorted(
        lake.read(StoredItem, meeting_id=meeting_ids),
        key=lambda item: (item.sequence, item.item_id),
    )


def item_details(lake: Reader, items: Sequence[StoredItem]) -> list[ItemDetails]:
    """Return these items, in the same order, with their documents, summaries and texts."""
    articles = {item.article_id for item in items if item.article_id}
    texts = {
        row.article_id: row.text or ""
        for row in lake.read(RawArticle, article_id=articles)
    }
    summaries = {
        row.article_id: row.summary or ""
        for row in lake.read(EnrichedArticle, article_id=articles)
    }
    documents = _documents_of(lake, items)
    return [
        ItemDetails(
            item=item,
            documents=tuple(
                documents[key] for key in item.document_ids if key in documents
            ),
            summary=summaries.get(item.article_id or "", ""),
            text=texts.get(item.article_id or "", ""),
        )
        for item in items
    ]


def _documents_of(
    lake: Reader, items: Sequence[StoredItem]
) -> dict[str, StoredDocument]:
    """Return the documents of these items by id; a copy has the text of the document
    that was read in its place.
    """
    ids = {key for item in items for key in item.document_ids}
    return {
        row.document_id: row
        for row in with_text(lake, lake.read(StoredDocument, document_id=ids))
    }


def with_text(
    lake: Reader, documents: Sequence[StoredDocument]
) -> list[StoredDocument]:
    """Return the documents, copies with the text of the document that was read in their
    place.
    """
    originals = {row.copy_of for row in documents if row.copy_of and row.text is None}
    texts = {
        row.document_id: row.text
        for row in lake.read(StoredDocument, document_id=originals)
    }
    return [
        replace(row, text=texts.get(row.copy_of)) if row.copy_of in texts else row
        for row in documents
    ]


def bodies_named(lake: Lake, name: str) -> list[str]:
    """Return the names of the bodies that a name, or a part of one, selects, as
    `OF_BODY` does.
    """
    found = lake.query(
        f"SELECT DISTINCT body FROM meetings WHERE body <> '' AND {OF_BODY} ORDER BY ALL",
        {"body": name},
    )
    return found["body"].to_list()


def selected_meetings(
    lake: Lake,
    *,
    desk: str | None = None,
    agency: str | None = None,
    body: str | None = None,
    days: tuple[date | None, date | None] = (None, None),
    article_ids: Collection[str] | None = None,
) -> list[StoredMeeting]:
    """Return meetings with a day, by day and begin.

    `body` is the name of a body in any case; where no body has this name, a part of it
    or of the title. `article_ids` are those of agenda items: only their meetings are
    returned.
    """
    conditions: dict[str, tuple[str, object]] = {
        "desk": ("desk = $desk", desk),
        "agency": ("agency = $agency", agency),
        "body": (OF_BODY, body),
        "first": ("day >= $first", days[0]),
        "last": ("day <= $last", days[1]),
        "ids": (_WITH_ITEMS, None if article_ids is None else list(article_ids)),
    }
    held = {
        name: stated for name, stated in conditions.items() if stated[1] is not None
    }
    where = " AND ".join(["day IS NOT NULL", *(sql for sql, _ in held.values())])
    params = {name: value for name, (_, value) in held.items()}
    ids = lake.query(f"SELECT meeting_id FROM meetings WHERE {where}", params)[
        "meeting_id"
    ].to_list()
    rows = lake.read(StoredMeeting, meeting_id=ids) if ids else []
    return sorted(
        rows, key=lambda row: (str(row.day), str(row.starts_at or ""), row.meeting_id)
    )
