"""Builds an article's row from the listed entry, the fetched page and the stored row.

A stored text is never dropped, and is replaced by a far shorter one only where the page
states that it was updated. The listing's metadata fill what the page leaves out.
Duplicates are marked later, in `dedupe.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from news_assets.errors import FetchError
from news_assets.pipeline.articles.attempts import (
    CONFIRMED_AFTER,
    Attempts,
    after_failure,
    attempts_before,
    is_removal,
    relisted,
    removed_at,
    without_pause_stated,
)
from news_assets.pipeline.articles.ownership import Owners
from news_assets.pipeline.documents.read import DOCUMENT_TYPE
from news_assets.pipeline.failures import outcome_of
from news_assets.pipeline.page.readers import MIN_FEED_CHARS, ArticleText, ReadEntry
from news_assets.records.articles import (
    AddressOwner,
    ArticleRevision,
    Cause,
    FeedEntry,
    RawArticle,
)
from news_assets.records.reading import ExtractedArticle, Outcome, Page, PublishedOrigin
from news_assets.text.urls import address_hash, canonical_url, served_url

# pages with less of the feed's text were cut by the extraction or a wall
_FEED_RATIO = 0.6
# pages with less of the stored text are broken, unless they state an update
_KEPT_RATIO = 0.3
# Listings go before these: a URL has no time of day, and a guess is not stated
# anywhere.
_WEAKER_THAN_LISTING = (None, "url", "guess")


@dataclass(frozen=True, slots=True)
class _ChosenText:
    """The text that a row gets, where it is from, and the reason that the row states."""

    content: ArticleText
    origin: str
    reason: str | None = None


def article_row(
    entry: FeedEntry,
    result: Page | FetchError,
    read: ReadEntry,
    previous: RawArticle | None,
    now: datetime,
    owner: AddressOwner = "own",
) -> RawArticle:
    """Return the article's row after one fetch; `previous` is the stored row, if any.

    Where the address is not the agency's own, the page decides: the listing's text
    counts only without a page, and of another agency's address nothing that is listed
    counts.

    A failed re-fetch keeps the stored text: the row stays `ok`, with the failure as its
    reason, and is retried. After a 304 the row stays as it is, and is that of the entry
    as it is listed now. Attempts are counted for each version of the entry.
    """
    if previous is not None and isinstance(result, Page) and result.is_unchanged:
        row = _unchanged_row(previous, entry, result)
    else:
        row = _answered_row(entry, result, read, _believed(previous, owner), now, owner)
    row = replace(
        row, news_hash=entry.news_hash, relisted=relisted(entry, previous, now)
    )
    return _with_failures(row, previous, now)


def _with_failures(
    row: RawArticle, previous: RawArticle | None, now: datetime
) -> RawArticle:
    """Return the row with the failures that it had before and, where this attempt
    failed, with this one.
    """
    count, last = 0, None
    if previous is not None:
        count = max(previous.failed_attempts, previous.attempts)
        last = previous.last_failure
    if row.attempts:
        count += 1
        last = f"{now:%Y-%m-%d %H:%M}Z: {row.reason}"
    return replace(row, failed_attempts=count, last_failure=last)


def with_owner(
    owners: Owners, entry: FeedEntry, result: Page | FetchError, read: ReadEntry
) -> tuple[ReadEntry, AddressOwner]:
    """Return what was read, and to whom the article's address belongs.

    A page that states the address of another agency of its site as canonical gets the
    address that it was served from. Without an article on the page, its address is the
    listed one, wherever that leads.
    """
    listed = canonical_url(entry.url)
    if isinstance(result, FetchError):
        return read, owners.owner(entry.desk, entry.agency, listed)
    served = served_url(result.final_url)
    extracted = read.extracted
    if result.is_unchanged or extracted is None or extracted.outcome != "ok":
        return read, owners.owner(entry.desk, entry.agency, listed, served)
    if not owners.is_same_owner(extracted.canonical_url, served):
        read = replace(read, extracted=replace(extracted, canonical_url=served))
    return read, owners.owner(entry.desk, entry.agency, served)


def _believed(previous: RawArticle | None, owner: AddressOwner) -> RawArticle | None:
    """Return the stored row, without a text that a listing gave of another agency's
    address.
    """
    if previous is None:
        return previous
    if owner != "other":
        return previous
    if previous.text_origin != "feed":
        return previous
    return replace(previous, text=None, text_origin=None, text_chars=0)


def _answered_row(
    entry: FeedEntry,
    result: Page | FetchError,
    read: ReadEntry,
    previous: RawArticle | None,
    now: datetime,
    owner: AddressOwner,
) -> RawArticle:
    """Return the row after a page or an error: the stored row if its text stays, else a
    failed one, or one with the text of the page or the listing.

    Args:
        entry: The entry that was fetched.
        result: The page, or the error of fetching it.
        read: What was read of the page and of the listing's text.
        previous: The stored row, if any.
        now: The time of the fetch.
        owner: Whose site the article's address is on.
    """
    attempts = attempts_before(entry, previous, now)
    extracted = read.extracted
    problem = _problem(result, extracted)
    if owner == "other":
        entry = _mention(entry, is_read=problem is None)
    chosen = _chosen_text(entry, read, problem, owner)
    kept = _with_stored_text(previous)
    if kept is not None and _stays(kept, chosen, extracted, owner):
        chars = len(chosen.content.text) if chosen else 0
        why = _reason_of(problem, chars, kept.text_chars)
        return _kept_row(kept, entry, result, why, attempts, now)
    if chosen is None:
        outcome, reason = problem or ("failed", "no text")
        row = _failed_row(entry, result, outcome, reason, attempts, now)
    else:
        base = _base_row(entry, result, None if problem else extracted, now)
        row = _with_text(base, chosen, kept)
    return replace(row, address_owner=owner)


def _with_stored_text(previous: RawArticle | None) -> RawArticle | None:
    """Return the stored row if it has a text."""
    return previous if previous is not None and previous.text else None


def _reason_of(problem: tuple[Outcome, str] | None, chars: int, of_chars: int) -> str:
    """Return why the text of a page is not taken: its problem, else its length."""
    if problem is not None:
        return problem[1]
    return f"page gives {chars} of {of_chars} characters"


def composed_row(
    entry: FeedEntry,
    text: ArticleText | None,
    previous: RawArticle | None,
    now: datetime,
) -> RawArticle:
    """Return the row of an article whose text was composed from other rows; `previous`
    is the stored row, if any.
    """
    base = replace(
        _base_row(entry, None, None, now),
        news_hash=entry.news_hash,
        url_hash=entry.url_hash,
        address_owner="own",
    )
    if text is None:
        return replace(base, outcome="failed", reason="the text could not be read")
    return _with_text(base, _ChosenText(text, "composed"), _with_stored_text(previous))


def revision_of(
    previous: RawArticle, new: RawArticle, now: datetime, cause: Cause = "edit"
) -> ArticleRevision | None:
    """Return the text that `new` replaces; None where the text is unchanged, or there
    was none.
    """
    if not previous.text:
        return None
    if previous.text_hash == new.text_hash:
        return None
    return ArticleRevision(
        article_id=previous.article_id,
        desk=previous.desk,
        agency=previous.agency,
        day=previous.day,
        rev_n=previous.rev_n,
        title=previous.title,
        text=previous.text,
        text_hash=previous.text_hash,
        fetched_at=previous.fetched_at,
        replaced_at=now,
        cause=cause,
    )


def revisions_of(
    stored: Mapping[str, RawArticle],
    articles: Iterable[RawArticle],
    now: datetime,
    cause: Cause = "edit",
) -> list[ArticleRevision]:
    """Return the texts that these rows replace, of the rows `stored` by article id."""
    revisions: list[ArticleRevision] = []
    for new in articles:
        previous = stored.get(new.article_id)
        revision = revision_of(previous, new, now, cause) if previous else None
        if revision is not None:
            revisions.append(revision)
    return revisions


# --- which text -----------------------------------------------------------------------


def _problem(
    result: Page | FetchError, extracted: ExtractedArticle | None
) -> tuple[Outcome, str] | None:
    """Return why there is no article of the page, as outcome and reason; None if there
    is one.
    """
    if isinstance(result, FetchError):
        return outcome_of(result), result.reason
    if extracted is None:
        return "failed", "page was not read"
    if extracted.outcome == "ok":
        return None
    return extracted.outcome, extracted.reason or "no article"


def _mention(entry: FeedEntry, *, is_read: bool) -> FeedEntry:
    """Return the entry of another agency's article without what it claims; the title
    names it until a page is read.
    """
    return replace(
        entry,
        title=None if is_read else entry.title,
        authors=(),
        categories=(),
        image_url=None,
        published_at=None,
        updated_at=None,
    )


def _chosen_text(
    entry: FeedEntry,
    read: ReadEntry,
    problem: tuple[Outcome, str] | None,
    owner: AddressOwner,
) -> _ChosenText | None:
    """Return the page's text, or the feed's where the page gives much less or nothing
    and the owner allows it.
    """
    of_page = None if problem else read.page_text
    of_feed = _listed_text(read, owner, has_page=of_page is not None)
    page_chars = len(of_page.text) if of_page else 0
    if of_feed is not None and page_chars < _FEED_RATIO * len(of_feed.text):
        why = _reason_of(problem, page_chars, len(of_feed.text))
        origin = f"text as told by {entry.agency}"
        if owner == "own":
            origin = "text from the feed"
        return _ChosenText(of_feed, "feed", f"{origin}: {why}")
    if of_page is None:
        return None
    return _ChosenText(
        of_page, "page", read.extracted.reason if read.extracted else None
    )


def _listed_text(
    read: ReadEntry, owner: AddressOwner, *, has_page: bool
) -> ArticleText | None:
    """Return the listing's text where it may count: none of another agency's address,
    and only without a page unless the address is the agency's own.
    """
    if owner == "other":
        return None
    if has_page and owner != "own":
        return None
    text = read.feed_text
    if text is None:
        return None
    if len(text.text) < MIN_FEED_CHARS:
        return None
    return text


def _stays(
    kept: RawArticle,
    chosen: _ChosenText | None,
    extracted: ExtractedArticle | None,
    owner: AddressOwner,
) -> bool:
    """Whether the stored text stays: there is no new one, or the stored one is better. At
    an address that is not the agency's own a page's text is better than a listing's;
    else a whole text is better than a part.
    """
    if chosen is None:
        return True
    if owner != "own" and (chosen.origin, kept.text_origin) == ("feed", "page"):
        return True
    if owner != "own" and (chosen.origin, kept.text_origin) == ("page", "feed"):
        return False
    return _is_remnant(chosen, extracted, kept)


def _is_remnant(
    chosen: _ChosenText, extracted: ExtractedArticle | None, kept: RawArticle
) -> bool:
    """Whether a new text is far shorter than the stored one, and the page states no
    update since.
    """
    if len(chosen.content.text) >= _KEPT_RATIO * kept.text_chars:
        return False
    updated_at = extracted.updated_at if extracted else None
    if updated_at is None:
        return True
    return updated_at <= (kept.updated_at or kept.fetched_at)


# --- the row --------------------------------------------------------------------------


def _with_text(
    base: RawArticle, chosen: _ChosenText, kept: RawArticle | None
) -> RawArticle:
    """Return a row of outcome ok; `kept` is the stored row if it has a text."""
    content = chosen.content
    revision = 1
    if kept is not None:
        revision = kept.rev_n + (kept.text_hash != content.text_hash)
    return replace(
        base,
        text=content.text,
        text_origin=chosen.origin,
        text_chars=len(content.text),
        word_count=content.word_count,
        text_hash=content.text_hash,
        lead_minhash=content.lead_minhash,
        language=base.language or content.language,
        outcome="ok",
        reason=chosen.reason,
        rev_n=revision,
    )


def _unchanged_row(previous: RawArticle, entry: FeedEntry, page: Page) -> RawArticle:
    """Return the stored row after a 304."""
    return replace(
        without_pause_stated(previous),
        entry_hash=entry.entry_hash,
        fetched_at=page.fetched_at,
        trace_id=entry.trace_id,
    )


def _kept_row(
    kept: RawArticle,
    entry: FeedEntry,
    result: Page | FetchError,
    why: str,
    before: Attempts,
    now: datetime,
) -> RawArticle:
    """Return the stored row with the failure noted; the new `entry_hash` keeps the
    entry from staying due for ever.

    Args:
        kept: The stored row.
        entry: The entry that was fetched.
        result: The page, or the error of fetching it.
        why: Why the stored text stays.
        before: The failed attempts before this one.
        now: The time of the fetch.
    """
    failure: FetchError | Outcome = "failed"
    if isinstance(result, FetchError):
        failure = result
    attempts = after_failure(before, failure, now)
    removed_since = removed_at(result, kept, now)
    if removed_since is not None and is_removal(result):
        attempts = attempts._replace(next_try_at=removed_since + CONFIRMED_AFTER)
    return replace(
        kept,
        day=entry.day,
        entry_hash=entry.entry_hash,
        fetched_at=_fetched_at(result, now),
        outcome="ok",
        reason=f"stored text kept: {why}",
        removed_at=removed_since,
        trace_id=entry.trace_id,
        **attempts._asdict(),
    )


def _failed_row(
    entry: FeedEntry,
    result: Page | FetchError,
    outcome: Outcome,
    reason: str,
    before: Attempts,
    now: datetime,
) -> RawArticle:
    """Return the row of an article without a text.

    Args:
        entry: The entry that was fetched.
        result: The page, or the error of fetching it.
        outcome: The outcome of the fetch.
        reason: Its reason.
        before: The failed attempts before this one.
        now: The time of the fetch.
    """
    failure = result if isinstance(result, FetchError) else outcome
    attempts = after_failure(before, failure, now)
    base = _base_row(entry, result, None, now)
    return replace(base, outcome=outcome, reason=reason, **attempts._asdict())


def _base_row(
    entry: FeedEntry,
    result: Page | FetchError | None,
    extracted: ExtractedArticle | None,
    now: datetime,
) -> RawArticle:
    """Return a row without text; metadata are the page's, else the listing's.

    `extracted` is None for a page without an article: even its URL may be a log-in
    form's.
    """
    page = extracted or ExtractedArticle(
        url=entry.url, canonical_url=canonical_url(entry.url), outcome="failed"
    )
    published_at, published_origin = _published(entry, page)
    return RawArticle(
        article_id=entry.article_id,
        desk=entry.desk,
        agency=entry.agency,
        day=entry.day,
        source_id=entry.source_id,
        entry_id=entry.entry_id,
        entry_hash=entry.entry_hash,
        url=entry.url,
        canonical_url=page.canonical_url,
        url_hash=address_hash(page.canonical_url),
        text_hash=None,
        # What a document states as its title, or has in its first line, is often the
        # publisher's name.
        title=(
            (entry.title or page.title)
            if page.article_type == DOCUMENT_TYPE
            else (page.title or entry.title)
        ),
        subtitle=page.subtitle,
        authors=page.authors or entry.authors,
        section=page.section,
        category=page.category or next(iter(entry.categories), None),
        tags=_merged_tags(page.tags, entry.categories),
        article_type=page.article_type,
        language=page.language,
        published_at=published_at,
        published_origin=published_origin,
        updated_at=page.updated_at or entry.updated_at,
        first_seen_at=entry.first_seen_at,
        precedence_at=entry.precedence_at,
        fetched_at=_fetched_at(result, now),
        image_url=page.image_url or entry.image_url,
        video_url=page.video_url,
        text=None,
        text_origin=None,
        text_chars=0,
        word_count=0,
        out_links=page.out_links,
        outcome="failed",
        reason=None,
        duplicate_of=None,
        rev_n=0,
        attempts=0,
        next_try_at=None,
        trace_id=entry.trace_id,
    )


def _published(
    entry: FeedEntry, page: ExtractedArticle
) -> tuple[datetime | None, PublishedOrigin | None]:
    """Return the time that the page states, else the listing's, else that of the URL or
    a guess, with its origin.
    """
    if entry.published_at is not None and page.published_origin in _WEAKER_THAN_LISTING:
        return entry.published_at, "listing"
    return page.published_at, page.published_origin


def _fetched_at(result: Page | FetchError | None, now: datetime) -> datetime:
    return result.fetched_at if isinstance(result, Page) else now


def _merged_tags(tags: Iterable[str], categories: Iterable[str]) -> tuple[str, ...]:
    known: dict[str, str] = {}
    for tag in (*tags, *categories):
        known.setdefault(tag.casefold(), tag)
    return tuple(known.values())
