from dataclasses import replace
from datetime import UTC, datetime

import pytest

from news_assets.pipeline.page.readers import read_page, with_document
from news_assets.records.reading import ExtractedArticle, Page, ReadDocument
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.office import docx_of
from news_assets_tests.support.pdfs import GREY, pdf_of, scan_of

URL = "https://www.example.org/edital.pdf"
TEXT = "PREFEITURA\nA Prefeitura convoca os candidatos aprovados no concurso para a entrega dos documentos."


def page(body: bytes, content_type: str = "application/pdf") -> Page:
    return Page(
        url=URL,
        final_url=f"{URL}?utm_source=x",
        status=200,
        body=body,
        content_type=content_type,
        fetched_at=datetime(2026, 3, 4, tzinfo=UTC),
    )


def test_a_page_that_is_a_pdf_is_an_article() -> None:
    assert read_page(
        page(pdf_of(TEXT, title="Edital de convocação")), "America/Bahia", "pt-BR"
    ) == ExtractedArticle(
        url=URL,
        canonical_url=URL,
        outcome="ok",
        title="Edital de convocação",
        article_type="DigitalDocument",
        language="pt-BR",
        text=TEXT,
    )


@pytest.mark.parametrize(
    "stated",
    ["Microsoft Word - edital final.docx", "edital_v2.pdf", "Untitled", "2003", ""],
)
def test_without_a_stated_title_the_first_line_is_the_title(stated: str) -> None:
    found = page(b"%PDF-1.7")
    document = ReadDocument(
        kind="pdf", outcome="ok", title=stated, texts=("1.\n## **Edital nº 5**\nTexto",)
    )
    assert read_page(replace(found, document=document), "UTC").title == "Edital nº 5"


def test_a_word_document_is_an_article_too() -> None:
    found = read_page(
        page(docx_of(title="Fees of the city"), "application/msword"), "UTC", "en"
    )
    assert (found.outcome, found.title, str(found.text)[:9]) == (
        "ok",
        "Fees of the city",
        "## Agenda",
    )


def test_a_document_without_a_text_states_why() -> None:
    found = read_page(page(scan_of((128, 80, GREY))), "UTC")
    assert (found.outcome, found.reason, found.text) == (
        "skipped",
        "pdf: scanned: page 1",
        None,
    )


def test_documents_are_read_before_and_other_pages_are_not() -> None:
    sandbox = InlineSandbox()
    found, html = (
        with_document(page(pdf_of("Edital")), sandbox),
        with_document(page(b"<p>Edital", "text/html"), sandbox),
    )
    assert (found.document and found.document.text, html.document) == ("Edital", None)
    assert with_document(page(pdf_of("Edital")), sandbox, None, {}).document is None
