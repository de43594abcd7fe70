"""What is read from outside before it is stored: listings, pages and documents, and
what extraction, enrichers and embedders return.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Literal

from news_assets.records.desks import PageRule

DocumentKind = Literal["pdf", "docx", "pptx", "odt", "rtf", "html", "text", "unknown"]
DocumentOutcome = Literal["ok", "skipped", "failed"]

# longer documents are bundles; the largest agenda packets with items have some 900
MAX_PAGES: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """One document, read or with the reason why not.

    Attributes:
        kind: What its bytes are, whatever its name and the server state.
        outcome: `ok` with a text; `skipped` where it is not worth reading or has no
            text; `failed` where it is broken.
        reason: Why it is not `ok`, or what is missing in the text.
        title: The title that the file states.
        pages: Pages or slides; None for kinds that are divided into pages only when
            they are printed.
        texts: Text of each page or slide as Markdown; one for the whole document where
            there are no pages.
        scanned_pages: Numbers, from 1, of the pages that are images without a text.
        ocr_pages: Numbers of those among them whose text was recognised from the image.
    """

    kind: DocumentKind
    outcome: DocumentOutcome
    reason: str | None = None
    title: str | None = None
    pages: int | None = None
    texts: tuple[str, ...] = ()
    scanned_pages: tuple[int, ...] = ()
    ocr_pages: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The whole text; pages are paragraphs of their own."""
        return "\n\n".join(filter(None, self.texts))

    @property
    def is_scanned(self) -> bool:
        """Whether at least half of the pages are images without a text."""
        if not bool(self.scanned_pages):
            return False
        return 2 * len(self.scanned_pages) >= (self.pages or 0)


@dataclass(frozen=True, slots=True)
class PacketPart:
    """The pages of one agenda item in a packet: the place of the item in the agenda
    from 0, and pages from 1.
    """

    item: int
    first_page: int
    last_page: int


# --- listings, pages, and what is made of them ----------------------------------------

Outcome = Literal[
    "ok", "unchanged", "gone", "blocked", "failed", "skipped", "withdrawn"
]
WITHDRAWN: Final = "withdrawn"
# most reliable first
PublishedOrigin = Literal[
    "json_ld", "meta", "markup", "text", "listing", "url", "guess"
]


@dataclass(frozen=True, slots=True)
class AgencyDays:
    """The partitions of one run: pairs of agency key and day of one desk."""

    desk: str
    pairs: frozenset[tuple[str, date]]


@dataclass(frozen=True, slots=True)
class Validators:
    """ETag and Last-Modified of a response, sent back verbatim with the next request
    (RFC 9110, section 8.8).
    """

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An HTTP response: its bytes, final URL and relevant headers.

    `content_length` is the size of the body in bytes, as the server states it; the
    answer to a HEAD request has it without a body. `rule` is how the page is read, from
    the desk file; `document` what was read of it, where it is a document.
    `listed_title` is the title of the item that leads to it, None for a page that no
    listing names.
    """

    url: str
    final_url: str
    status: int
    body: bytes = field(repr=False)
    content_type: str = ""
    encoding: str | None = None
    validators: Validators = Validators()
    content_length: int | None = None
    max_age_s: float | None = None
    fetched_at: datetime
    elapsed_ms: int = 0
    rule: PageRule | None = None
    document: ReadDocument | None = None
    listed_title: str | None = None

    @property
    def is_unchanged(self) -> bool:
        """Whether the server returned 304: not changed since the validators were
        issued.
        """
        return self.status == 304


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntry:
    """One item of a listing, as stated by the source. `day` is the day in its URL; it
    decides the partition.
    """

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
    """The content of one document of a source: entries, newest first, and the problems
    found in it.

    `is_whole` is False if the document was truncated and has to be requested again.
    `next_urls` are the documents that continue it, in the order to request them.
    `states_empty` is True if the document says that it has no entries.
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
    """Text (Markdown) and metadata of one page. If `outcome` is not `ok`, `reason`
    explains why.
    """

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
    """The result of an enricher for one text. `theme_path` has up to three codes, none
    if no theme fits well enough.

    `theme_reason` says why there is no theme. Spans are written `start-end`, offsets in
    characters of the stored text, the end not included; an empty one means that nothing
    in the text supports the sentence. Of what follows `readability` the local enricher
    gives the entities only.
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
    unsure_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """The unit vector of a text, its number of tokens, and whether it was cut at the
    model's limit.
    """

    vector: tuple[float, ...]
    token_count: int
    is_cut: bool
