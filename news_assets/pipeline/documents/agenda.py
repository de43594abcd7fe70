"""Reads the items of an agenda from a document, and what it says beside them.

Items are stated by the bookmarks of a PDF, or by numbered lines whose numbers follow
one another.
"""

from collections.abc import Sequence
from dataclasses import replace

from news_assets.pipeline.documents.agenda_lines import (
    MIN_ITEMS,
    items_of,
    numbered_lines,
    paragraphs_of,
)
from news_assets.pipeline.documents.docx import numbered_paragraphs
from news_assets.pipeline.documents.kinds import kind_of
from news_assets.pipeline.documents.pdf.agenda import read_front
from news_assets.records.meetings import AgendaItem, Meeting
from news_assets.sources.civic.reading.agenda_pages import agenda_of
from news_assets.sources.civic.reading.numbering import with_matter_numbers

_SHORT_PAGES = 2  # of a document in which a single numbered line is an item


def read_agenda(body: bytes, url: str) -> Meeting | None:
    """Return the items and notes of an agenda as a partial meeting; None for other
    documents.

    Where bookmarks divide the document into items it is a packet, and `url` its
    address.

    Raises:
        ReadingError: It cannot be opened.
    """
    kind = kind_of(body)
    if kind == "docx":
        return _agenda(numbered_paragraphs(body), (), least=1)
    if kind != "pdf":
        return None
    front = read_front(body)
    least = 1 if front.pages <= _SHORT_PAGES else MIN_ITEMS
    agenda = _agenda(front.lines, front.bookmarked, least=least)
    return replace(agenda, packet_url=url) if front.bookmarked else agenda


def _agenda(
    lines: Sequence[str], bookmarked: Sequence[AgendaItem], *, least: int
) -> Meeting:
    numbered = numbered_lines(lines, least)
    within = {place for line in numbered for place in range(line.first, line.last + 1)}
    notes = paragraphs_of(
        [line for place, line in enumerate(lines) if place not in within]
    )
    items = bookmarked or items_of(numbered)
    return with_matter_numbers(agenda_of(items, notes))
