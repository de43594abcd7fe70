"""Office documents made by code."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style")
)


def docx_of(paragraphs: str = "", title: str = "") -> bytes:
    """Return a Word document with a heading, a list, a table, and these paragraphs as
    XML.
    """
    import docx
    from docx.oxml import parse_xml

    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Agenda", level=1)
    document.add_paragraph("Call to order", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        (c for row in table.rows for c in row.cells),
        ("Item", "Vote", "1 | a", "Yes"),
        strict=True,
    ):
        cell.text = text
    for paragraph in parse_xml(f'<w:body xmlns:w="{W}">{paragraphs}</w:body>'):
        document.element.body.insert(len(document.element.body) - 1, paragraph)
    return saved(document)


def saved(document: Any) -> bytes:
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def archive_of(members: Mapping[str, str | bytes]) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def odt_of(text: str, styles: str = "", title: str = "") -> bytes:
    """Return an OpenDocument text with this XML as its text."""
    content = (
        f"<office:document-content {_NAMES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{text}</office:text></office:body></office:document-content>"
    )
    meta = f'<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></m>'
    kind = "application/vnd.oasis.opendocument.text"
    return archive_of({"mimetype": kind, "content.xml": content, "meta.xml": meta})
