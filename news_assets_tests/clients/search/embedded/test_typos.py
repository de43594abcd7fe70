import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.search.embedded.typos import one_edit_away

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@given(st.text(LETTERS, min_size=5, max_size=12), st.data())
def test_every_single_mistake_is_undone(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    letter = data.draw(st.sampled_from(LETTERS))
    mistakes = {
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    }
    assert all(word in one_edit_away(mistake) for mistake in mistakes - {word})


@pytest.mark.parametrize("word", ["", "abc", "a1b2c3", "a" * 40])
def test_short_long_and_numbered_words_are_left_alone(word: str) -> None:
    assert one_edit_away(word) == set()


def test_other_alphabets_have_their_own_letters() -> None:
    assert "привет" in one_edit_away("превет")
