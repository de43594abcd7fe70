import pytest

from news_assets.pipeline.documents.document_kinds import kind_of
from news_assets.pipeline.documents.read import read_document
from news_assets.records.reading import ReadDocument
from news_assets_tests.support.office import archive_of, docx_of, odt_of
from news_assets_tests.support.pdfs import pdf_of

HTML = (
    "<html><head><title>Fees</title></head><body><p>The fee is <del>$10</del> <ins>$<b>12</b></ins>.</p>"
    "<table><tr><td>Item</td><td>Vote</td></tr><tr><td>1</td><td>Yes</td></tr></table></body></html>"
)


@pytest.mark.parametrize(
    ("body", "stated", "kind"),
    [
        (pdf_of("a"), "text/html", "pdf"),
        (b"\r\n" + pdf_of("a"), "", "pdf"),
        (docx_of(), "application/pdf", "docx"),
        (odt_of(""), "application/zip", "odt"),
        (b"{\\rtf1 a}", "application/msword", "rtf"),
        (HTML.encode(), "application/pdf", "html"),
        (b"Agenda", "text/html; charset=utf-8", "html"),
        (b"Agenda", "text/plain", "text"),
        (b"Agenda", "application/octet-stream", "unknown"),
        (b"", "text/plain", "unknown"),
        (b"PK\x03\x04 cut", "application/zip", "unknown"),
    ],
)
def test_bytes_decide_the_kind(body: bytes, stated: str, kind: str) -> None:
    assert kind_of(body, stated) == kind


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "an empty file"),
        (b"\xd0\xcf\x11\xe0\xa1", "an Office document in the format before 2007"),
        (b"\x89PNG\r\n", "an image"),
        (archive_of({"a.txt": "a"}), "a zip archive without a docx, pptx or odt"),
        (b"\x00\x01", "of no kind that is read"),
    ],
)
def test_a_document_of_an_unknown_kind_says_what_it_is(
    body: bytes, reason: str
) -> None:
    assert read_document(body) == ReadDocument(
        kind="unknown", outcome="skipped", reason=reason
    )


def test_an_html_document_keeps_marks_and_tables() -> None:
    found = read_document(HTML.encode(), "text/html")
    assert (found.kind, found.outcome, found.title, found.pages) == (
        "html",
        "ok",
        "Fees",
        None,
    )
    assert (
        found.text
        == "The fee is ~~$10~~ ++$12++.\n\n| Item | Vote |\n| --- | --- |\n| 1 | Yes |"
    )


def test_a_rich_text_is_read_without_its_pictures() -> None:
    body = (
        rb"{\rtf1\ansi Votes\par {\pict\pngblip "
        + b"0f" * 500_000
        + rb"}\b Passed\b0  in a\'e7\'e3o\par}"
    )
    found = read_document(body)
    assert (found.kind, found.outcome, found.text) == (
        "rtf",
        "ok",
        "Votes\nPassed in ação",
    )


def test_a_plain_text_is_kept_as_it_is() -> None:
    assert (
        read_document("Ata\r\n\r\n\r\nVotação ".encode(), "text/plain").text
        == "Ata\n\nVotação"
    )


def test_html_without_an_element_has_no_text() -> None:
    found = read_document(b"<!--a-->", "text/html")
    assert (found.kind, found.outcome, found.reason) == ("html", "skipped", "no text")
