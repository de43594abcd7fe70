"""Kinds of documents, archives within limits, and documents that are not read."""

from io import BytesIO
from zipfile import ZipFile

import pytest

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.document_kinds import (
    kind_of,
    open_zip,
    skip_by_name,
)
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


# --- zip archives ---------------------------------------------------------------------

# of the directory, in which the version that is needed and the name follow
_ENTRY = b"PK\x01\x02"


def archive(version: int = 20, name: bytes = "ação.txt".encode()) -> bytes:
    """Return an archive of one file that needs this version (in tenths) and has this
    name, of ten bytes.
    """
    body = BytesIO()
    with ZipFile(body, "w") as opened:
        opened.writestr("ação.txt", "text")
    data = bytearray(body.getvalue())
    at = data.rindex(_ENTRY)
    data[at + 6] = version
    data[at + 46 : at + 46 + len(name)] = name
    return bytes(data)


def test_an_archive_is_opened() -> None:
    assert open_zip(archive()).namelist() == ["ação.txt"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(archive(version=127), id="made by a later version of zip"),
        pytest.param(
            archive(name=b"a\xff\xfe\xffo.txtx"), id="a name that is no UTF-8"
        ),
        pytest.param(archive()[:-10], id="cut off"),
        pytest.param(b"no archive", id="something else"),
    ],
)
def test_one_that_cannot_be_read_is_one_error(body: bytes) -> None:
    with pytest.raises(ReadingError, match="not a zip archive that can be read: "):
        open_zip(body)


# --- documents that are not worth reading ---------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Item_4_Public_Comments_Received.pdf", "public comments, by its name"),
        ("ecomments 2026-03-01", "public comments, by its name"),
        ("Letters of Support.pdf", "public comments, by its name"),
        ("How to Participate via Zoom", "boilerplate, by its name"),
        ("SPEAKER-CARD.pdf", "boilerplate, by its name"),
        ("Public Comment Card.pdf", "boilerplate, by its name"),
        ("Agenda.pdf", None),
        ("Response to public comment period extension.pdf", None),
        ("Recommendation letters policy.pdf", None),
        ("Parking ordinance map amendment.pdf", None),
        ("Board-of-Directors-Code-of-Conduct.pdf", None),
    ],
)
def test_bundles_of_comments_and_boilerplate_are_known_by_their_names(
    name: str, reason: str | None
) -> None:
    assert skip_by_name(name) == reason


def test_a_bundle_of_messages_is_known_by_its_text() -> None:
    mail = "From: A. Citizen\nSent: Monday\nTo: Clerk\nSubject: Item 4\nPlease vote no."
    bundle, report = (
        read_document(pdf_of(*[mail] * 8, "More")),
        read_document(pdf_of(*[mail] * 7, "Report")),
    )
    assert (bundle.outcome, bundle.reason, bundle.pages, bundle.text) == (
        "skipped",
        "public comments: 8 of 9 pages are messages",
        9,
        "",
    )
    assert report.outcome == "ok"
