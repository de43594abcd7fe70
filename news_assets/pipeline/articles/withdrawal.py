"""Withdraws articles: their texts leave the lake, and come back as long as the lake
keeps the commit before.

An operator withdraws them, or their publisher: with status 410 (Gone) or 451
(Unavailable for Legal Reasons), twice and at least a day apart. The row of a withdrawn
article stays, with its title, its addresses, the reason and the time, so that it is not
fetched again. What else goes is declared by the records (`records/content.py`). The
index is not changed here.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from news_assets.errors import LakeError
from news_assets.pipeline.alerts.outbox import withdraw_messages
from news_assets.pipeline.articles.dedupe import mark_copies_again, store_marked
from news_assets.pipeline.civic.document_rows import (
    bring_documents_back,
    withdraw_documents,
)
from news_assets.ports.services import Lake, Reader, Rows
from news_assets.records.articles import CopyKey, FeedEntry, RawArticle
from news_assets.records.content import (
    content_columns,
    is_deleted_with_article,
    loses_content,
    without_content,
)
from news_assets.records.derived import CachedEnrichment, EnrichedArticle, Failure
from news_assets.records.meetings import StoredDocument
from news_assets.records.model_calls import ModelCall
from news_assets.records.reading import WITHDRAWN

# a document stays while items of other articles have it
_CLEARED_APART = (
    RawArticle,
    StoredDocument,
)
_MADE_AGAIN = (CopyKey, Failure)  # deleted with an article, and not brought back


def withdrawn_among(rows: Reader, article_ids: Collection[str]) -> set[str]:
    """Return which of these articles are withdrawn."""
    return set(
        rows.frame(
            RawArticle,
            None,
            ("article_id",),
            article_id=article_ids,
            outcome=[WITHDRAWN],
        )["article_id"]
    )


def withdraw_removed(
    rows: Rows, article: RawArticle, now: datetime
) -> list[RawArticle]:
    """Withdraw an article that its publisher removed; `article` is the row made of the
    last answer.
    """
    since = f"{article.removed_at:%Y-%m-%d %H:%M}Z"
    return withdraw(
        rows, [article], f"removed by its publisher, first seen {since}", now
    )


def withdraw(
    rows: Rows, articles: Sequence[RawArticle], reason: str, now: datetime
) -> list[RawArticle]:
    """Remove the texts of these articles, as this transaction reads them, and all that
    was made from them.

    Their copies stay, and documents that agenda items of other articles have. Returns
    their new rows.
    """
    commit = rows.snapshot()
    ids = [article.article_id for article in articles]
    _delete_answers(rows, ids)
    for record in filter(is_deleted_with_article, rows.records):
        rows.delete(record, article_id=ids)
    for record in filter(loses_content, rows.records):
        if record in _CLEARED_APART:
            continue
        if found := rows.read(record, article_id=ids):
            rows.upsert(list(map(without_content, found)))
    withdrawn = [_withdrawn(article, reason, now, commit) for article in articles]
    rows.upsert(withdrawn)
    mark_copies_again(rows, articles)
    withdraw_documents(rows, articles, reason)
    withdraw_messages(rows, ids)
    return withdrawn


def _delete_answers(rows: Rows, ids: Collection[str]) -> None:
    """Delete the cached enrichments of articles, and the answers of language models
    about them; what these cost stays.
    """
    enriched = rows.read(EnrichedArticle, article_id=ids)
    called = rows.read(ModelCall, article_id=ids)
    inputs = {row.input_hash for row in enriched}
    inputs.update(call.input_hash for call in called)
    rows.delete(CachedEnrichment, input_hash=inputs)
    # perhaps of its earlier texts
    rows.delete(CachedEnrichment, article_id=[None], enricher=["local"])
    same_input = rows.read(ModelCall, input_hash=inputs)
    rows.upsert([without_content(call) for call in same_input])


def undo_withdrawal(
    lake: Lake, article: RawArticle, also: Callable[[Rows], None]
) -> None:
    """Bring a withdrawn article back as it was in the commit before, and do `also` in
    the same transaction.

    If it is not withdrawn any more, nothing is done.

    Raises:
        LakeError: That commit is not kept any more, or the lake could not be written.
    """

    def work(rows: Rows) -> None:
        if withdrawn_among(rows, [article.article_id]):
            bring_back(rows, former, [article])
            also(rows)

    try:
        with lake.at(article.withdrawn_after) as former:
            lake.transact(work)
    except LakeError as error:
        raise LakeError(
            f"{article.article_id} cannot be brought back: it was withdrawn at"
            f" {article.withdrawn_at}, and the lake keeps earlier states for some days only:"
            f" {error}"
        ) from error


def bring_back(
    rows: Rows, former: Reader, articles: Sequence[RawArticle]
) -> list[RawArticle]:
    """Store these withdrawn articles as they are in `former`, the reads of the commit
    before; return their rows.

    They are not withdrawn again because of what their pages answered until then.
    """
    ids = [article.article_id for article in articles]
    for record in filter(is_deleted_with_article, rows.records):
        if record in _MADE_AGAIN:
            continue
        if found := former.read(record, article_id=ids):
            rows.upsert(found)
    listed: dict[tuple[str, str], FeedEntry] = {}
    for entry in former.read(FeedEntry, article_id=ids):
        listed[entry.source_id, entry.entry_id] = entry
    if entries := rows.read(FeedEntry, article_id=ids):
        keys = [(entry.source_id, entry.entry_id) for entry in entries]
        rows.upsert(list(map(_with_text, entries, map(listed.get, keys))))
    restored: list[RawArticle] = []
    for article in former.read(RawArticle, article_id=ids):
        restored.append(_wanted_again(article))
    stored = store_marked(rows, restored, {})
    bring_documents_back(rows, former, articles)
    return stored


def _wanted_again(article: RawArticle) -> RawArticle:
    if article.removed_at is None:
        return article
    return replace(article, removed_at=None, next_try_at=None)


def _with_text(entry: FeedEntry, former: FeedEntry | None) -> FeedEntry:
    """Return the entry with the text that it had; unchanged if it was listed in another
    state since.
    """
    if former is None:
        return entry
    if former.entry_hash != entry.entry_hash:
        return entry
    return replace(
        entry, **{name: getattr(former, name) for name in content_columns(FeedEntry)}
    )


def _withdrawn(
    article: RawArticle, reason: str, now: datetime, commit: int
) -> RawArticle:
    return replace(
        without_content(article),
        outcome=WITHDRAWN,
        reason=reason,
        withdrawn_at=now,
        withdrawn_after=commit,
    )
