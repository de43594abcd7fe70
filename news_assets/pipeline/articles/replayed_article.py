"""Reads articles again from their stored pages, a batch at a time, and compares the results
with the stored rows.

The policy is that of a fetch: a stored text is never dropped, and not replaced by a
remnant. What the row states about requests stays as it is: their time, attempts and the
next one.
"""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import Any, Literal, NamedTuple

from news_assets.errors import FetchError, NewsAssetsError
from news_assets.pipeline.articles.attempts import with_pause_stated
from news_assets.pipeline.articles.dedupe import store_marked, without_mark
from news_assets.pipeline.articles.ownership import Owners
from news_assets.pipeline.articles.rows import article_row, revisions_of, with_owner
from news_assets.pipeline.failures import record_article_outcomes
from news_assets.pipeline.page.extract import rule_on
from news_assets.pipeline.page.readers import (
    HTML,
    READERS,
    ReadEntry,
    read_entry,
    with_document,
)
from news_assets.pipeline.stage_declaration import Stage
from news_assets.ports.services import PageReader, Reader, Rows, Sandbox
from news_assets.records.articles import FeedEntry, RawArticle, StoredPage
from news_assets.records.desks import Agency, Desk, PageRule
from news_assets.records.reading import AgencyDays, Page, ReadDocument
from news_assets.text.limits import storable
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


def _replay_article(
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
        page = _page_of(stored)
        page = replace(page, rule=rule, document=document, listed_title=entry.title)
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
    if page is None:
        return False
    if page.page_hash == article.page_hash:
        return True
    return page.fetched_at == article.fetched_at


def _page_of(stored: StoredPage) -> Page:
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
    tries: dict[str, Any] = {}
    for name in ("attempts", "refusals", "next_try_at"):
        tries[name] = getattr(article, name)
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
    if isinstance(value, tuple):
        return tuple(map(storable, value))
    return value


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
    ids: list[str] = []
    for one in batch:
        if one.row:
            ids.append(one.article.article_id)
    found = rows.read(RawArticle, article_id=ids) if ids else []
    stored = {article.article_id: article for article in found}
    checked = [_unless_newer(one, stored) for one in batch]
    new_rows: list[RawArticle] = []
    for one in checked:
        if one.row is not None:
            new_rows.append(one.row)
    articles = store_marked(rows, new_rows, stored)
    rows.upsert(revisions_of(stored, articles, now, "method"))
    record_article_outcomes(rows, stage, articles)
    return checked


def _unless_newer(one: Replayed, stored: dict[str, RawArticle]) -> Replayed:
    now = stored.get(one.article.article_id)
    if one.row is None:
        return one
    if now and without_mark(now) == without_mark(one.article):
        return one
    return replace(
        one, change="newer", row=None, columns=(), reason="stored again meanwhile"
    )


# --- articles of the lake with their entries and pages --------------------------------

# read at once: each read of whole rows decompresses the texts of their months
_GROUP_ARTICLES = 500
_BATCH_PAGES = 50  # replayed in one call of the sandbox, and stored in one transaction
_BATCH_BYTES = 64 << 20  # of these pages, decompressed; they are held compressed

_Calls = dict[str, tuple[RawArticle, FeedEntry, StoredPage | None]]


class _NewestPage(NamedTuple):
    """The key, time and size of an article's newest page."""

    page_hash: str
    fetched_at: datetime
    body_bytes: int


@dataclass(frozen=True, slots=True)
class Group:
    """Agency-days with some hundred articles in all, or one with more."""

    keys: AgencyDays
    articles: int


def archive_groups(
    lake: Reader, desk: str, agency: str | None, first: date | None, last: date | None
) -> list[Group]:
    """Return the agency-days of a desk that have articles, oldest first, in groups that
    are replayed one by one.
    """
    of_agency = {} if agency is None else {"agency": [agency]}
    frame = lake.frame(RawArticle, None, ("day", "agency"), desk=[desk], **of_agency)
    counted = frame.group_by("day", "agency").len().sort("day", "agency")
    first = first or date.min
    last = last or date.max
    days: list[tuple[str, date, int]] = []
    for day, key, articles in counted.iter_rows():
        if first <= day <= last:
            days.append((key, day, articles))
    return list(_grouped(desk, days))


def _grouped(desk: str, days: Iterable[tuple[str, date, int]]) -> Iterator[Group]:
    """Yield groups of agency-days, each (agency, day, number of articles), in order."""
    pairs: set[tuple[str, date]] = set()
    count = 0
    for key, day, articles in days:
        if pairs and count + articles > _GROUP_ARTICLES:
            yield Group(AgencyDays(desk, frozenset(pairs)), count)
            pairs, count = set(), 0
        pairs.add((key, day))
        count += articles
    if pairs:
        yield Group(AgencyDays(desk, frozenset(pairs)), count)


def replay_articles(
    lake: Reader,
    desk: Desk,
    articles: Sequence[RawArticle],
    sandbox: Sandbox,
    readers: Mapping[str, PageReader] = READERS,
) -> Iterator[list[Replayed]]:
    """Yield what a replay of each article gives, in batches of a few dozen, in the
    given order.
    """
    ids = [article.article_id for article in articles]
    entries = _entries_of(lake, ids)
    newest = _newest_pages(lake, ids)
    for batch in _batches(articles, newest):
        calls, others = _calls(batch, entries, _read_pages(lake, batch, newest))
        replayed = others | _replayed(desk, calls, sandbox, readers)
        yield [replayed[article.article_id] for article in batch]


def _entries_of(lake: Reader, ids: Sequence[str]) -> dict[tuple[str, str], FeedEntry]:
    """Return the entries of these articles, by source_id and entry_id."""
    entries: dict[tuple[str, str], FeedEntry] = {}
    for entry in lake.read(FeedEntry, article_id=ids):
        entries[entry.source_id, entry.entry_id] = entry
    return entries


def _newest_pages(lake: Reader, ids: Sequence[str]) -> dict[str, _NewestPage]:
    frame = lake.frame(
        StoredPage, None, ("article_id", *_NewestPage._fields), article_id=ids
    )
    ordered = frame.sort("fetched_at", "page_hash")
    return {article_id: _NewestPage(*page) for article_id, *page in ordered.iter_rows()}


def _batches(
    articles: Sequence[RawArticle], newest: Mapping[str, _NewestPage]
) -> Iterator[list[RawArticle]]:
    batch: list[RawArticle] = []
    size = 0
    for article in articles:
        page = newest.get(article.article_id)
        body_bytes = page.body_bytes if page else 0
        if batch and (len(batch) == _BATCH_PAGES or size + body_bytes > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(article)
        size += body_bytes
    if batch:
        yield batch


def _read_pages(
    lake: Reader, batch: Sequence[RawArticle], newest: Mapping[str, _NewestPage]
) -> dict[str, StoredPage]:
    hashes: dict[str, str] = {}
    for article in batch:
        page = newest.get(article.article_id)
        if page is not None:
            hashes[article.article_id] = page.page_hash
    if not hashes:
        return {}
    pages = lake.read(StoredPage, article_id=hashes, page_hash=set(hashes.values()))
    newest_pages: dict[str, StoredPage] = {}
    for stored in pages:
        if stored.page_hash == hashes[stored.article_id]:
            newest_pages[stored.article_id] = stored
    return newest_pages


def _calls(
    batch: Sequence[RawArticle],
    entries: Mapping[tuple[str, str], FeedEntry],
    pages: Mapping[str, StoredPage],
) -> tuple[_Calls, dict[str, Replayed]]:
    """Return what to replay by article id, and the articles that cannot be replayed."""
    calls: _Calls = {}
    others: dict[str, Replayed] = {}
    for article in batch:
        key = article.article_id
        entry = entries.get((article.source_id, article.entry_id))
        page = pages.get(key)
        if article.text_origin == "feed" and not is_of_last_request(article, page):
            # the feed's text was stored because the page could not be fetched
            page = None
        if entry is None or not _is_of_entry(article, entry):
            others[key] = Replayed(article, "no_entry")
        elif page is None and article.text_origin != "feed":
            others[key] = Replayed(article, "no_page")
        else:
            calls[key] = article, entry, page
    return calls, others


def _is_of_entry(article: RawArticle, entry: FeedEntry) -> bool:
    """Whether an article was made from an entry as it is now."""
    return (entry.entry_hash, entry.day) == (article.entry_hash, article.day)


def _replayed(
    desk: Desk, calls: _Calls, sandbox: Sandbox, readers: Mapping[str, PageReader]
) -> dict[str, Replayed]:
    agencies = {agency.key: agency for agency in desk.agencies}
    owners = Owners.of(desk)
    arguments: list[tuple[object, ...]] = []
    for article, entry, page in calls.values():
        usual = _usual(desk, agencies.get(article.agency), article.day)
        document = _document(page, sandbox, usual[1], readers)
        call = (article, entry, page, owners, *usual, readers, document)
        arguments.append((*call, desk.caps.text_chars))
    results = sandbox.run(_replay_article, arguments)
    replayed: dict[str, Replayed] = {}
    for (key, (article, _, _)), result in zip(calls.items(), results, strict=True):
        if isinstance(result, NewsAssetsError):
            result = Replayed(article, "unreadable", reason=str(result))
        replayed[key] = result
    return replayed


def _usual(
    desk: Desk, agency: Agency | None, day: date
) -> tuple[str, str, PageRule | None]:
    """Return time zone, language and page rule of an agency on a day; the desk's for an
    agency that is in the lake only.
    """
    if agency is None:
        return desk.timezone, desk.language, None
    return agency.timezone, agency.language, rule_on(agency.page_rules, day)


def _document(
    stored: StoredPage | None,
    sandbox: Sandbox,
    language: str,
    readers: Mapping[str, PageReader],
) -> ReadDocument | None:
    if stored is None:
        return None
    if stored.content_type.startswith(HTML):
        return None
    try:
        return with_document(_page_of(stored), sandbox, language, readers).document
    except (EOFError, OSError, zlib.error):
        return None  # a damaged page: unreadable in the sandbox too
