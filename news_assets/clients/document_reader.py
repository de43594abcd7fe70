"""Reads documents within limits: `DocumentReader`."""

import hashlib
import shutil
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from types import TracebackType
from typing import Final, Protocol, Self

from news_assets.clients.sandbox_child import ENDED
from news_assets.errors import NewsAssetsError, ReadingError
from news_assets.pipeline.documents.document_kinds import kind_of, skip_by_name
from news_assets.pipeline.documents.pdf_text import (
    DPI,
    page_image,
    pages_of,
    read_by_pypdf,
)
from news_assets.pipeline.documents.read import read_document
from news_assets.pipeline.page.markdown import lines_of
from news_assets.ports.services import Sandbox
from news_assets.records.reading import DocumentKind, DocumentOutcome, ReadDocument
from news_assets.settings import child_environment
from news_assets.text.limits import clean_text

# address space of tesseract, as of the process that reads; a page of A4 takes 250
_OCR_MEMORY_MB: Final = 500
# Limits itself, then becomes the program: a function called between fork and exec is
# not safe beside threads.
_LIMITED: Final = (
    "import os, resource, sys; size = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_AS,"
    " (size, size)); os.execv(sys.argv[2], sys.argv[2:])"
)
# Its names of languages by their BCP 47 tags; used in this order where the language is
# unknown.
_LANGUAGES: Final = {"en": "eng", "pt": "por", "es": "spa"}


class Tesseract:
    """The installed program with its languages."""

    def __init__(self, program: str, languages: Sequence[str]) -> None:
        self._program = program
        self._languages = tuple(languages)

    def text_of(self, image: bytes, limit_s: float, language: str | None = None) -> str:
        """Return the text on an image in a format that tesseract reads.

        Args:
            image: The file's bytes.
            limit_s: How long it may take.
            language: BCP 47; without it, or without its data, every installed one of a
                few is tried.

        Raises:
            ReadingError: It failed, or took too long.
        """
        languages = self._languages_for(language)
        size = str(_OCR_MEMORY_MB << 20)
        options = ("stdin", "stdout", "-l", languages, "--dpi", str(DPI))
        try:
            done = subprocess.run(
                [sys.executable, "-c", _LIMITED, size, self._program, *options],
                input=image,
                capture_output=True,
                timeout=limit_s,
                check=False,
                env=child_environment(OMP_THREAD_LIMIT="1"),
            )
        except subprocess.TimeoutExpired as error:
            raise ReadingError(f"text not recognised in {limit_s:.0f} s") from error
        except OSError as error:
            raise ReadingError(f"tesseract could not be run: {error}") from error
        _check_exit(done)
        return done.stdout.decode(errors="replace")

    def _languages_for(self, language: str | None) -> str:
        """Return the data for a text's language, or all there are, as an argument."""
        stated = _LANGUAGES.get((language or "").partition("-")[0].lower())
        if stated is None or stated not in self._languages:
            return "+".join(self._languages)
        return stated


def _check_exit(done: subprocess.CompletedProcess[bytes]) -> None:
    if done.returncode < 0:  # tesseract ends itself where it gets no memory
        raise ReadingError(f"text not recognised in {_OCR_MEMORY_MB} MB of memory")
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[-200:]
        raise ReadingError(f"tesseract ended with exit code {done.returncode}: {said}")


@cache
def installed_tesseract() -> Tesseract | None:
    """Return the program if it is installed with data for one of the languages."""
    program = shutil.which("tesseract")
    if program is None:
        return None
    try:
        listed = subprocess.run(
            [program, "--list-langs"], capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    available = set(listed.stdout.decode(errors="replace").split())
    languages = [name for name in _LANGUAGES.values() if name in available]
    return Tesseract(program, languages) if languages else None


LIMIT_S: Final = 60.0  # of reading one document; a thousand pages take 10
# address space of the reading process; with all libraries loaded it has 200
MEMORY_MB: Final = 500
_PAGE_S: Final = 60.0  # of recognising the text of one page
DOCUMENT_S: Final = 300.0  # of recognising the text of all pages of a document
# of texts that are kept to be given again for the same content
_KEPT_CHARS = 20_000_000


class _OwnSandbox(Sandbox, Protocol):
    """A sandbox that its user closes."""

    def close(self) -> None:
        """End its process."""
        ...


class DocumentReader:
    """Reads documents in a child process; what ends the process costs one document.
    One thread reads at a time.
    """

    def __init__(
        self, sandbox: _OwnSandbox, tesseract: Tesseract | None = None
    ) -> None:
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
        if not isinstance(found, NewsAssetsError):
            if not found.scanned_pages:
                return found
            return self._with_recognised(found, body, language)
        reason = str(found)
        kind = self._kind_of(body, content_type)
        failed = ReadDocument(kind=kind, outcome="failed", reason=reason)
        if kind == "pdf" and reason.startswith(ENDED):
            return self._by_pypdf(body, failed)
        return failed

    def _by_pypdf(self, body: bytes, failed: ReadDocument) -> ReadDocument:
        """Return what pypdf reads of a PDF on which PDFium crashed, as it does where a
        page needs too much memory.
        """
        [found] = self._sandbox.run(read_by_pypdf, [(body, failed.reason)])
        if isinstance(found, NewsAssetsError):
            return failed
        if found.outcome != "ok":
            return failed
        return found

    def _kind_of(self, body: bytes, content_type: str) -> DocumentKind:
        [kind] = self._sandbox.run(kind_of, [(body, content_type)])
        if isinstance(kind, NewsAssetsError):
            return "unknown"
        return kind

    def _keep(self, key: str, found: ReadDocument) -> None:
        self._kept[key] = found
        self._kept_chars += _chars_of(found)
        while self._kept_chars > _KEPT_CHARS:
            _, dropped = self._kept.popitem(last=False)
            self._kept_chars -= _chars_of(dropped)

    # --- scans ------------------------------------------------------------------------

    def _with_recognised(
        self, found: ReadDocument, body: bytes, language: str | None
    ) -> ReadDocument:
        """Return the document with the recognised text of its scanned pages, where that
        is more than the text of the file.
        """
        if self._tesseract is None:
            return replace(found, reason=f"{found.reason}; tesseract is not installed")
        recognised, problems = self._recognised_pages(
            self._tesseract, found, body, language
        )
        texts = list(found.texts)
        better: list[int] = []
        for number, text in recognised.items():
            of_file = texts[number - 1]
            if _letters(text) > _letters(of_file):
                texts[number - 1] = text
                better.append(number)
        reasons = [found.reason]
        if better:
            pages = pages_of(better, found.pages or 0)
            reasons.append(f"text of {pages} by OCR")
        reasons += dict.fromkeys(problems)
        made = replace(found, texts=tuple(texts), ocr_pages=tuple(better))
        outcome: DocumentOutcome = "ok" if made.text.strip() else "skipped"
        reason = "; ".join(filter(None, reasons))
        return replace(made, outcome=outcome, reason=reason)

    def _recognised_pages(
        self,
        tesseract: Tesseract,
        found: ReadDocument,
        body: bytes,
        language: str | None,
    ) -> tuple[dict[int, str], list[str]]:
        """Return the recognised texts of scanned pages by number, and why others have
        none.
        """
        texts: dict[int, str] = {}
        problems: list[str] = []
        deadline = time.monotonic() + DOCUMENT_S
        for number in found.scanned_pages:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 1:
                problems.append(
                    f"text of later pages not recognised in {DOCUMENT_S:.0f} s"
                )
                break
            limit_s = min(_PAGE_S, remaining_s)
            try:
                text = self._recognised(tesseract, body, number, limit_s, language)
            except NewsAssetsError as error:
                problems.append(str(error))
            else:
                texts[number] = text
        return texts, problems

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


def _chars_of(document: ReadDocument) -> int:
    return sum(map(len, document.texts))


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
