"""What reading a document gives: an agenda, a packet, an attachment, or an article that
was published as a PDF.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Final, Literal

from news_assets.records.content import KEPT, stays_when_withdrawn

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
        return bool(self.scanned_pages) and 2 * len(self.scanned_pages) >= (
            self.pages or 0
        )


@dataclass(frozen=True, slots=True)
class PacketPart:
    """The pages of one agenda item in a packet: the place of the item in the agenda
    from 0, and pages from 1.
    """

    item: int
    first_page: int
    last_page: int


@stays_when_withdrawn(loses_content=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """One attachment, read or with the reason why not. The same content under other
    addresses is read once.
    """

    document_id: Annotated[str, "SHA-256 of address and name", KEPT]
    article_id: Annotated[
        str, "article_id of the agenda item that it was read for first", KEPT
    ]
    desk: Annotated[str, "key of that item's desk", KEPT]
    agency: Annotated[str, "key of its agency", KEPT]
    day: Annotated[date, "its partition day", KEPT]
    url: Annotated[str, "address", KEPT]
    name: Annotated[str, "name in the listing", KEPT]
    kind: Annotated[
        str, "pdf, docx, pptx, odt, rtf, html, text or unknown, by its bytes", KEPT
    ]
    content_hash: Annotated[
        str | None, "SHA-256 of its bytes; none if it could not be fetched or was not"
    ]
    title: Annotated[str | None, "title that the file states"]
    pages: Annotated[int | None, "pages or slides; none for kinds without", KEPT]
    characters: Annotated[int, "length of the text"]
    text: Annotated[str | None, "its text as Markdown"]
    is_scanned: Annotated[
        bool, "at least half of the pages are images without a text", KEPT
    ]
    outcome: Annotated[
        str,
        "ok, skipped (not worth reading, or without a text), failed or withdrawn",
        KEPT,
    ]
    reason: Annotated[str | None, "why it is not ok, or what is missing in the text"]
    copy_of: Annotated[
        str | None,
        "document_id of the document with the same content that was read in its place",
    ]
    etag: Annotated[str | None, "ETag of the response, sent with the next request"]
    last_modified: Annotated[
        str | None, "Last-Modified of the response, sent with the next request"
    ]
    content_length: Annotated[
        int | None, "Content-Length of the response, in bytes", KEPT
    ] = None
    fetched_at: Annotated[
        datetime, "time of the last request, or of the decision not to send one", KEPT
    ]
    trace_id: Annotated[str, "id of the poll that found that item", KEPT]
