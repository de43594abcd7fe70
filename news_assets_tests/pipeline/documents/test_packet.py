import pytest

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.packet import cut_packet
from news_assets.records.reading import PacketPart
from news_assets_tests.support.pdfs import FONT, Pdf, pdf_of, shown

TITLES = (
    "Approve the lease of the library at 12 Main Street",
    "Ordinance on the night buses, second reading",
    "Appeal of the planning decision for Harbour Square",
)
REPORTS = (
    "Report\n" + TITLES[0],
    "Map",
    "Report\n" + TITLES[1],
    "Report\n" + TITLES[2],
    "Annex",
)
PARTS = (PacketPart(0, 2, 3), PacketPart(1, 4, 4), PacketPart(2, 5, 6))


def packet(*pages: str) -> tuple[Pdf, list[int]]:
    made = Pdf()
    numbers = [made.page(made.stream(shown(text)), FONT) for text in pages]
    made.pages(numbers)
    return made, numbers


def with_bookmarks(*places: tuple[str, int]) -> bytes:
    """Return a packet with an agenda and the reports, and bookmarks to these pages."""
    made, pages = packet("Agenda", *REPORTS)
    root = made.add("")
    for number, (title, page) in enumerate(places, start=root + 1):
        following = f"/Next {number + 1} 0 R" if number < root + len(places) else ""
        made.add(
            f"<</Title({title})/Parent {root} 0 R/Dest[{pages[page - 1]} 0 R/Fit]{following}>>"
        )
    made.objects[root - 1] = (
        f"<</First {root + 1} 0 R/Last {root + len(places)} 0 R/Count {len(places)}>>".encode()
    )
    made.objects[0] = f"<</Type/Catalog/Pages 2 0 R/Outlines {root} 0 R>>".encode()
    return made.bytes()


def with_links(*places: tuple[str, int]) -> bytes:
    """Return a packet whose agenda has a line for each item, and a link over each line."""
    made, pages = packet("\n".join(title for title, _ in places), *REPORTS)
    links = []
    for line, (_, page) in enumerate(places):
        top = 791 - 14 * line
        entries = f"/Rect[55 {top - 14} 540 {top}]"
        links.append(
            made.add(
                f"<</Type/Annot/Subtype/Link{entries}/Dest[{pages[page - 1]} 0 R/Fit]>>"
            )
        )
    annotations = "/Annots[" + " ".join(f"{link} 0 R" for link in links) + "]"
    first = pages[0] - 1
    made.objects[first] = made.objects[first][:-2] + annotations.encode() + b">>"
    return made.bytes()


@pytest.mark.parametrize("make", [with_bookmarks, with_links])
def test_a_packet_is_cut_where_bookmarks_or_links_agree_with_the_titles(
    make: object,
) -> None:
    assert callable(make)
    places = [("1. " + TITLES[0], 2), ("2. " + TITLES[1], 4), ("3. " + TITLES[2], 5)]
    assert cut_packet(make(*places), TITLES) == PARTS
    assert cut_packet(make(*places[:2]), TITLES) == (
        PacketPart(0, 2, 3),
        PacketPart(1, 4, 6),
    )


def test_bookmarks_that_do_not_agree_with_the_titles_are_ignored() -> None:
    assert (
        cut_packet(with_bookmarks(("Agenda", 1), ("Scan 4", 2), ("Scan 5", 5)), TITLES)
        == ()
    )
    assert cut_packet(with_bookmarks((TITLES[0], 2), ("Scan 5", 5)), TITLES) == ()
    # in the wrong order
    assert cut_packet(with_bookmarks((TITLES[2], 2), (TITLES[0], 4)), TITLES) == ()


def test_a_packet_is_cut_by_the_page_numbers_of_its_agenda() -> None:
    agenda = f"1. {TITLES[0]} .... 2\n2. Ordinance on the night buses,\nsecond reading (page 4)\n3. {TITLES[2]} p. 5-6"
    assert cut_packet(pdf_of(agenda, *REPORTS), TITLES) == PARTS


def test_pages_before_the_first_number_are_counted() -> None:
    agenda = f"1. {TITLES[0]} .... 1\n2. {TITLES[1]} .... 3\n3. {TITLES[2]} .... 4"
    moved = tuple(
        PacketPart(one.item, one.first_page + 1, one.last_page + 1) for one in PARTS
    )
    assert cut_packet(pdf_of("Cover", agenda, *REPORTS), TITLES) == moved


def test_page_numbers_that_lead_to_other_texts_are_ignored() -> None:
    agenda = f"1. {TITLES[0]} .... 2\n2. {TITLES[1]} .... 4\n3. {TITLES[2]} .... 5"
    assert cut_packet(pdf_of(agenda, *["Budget"] * 5), TITLES) == ()


def test_a_packet_that_cannot_be_opened_is_an_error() -> None:
    with pytest.raises(ReadingError, match="broken PDF"):
        cut_packet(b"%PDF-1.7 nothing", TITLES)
