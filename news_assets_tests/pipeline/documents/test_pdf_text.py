"""Texts of PDFs by page, and what is struck out in them."""

import pytest

from news_assets.pipeline.documents import pdf_text as pdf_module
from news_assets.pipeline.documents.pdf_text import (
    MAX_PIXELS,
    page_image,
    pages_of,
    read_by_pypdf,
)
from news_assets.pipeline.documents.read import read_document
from news_assets.records.reading import MAX_PAGES, ReadDocument
from news_assets_tests.support.pdfs import (
    FONT,
    GREY,
    Pdf,
    broken_xref,
    huge_page,
    many_pages,
    pdf_of,
    scan_of,
    shown,
)

ENCRYPTED = (
    "/Encrypt<</Filter/Standard/V 1/R 2/Length 40/P -44"
    "/O<2055c756c72e1ad702608e8196acad447ad32d17cff583235f6dd15fed7dab67>/U<0000000000000000000000000000000000000000000000000000000000000000>>>"
    "/ID[<00><00>]"
)


def test_a_pdf_is_read_by_page_with_its_title() -> None:
    found = read_document(
        pdf_of("Agenda\nCall to order", "Votação — ata", title="City Council")
    )
    assert found == ReadDocument(
        kind="pdf",
        outcome="ok",
        title="City Council",
        pages=2,
        texts=("Agenda\nCall to order", "Votação — ata"),
    )
    assert found.text == "Agenda\nCall to order\n\nVotação — ata"


def test_sentences_and_words_broken_at_the_end_of_a_line_are_joined() -> None:
    text = (
        "The council will discuss the lease of the build-\ning at 12 Main Street and the\n"
        "sale of buses\nto the county.\nItem 2"
    )
    [page] = read_document(pdf_of(text)).texts
    assert page == (
        "The council will discuss the lease of the building at 12 Main Street and the sale of buses to the county."
        "\nItem 2"
    )


def test_a_pdf_with_wrong_offsets_is_read() -> None:
    assert (
        read_document(broken_xref()).text == "The council will meet on Tuesday at nine."
    )


@pytest.mark.parametrize(
    ("body", "outcome", "pages", "reason"),
    [
        (b"%PDF-1.7\n" + b"\0" * 2000, "failed", None, "broken PDF: "),
        (
            many_pages(MAX_PAGES + 1),
            "skipped",
            1001,
            "1,001 pages; documents of more than 1,000 are not read",
        ),
        (pdf_of(""), "skipped", 1, "no text and no image on its pages"),
        (scan_of((128, 80, GREY)), "skipped", 1, "scanned: page 1"),
    ],
)
def test_a_pdf_without_a_text_has_a_reason(
    body: bytes, outcome: str, pages: int | None, reason: str
) -> None:
    found = read_document(body)
    assert (found.kind, found.outcome, found.pages, found.text) == (
        "pdf",
        outcome,
        pages,
        "",
    )
    assert str(found.reason).startswith(reason)


def test_a_pdf_that_needs_a_password_is_skipped() -> None:
    body = pdf_of("Secret").replace(b"/Root 1 0 R", b"/Root 1 0 R" + ENCRYPTED.encode())
    assert (read_document(body).outcome, read_document(body).reason) == (
        "skipped",
        "needs a password",
    )


def test_a_document_of_which_half_the_pages_are_images_is_scanned() -> None:
    image = (128, 80, GREY)
    scanned, text = (
        read_document(scan_of(image, image)),
        read_document(pdf_of("Agenda")),
    )
    assert (scanned.is_scanned, scanned.scanned_pages, text.is_scanned) == (
        True,
        (1, 2),
        False,
    )
    assert not ReadDocument(
        kind="pdf", outcome="ok", pages=3, scanned_pages=(2,)
    ).is_scanned


def test_a_pdf_that_pdfium_cannot_open_is_read_by_pypdf() -> None:
    assert read_by_pypdf(pdf_of("Agenda of the council"), "").texts == (
        "Agenda of the council",
    )
    found = read_by_pypdf(scan_of((128, 80, GREY)), "")
    assert (found.scanned_pages, found.outcome) == ((1,), "skipped")


def test_a_long_text_is_cut_at_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_module, "MAX_TEXT_CHARS", 15)
    found = read_document(pdf_of("Ten letters", "Ten others"))
    assert (found.texts, found.pages, found.outcome) == (("Ten letters",), 2, "ok")
    assert found.reason == "cut after page 1 of 2, at 15 characters"


@pytest.mark.parametrize(
    ("numbers", "count", "words"),
    [
        ([3], 7, "page 3"),
        ([1], 1, "page 1"),
        ([1, 4], 7, "pages 1, 4"),
        ([1, 2], 2, "all 2 pages"),
        (list(range(1, 14)), 20, "pages 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more"),
    ],
)
def test_pages_are_named(numbers: list[int], count: int, words: str) -> None:
    assert pages_of(numbers, count) == words


def test_a_page_is_rendered_in_grey_and_within_the_limit_of_pixels() -> None:
    image = page_image(pdf_of("Agenda"), 1)
    assert image.startswith(b"P5 2480 3509 255\n")
    assert len(image) == len(b"P5 2480 3509 255\n") + 2480 * 3509
    assert min(image) < 100 < max(image)
    width, height = map(int, page_image(huge_page(), 1)[:40].split()[1:3])
    assert 0.9 * MAX_PIXELS < width * height < 1.01 * MAX_PIXELS


# --- struck-out text ------------------------------------------------------------------

TEXT = "The fee is ten dollars a month.\nThe rest stays as it is."


def with_lines(*drawn: str) -> bytes:
    """Return a page with TEXT, whose first baseline is at 780 and which has 11 points,
    and these lines.
    """
    made = Pdf()
    made.pages(
        [made.page(made.stream(shown(TEXT) + " ".join(("", *drawn)).encode()), FONT)]
    )
    return made.bytes()


@pytest.mark.parametrize(
    "drawn",
    ["0.7 w 110 783 m 163 783 l S", "110 782.6 53 0.8 re f"],
    ids=["a stroke", "a filled rectangle"],
)
def test_a_line_through_letters_strikes_them_out(drawn: str) -> None:
    assert read_document(with_lines(drawn)).text == TEXT.replace(
        "ten dollars", "~~ten dollars~~"
    )


@pytest.mark.parametrize(
    "drawn",
    [
        "0.7 w 110 778 m 163 778 l S",  # an underline
        "0.7 w 55 790 m 540 790 l S",  # a rule of a table above
        "110 778 53 12 re f",  # a box behind the words
        "0.7 w 300 783 m 400 783 l S",  # beside the text
    ],
)
def test_other_lines_leave_the_text_as_it_is(drawn: str) -> None:
    assert read_document(with_lines(drawn)).text == TEXT


def test_lines_over_each_other_are_one_mark() -> None:
    twice = with_lines("0.7 w 110 783 m 163 783 l S", "0.7 w 110 783.4 m 140 783.4 l S")
    assert read_document(twice).text == TEXT.replace("ten dollars", "~~ten dollars~~")
