"""Documents that several items of a meeting have."""

from news_assets.pipeline.civic.composing import MAX_SHARED_CHARS, excerpt_about
from news_assets.records.articles import RawArticle
from news_assets_tests.pipeline.civic.conftest import attachment
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import CouncilRoom

FILLER = (
    "The department reviewed the request and found no conflict with the plan of the city. "
    * 8
)
BUSES = "The contract for night buses costs four million dollars a year."
SIGN = "The stop sign at Elm Street costs three hundred dollars."


def test_a_shared_document_is_read_once_and_in_the_text_of_each_item(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses", attachment(room, "report"))
    council.put(
        1,
        13,
        "Loan for the night buses",
        attachment(room, "report"),
        attachment(room, "map"),
    )

    room.poll()
    room.run()

    texts = [row.text or "" for row in room.lake.read(RawArticle)]
    assert [
        ("four million" in text, "A map of all stops" in text) for text in sorted(texts)
    ] == [
        (True, False),
        (True, True),
    ]
    assert (council.requests["/files/report.pdf"], room.documents_read) == (1, 2)
    assert len(room.enricher.asked) == 2


def test_of_a_long_shared_document_an_item_has_the_begin_and_what_is_about_it() -> None:
    parts = [
        "Staff report of the transport office",
        *[FILLER] * 40,
        BUSES,
        *[FILLER] * 40,
        SIGN,
        *[FILLER] * 40,
    ]
    text = "\n\n".join(parts)

    buses = excerpt_about(text, "Contract for night buses", None)
    sign = excerpt_about(text, "Stop sign at Elm Street", "26-0585")

    assert (BUSES in buses, SIGN in buses, BUSES in sign, SIGN in sign) == (
        True,
        False,
        False,
        True,
    )
    assert buses.startswith("Staff report of the transport office")
    assert max(len(buses), len(sign)) <= MAX_SHARED_CHARS


def test_of_a_long_text_without_words_of_the_item_the_begin_is_left() -> None:
    assert excerpt_about("x" * 20_000, "Contract", None) == "x" * MAX_SHARED_CHARS
    assert excerpt_about(BUSES, "Contract", None) == BUSES
