"""Rows of sources, polls, entries and stored pages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

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
        "of a civic source: time of the last poll that asked for all days, not only changed ones",
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
