"""Reads documents within limits: `DocumentReader`."""

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from types import TracebackType
from typing import Final, Protocol, Self

from news_assets.clients.documents.tesseract import Tesseract
from news_assets.clients.sandbox.child import ENDED
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.documents.document_kinds import kind_of, skip_by_name
from news_assets.pipeline.documents.markdown_parts import lines_of
from news_assets.pipeline.documents.pdf.pdf_text import (
    page_image,
    pages_of,
    read_by_pypdf,
)
from news_assets.pipeline.documents.read import read_document
from news_assets.ports.reading import Sandbox
from news_assets.records.documents import DocumentKind, ReadDocument
from news_assets.text.limits import clean_text

LIMIT_S: Final = 60.0  # of reading one document; a thousand pages take 10
MEMORY_MB: Final = (
    500  # address space of the reading process; with all libraries loaded it has 200
)
PAGE_S: Final = 60.0  # of recognising the text of one page
DOCUMENT_S: Final = 300.0  # of recognising the text of all pages of a document
_KEPT_CHARS = (
    20_000_000  # of texts that are kept to be given again for the same content
)


class OwnSandbox(Sandbox, Protocol):
    """A sandbox that its user closes."""

    def close(self) -> None:
        """End its process."""
        ...


class DocumentReader:
    """Reads documents in a child process; what ends the process costs one document.
    Threads take turns.
    """

    def __init__(self, sandbox: OwnSandbox, tesseract: Tesseract | None = None) -> None:
        """Return a reader; `sandbox` is the process, with LIMIT_S and MEMORY_MB, and is
        closed with the reader.
        """
        self._sandbox, self._tesseract = sandbox, tesseract
        self._kept: OrderedDict[str, ReadDocument] = OrderedDict()
        self._kept_chars = 0
        self._lock = threading.Lock()

    def read(
        self,
        body: bytes,
        content_type: str = "",
        name: str = "",
        language: str | None = None,
    ) -> ReadDocument:
        """Return the text of a document, or the reason why there is none; each content
        is read once.

        Args:
            body: The file's bytes, which decide its kind.
            content_type: Media type that the server states; it decides only between
                HTML and other texts.
            name: Name or address; bundles of public comments and boilerplate are
                recognised by it and not read.
            language: BCP 47, for the recognition of scans.
        """
        if reason := skip_by_name(name):
            return ReadDocument(
                kind=self._kind_of(body, content_type), outcome="skipped", reason=reason
            )
        key = hashlib.sha256(body + b"\0" + content_type.encode()).hexdigest()
        with self._lock:
            if (kept := self._kept.get(key)) is None:
                kept = self._read(body, content_type, language)
                self._keep(key, kept)
        return kept

    def _read(
        self, body: bytes, content_type: str, language: str | None
    ) -> ReadDocument:
        [found] = self._sandbox.run(read_document, [(body, content_type)])
        if isinstance(found, NewsAssetsError):
            kind = self._kind_of(body, content_type)
            failed = ReadDocument(kind=kind, outcome="failed", reason=str(found))
            return (
                self._by_pypdf(body, failed)
                if kind == "pdf" and str(found).startswith(ENDED)
                else failed
            )
        return (
            self._with_recognised(found, body, language)
            if found.scanned_pages
            else found
        )

    def _by_pypdf(self, body: bytes, failed: ReadDocument) -> ReadDocument:
        """Return what pypdf reads of a PDF on which PDFium crashed, as it does where a
        page needs too much memory.
        """
        [found] = self._sandbox.run(read_by_pypdf, [(body, failed.reason)])
        return (
            failed
            if isinstance(found, NewsAssetsError) or found.outcome != "ok"
            else found
        )

    def _kind_of(self, body: bytes, content_type: str) -> DocumentKind:
        [kind] = self._sandbox.run(kind_of, [(body, content_type)])
        return "unknown" if isinstance(kind, NewsAssetsError) else kind

    def _keep(self, key: str, found: ReadDocument) -> None:
        self._kept[key] = found
        self._kept_chars += sum(map(len, found.texts))
        while self._kept_chars > _KEPT_CHARS:
            _, dropped = self._kept.popitem(last=False)
            self._kept_chars -= sum(map(len, dropped.texts))

    # --- scans ------------------------------------------------------------------------

    def _with_recognised(
        self, found: ReadDocument, body: bytes, language: str | None
    ) -> ReadDocument:
        """Return the document with the recognised text of its scanned pages, where that
        is more than they had.
        """
        if self._tesseract is None:
            return replace(found, reason=f"{found.reason}; tesseract is not installed")
        texts, recognised, problems = list(found.texts), list[int](), dict[str, None]()
        deadline = time.monotonic() + DOCUMENT_S
        for number in found.scanned_pages:
            left_s = deadline - time.monotonic()
            if left_s <= 1:
                problems[
                    f"text of later pages not recognised in {DOCUMENT_S:.0f} s"
                ] = None
                break
            try:
                text = self._recognised(
                    self._tesseract, body, number, min(PAGE_S, left_s), language
                )
            except NewsAssetsError as error:
                problems[str(error)] = None
                continue
            if _letters(text) > _letters(texts[number - 1]):
                texts[number - 1] = text
                recognised.append(number)
        made = replace(found, texts=tuple(texts), ocr_pages=tuple(recognised))
        notes = (
            [f"text of {pages_of(recognised, found.pages or 0)} by OCR"]
            if recognised
            else []
        )
        reason = "; ".join(filter(None, (found.reason, *notes, *problems)))
        return replace(
            made, outcome="ok" if made.text.strip() else "skipped", reason=reason
        )

    def _recognised(
        self,
        tesseract: Tesseract,
        body: bytes,
        number: int,
        limit_s: float,
        language: str | None,
    ) -> str:
        """Return the text on the image of a page. Raises NewsAssetsError."""
        [image] = self._sandbox.run(page_image, [(body, number)])
        if isinstance(image, NewsAssetsError):
            raise image
        return clean_text(lines_of(tesseract.text_of(image, limit_s, language)))

    # --- the process ------------------------------------------------------------------

    def close(self) -> None:
        """End the process; the next document starts another."""
        self._sandbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
