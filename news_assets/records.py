"""The rows of the lake, one type per table, and the values passed between steps.

Each field of a row type declares its meaning. `store/tables.py` derives the DDL, the Polars schema, the UI's column
schema and the column reference from these declarations.

Times (`_at`) are aware UTC datetimes. Hashes are lower-case hex. None means unknown; an empty tuple means none.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Final, Literal

from news_assets.documents import ReadDocument

Outcome = Literal["ok", "unchanged", "gone", "blocked", "failed", "skipped", "withdrawn"]
WITHDRAWN: Final = "withdrawn"
Cause = Literal["edit", "method"]
PublishedOrigin = Literal["json_ld", "meta", "markup", "text", "listing", "url", "guess"]  # most reliable first
Pace = Literal["adaptive", "civic"]


# --- desks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """Limits that all hosts of one kind of source share.

    At most `slots` requests at a time; each slot pauses `delay_s` between two requests, and `break_s` before another
    host.
    """

    kind: str
    slots: int = 1
    delay_s: float = 0.0
    break_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the listing and the articles of a source are requested.

    `token_env` names the environment variable of a token, which is sent as `token_header` to the origin of `token_url`
    only. `delay_s` is the pause between two requests to a host, if it is longer than NEWS_HOST_DELAY_S.
    """

    headers: tuple[tuple[str, str], ...] = ()
    token_env: str | None = None
    token_header: str = "Authorization"
    token_url: str = ""
    proxy: str | None = None
    delay_s: float = 0.0
    vendor: Vendor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selectors:
    """CSS selectors of a listing page (kind `html_listing`), as the desk file states them; an empty one is left out.

    `item`, `next` and `empty` are applied to the page, the others within an item. `empty` matches what a page without
    items shows.
    """

    item: str
    link: str = ""
    title: str = ""
    date: str = ""
    summary: str = ""
    next: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRule:
    """CSS selectors for the pages of an agency's articles from the day `since` on; an empty one is left out.

    `content` matches what holds the text, `remove` what is dropped before anything is read, `date` the time of
    publication.
    """

    since: date | None = None
    content: str = ""
    remove: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One address that is polled, every `every_minutes` or else at its pace (`pipeline/schedule.py`).

    `max_minutes` bounds the learnt interval in working hours. `is_civic`: it lists meetings, not articles.
    """

    source_id: str
    desk: str
    agency: str
    kind: str
    url: str
    timezone: str
    language: str
    every_minutes: int | None = None
    max_minutes: int | None = None
    pace: Pace = "adaptive"
    access: Access = Access()
    selectors: Selectors | None = None
    is_civic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Agency:
    """A public body, newsroom or city: the first partition dimension.

    `type` is its category, as worded in the desk file. `parent` is the key of its parent agency, in this desk or not.
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
    page_rules: tuple[PageRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichRules:
    """What a desk file says about enrichment by a language model (`enrich:`).

    Texts of fewer than `min_chars` characters, and articles whose title contains one of `skip_titles` as whole words,
    are left to the local enricher, which also fills in where the model gives nothing usable, if `fallback` is `local`;
    with `none` such an article fails. `via` is `direct`, `batch`, or None: live news directly, backfills in batches.
    `entities` is PROVIDER:MODEL of a second call that finds entities, `none` for no such call, and None for what
    NEWS_ENTITIES says.
    """

    min_chars: int = 400
    skip_titles: tuple[str, ...] = ()
    fallback: Literal["local", "none"] = "local"
    via: Literal["direct", "batch"] | None = None
    entities: str | None = None


DROPPED_ITEMS: Final = (
    *("call to order", "roll call", "pledge of allegiance", "flag salute", "invocation", "moment of silence"),
    *("land acknowledgment", "land acknowledgement", "approval of minutes", "approval of the minutes"),
    *("approve minutes", "approve the minutes", "minutes approval", "acceptance of minutes", "approval of agenda"),
    *("approval of the agenda", "adoption of the agenda", "acceptance of the agenda", "agenda review", "adjournment"),
    *("adjourn", "recess", "reconvene", "establish a quorum", "determination of quorum", "minutes"),
)
ITEMS_NOT_ENRICHED: Final = (
    *("proclamation", "proclamations", "commendation", "commendations", "recognition of", "certificate of recognition"),
    *("appointment", "appointments", "reappointment", "reappointments", "oath of office", "swearing in"),
    *("liquor license", "liquor licence", "liquor licenses", "liquor licences", "alcohol license", "alcohol licence"),
    *("special event permit", "block party", "letter of support", "condolence", "condolences"),
)


@dataclass(frozen=True, slots=True)
class ItemFilters:
    """Phrases of agenda items that are no articles, and of those that are not enriched (`filters:` of a desk file)."""

    dropped: tuple[str, ...] = DROPPED_ITEMS
    not_enriched: tuple[str, ...] = ITEMS_NOT_ENRICHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Agencies that share one desk file, one partition grid and one queue."""

    key: str
    timezone: str
    language: str
    first_day: date
    agencies: tuple[Agency, ...]
    enrich: EnrichRules = EnrichRules()
    filters: ItemFilters = ItemFilters()

    @property
    def is_civic(self) -> bool:
        """Whether some of its sources list meetings."""
        return any(source.is_civic for agency in self.agencies for source in agency.sources)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of all active agencies."""
        return tuple(source for agency in self.agencies if agency.is_active for source in agency.sources)


@dataclass(frozen=True, slots=True)
class KeepDays:
    """How many days rows of the lake are kept; 0 for ever. The default keeps all of them."""

    pages: int = 0
    polls: int = 0
    revisions: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class AgencyDays:
    """The partitions of one run: pairs of agency key and day of one desk."""

    desk: str
    pairs: frozenset[tuple[str, date]]


# --- between two steps -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Validators:
    """ETag and Last-Modified of a response, sent back verbatim with the next request (RFC 9110, section 8.8)."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An HTTP response: its bytes, final URL and relevant headers.

    `rule` is how it is read, from the desk file; `document` what was read of it, where it is a document.
    """

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
    rule: PageRule | None = None
    document: ReadDocument | None = None

    @property
    def is_unchanged(self) -> bool:
        """Whether the server returned 304: not changed since the validators were issued."""
        return self.status == 304


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntry:
    """One item of a listing, as stated by the source. `day` is the day in its URL; it decides the partition."""

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
    """The content of one document of a source: entries, newest first, and the problems found in it.

    `is_whole` is False if the document was truncated and has to be requested again. `next_urls` are the documents that
    continue it, in the order to request them. `states_empty` is True if the document says that it has no entries.
    """

    entries: tuple[ListedEntry, ...]
    title: str | None = None
    language: str | None = None
    ttl_s: float | None = None
    is_whole: bool = True
    states_empty: bool = False
    next_urls: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedArticle:
    """Text (Markdown) and metadata of one page. If `outcome` is not `ok`, `reason` explains why."""

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
    """The result of an enricher for one text. `theme_path` has up to three codes, none if no theme fits well enough.

    `theme_reason` says why there is no theme. Spans are written `start-end`, offsets in characters of the stored text,
    the end not included; an empty one means that nothing in the text supports the sentence. The local enricher leaves
    all that follows `readability` empty.
    """

    theme_path: tuple[str, ...] = ()
    theme_labels: tuple[str, ...] = ()
    theme_score: float = 0.0
    theme_reason: str | None = None
    summary: str | None = None
    keywords: tuple[str, ...] = ()
    language: str | None = None
    word_count: int = 0
    reading_minutes: int = 0
    readability: float | None = None
    summary_spans: tuple[str, ...] = ()
    key_points: tuple[str, ...] = ()
    key_point_spans: tuple[str, ...] = ()
    sentiment: str | None = None
    sentiment_score: float | None = None
    article_type: str | None = None
    entities: tuple[str, ...] = ()
    entities_json: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """The unit vector of a text, its number of tokens, and whether it was cut at the model's limit."""

    vector: tuple[float, ...]
    token_count: int
    is_cut: bool


# --- rows of the lake ------------------------------------------------------------------------------------------------

Desk_ = Annotated[str, "key of the desk"]
Agency_ = Annotated[str, "key of the agency"]
Day_ = Annotated[date, "partition day: day of publication in the agency's time zone, or the day it was first seen"]
ArticleId = Annotated[str, "readable, stable id: agency, day, slug of the title and hash of the canonical URL"]
SourceId = Annotated[str, "id of the source"]
RowOutcome = Annotated[str, "ok, unchanged, gone, blocked, failed or skipped; of articles also withdrawn"]
Reason = Annotated[str | None, "reason for an outcome other than ok"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """The state of a source between two polls."""

    source_id: SourceId
    desk: Desk_
    agency: Agency_
    url: Annotated[str, "polled address"]
    etag: Annotated[str | None, "ETag of the last document whose entries were all stored"]
    last_modified: Annotated[str | None, "Last-Modified of the last document whose entries were all stored"]
    document_hash: Annotated[str | None, "SHA-256 of the last document whose entries were all stored"]
    last_polled_at: Annotated[datetime, "time of the last poll"]
    last_new_at: Annotated[datetime | None, "time of the last poll that found a new entry"]
    next_poll_at: Annotated[datetime, "time when the next poll is due"]
    interval_s: Annotated[
        float, "interval to the next poll, stated or learnt from the hours in which the source publishes, in seconds"
    ]
    failure_points: Annotated[float, "weighted failures since the last success: hard 1, soft .5, DNS .25"]
    last_outcome: RowOutcome
    last_reason: Reason
    ttl_s: Annotated[float | None, "minimum interval stated by the last document, in seconds"] = None
    elapsed_ms: Annotated[int | None, "duration of the last poll's requests, in milliseconds"] = None
    left_urls: Annotated[tuple[str, ...], "pages of the listing that the last poll left for the next one"] = ()
    signals: Annotated[
        tuple[str, ...], "of a civic source: `day=hash` of the meetings that its change signal listed last"
    ] = ()
    passed_at: Annotated[
        datetime | None, "of a civic source: time of the last poll that asked for all days, not only changed ones"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One item listed by a source, as last seen."""

    entry_id: Annotated[str, "id given by the source (Atom id, RSS guid), or else the canonical URL"]
    source_id: SourceId
    desk: Desk_
    agency: Agency_
    day: Day_
    article_id: ArticleId
    url: Annotated[str, "address of the article, as listed by the source"]
    url_hash: Annotated[str, "SHA-256 of the entry's canonical URL"]
    title: Annotated[str | None, "title in the listing"]
    summary: Annotated[str | None, "summary in the listing, plain text"]
    content_html: Annotated[str | None, "full text in the listing, sanitised HTML"]
    authors: Annotated[tuple[str, ...], "authors in the listing"]
    categories: Annotated[tuple[str, ...], "categories in the listing"]
    image_url: Annotated[str | None, "image in the listing"]
    published_at: Annotated[datetime | None, "publication time stated by the source"]
    updated_at: Annotated[datetime | None, "time of change stated by the source"]
    is_future_dated: Annotated[bool, "the stated publication time was in the future when the entry was first seen"]
    is_moved: Annotated[bool, "moved to another day, once, as the source corrected the date by more than a day"]
    entry_hash: Annotated[str, "SHA-256 of the listed content; the article is fetched again when it changes"]
    news_hash: Annotated[
        str,
        "SHA-256 of the listed title, address, time of change and words of the full text; when it changes too, the "
        "article is fetched again without a pause; empty in rows from before this column",
    ] = ""
    first_seen_at: Annotated[datetime, "time of the poll that first listed it"]
    last_seen_at: Annotated[datetime, "time of the last poll of a changed document that listed it"]
    trace_id: Annotated[str, "id of the poll that found the entry, passed on to the rows of every stage"]


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
    etag: Annotated[str | None, "ETag of the response, sent with the next request for the page"] = None
    last_modified: Annotated[str | None, "Last-Modified of the response, sent with the next request for the page"] = (
        None
    )
    fetched_at: Annotated[datetime, "time of the fetch; a body that is unchanged at the next fetch is not stored again"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawArticle:
    """One article, or the reason why it could not be fetched or read."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    source_id: SourceId
    entry_id: Annotated[str, "id of the entry that it was fetched for"]
    entry_hash: Annotated[str, "entry_hash of the entry that it was fetched for"]
    news_hash: Annotated[str, "news_hash of the entry that it was fetched for"] = ""
    relisted: Annotated[
        int, "fetches in a row for which only the listing's text had changed: the pause before the next one doubles"
    ] = 0
    url: Annotated[str, "requested address"]
    canonical_url: Annotated[str, "canonical address after redirects"]
    url_hash: Annotated[str, "SHA-256 of the canonical URL"]
    text_hash: Annotated[str | None, "SHA-256 of the normalised text"]
    content_hash: Annotated[str, "SHA-256 of what later stages read; their rows are stale when it changes"] = ""
    title: Annotated[str | None, "headline"]
    subtitle: Annotated[str | None, "line below the headline"]
    authors: Annotated[tuple[str, ...], "authors in the order of the page"]
    section: Annotated[str | None, "section of the site"]
    category: Annotated[str | None, "category of the article"]
    tags: Annotated[tuple[str, ...], "tags of the page and of the entry"]
    article_type: Annotated[str | None, "schema.org type stated by the page"]
    language: Annotated[str | None, "BCP 47 code"]
    published_at: Annotated[datetime | None, "publication time"]
    published_origin: Annotated[
        str | None,
        "origin of published_at: json_ld, meta, markup or text of the page, listing, url (a day in the address) or "
        "guess; none without a time, and in rows from before this column",
    ] = None
    updated_at: Annotated[datetime | None, "time of the last change"]
    first_seen_at: Annotated[datetime, "time of the poll that first listed it"]
    fetched_at: Annotated[datetime, "time of the last request for the page"]
    page_hash: Annotated[str | None, "page_hash of the page that the last request gave; none if it gave none"] = None
    image_url: Annotated[str | None, "main image"]
    video_url: Annotated[str | None, "main video"]
    text: Annotated[str | None, "clean text, Markdown where the page has structure"]
    text_origin: Annotated[str | None, "origin of the text: page, feed, or composed (an agenda item's)"]
    text_chars: Annotated[int, "length of the text in characters"]
    word_count: Annotated[int, "length of the text in words"]
    out_links: Annotated[tuple[str, ...], "addresses on other sites that the text links to"]
    outcome: RowOutcome
    reason: Reason
    lead_minhash: Annotated[bytes | None, "MinHash of the shingles of the text's lead; none for a short text"] = None
    duplicate_of: Annotated[
        str | None,
        "article_id of the earlier article, of any desk, that it is a copy of; its day is at most 7 days away",
    ]
    duplicate_reason: Annotated[
        str | None,
        "why it is a copy: same address, same text or nearly the same text; empty in copies from before this column",
    ] = None
    duplicate_score: Annotated[
        float | None, "share of the shingles that the copy and its original have in common; 1 for the first two reasons"
    ] = None
    rev_n: Annotated[int, "number of the revision: 1 for the first text, plus 1 for each change of the text"]
    attempts: Annotated[int, "failed attempts since the last success, or since the listing had news"]
    refusals: Annotated[int, "failed attempts that were no transient failures: 404, 403, a page without a text"] = 0
    next_try_at: Annotated[datetime | None, "time of the next attempt after a failure; none if there will be no other"]
    removed_at: Annotated[
        datetime | None, "time of the first 410 or 451 of its page, if it has not been answered otherwise since"
    ] = None
    withdrawn_at: Annotated[datetime | None, "time when the text was withdrawn"] = None
    withdrawn_after: Annotated[int, "number of the last commit that has the withdrawn text"] = 0
    body: Annotated[
        str, "council, board or committee of an agenda item's meeting; empty for news, as the next four"
    ] = ""
    matter: Annotated[str, "key of the agenda item's matter within its agency"] = ""
    meeting_id: Annotated[str, "id of the agenda item's meeting"] = ""
    meeting_status: Annotated[str, "confirmed, tentative, cancelled or passed"] = ""
    filter_reason: Annotated[str, "why the article is not enriched, by the filters of its desk"] = ""
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyKey:
    """What copies of an article are found by, in one column: a month of whole rows takes long to look through."""

    article_id: ArticleId
    day: Day_
    copy_key: Annotated[bytes, "CRC-32 of url_hash in 4 bytes, and lead_minhash in 32, zeros for a short text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleRevision:
    """A text that another one of the same article replaced."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    rev_n: Annotated[int, "number of this revision; a text that only the method replaced shares it with its successor"]
    title: Annotated[str | None, "headline of this revision"]
    text: Annotated[str | None, "text of this revision"]
    text_hash: Annotated[str | None, "SHA-256 of the normalised text"]
    fetched_at: Annotated[datetime, "time when this revision was fetched"]
    replaced_at: Annotated[datetime, "time when another text replaced it"]
    cause: Annotated[
        str,
        "edit if the page or the feed changed, also where this is empty (rows from before this column); method if "
        "another text was extracted from the same stored page: the publisher changed nothing",
    ] = "edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichedArticle:
    """The enrichment of one article."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    input_hash: Annotated[str, "SHA-256 of title, text, enricher, model, prompt version and taxonomy version"]
    content_hash: Annotated[
        str,
        "content_hash of the article that it was made from; `provisional` if a language model is to replace the row",
    ] = ""
    theme_code: Annotated[str | None, "code of the most specific theme; none if no theme fits well enough"]
    theme_path: Annotated[tuple[str, ...], "codes of the theme, from level 1 down"]
    theme_labels: Annotated[tuple[str, ...], "labels of the theme, from level 1 down"]
    theme_score: Annotated[
        float,
        "probability of being right of the theme, or of the best one where none is given, 0 to 1; 0 for a language "
        "model's, which states none",
    ]
    theme_reason: Annotated[
        str | None, "why there is no theme: weak or divided evidence, or a language without words"
    ] = None
    summary: Annotated[str | None, "summary of one or two sentences"]
    keywords: Annotated[tuple[str, ...], "key terms, most significant first"]
    language: Annotated[str | None, "BCP 47 code, detected from the text"]
    word_count: Annotated[int, "length of the text in words"]
    reading_minutes: Annotated[int, "reading time in minutes"]
    readability: Annotated[float | None, "Flesch reading ease, 0 to 100, adapted to the language"]
    enricher: Annotated[str, "name of the enricher"]
    model: Annotated[str, "model or version of the enricher"]
    prompt_version: Annotated[str, "version of the prompt or the rules"]
    taxonomy_version: Annotated[str, "version of the taxonomy"]
    reused_from: Annotated[str | None, "article_id of the original article whose result this duplicate reuses"]
    enriched_at: Annotated[datetime, "time of the enrichment"]
    outcome: RowOutcome
    reason: Reason
    summary_spans: Annotated[
        tuple[str, ...],
        "for each sentence of a model's summary the part of the text that supports it, as `start-end` in characters; "
        "empty if none does",
    ] = ()
    key_points: Annotated[tuple[str, ...], "what a reader has to know, one sentence each"] = ()
    key_point_spans: Annotated[tuple[str, ...], "the same as summary_spans for each key point"] = ()
    sentiment: Annotated[str | None, "tone of the text: positive, neutral or negative"] = None
    sentiment_score: Annotated[float | None, "from -1, wholly negative, to 1, wholly positive"] = None
    article_type: Annotated[
        str | None, "news, service, notice, speech, interview, opinion, analysis, feature or other"
    ] = None
    entities: Annotated[tuple[str, ...], "names of persons, bodies, places and works, most salient first"] = ()
    entities_json: Annotated[
        str | None, "the same as JSON: name, kind, count, salience and the spans in the text of each"
    ] = None
    local_reason: Annotated[
        str | None, "why the local enricher made the row although NEWS_ENRICHER names a model; none if it did not"
    ] = None
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedEnrichment:
    """The result of one enricher for one input; failures are not cached."""

    input_hash: Annotated[str, "SHA-256 of title, text, enricher, model, prompt version and taxonomy version"]
    enricher: Annotated[str, "name of the enricher"]
    model: Annotated[str, "model or version of the enricher"]
    result_json: Annotated[str, "the result (`Enrichment`) as JSON"]
    created_at: Annotated[datetime, "time when the result was created"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeLabel:
    """The theme that a person gave an article. The newest of an article is in force, also for later enrichments."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    labelled_at: Annotated[datetime, "time of the label"]
    labelled_by: Annotated[str, "name of the person"]
    code: Annotated[str | None, "code of the theme; none if no theme fits"]
    theme_path: Annotated[tuple[str, ...], "codes of the theme, from level 1 down"]
    theme_labels: Annotated[tuple[str, ...], "labels of the theme, from level 1 down"]
    previous: Annotated[str | None, "code that the article had before"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleEmbedding:
    """The embedding of one article."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    input_hash: Annotated[str, "SHA-256 of the embedded text and the model"]
    content_hash: Annotated[str, "content_hash of the article that it was made from"] = ""
    model: Annotated[str, "name of the embedding model"]
    dim: Annotated[int, "dimensions of the vector"]
    vector: Annotated[tuple[float, ...], "unit vector; empty if the outcome is not ok"]
    token_count: Annotated[int, "tokens of the text before the cut"]
    is_cut: Annotated[bool, "the text was cut at the model's limit"]
    embedded_at: Annotated[datetime, "time of the embedding"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDocument:
    """Receipt of a document that the search index stored or rejected."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    document_hash: Annotated[str, "SHA-256 of the states of the rows that the document was made from"]
    has_vector: Annotated[bool, "the document has a vector"]
    indexed_at: Annotated[datetime, "time when the document was indexed"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The failure of a stage for one article; the row is deleted when the stage succeeds.

    `version` is the state of the input: `entry_hash`, `content_hash` or `document_hash`. A failure does not hold back
    an input that has changed since.
    """

    stage: Annotated[str, "name of the stage's table: raw_articles, enriched_articles, ..."]
    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    version: Annotated[str, "state of the input that failed; a changed input is processed at once"]
    reason: Annotated[str, "reason of the last failure"]
    attempts: Annotated[int, "number of attempts"]
    first_failed_at: Annotated[datetime, "time of the first failure"]
    last_failed_at: Annotated[datetime, "time of the last failure"]
    next_try_at: Annotated[datetime | None, "time of the next attempt; none if it was given up"]
    trace_id: Annotated[str, "id of the poll that found the entry"]
