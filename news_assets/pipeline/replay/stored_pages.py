"""Reads articles with their entries and pages from the lake, and replays them, a batch
at a time.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.articles.ownership import Owners
from news_assets.pipeline.page.readers import HTML, READERS, with_document
from news_assets.pipeline.page.site_rules import rule_on
from news_assets.pipeline.replay.replayed_article import (
    Replayed,
    is_of_last_request,
    page_of,
    replay_article,
)
from news_assets.ports.services import PageReader, Reader, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk, PageRule
from news_assets.records.documents import ReadDocument
from news_assets.records.polling import FeedEntry, StoredPage
from news_assets.records.reading import AgencyDays

# read at once: each read of whole rows decompresses the texts of their months
_GROUP_ARTICLES = 500
_BATCH_PAGES = 50  # replayed in one call of the sandbox, and stored in one transaction
BATCH_BYTES = 64 << 20  # of these pages, decompressed; they are held compressed

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
    first, last = first or date.min, last or date.max
    groups: list[Group] = []
    pairs: set[tuple[str, date]] = set()
    count = 0
    for day, key, articles in counted.iter_rows():
        if not first <= day <= last:
            continue
        if pairs and count + articles > _GROUP_ARTICLES:
            groups.append(Group(AgencyDays(desk, frozenset(pairs)), count))
            pairs, count = set(), 0
        pairs.add((key, day))
        count += articles
    if pairs:
        groups.append(Group(AgencyDays(desk, frozenset(pairs)), count))
    return groups


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
    entries = {
        (entry.source_id, entry.entry_id): entry
        for entry in lake.read(FeedEntry, article_id=ids)
    }
    newest = _newest_pages(lake, ids)
    for batch in _batches(articles, newest):
        calls, others = _calls(batch, entries, _read_pages(lake, batch, newest))
        replayed = others | _replayed(desk, calls, sandbox, readers)
        yield [replayed[article.article_id] for article in batch]


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
        if batch and (len(batch) == _BATCH_PAGES or size + body_bytes > BATCH_BYTES):
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
    return {
        page.article_id: page
        for page in pages
        if page.page_hash == hashes[page.article_id]
    }


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
        # of an agency that is in the lake only, the desk's
        usual: tuple[str, str, PageRule | None] = desk.timezone, desk.language, None
        agency = agencies.get(article.agency)
        if agency is not None:
            rule = rule_on(agency.page_rules, article.day)
            usual = agency.timezone, agency.language, rule
        document = _document(page, sandbox, usual[1], readers)
        call = (article, entry, page, owners, *usual, readers, document)
        arguments.append((*call, desk.caps.text_chars))
    results = sandbox.run(replay_article, arguments)
    replayed: dict[str, Replayed] = {}
    for (key, (article, _, _)), result in zip(calls.items(), results, strict=True):
        if isinstance(result, NewsAssetsError):
            result = Replayed(article, "unreadable", reason=str(result))
        replayed[key] = result
    return replayed


def _document(
    stored: StoredPage | None,
    sandbox: Sandbox,
    language: str,
    readers: Mapping[str, PageReader],
) -> ReadDocument | None:
    if stored is None or stored.content_type.startswith(HTML):
        return None
    try:
        return with_document(page_of(stored), sandbox, language, readers).document
    except (EOFError, OSError, zlib.error):
        return None  # a damaged page: unreadable in the sandbox too
