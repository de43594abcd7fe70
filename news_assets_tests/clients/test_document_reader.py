import resource
import shutil
from collections.abc import Callable, Iterator

import pytest

from news_assets.clients.document_reader import (
    MEMORY_MB,
    DocumentReader,
    Tesseract,
    installed_tesseract,
)
from news_assets.clients.sandbox import ProcessSandbox
from news_assets.errors import ReadingError
from news_assets.pipeline.documents.pdf_text import page_image
from news_assets_tests.support.pdfs import GREY, HOSTILE, bomb, pdf_of, scan_of

LIMIT_S = 4.0
TEXT = "The council will meet on Tuesday.\nItem 2 is the budget for 2027."

needs_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None,
    reason="tesseract is not installed: apt-get install tesseract-ocr",
)


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    with DocumentReader(ProcessSandbox(LIMIT_S, MEMORY_MB)) as opened:
        yield opened


def scan() -> bytes:
    """Return a scan of TEXT."""
    size, _, pixels = (
        page_image(pdf_of(TEXT), 1).removeprefix(b"P5 ").partition(b" 255\n")
    )
    width, height = map(int, size.split())
    return scan_of((width, height, pixels))


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_pdf_costs_one_document(
    make: Callable[[], bytes], reader: DocumentReader
) -> None:
    body = make()
    found = reader.read(body)
    after = reader.read(pdf_of(f"Neighbour of {make.__name__}"))
    assert found.kind == "pdf"
    assert found.outcome == "ok" or found.reason
    assert (after.outcome, after.text) == ("ok", f"Neighbour of {make.__name__}")


def test_the_reading_process_has_500_megabytes(reader: DocumentReader) -> None:
    [(soft, hard)] = reader._sandbox.run(resource.getrlimit, [(resource.RLIMIT_AS,)])
    assert soft == hard == 500 << 20


def test_a_broken_pdf_writes_nothing_to_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with DocumentReader(ProcessSandbox()) as reader:
        found = reader.read(
            b"%PDF-1.7\n1 0 obj <</Type/Catalog\x07secret\nstartxref\n9\n%%EOF"
        )
    assert (found.outcome, str(found.reason)[:10]) == ("failed", "broken PDF")
    assert capfd.readouterr() == ("", "")


def test_a_bomb_states_that_it_was_not_read(reader: DocumentReader) -> None:
    found = reader.read(HOSTILE["bomb"]())
    assert (found.kind, found.outcome, found.text) == ("pdf", "failed", "")
    assert str(found.reason).startswith("not read")


def test_the_other_pages_of_a_pdf_with_a_bomb_are_read(reader: DocumentReader) -> None:
    found = reader.read(bomb(beside="Call to order"))
    assert (found.outcome, found.pages, found.texts) == ("ok", 2, ("", "Call to order"))
    assert found.reason == "broken: page 1"


def test_each_content_is_read_once(reader: DocumentReader) -> None:
    first, second = (
        reader.read(pdf_of("Agenda"), name="a.pdf"),
        reader.read(pdf_of("Agenda"), name="b.pdf"),
    )
    assert first is second
    assert (
        reader.read(pdf_of("Agenda"), name="public comments.pdf").reason
        == "public comments, by its name"
    )


def test_without_tesseract_a_scan_says_so(reader: DocumentReader) -> None:
    found = reader.read(scan_of((128, 80, GREY)))
    assert (found.outcome, found.is_scanned, found.text) == ("skipped", True, "")
    assert found.reason == "scanned: page 1; tesseract is not installed"


class Scripted(Tesseract):
    """Recognises what it is told to, in order."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)

    def text_of(self, image: bytes, limit_s: float, language: str | None = None) -> str:
        assert image.startswith(b"P5 ")
        answer = self.answers.pop(0)
        if answer is None:
            raise ReadingError("text not recognised in 60 s")
        return answer


def test_recognised_text_is_kept_only_where_it_is_more_than_the_page_had() -> None:
    image = (128, 80, GREY)
    with DocumentReader(
        ProcessSandbox(), Scripted("Agenda\n\f", " ~ \n", None)
    ) as reader:
        found = reader.read(scan_of(image, image, image))
    assert (found.texts, found.ocr_pages, found.outcome, found.is_scanned) == (
        ("Agenda", "", ""),
        (1,),
        "ok",
        True,
    )
    assert (
        found.reason
        == "scanned: all 3 pages; text of page 1 by OCR; text not recognised in 60 s"
    )


@needs_tesseract
def test_a_scan_is_read_by_tesseract() -> None:
    with DocumentReader(ProcessSandbox(), installed_tesseract()) as reader:
        found = reader.read(scan(), language="en-US")
    assert (found.texts, found.ocr_pages) == ((TEXT,), (1,))


@needs_tesseract
def test_tesseract_is_ended_at_its_time_limit() -> None:
    program = installed_tesseract()
    assert program is not None
    with pytest.raises(ReadingError, match="not recognised in 0 s"):
        program.text_of(page_image(pdf_of(TEXT), 1), limit_s=0.05)
    with pytest.raises(ReadingError, match="exit code 1"):
        program.text_of(b"no image", limit_s=10)
