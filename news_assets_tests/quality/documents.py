"""The text of PDFs beside pypdf's own in the same run, the pages read in a second, and
made PDFs at their worst.

    python -m news_assets_tests.quality.documents

Reads the PDFs of ../shared/corpus. Recall is the share of pypdf's words, counted with
repetitions, that the text has; a word that is broken at the end of a line is joined on
both sides. Exits 1 if a PDF is below RECALL, if fewer than PAGES_PER_S are read, or if
a hostile PDF takes more than its memory or time, or spoils the next one.
"""

import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

import psutil
import pypdf

from news_assets.clients.document_reader import (
    LIMIT_S,
    MEMORY_MB,
    DocumentReader,
    installed_tesseract,
)
from news_assets.clients.sandbox import ProcessSandbox
from news_assets_tests.support.pdfs import HOSTILE, pdf_of

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
RECALL = 0.985  # pypdf runs words of neighbouring cells together
PAGES_PER_S = 20.0
START_S = 10.0  # of a new process, and of ending one that hangs
# over the corpus, of which each changes a byte after the end so that nothing is kept
ROUNDS = 5
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\xad]\s*\n\s*(?=[^\W\d_A-Z])")


def words_of(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", _BROKEN.sub("", text).lower()))


def recall_of(body: bytes, text: str) -> float:
    """Return the share of pypdf's words that a text has too."""
    expected = words_of(
        "\n".join(page.extract_text() for page in pypdf.PdfReader(BytesIO(body)).pages)
    )
    return (expected & words_of(text)).total() / max(expected.total(), 1)


@contextmanager
def peak_of_children() -> Iterator[list[int]]:
    """Yield a list that has the largest memory of one child process, in MB, at the end."""
    peak, is_over = [0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            for child in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    peak[0] = max(peak[0], child.memory_info().rss >> 20)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        is_over.set()
        watcher.join()


def corpus(reader: DocumentReader) -> Iterator[str]:
    """Print the recall of each PDF and the speed over all; yield what is below its
    floor.
    """
    bodies = {
        path.name: path.read_bytes() for path in sorted(CORPUS.glob("civic_*/**/*.pdf"))
    }
    if not bodies:
        print("skipped: no corpus beside the repository")
        return
    for name, body in bodies.items():
        found = reader.read(body)
        recall = recall_of(body, found.text)
        print(f"{recall:.4f}  {found.pages} pages  {found.outcome}  {name}")
        if recall < RECALL:
            yield f"{name}: recall {recall:.4f}, floor {RECALL}"
    pages, started = 0, time.perf_counter()
    for number in range(ROUNDS):
        pages += sum(
            reader.read(body + b"\n" * (number + 1)).pages or 0
            for body in bodies.values()
        )
    speed = pages / (time.perf_counter() - started)
    print(f"{speed:.0f} pages/s over {pages} pages")
    if speed < PAGES_PER_S:
        yield f"{speed:.1f} pages/s, floor {PAGES_PER_S}"


def hostile(reader: DocumentReader) -> Iterator[str]:
    """Print time, memory and outcome of each hostile PDF; yield those that exceed their
    limits.
    """
    for name, make in HOSTILE.items():
        body = make()
        started = time.perf_counter()
        with peak_of_children() as peak:
            found = reader.read(body)
        took_s = time.perf_counter() - started
        is_next_read = reader.read(pdf_of(f"After {name}")).text == f"After {name}"
        print(
            f"{took_s:5.1f} s  {peak[0]:4} MB  {name}: {found.outcome}{f', {found.reason}' if found.reason else ''}"
        )
        if took_s > LIMIT_S + START_S or peak[0] > MEMORY_MB or not is_next_read:
            yield f"{name}: {took_s:.1f} s, {peak[0]} MB, the next one {'is' if is_next_read else 'is not'} read"


def main() -> int:
    with DocumentReader(
        ProcessSandbox(LIMIT_S, MEMORY_MB), installed_tesseract()
    ) as reader:
        missed = [*corpus(reader), *hostile(reader)]
    for line in missed:
        print(f"MISSED {line}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
