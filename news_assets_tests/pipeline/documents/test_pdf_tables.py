import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from news_assets.pipeline.documents.read import read_document
from news_assets_tests.support.growth import grows_linearly
from news_assets_tests.support.pdfs import FONT, Pdf

LEFTS, TOP, ROW = (60, 240, 330, 420), 700, 20
VOTES = [["Member", "Aye", "No"], ["Rivera", "X", ""], ["Chen", "", "X"]]
MARKDOWN = (
    "| Member | Aye | No |\n| --- | --- | --- |\n| Rivera | X | |\n| Chen | | X |"
)


def words(x: float, y: float, text: str) -> str:
    return f"BT /F 11 Tf {x} {y} Td ({text}) Tj ET"


def cells(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the texts of a table, each in its cell."""
    return [
        words(LEFTS[column] + 4, TOP - ROW * (row + 1) + 6, text)
        for row, of_row in enumerate(rows)
        for column, text in enumerate(of_row)
        if text
    ]


def segments(rows: int = 3) -> list[tuple[float, float, float, float]]:
    """Return the lines of a table of three columns: begin and end of each."""
    bottom = TOP - ROW * rows
    level = [
        (LEFTS[0], TOP - ROW * n, LEFTS[-1], TOP - ROW * n) for n in range(rows + 1)
    ]
    return [*level, *((x, TOP, x, bottom) for x in LEFTS)]


def strokes(lines: Sequence[tuple[float, float, float, float]]) -> list[str]:
    return [f"0.5 w {x1} {y1} m {x2} {y2} l S" for x1, y1, x2, y2 in lines]


def page_of(
    *content: str, entries: str = "", form_at: tuple[int, int] | None = None
) -> bytes:
    """Return a PDF of one page; with `form_at` all is drawn by a form that is moved so
    far.
    """
    made = Pdf()
    drawn = made.stream(
        "\n".join(content).encode("cp1252"),
        f"/Type/XObject/Subtype/Form/BBox[-600 -900 600 900]/Resources<<{FONT}>>"
        if form_at
        else "",
    )
    if form_at:
        x, y = form_at
        content_of_page = made.stream(f"q 1 0 0 1 {x} {y} cm /Fm Do Q".encode())
        made.pages([made.page(content_of_page, f"/XObject<</Fm {drawn} 0 R>>")])
    else:
        made.pages([made.page(drawn, FONT, f"/MediaBox[0 0 595 842]{entries}")])
    return made.bytes()


THIN = [
    f"{min(x1, x2)} {min(y1, y2)} {max(abs(x2 - x1), 0.7)} {max(abs(y2 - y1), 0.7)} re f"
    for x1, y1, x2, y2 in segments()
]
BOXES = [
    f"{left} {TOP - ROW * (row + 1)} {right - left} {ROW} re S"
    for row in range(3)
    for left, right in pairwise(LEFTS)
]
ONE_PATH = [
    " ".join(f"{x1} {y1} m {x2} {y2} l" for x1, y1, x2, y2 in segments()) + " S"
]


@pytest.mark.parametrize(
    "drawn",
    [strokes(segments()), THIN, BOXES, ONE_PATH],
    ids=["strokes", "thin", "boxes", "path"],
)
def test_a_ruled_table_is_markdown_between_the_text_around_it(drawn: list[str]) -> None:
    before, after = (
        words(60, 780, "The council votes:"),
        words(60, 600, "which ends the meeting of this day in March."),
    )
    found = read_document(page_of(before, *drawn, *cells(VOTES), after))
    assert (
        found.text
        == f"The council votes:\n\n{MARKDOWN}\n\nwhich ends the meeting of this day in March."
    )


def test_a_table_in_a_form_that_is_moved_is_read_too() -> None:
    assert (
        read_document(
            page_of(*strokes(segments()), *cells(VOTES), form_at=(20, -50))
        ).text
        == MARKDOWN
    )


def test_a_cell_over_several_columns_has_its_text_in_the_first() -> None:
    head = [*segments()[:4], *((x, TOP - ROW, x, TOP - 3 * ROW) for x in LEFTS[1:3])]
    lines = [
        *head,
        (LEFTS[0], TOP, LEFTS[0], TOP - 3 * ROW),
        (LEFTS[-1], TOP, LEFTS[-1], TOP - 3 * ROW),
    ]
    rows = [
        ["", "Budget of the city", ""],
        ["2025", "2026", "2027"],
        ["10", "11", "12"],
    ]
    assert read_document(page_of(*strokes(lines), *cells(rows))).text == (
        "| Budget of the city | | |\n| --- | --- | --- |\n| 2025 | 2026 | 2027 |\n| 10 | 11 | 12 |"
    )


def test_lines_of_a_cell_are_joined_and_bars_do_not_divide_it() -> None:
    rows = [["Fire | Police", "Aye", "No"], ["Rivera", "X", ""], ["Chen", "", "X"]]
    second = words(LEFTS[0] + 80, TOP - ROW + 6, "and parks")
    text = read_document(
        page_of(*strokes(segments()), cells(rows)[0], second, *cells(rows)[1:])
    ).text
    assert text.startswith("| Fire / Police and parks | Aye | No |\n")


def test_struck_out_words_of_a_cell_keep_their_marks() -> None:
    strike = f"0.7 w {LEFTS[0] + 4} {TOP - 2 * ROW + 9.5} m {LEFTS[0] + 36} {TOP - 2 * ROW + 9.5} l S"
    text = read_document(page_of(*strokes(segments()), *cells(VOTES), strike)).text
    assert "| ~~Rivera~~ | X | |" in text


NOT_TABLES = {
    "no lines": [*cells(VOTES)],
    "rows only": [*strokes(segments()[:4]), *cells(VOTES)],
    "a frame": [f"{LEFTS[0]} {TOP - 60} 360 60 re S", *cells(VOTES)],
    "open paths": [
        *(
            f"{LEFTS[0]} {y} m {LEFTS[-1]} {y} l {LEFTS[-1]} {y - 4} l S"
            for y in (700, 680, 660, 640)
        ),
        *(f"{x} 700 m {x - 9} 640 l {x} 640 l S" for x in LEFTS),
        *cells(VOTES),
    ],
    "one column": [
        *strokes(segments()),
        *(words(LEFTS[0] + 4, TOP - ROW * n + 6, f"Line {n}") for n in (1, 2, 3)),
    ],
    "one row": [*strokes(segments(1)), *cells(VOTES[:1])],
    "a form with few answers": [
        *strokes(segments(20)),
        *cells([["a", "b", ""], ["", "c", "d"], *[["", "", "e"]] * 18]),
    ],
    "long paragraphs": [
        *strokes(segments()),
        *cells([["word " * 130, "Aye", "No"], *VOTES[1:]]),
    ],
    "a word over a line": [
        *strokes(segments()),
        *cells([["Member", "Reappropriations-2026", "No"], *VOTES[1:]]),
    ],
    "text of others between": [
        *strokes(segments()),
        *cells(VOTES)[:4],
        words(60, 500, "Beside"),
        *cells(VOTES)[4:],
    ],
}


@pytest.mark.parametrize("content", NOT_TABLES.values(), ids=NOT_TABLES)
def test_what_is_not_clearly_a_table_stays_text(content: list[str]) -> None:
    drawn = re.compile(r" re S| l S")
    plain = read_document(
        page_of(*(one for one in content if not drawn.search(one)))
    ).text
    assert plain
    assert read_document(page_of(*content)).text == plain


@pytest.mark.parametrize(
    ("degrees", "matrix"),
    [(90, "0 1 -1 0 800 0"), (180, "-1 0 0 -1 595 842"), (270, "0 -1 1 0 0 842")],
)
def test_a_table_on_a_page_that_is_turned_is_read_too(
    degrees: int, matrix: str
) -> None:
    content = [f"q {matrix} cm", *strokes(segments()), *cells(VOTES), "Q"]
    assert (
        read_document(page_of(*content, entries=f"/Rotate {degrees}")).text == MARKDOWN
    )


def page_of_lines(count: int) -> bytes:
    lines = [
        f"{n % 600} 0 m {n % 600} 842 l S 0 {n % 842} m 600 {n % 842} l S"
        for n in range(count)
    ]
    return page_of(*lines, *cells(VOTES))


def test_a_page_of_very_many_lines_is_read_in_linear_time() -> None:
    assert "Rivera" in read_document(page_of_lines(50_000)).text
    assert grows_linearly(read_document, page_of_lines)
