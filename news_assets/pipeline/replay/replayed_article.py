"""Reads one article again from its stored page, and compares the result with the stored
row.

The policy is that of a fetch: a stored text is never dropped, and not replaced by a
remnant. What the row states about requests stays as it is: their time, attempts and the
next one.
"""

import gzip
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal

from news_assets.errors import FetchError
from news_assets.pipeline.articles.dedupe import store_marked, without_mark
from news_assets.pipeline.articles.ownership import Owners
from news_assets.pipeline.articles.reading import ReadEntry, read_entry
from news_assets.pipeline.articles.refetches import with_pause_stated
from news_assets.pipeline.articles.rows import article_row, revision_of, with_owner
from news_assets.pipeline.page.readers import READERS
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.failures import record_article_outcomes
from news_assets.ports.services import PageReader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk, PageRule
from news_assets.records.documents import ReadDocument
from news_assets.records.polling import FeedEntry, StoredPage
from news_assets.records.reading import Page
from news_assets.text.charset import storable
from news_assets.text.words import words

Change = Literal[
    "unchanged",
    "text",  # another text
    "metadata",  # the same text, but other columns
    "gained",  # a text where there was none
    "lost",  # no text any more; the stored one stays
    "kept",  # far less text; the stored one stays
    "unreadable",  # not read within the limits; the stored row stays
    "no_page",
    # the entry that it was fetched for has changed since, and is fetched again, or is
    # gone
    "no_entry",
    "newer",  # another row was stored meanwhile, which stays
]
OTHER_TEXT: tuple[Change, ...] = ("text", "gained", "lost", "kept", "unreadable")

_TEXT_COLUMNS = ("text", "text_hash", "text_chars", "word_count", "lead_minhash")
_OF_REQUEST = (
    "fetched_at",
    "page_hash",
    "relisted",
    "first_seen_at",
    "precedence_at",
    "trace_id",
)
_SET_WHEN_STORED = (
    "duplicate_of",
    "duplicate_reason",
    "duplicate_score",
    "content_hash",
)


@dataclass(frozen=True, slots=True)
class Replayed:
    """One article, read again.

    Attributes:
        article: The stored row.
        change: What is different now.
        row: The row to store instead; None where the stored one stays.
        columns: The columns that differ, without those that follow from the text.
        found_chars: Length of the text that was found.
        kept_ratio: Share of the stored text's words that the text that was found has
            too.
        reason: Why the stored row stays.
    """

    article: RawArticle
    change: Change
    row: RawArticle | None = None
    columns: tuple[str, ...] = ()
    found_chars: int = 0
    kept_ratio: float = 0.0
    reason: str | None = None


def replay_article(
    article: RawArticle,
    entry: FeedEntry,
    stored: StoredPage | None,
    owners: Owners,
    timezone: str,
    language: str | None,
    rule: PageRule | None = None,
    readers: Mapping[str, PageReader] = READERS,
    document: ReadDocument | None = None,
    max_chars: int | None = None,
) -> Replayed:
    """Return what a fetch that gets the stored page would change now; it works on
    outside bytes, so in the sandbox.

    Args:
        article: The stored row.
        entry: The entry that it was fetched for.
        stored: The newest page; None if the stored text is the feed's because the page
            could not be fetched.
        owners: Whose site the article's address is on.
        timezone: IANA zone of times without one.
        language: The agency's language (BCP 47).
        rule: The agency's rule for pages of the article's day.
        readers: Page readers by content type.
        document: What was read of the page, where it is a document.
        max_chars: The characters of a text that are kept; None for all.
    """
    page = None
    if stored:
        page = replace(
            page_of(stored), rule=rule, document=document, listed_title=entry.title
        )
    read = read_entry(page, entry.content_html, timezone, language, readers, max_chars)
    result = page or FetchError(entry.url, "not fetched")
    read, owner = with_owner(owners, entry, result, read)
    made = article_row(entry, result, read, article, article.fetched_at, owner)
    if made.attempts:  # counted by a row that keeps the stored text or has none
        return _without_new_row(article, made, read)
    return _compared(
        article,
        _row_of(article, made, is_of_last_request=is_of_last_request(article, stored)),
    )


def is_of_last_request(article: RawArticle, page: StoredPage | None) -> bool:
    """Whether the last request for the article gave this page; if not, it gave none."""
    return page is not None and (
        page.page_hash == article.page_hash or page.fetched_at == article.fetched_at
    )


def page_of(stored: StoredPage) -> Page:
    """Return the page as it was fetched."""
    return Page(
        url=stored.url,
        final_url=stored.final_url,
        status=stored.status,
        content_type=stored.content_type,
        encoding=stored.encoding,
        body=gzip.decompress(stored.body_gzip),
        fetched_at=stored.fetched_at,
    )


def _without_new_row(
    article: RawArticle, made: RawArticle, read: ReadEntry
) -> Replayed:
    # the last fetch kept the stored text for the same reason
    if not article.text or made.reason == article.reason:
        return Replayed(article, "unchanged")
    found = read.page_text or read.feed_text
    if found is None:
        return Replayed(article, "lost", reason=made.reason)
    ratio = kept_ratio(article.text, found.text)
    return Replayed(
        article,
        "kept",
        found_chars=len(found.text),
        kept_ratio=ratio,
        reason=made.reason,
    )


def _row_of(
    article: RawArticle, made: RawArticle, *, is_of_last_request: bool
) -> RawArticle:
    """Return the row to compare and store: made from the page, with what the stored row
    states about requests.
    """
    kept = {name: getattr(article, name) for name in (*_OF_REQUEST, *_SET_WHEN_STORED)}
    row = replace(_as_stored(made), rev_n=max(article.rev_n, 1), **kept)
    if is_of_last_request:
        return with_pause_stated(row)
    reason = article.reason if article.text else f"stored text kept: {article.reason}"
    tries = {
        name: getattr(article, name) for name in ("attempts", "refusals", "next_try_at")
    }
    return replace(row, reason=reason, **tries)


def _as_stored(row: RawArticle) -> RawArticle:
    """Return the row as the lake will give it back, so that comparing again finds no
    difference.
    """
    values: dict[str, Any] = {}
    for field in fields(row):
        values[field.name] = _stored_value(getattr(row, field.name))
    return replace(row, **values)


def _stored_value(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    return tuple(map(storable, value)) if isinstance(value, tuple) else value


def _compared(article: RawArticle, row: RawArticle) -> Replayed:
    names = [field.name for field in fields(row)]
    changed = [name for name in names if getattr(row, name) != getattr(article, name)]
    if not changed:
        return Replayed(article, "unchanged")
    if "text" not in changed:
        return Replayed(
            article,
            "metadata",
            row,
            columns=tuple(changed),
            found_chars=row.text_chars,
            kept_ratio=1.0,
        )
    return Replayed(
        article,
        "text" if article.text else "gained",
        row,
        columns=tuple(name for name in changed if name not in _TEXT_COLUMNS),
        found_chars=row.text_chars,
        kept_ratio=kept_ratio(article.text or "", row.text or ""),
    )


def kept_ratio(before: str, after: str) -> float:
    """Return the share of the words of one text that another has too, counted with
    repetitions; 1 without words.
    """
    counted = Counter(words(before))
    shared = (counted & Counter(words(after))).total()
    return shared / counted.total() if counted else 1.0


# --- stored as a change of method: the publisher edited nothing -----------------------


def store_replayed(
    rows: Rows, stage: Stage, desk: Desk, batch: Sequence[Replayed], now: datetime
) -> list[Replayed]:
    """Store the new rows of a batch, and the texts they replace as revisions with cause
    `method`; return the batch.

    An article keeps its `rev_n`, which counts the texts of the publisher. One that was
    stored again since it was read is left as it is, and returned as `newer`. Later
    stages follow by themselves, as `content_hash` differs.
    """
    ids = [one.article.article_id for one in batch if one.row]
    stored = (
        {
            article.article_id: article
            for article in rows.read(RawArticle, article_id=ids)
        }
        if ids
        else {}
    )
    checked = [_unless_newer(one, stored) for one in batch]
    articles = store_marked(rows, [one.row for one in checked if one.row], stored)
    revisions = [
        revision_of(stored[new.article_id], new, now, "method")
        for new in articles
        if new.article_id in stored
    ]
    if written := [revision for revision in revisions if revision]:
        rows.upsert(written)
    record_article_outcomes(rows, stage, articles)
    return checked


def _unless_newer(one: Replayed, stored: dict[str, RawArticle]) -> Replayed:
    now = stored.get(one.article.article_id)
    if one.row is None or (now and without_mark(now) == without_mark(one.article)):
        return one
    return replace(
        one, change="newer", row=None, columns=(), reason="stored again meanwhile"
    )
