import pytest

from news_assets.pipeline.documents.read import read_document
from news_assets_tests.support.pdfs import FONT, Pdf, shown

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
