"""Rows on the way of an article: sources, polls, entries, stored pages; articles with
their revisions and copies.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from news_assets.records.content import (
    KEPT,
    Agency_,
    ArticleId,
    Day_,
    Desk_,
    Reason,
    RowOutcome,
    SourceId,
    stays_when_withdrawn,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """The state of a source between two polls."""

    source_id: SourceId
    desk: Desk_
    agency: Agency_
    url: Annotated[str, "polled address"]
    etag: Annotated[
        str | None, "ETag of the last document whose entries were all stored"
    ]
    last_modified: Annotated[
        str | None, "Last-Modified of the last document whose entries were all stored"
    ]
    document_hash: Annotated[
        str | None, "SHA-256 of the last document whose entries were all stored"
    ]
    last_polled_at: Annotated[datetime, "time of the last poll"]
    last_new_at: Annotated[
        datetime | None, "time of the last poll that found a new entry"
    ]
    next_poll_at: Annotated[datetime, "time when the next poll is due"]
    interval_s: Annotated[
        float,
        "interval to the next poll, stated or learnt from the hours in which the source publishes,"
        " in seconds",
    ]
    failure_points: Annotated[
        float, "weighted failures since the last success: hard 1, soft .5, DNS .25"
    ]
    last_outcome: RowOutcome
    last_reason: Reason
    ttl_s: Annotated[
        float | None, "minimum interval stated by the last document, in seconds"
    ] = None
    elapsed_ms: Annotated[
        int | None, "duration of the last poll's requests, in milliseconds"
    ] = None
    left_urls: Annotated[
        tuple[str, ...], "pages of the listing that the last poll left for the next one"
    ] = ()
    signals: Annotated[
        tuple[str, ...],
        "of a civic source: `day=hash` of the meetings that its change signal listed last",
    ] = ()
    passed_at: Annotated[
        datetime | None,
        "of a civic source: time of the last poll that requested all days, not only changed ones",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll of one source."""

    source_id: SourceId
    desk: Desk_
    agency: Agency_
    polled_at: Annotated[datetime, "time of the poll"]
    outcome: RowOutcome
    reason: Reason
    status: Annotated[int | None, "HTTP status; none without a response"]
    entry_count: Annotated[int, "entries listed; of a civic source, meetings"]
    new_count: Annotated[int, "entries seen for the first time"]
    updated_count: Annotated[int, "known entries that changed"]
    body_bytes: Annotated[int, "size of the document, decompressed, in bytes"]
    elapsed_ms: Annotated[int, "duration of the requests, in milliseconds"]


@stays_when_withdrawn(loses_content=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One item listed by a source, as last seen."""

    entry_id: Annotated[
        str,
        "id given by the source (Atom id, RSS guid), or else the canonical URL",
        KEPT,
    ]
    source_id: SourceId
    desk: Desk_
    agency: Agency_
    day: Day_
    article_id: ArticleId
    url: Annotated[str, "address of the article, as listed by the source", KEPT]
    url_hash: Annotated[str, "SHA-256 of the entry's canonical URL", KEPT]
    title: Annotated[str | None, "title in the listing", KEPT]
    summary: Annotated[str | None, "summary in the listing, plain text"]
    content_html: Annotated[str | None, "full text in the listing, sanitised HTML"]
    authors: Annotated[tuple[str, ...], "authors in the listing"]
    categories: Annotated[tuple[str, ...], "categories in the listing"]
    image_url: Annotated[str | None, "image in the listing"]
    published_at: Annotated[
        datetime | None, "publication time stated by the source", KEPT
    ]
    updated_at: Annotated[datetime | None, "time of change stated by the source", KEPT]
    is_future_dated: Annotated[
        bool,
        "the stated publication time was in the future when the entry was first seen",
        KEPT,
    ]
    is_moved: Annotated[
        bool,
        "moved to another day, once, as the source corrected the date by more than a day",
        KEPT,
    ]
    entry_hash: Annotated[
        str,
        "SHA-256 of the listed content; the article is fetched again when it changes",
        KEPT,
    ]
    news_hash: Annotated[
        str,
        "SHA-256 of the listed title, address, time of change and words of the full text; when it"
        " changes too, the article is fetched again without a pause; empty in rows from before this"
        " column",
        KEPT,
    ] = ""
    first_seen_at: Annotated[datetime, "time of the poll that first listed it", KEPT]
    precedence_at: Annotated[
        datetime | None,
        "start of the run that first listed it, 1 µs later for each agency before its own in the"
        " desk file: the first of several copies is the original; none in rows from before this"
        " column, and of agenda items",
        KEPT,
    ] = None
    last_seen_at: Annotated[
        datetime, "time of the last poll of a changed document that listed it", KEPT
    ]
    trace_id: Annotated[
        str,
        "id of the poll that found the entry, passed on to the rows of every stage",
        KEPT,
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """One fetched page, kept for replay."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    url: Annotated[str, "requested address"]
    final_url: Annotated[str, "address after redirects"]
    status: Annotated[int, "HTTP status"]
    content_type: Annotated[str, "Content-Type header"]
    encoding: Annotated[str | None, "charset stated by the server"]
    page_hash: Annotated[str, "SHA-256 of the decompressed body"]
    body_gzip: Annotated[bytes, "body, compressed with gzip"]
    body_bytes: Annotated[int, "size of the body, decompressed, in bytes"]
    etag: Annotated[
        str | None, "ETag of the response, sent with the next request for the page"
    ] = None
    last_modified: Annotated[
        str | None,
        "Last-Modified of the response, sent with the next request for the page",
    ] = None
    fetched_at: Annotated[
        datetime,
        "time of the fetch; a body that is unchanged at the next fetch is not stored again",
    ]


# --- articles -------------------------------------------------------------------------

AddressOwner = Literal["own", "shared", "nobody", "other"]
Cause = Literal["edit", "method"]


@stays_when_withdrawn(loses_content=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class RawArticle:
    """One article, or the reason why it could not be fetched or read."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    source_id: SourceId
    entry_id: Annotated[str, "id of the entry that it was fetched for", KEPT]
    entry_hash: Annotated[str, "entry_hash of the entry that it was fetched for", KEPT]
    news_hash: Annotated[
        str, "news_hash of the entry that it was fetched for", KEPT
    ] = ""
    relisted: Annotated[
        int,
        "fetches in a row for which only the listing's text had changed: the pause before the next"
        " one doubles",
        KEPT,
    ] = 0
    url: Annotated[str, "requested address", KEPT]
    canonical_url: Annotated[str, "canonical address after redirects", KEPT]
    url_hash: Annotated[str, "SHA-256 of the canonical URL", KEPT]
    address_owner: Annotated[
        str,
        "whose site the canonical URL is on: own if only the agency's, shared with other agencies,"
        " nobody's of the desks, or another agency's (other): then the row has nothing of the"
        " listing; empty in rows from before this column",
        KEPT,
    ] = ""
    text_hash: Annotated[str | None, "SHA-256 of the normalised text"]
    content_hash: Annotated[
        str, "SHA-256 of what later stages read; their rows are stale when it changes"
    ] = ""
    title: Annotated[str | None, "headline", KEPT]
    subtitle: Annotated[str | None, "line below the headline"]
    authors: Annotated[tuple[str, ...], "authors in the order of the page"]
    section: Annotated[str | None, "section of the site"]
    category: Annotated[str | None, "category of the article"]
    tags: Annotated[tuple[str, ...], "tags of the page and of the entry"]
    article_type: Annotated[str | None, "schema.org type stated by the page", KEPT]
    language: Annotated[str | None, "BCP 47 code", KEPT]
    published_at: Annotated[datetime | None, "publication time", KEPT]
    published_origin: Annotated[
        str | None,
        "origin of published_at: json_ld, meta, markup or text of the page, listing, url (a day in"
        " the address) or guess; none without a time, and in rows from before this column",
        KEPT,
    ] = None
    updated_at: Annotated[datetime | None, "time of the last change", KEPT]
    first_seen_at: Annotated[datetime, "time of the poll that first listed it", KEPT]
    precedence_at: Annotated[
        datetime | None,
        "of its entry: the first of several copies is the original",
        KEPT,
    ] = None
    fetched_at: Annotated[datetime, "time of the last request for the page", KEPT]
    page_hash: Annotated[
        str | None,
        "page_hash of the page that the last request gave; none if it gave none",
    ] = None
    image_url: Annotated[str | None, "main image"]
    video_url: Annotated[str | None, "main video"]
    text: Annotated[str | None, "clean text, Markdown where the page has structure"]
    text_origin: Annotated[
        str | None, "origin of the text: page, feed, or composed (an agenda item's)"
    ]
    text_chars: Annotated[int, "length of the text in characters"]
    word_count: Annotated[int, "length of the text in words"]
    out_links: Annotated[
        tuple[str, ...], "addresses on other sites that the text links to"
    ]
    outcome: RowOutcome
    reason: Reason
    lead_minhash: Annotated[
        bytes | None,
        "MinHash of the shingles of the text's lead; none for a short text",
    ] = None
    duplicate_of: Annotated[
        str | None,
        "article_id of the earlier article, of any desk, that it is a copy of; its day is at most 7"
        " days away",
    ]
    duplicate_reason: Annotated[
        str | None,
        "why it is a copy: same address, same text or nearly the same text; empty in copies from"
        " before this column",
    ] = None
    duplicate_score: Annotated[
        float | None,
        "share of the shingles that the copy and its original have in common; 1 for the first two"
        " reasons",
    ] = None
    rev_n: Annotated[
        int,
        "number of the revision: 1 for the first text, plus 1 for each change of the text",
        KEPT,
    ]
    attempts: Annotated[
        int,
        "failed attempts since the last success, or since the listing had news",
        KEPT,
    ]
    refusals: Annotated[
        int,
        "failed attempts that were no transient failures: 404, 403, a page without a text",
        KEPT,
    ] = 0
    next_try_at: Annotated[
        datetime | None,
        "time of the next attempt after a failure; none if there will be no other",
    ]
    failed_attempts: Annotated[
        int,
        "failed attempts of all time; unlike `attempts` they are kept after a success",
        KEPT,
    ] = 0
    last_failure: Annotated[
        str | None,
        "time and reason of the last failed attempt, kept after a success",
        KEPT,
    ] = None
    removed_at: Annotated[
        datetime | None,
        "time of the first 410 or 451 of its page, if it has not been answered otherwise since",
        KEPT,
    ] = None
    withdrawn_at: Annotated[
        datetime | None, "time when the text was withdrawn", KEPT
    ] = None
    withdrawn_after: Annotated[
        int, "number of the last commit that has the withdrawn text", KEPT
    ] = 0
    body: Annotated[
        str,
        "council, board or committee of an agenda item's meeting; empty for news, as the next four",
        KEPT,
    ] = ""
    matter: Annotated[
        str, "key of the agenda item's matter within its agency", KEPT
    ] = ""
    meeting_id: Annotated[str, "id of the agenda item's meeting", KEPT] = ""
    meeting_status: Annotated[
        str, "confirmed, tentative, cancelled or passed", KEPT
    ] = ""
    filter_reason: Annotated[
        str, "why the article is not enriched, by the filters of its desk", KEPT
    ] = ""
    trace_id: Annotated[str, "id of the poll that found the entry", KEPT]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyKey:
    """What copies of an article are found by, in one column: a month of whole rows
    takes long to look through.
    """

    article_id: ArticleId
    day: Day_
    copy_key: Annotated[
        bytes,
        "CRC-32 of url_hash in 4 bytes, and lead_minhash in 32, zeros for a short text",
    ]


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class MovedArticle:
    """A day under which rows of an article are or were stored, other than the one in its
    id. To find the rows of an id, only the files of its days are opened.
    """

    article_id: ArticleId
    day: Day_


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleRevision:
    """A text that another one of the same article replaced."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    rev_n: Annotated[
        int,
        "number of this revision; a text that only the method replaced shares it with its"
        " successor",
    ]
    title: Annotated[str | None, "headline of this revision"]
    text: Annotated[str | None, "text of this revision"]
    text_hash: Annotated[str | None, "SHA-256 of the normalised text"]
    fetched_at: Annotated[datetime, "time when this revision was fetched"]
    replaced_at: Annotated[datetime, "time when another text replaced it"]
    cause: Annotated[
        str,
        "edit if the page or the feed changed, also where this is empty (rows from before this"
        " column); method if another text was extracted from the same stored page: the publisher"
        " changed nothing",
    ] = "edit"
