"""Withdraws what agenda items have beside their articles: the texts of their documents,
and what was taken from these.

A document that an item of another article has too stays until that one is withdrawn.
The row of a withdrawn document stays, so that it is not read again.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from news_assets.pipeline.civic.item_rows import is_minutes, is_whole_agenda
from news_assets.pipeline.civic.matters import refresh_matters_of
from news_assets.pipeline.civic.meeting_rows import facts_json
from news_assets.ports.services import Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.content import without_content
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets.records.reading import WITHDRAWN, StoredDocument


def withdraw_documents(rows: Rows, articles: Sequence[RawArticle], reason: str) -> None:
    """Remove the texts of the documents that only withdrawn articles have; these
    articles are withdrawn already.
    """
    ids = [article.article_id for article in articles]
    items = rows.read(StoredItem, article_id=ids)
    if not items:
        return
    documents: list[StoredDocument] = []
    for row in rows.read(StoredDocument, document_id=_only_withdrawn(rows, items)):
        bare = without_content(row)
        documents.append(replace(bare, outcome=WITHDRAWN, reason=reason))
    rows.upsert(documents)
    meetings: list[StoredMeeting] = []
    for meeting in _meetings_of_agendas(rows, items):
        others = facts_json("agenda", (), meeting.participation_json)
        meetings.append(replace(meeting, participation_json=others))
    rows.upsert(meetings)
    _store_decisions(rows, items, {})
    refresh_matters_of(rows, articles)


def bring_documents_back(
    rows: Rows, former: Reader, articles: Sequence[RawArticle]
) -> None:
    """Store the withdrawn documents of these articles as they are in `former`, the
    reads of the commit before.
    """
    ids = [article.article_id for article in articles]
    items = rows.read(StoredItem, article_id=ids)
    if not items:
        return
    withdrawn = withdrawn_documents(rows, _ids(items))
    rows.upsert(former.read(StoredDocument, document_id=withdrawn))
    stated: dict[str, str] = {}
    for row in _meetings_of_agendas(former, items):
        stated[row.meeting_id] = row.participation_json
    meetings = _meetings_of_agendas(rows, items)
    known = [row for row in meetings if row.meeting_id in stated]
    rows.upsert([_with_facts_of(row, stated[row.meeting_id]) for row in known])
    former_items = former.read(StoredItem, meeting_id=_meetings_of_minutes(items))
    decisions = {item.item_id: item.decision for item in former_items}
    _store_decisions(rows, items, decisions)
    refresh_matters_of(rows, articles)


def withdrawn_documents(rows: Reader, document_ids: Collection[str]) -> set[str]:
    """Return which of these documents are withdrawn."""
    found = rows.frame(
        StoredDocument,
        None,
        ("document_id",),
        document_id=document_ids,
        outcome=[WITHDRAWN],
    )
    return set(found["document_id"])


def _only_withdrawn(rows: Reader, items: Iterable[StoredItem]) -> set[str]:
    """Return the documents of these items that no item of another article has."""
    wanted, agencies = _ids(items), {item.agency for item in items}
    columns = ("article_id", "document_ids")
    listed = rows.frame(StoredItem, None, columns, agency=agencies)
    users = listed.explode("document_ids").drop_nulls()
    users = users.filter(users["document_ids"].is_in(list(wanted)))
    withdrawn = rows.frame(
        RawArticle,
        None,
        ("article_id",),
        article_id=users["article_id"],
        outcome=[WITHDRAWN],
    )
    others = users.join(withdrawn, on="article_id", how="anti")
    return wanted - set(others["document_ids"])


def _ids(items: Iterable[StoredItem]) -> set[str]:
    return set(chain.from_iterable(item.document_ids for item in items))


def _meetings_of_agendas(
    rows: Reader, items: Iterable[StoredItem]
) -> list[StoredMeeting]:
    """Return the meetings of which one of these items is the whole agenda."""
    ids = {item.meeting_id for item in items if is_whole_agenda(item)}
    return rows.read(StoredMeeting, meeting_id=ids)


def _meetings_of_minutes(items: Iterable[StoredItem]) -> set[str]:
    return {item.meeting_id for item in items if is_minutes(item)}


def _store_decisions(
    rows: Rows, items: Iterable[StoredItem], decisions: Mapping[str, str]
) -> None:
    """Store these decisions, by item_id, with all items of the meetings of which one of
    `items` is the minutes.
    """
    of_meetings = rows.read(StoredItem, meeting_id=_meetings_of_minutes(items))
    decided = [
        replace(item, decision=decisions.get(item.item_id, "")) for item in of_meetings
    ]
    if changed := [
        now for now, before in zip(decided, of_meetings, strict=True) if now != before
    ]:
        rows.upsert(changed)


def _with_facts_of(row: StoredMeeting, former_json: str) -> StoredMeeting:
    """Return a meeting with the facts about taking part that its agenda stated
    formerly.
    """
    facts = [fact for fact in json.loads(former_json) if fact["text"] == "agenda"]
    current = json.loads(row.participation_json)
    facts += [fact for fact in current if fact["text"] != "agenda"]
    return replace(row, participation_json=json.dumps(facts))
