"""Reads presentations: the texts and tables of each slide."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

from news_assets.pipeline.documents.markdown_parts import STRUCK, Mark, marked, table
from news_assets.pipeline.documents.zip_archive import open_archive
from news_assets.records.reading import MAX_PAGES, ReadDocument
from news_assets.text.limits import clean_text


def read_pptx(body: bytes) -> ReadDocument:
    """Return the text of a presentation by slide.

    Raises:
        ReadingError: It is no archive within the limits.
        Exception: Those of python-pptx and lxml, for broken files.
    """
    import pptx

    open_archive(body).close()
    presentation = pptx.Presentation(BytesIO(body))
    count = len(presentation.slides)
    if count > MAX_PAGES:
        reason = (
            f"{count:,} slides; presentations of more than {MAX_PAGES:,} are not read"
        )
        return ReadDocument(kind="pptx", outcome="skipped", reason=reason, pages=count)
    texts = tuple(
        clean_text("\n\n".join(filter(None, _slide(slide))))
        for slide in presentation.slides
    )
    title = presentation.core_properties.title
    # What python-pptx writes into a new file, and its template.
    stated = None if title in ("", "PowerPoint Presentation") else title
    return ReadDocument(
        kind="pptx", outcome="ok", title=stated, pages=count, texts=texts
    )


def _slide(slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    for shape in _flat(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            text = " ".join(shape.text_frame.text.split())
            yield f"## {text}" if text else ""
        elif shape.has_text_frame:
            yield "\n".join(filter(None, map(_paragraph, shape.text_frame.paragraphs)))
        elif getattr(shape, "has_table", False):
            yield table([cell.text for cell in row.cells] for row in shape.table.rows)


def _flat(shapes: Iterable[Any]) -> Iterator[Any]:
    for shape in shapes:
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            yield from _flat(inner)


def _paragraph(paragraph: Any) -> str:
    return " ".join(marked((run.text, _mark(run)) for run in paragraph.runs).split())


def _mark(run: Any) -> Mark:
    strike = None if run._r.rPr is None else run._r.rPr.get("strike")
    return STRUCK if strike in ("sngStrike", "dblStrike") else ""
