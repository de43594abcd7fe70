"""Lines of a page that belong together."""

import pytest

from news_assets.pipeline.page.markdown import lines_of

SENTENCE = "The council awards the resurfacing of Oak Street for"


@pytest.mark.parametrize(
    "following",
    ["412,000 dollars to Delta Paving.", "$412,000 to Delta Paving.", "all of May."],
)
def test_a_sentence_that_goes_on_with_a_figure_is_one_line(following: str) -> None:
    assert lines_of(f"{SENTENCE}\n{following}") == f"{SENTENCE} {following}"


@pytest.mark.parametrize(
    "following",
    ["2. Contract with Acme Inc.", "4.1 Minutes", "12 Pine Court", "Adjournment"],
)
def test_an_item_of_a_list_begins_a_line(following: str) -> None:
    assert lines_of(f"{SENTENCE}\n{following}") == f"{SENTENCE}\n{following}"
