"""Row types, one per step of the pipeline, and the values that pass between two steps.

Every field of a lake row carries its meaning; the lake's DDL, the Polars schema, the UI's column schema and the column
reference are made from these declarations (`store/tables.py`). No behaviour belongs here.

Times (`_at`) are aware UTC datetimes. Hashes are lower-case hex. None means unknown; an empty tuple means none.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Literal

Outcome = Literal["ok", "unchanged", "gone", "blocked", "failed", "skipped"]
PublishedOrigin = Literal["json_ld", "meta", "markup", "text", "listing", "url", "guess"]  # from the surest down
Pace = Literal["adaptive", "civic"]


# --- desks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One address that is polled: every so many minutes where that is stated, else at its pace (`schedule.py`)."""

    source_id: str
    desk: str
    agency: str
    kind: str
    url: str
    timezone: str
    language: str
    every_minutes: int | None = None
    pace: Pace = "adaptive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agency:
    """A public body, newsroom or city: the first partition axis.

    `type` is what it is, in its desk's own words; `parent` the key of the body it belongs to, of this desk or outside.
    """

    key: str
    name: str
    timezone: str
    language: str
    sources: tuple[Source, ...]
    type: str | None = None
    parent: str | None = None
    is_active: bool = True
    reason: str | None = None
    since: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Agencies that are run together: one file, one partition grid, one queue."""

    key: str
    timezone: str
    language: str
    first_day: date
    agencies: tuple[Agency, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every source of every active agency."""
        return tuple(source for agency in self.agencies if agency.is_active for source in agency.sources)


@dataclass(frozen=True, slots=True)
class AgencyDays:
    """The partitions one run works on: pairs of agency key and day, all of one desk."""

    desk: str
    pairs: frozenset[tuple[str, date]]


# --- between two steps -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server gave for asking again: opaque strings, sent back as they came (RFC 9110, section 8.8)."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An answer as it came: bytes, final URL, and the headers that matter."""

    url: str
    final_url: str
    status: int
    body: bytes = field(repr=False)
    content_type: str = ""
    encoding: str | None = None
    validators: Validators = Validators()
    max_age_s: float | None = None
    fetched_at: datetime
    elapsed_ms: int = 0

    @property
    def is_unchanged(self) -> bool:
        """Whether the server answered 304: nothing new since the validators were given."""
        return self.status == 304


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntry:
    """One item of a listing, as the source states it. `day` is named by its address, and files it."""

    entry_id: str
    url: str
    title: str | None = None
    summary: str | None = None
    content_html: str | None = None
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    image_url: str | None = None
    published_at: datetime | None = None
    updated_at: datetime | None = None
    day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What one document of a source yields: its entries, newest first, and a reason for whatever could not be read.

    `is_whole` is False where the document ended in the middle or was cut, so that it has to be asked for again.
    `next_urls` are the documents that continue it, in the order in which they are to be asked.
    """

    entries: tuple[ListedEntry, ...]
    title: str | None = None
    language: str | None = None
    ttl_s: float | None = None
    is_whole: bool = True
    next_urls: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedArticle:
    """What one page says: text in Markdown and metadata. `outcome` is `ok` or says why there is no article."""

    url: str
    canonical_url: str
    outcome: Outcome
    reason: str | None = None
    title: str | None = None
    subtitle: str | None = None
    authors: tuple[str, ...] = ()
    section: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    article_type: str | None = None
    language: str | None = None
    published_at: datetime | None = None
    published_origin: PublishedOrigin | None = None
    updated_at: datetime | None = None
    image_url: str | None = None
    video_url: str | None = None
    text: str | None = None
    out_links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrichment:
    """What an enricher says of one text. `theme_path`: codes of up to three levels; empty where it abstains."""

    theme_path: tuple[str, ...] = ()
    theme_labels: tuple[str, ...] = ()
    theme_score: float = 0.0
    summary: str | None = None
    keywords: tuple[str, ...] = ()
    language: str | None = None
    word_count: int = 0
    reading_minutes: int = 0
    readability: float | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """One text's unit vector, how many tokens the text has, and whether the model's limit cut it."""

    vector: tuple[float, ...]
    token_count: int
    is_cut: bool


# --- rows of the lake ------------------------------------------------------------------------------------------------

Desk_ = Annotated[str, "key of the desk"]
Agency_ = Annotated[str, "key of the agency"]
Day_ = Annotated[date, "partition day: day of publication in the agency's time zone, else the day it was first seen"]
ArticleId = Annotated[str, "readable and stable: agency, day, slug of the title, hash of the canonical URL"]
SourceId = Annotated[str, "id of the source"]
RowOutcome = Annotated[str, "ok, unchanged, gone, blocked, failed or skipped"]
Reason = Annotated[str | None, "why the outcome is not ok"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """What is remembered of a source between two polls."""

    source_id: SourceId
    desk: Desk_
    agency: Agency_
    url: Annotated[str, "address that is polled"]
    etag: Annotated[str | None, "validator of the last document whose entries were all stored"]
    last_modified: Annotated[str | None, "validator of the last document whose entries were all stored"]
    document_hash: Annotated[str | None, "SHA-256 of the last document whose entries were all stored"]
    last_polled_at: Annotated[datetime, "when it was last asked"]
    last_new_at: Annotated[datetime | None, "when it last listed something new"]
    next_poll_at: Annotated[datetime, "when it is due again"]
    interval_s: Annotated[float, "pause between two polls that its own rhythm asks for, in seconds"]
    failure_points: Annotated[float, "weighted failures since the last success: hard 1, soft .5, DNS .25"]
    last_outcome: RowOutcome
    last_reason: Reason
    ttl_s: Annotated[float | None, "pause that its last document asked for, in seconds"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll of one source."""

    source_id: SourceId
    desk: Desk_
    agency: Agency_
    polled_at: Annotated[datetime, "when it was asked"]
    outcome: RowOutcome
    reason: Reason
    status: Annotated[int | None, "HTTP status; none where no answer came"]
    entry_count: Annotated[int, "entries listed"]
    new_count: Annotated[int, "entries never seen before"]
    updated_count: Annotated[int, "known entries that changed"]
    body_bytes: Annotated[int, "size of the document, decompressed, in bytes"]
    elapsed_ms: Annotated[int, "time of the request, in milliseconds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One item a source lists, as it was last seen."""

    entry_id: Annotated[str, "the source's own id (Atom id, RSS guid), else the canonical URL"]
    source_id: SourceId
    desk: Desk_
    agency: Agency_
    day: Day_
    article_id: ArticleId
    url: Annotated[str, "address of the article as the source gives it"]
    url_hash: Annotated[str, "SHA-256 of the entry's canonical URL"]
    title: Annotated[str | None, "title in the listing"]
    summary: Annotated[str | None, "summary in the listing, plain text"]
    content_html: Annotated[str | None, "full text in the listing, sanitised HTML"]
    authors: Annotated[tuple[str, ...], "authors in the listing"]
    categories: Annotated[tuple[str, ...], "categories in the listing"]
    image_url: Annotated[str | None, "image in the listing"]
    published_at: Annotated[datetime | None, "publication time the source states"]
    updated_at: Annotated[datetime | None, "time of change the source states"]
    is_future_dated: Annotated[bool, "the stated publication time lay ahead when it was first seen"]
    is_moved: Annotated[bool, "the source corrected the date by more than a day and the row moved, which happens once"]
    entry_hash: Annotated[str, "SHA-256 of what the listing says; another hash means that the article is fetched again"]
    first_seen_at: Annotated[datetime, "when it was first listed"]
    last_seen_at: Annotated[datetime, "when a changed document last listed it"]
    trace_id: Annotated[str, "id of the poll that found it; follows the article through every stage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """One fetched page, for replay."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    url: Annotated[str, "address that was asked for"]
    final_url: Annotated[str, "address after redirects"]
    status: Annotated[int, "HTTP status"]
    content_type: Annotated[str, "Content-Type header"]
    encoding: Annotated[str | None, "charset the server named"]
    page_hash: Annotated[str, "SHA-256 of the decompressed body"]
    body_gzip: Annotated[bytes, "body, gzip"]
    body_bytes: Annotated[int, "size of the body, decompressed, in bytes"]
    fetched_at: Annotated[datetime, "when it was fetched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawArticle:
    """One article, or the stated failure to get it."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    source_id: SourceId
    entry_id: Annotated[str, "the entry it came from"]
    entry_hash: Annotated[str, "state of the entry it was made from"]
    url: Annotated[str, "address that was asked for"]
    canonical_url: Annotated[str, "canonical address after redirects"]
    url_hash: Annotated[str, "SHA-256 of the canonical URL"]
    text_hash: Annotated[str | None, "SHA-256 of the normalised text"]
    content_hash: Annotated[str, "SHA-256 of what later stages read of it; another one means that they are behind"] = ""
    title: Annotated[str | None, "headline"]
    subtitle: Annotated[str | None, "line below the headline"]
    authors: Annotated[tuple[str, ...], "authors in the order given"]
    section: Annotated[str | None, "section of the site"]
    category: Annotated[str | None, "category of the article"]
    tags: Annotated[tuple[str, ...], "tags of the page and the entry"]
    article_type: Annotated[str | None, "schema.org type the page states"]
    language: Annotated[str | None, "BCP 47 code"]
    published_at: Annotated[datetime | None, "publication time"]
    published_origin: Annotated[
        str | None,
        "where published_at comes from: json_ld, meta, markup or text of the page, the listing, url (a day in the "
        "address) or guess; none where there is no time, or the row is older than this column",
    ] = None
    updated_at: Annotated[datetime | None, "time of last change"]
    first_seen_at: Annotated[datetime, "when a source first listed it"]
    fetched_at: Annotated[datetime, "when the page was last asked for"]
    image_url: Annotated[str | None, "main image"]
    video_url: Annotated[str | None, "main video"]
    text: Annotated[str | None, "clean text, Markdown where the page has structure"]
    text_origin: Annotated[str | None, "page or feed: where the text was taken from"]
    text_chars: Annotated[int, "length of the text in characters"]
    word_count: Annotated[int, "length of the text in words"]
    out_links: Annotated[tuple[str, ...], "addresses on other sites that the text links to"]
    outcome: RowOutcome
    reason: Reason
    duplicate_of: Annotated[str | None, "article_id of the earlier article with the same address or text"]
    rev_n: Annotated[int, "1 for the first text, one more at each change of the text"]
    attempts: Annotated[int, "tries since the last success"]
    next_try_at: Annotated[datetime | None, "when a failure is tried again; none where it is final"]
    trace_id: Annotated[str, "id of the poll that found it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleRevision:
    """A text that was replaced by a later one at the same address."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    rev_n: Annotated[int, "number of this revision"]
    title: Annotated[str | None, "headline of this revision"]
    text: Annotated[str | None, "text of this revision"]
    text_hash: Annotated[str | None, "SHA-256 of the normalised text"]
    fetched_at: Annotated[datetime, "when this revision was fetched"]
    replaced_at: Annotated[datetime, "when a later one replaced it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichedArticle:
    """What an enricher says of one article."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    input_hash: Annotated[str, "SHA-256 of title and text, enricher, model, prompt and taxonomy version"]
    content_hash: Annotated[str, "content_hash of the article it was made from"] = ""
    theme_code: Annotated[str | None, "code of the most specific theme; none where the enricher abstains"]
    theme_path: Annotated[tuple[str, ...], "codes from level 1 down"]
    theme_labels: Annotated[tuple[str, ...], "labels from level 1 down"]
    theme_score: Annotated[float, "confidence of the theme, 0 to 1"]
    summary: Annotated[str | None, "one or two sentences"]
    keywords: Annotated[tuple[str, ...], "key terms, most telling first"]
    language: Annotated[str | None, "BCP 47 code, read from the text"]
    word_count: Annotated[int, "length of the text in words"]
    reading_minutes: Annotated[int, "reading time in minutes"]
    readability: Annotated[float | None, "Flesch reading ease, 0 to 100, adapted to the language"]
    enricher: Annotated[str, "name of the enricher"]
    model: Annotated[str, "model or version of the enricher"]
    prompt_version: Annotated[str, "version of the prompt or of the rules"]
    taxonomy_version: Annotated[str, "version of the taxonomy"]
    reused_from: Annotated[str | None, "article_id of the original whose result a duplicate reuses"]
    enriched_at: Annotated[datetime, "when it was enriched"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedEnrichment:
    """One enricher's answer to one input; a failure is never kept."""

    input_hash: Annotated[str, "SHA-256 of title and text, enricher, model, prompt and taxonomy version"]
    enricher: Annotated[str, "name of the enricher"]
    model: Annotated[str, "model or version of the enricher"]
    result_json: Annotated[str, "the Enrichment as JSON"]
    created_at: Annotated[datetime, "when it was made"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleEmbedding:
    """One article's vector."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    input_hash: Annotated[str, "SHA-256 of the embedded text and the model"]
    content_hash: Annotated[str, "content_hash of the article it was made from"] = ""
    model: Annotated[str, "name of the embedding model"]
    dim: Annotated[int, "length of the vector"]
    vector: Annotated[tuple[float, ...], "unit vector; empty where the outcome is not ok"]
    token_count: Annotated[int, "tokens of the text before the cut"]
    is_cut: Annotated[bool, "the text was longer than the model reads"]
    embedded_at: Annotated[datetime, "when it was embedded"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDocument:
    """Receipt of a document that the search index took, or its refusal."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    document_hash: Annotated[str, "SHA-256 of the states of everything the document was made from"]
    has_vector: Annotated[bool, "the document carries a vector"]
    indexed_at: Annotated[datetime, "when the index took it"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One thing that a stage could not do; the row goes when it succeeds.

    `version` is the state it was tried in: `entry_hash`, `content_hash` or `document_hash`. Where that changes, the
    failure holds nothing back.
    """

    stage: Annotated[str, "name of the stage's table: raw_articles, enriched_articles, ..."]
    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    version: Annotated[str, "state of what it was tried with; another one is tried at once"]
    reason: Annotated[str, "why it failed the last time"]
    attempts: Annotated[int, "how often it was tried"]
    first_failed_at: Annotated[datetime, "when it failed the first time"]
    last_failed_at: Annotated[datetime, "when it failed the last time"]
    next_try_at: Annotated[datetime | None, "when it is tried again; none where it was given up"]
    trace_id: Annotated[str, "id of the poll that found it"]
