from news_assets.pipeline.documents.document_kinds import MAX_XML_BYTES
from news_assets.pipeline.documents.read import read_document
from news_assets.records.reading import ReadDocument
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.office import archive_of, docx_of, odt_of, saved

CHANGED = (
    "<w:p><w:r><w:t>The fee is </w:t></w:r><w:del><w:r><w:delText>$10</w:delText></w:r></w:del>"
    "<w:ins><w:r><w:t>$12 </w:t></w:r></w:ins><w:r><w:rPr><w:strike/></w:rPr><w:t>a</w:t></w:r>"
    '<w:r><w:rPr><w:strike w:val="0"/></w:rPr><w:t xml:space="preserve"> month.</w:t></w:r></w:p>'
)
START = (
    "## Agenda\n\n- Call to order\n\n| Item | Vote |\n| --- | --- |\n| 1 / a | Yes |"
)


def test_a_word_document_is_markdown_with_marks_for_struck_and_added_text() -> None:
    assert read_document(docx_of(CHANGED, title="Fees")) == ReadDocument(
        kind="docx",
        outcome="ok",
        title="Fees",
        texts=(f"{START}\n\nThe fee is ~~$10~~++$12++ ~~a~~ month.",),
    )


def test_a_text_box_is_read_once() -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent>"
    both = (
        '<w:p xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><mc:AlternateContent>'
        f'<mc:Choice Requires="wps">{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>'
    )
    assert read_document(docx_of(both)).text == f"{START}\n\nIn a box"


def test_a_presentation_is_read_by_slide() -> None:
    import pptx
    from pptx.util import Inches

    presentation = pptx.Presentation()
    first, second = (
        presentation.slides.add_slide(presentation.slide_layouts[1]) for _ in range(2)
    )
    first.shapes.title.text, first.placeholders[1].text = "Budget", "Revenue\nSpending"
    run = first.placeholders[1].text_frame.paragraphs[0].runs[0]
    run._r.get_or_add_rPr().set("strike", "sngStrike")
    table = second.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(1)).table
    for (row, column), text in {
        (0, 0): "Year",
        (0, 1): "Sum",
        (1, 0): "2027",
        (1, 1): "5",
    }.items():
        table.cell(row, column).text = text
    assert read_document(saved(presentation)) == ReadDocument(
        kind="pptx",
        outcome="ok",
        pages=2,
        texts=(
            "## Budget\n\n~~Revenue~~\nSpending",
            "| Year | Sum |\n| --- | --- |\n| 2027 | 5 |",
        ),
    )


def test_an_opendocument_text_is_markdown_with_its_tracked_changes() -> None:
    style = '<style:style style:name="T1"><style:text-properties style:text-line-through-style="solid"/></style:style>'
    text = (
        '<text:tracked-changes><text:changed-region text:id="a"><text:insertion/></text:changed-region>'
        '<text:changed-region text:id="d"><text:deletion><text:p>$10</text:p></text:deletion></text:changed-region>'
        '</text:tracked-changes><text:h text:outline-level="1">Fees</text:h>'
        '<text:p>The fee is <text:change text:change-id="d"/><text:change-start text:change-id="a"/>$12'
        '<text:change-end text:change-id="a"/><text:s text:c="999999999"/><text:span text:style-name="T1">a</text:span>'
        " month.</text:p><text:list><text:list-item><text:p>One</text:p><text:list><text:list-item><text:p>Two</text:p>"
        "</text:list-item></text:list></text:list-item></text:list><table:table>"
        '<table:table-row table:number-rows-repeated="1000000">'
        "<table:table-cell><text:p>Item</text:p></table:table-cell>"
        "<table:table-cell><text:p>Vote</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell>"
        "<text:p>1</text:p></table:table-cell><table:table-cell><text:p>Yes</text:p></table:table-cell></table:table-row>"
        "</table:table>"
    )
    found = read_document(odt_of(text, style, title="Fees"))
    assert (found.kind, found.outcome, found.title) == ("odt", "ok", "Fees")
    spaces = " " * 20
    assert found.text.split("\n\n") == [
        "## Fees",
        f"The fee is ~~$10~~++$12++{spaces}~~a~~ month.",
        "- One\n  - Two",
        "| Item | Vote |\n| --- | --- |\n| 1 | Yes |",
    ]


def test_a_part_that_unpacks_to_too_much_is_not_read() -> None:
    found = read_document(
        archive_of({"word/document.xml": b" " * (MAX_XML_BYTES + (1 << 20))})
    )
    assert (found.kind, found.outcome, found.reason) == (
        "docx",
        "failed",
        "word/document.xml has 25 MB; more are not read",
    )


def test_entities_that_multiply_are_not_expanded() -> None:
    names = "abcdefghij"
    declared = "".join(
        f'<!ENTITY {name} "{f"&{other};" * 10}">'
        for name, other in zip(names[1:], names, strict=False)
    )
    content = f'<!DOCTYPE x [<!ENTITY a "ha">{declared}]><x>&j;</x>'
    kind = "application/vnd.oasis.opendocument.text"
    found = InlineSandbox().read_document(
        archive_of({"mimetype": kind, "content.xml": content})
    )
    assert (found.kind, found.outcome, found.text) == ("odt", "failed", "")


def test_a_broken_word_document_fails_with_its_reason() -> None:
    found = InlineSandbox().read_document(
        archive_of({"word/document.xml": "<w:document>"})
    )
    assert (found.kind, found.outcome) == ("docx", "failed")
    assert str(found.reason).startswith("could not be read: ")
