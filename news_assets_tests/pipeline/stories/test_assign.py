"""Articles to stories, one after the other."""

from datetime import date, timedelta

import numpy as np

from news_assets.pipeline.stories.assign import Stories
from news_assets.pipeline.stories.features import features_of
from news_assets.pipeline.stories.packing import Article
from news_assets.pipeline.stories.window import Window

DAY = date(2026, 11, 3)
BRIDGE = (
    "The Humber bridge closed on Monday after 14 cables broke. Engineer Ana Moss said in"
    " Hull that repairs take 21 days."
)
BRIDGE_AGAIN = (
    "Repairs of the Humber bridge take 21 days, said Ana Moss in Hull. It was closed on"
    " Monday when 14 of its cables broke."
)
BUDGET = (
    "The council of Leeds approved a budget of 930 million. Councillor John Reed voted"
    " against it."
)


def article(
    key: str, text: str, axis: int, day: date = DAY, near: float = 1.0
) -> Article:
    """Return an article whose vector is `near` an axis."""
    vector = np.zeros(8, np.float32)
    vector[axis], vector[7] = near, (1 - near**2) ** 0.5
    return Article(key, day, vector, features_of(None, text, "en"))


def stories() -> Stories:
    return Stories(Window("a model", 8))


def test_the_same_event_in_other_words_is_one_story() -> None:
    found = stories()
    found.place(article("a", BRIDGE, 0), "s1")

    placed = found.place(article("b", BRIDGE_AGAIN, 0, near=0.9), "s2")

    assert placed.story_id == "s1"
    assert placed.nearest == "a"
    assert 0.3 <= placed.score <= 1


def test_another_event_begins_its_own_story() -> None:
    found = stories()
    found.place(article("a", BRIDGE, 0), "s1")

    assert found.place(article("b", BUDGET, 1), "s2").story_id == "s2"


def test_articles_more_than_a_week_apart_are_not_compared() -> None:
    found = stories()
    found.place(article("a", BRIDGE, 0), "s1")

    late = article("b", BRIDGE, 0, DAY + timedelta(days=8))

    assert found.place(late, "s2").story_id == "s2"


def test_an_article_that_was_removed_is_not_compared() -> None:
    found = stories()
    found.place(article("a", BRIDGE, 0), "s1")

    found.remove([0])

    assert found.place(article("b", BRIDGE, 0), "s2").story_id == "s2"


STANDING = (
    "This paper is published each morning by the Northern Press and read in forty towns"
    " of the county. Send your letters to the desk of readers in Harrogate before noon."
)


def test_sentences_that_two_articles_share_word_for_word_weigh_nothing() -> None:
    found = stories()
    found.place(article("a", f"{BUDGET} {STANDING} Printed on 3 March.", 0), "s1")

    other = article("b", f"A goat won. {STANDING} Printed on 14 May.", 0, near=0.98)

    assert found.place(other, "s2").story_id == "s2"


def test_a_copy_with_another_first_sentence_is_in_one_story_with_its_original() -> None:
    found = stories()
    found.place(article("a", f"{BUDGET} {STANDING}", 0), "s1")

    copy = article("b", f"Read this. {BUDGET} {STANDING}", 0)

    assert found.place(copy, "s2").story_id == "s1"


def test_two_stories_about_one_event_become_one() -> None:
    found = stories()
    found.add(article("a", BRIDGE, 0), "s1")
    found.add(article("b", BRIDGE_AGAIN, 0), "s2")

    placed = found.place(article("c", BRIDGE, 0), "s3")

    assert {placed.story_id, *(other for other, _ in placed.merged)} == {"s1", "s2"}
    assert len(set(found.story_of.values())) == 1


def test_a_story_without_a_link_between_its_parts_is_split() -> None:
    found = stories()
    for key, text, axis in (("a", BRIDGE, 0), ("b", BUDGET, 1), ("c", BRIDGE, 0)):
        found.add(article(key, text, axis), "s1")
    assert found.split("s1") == [[0, 2]]
    found.add(article("d", BUDGET, 1), "s1")

    assert found.split("s1") == [[0, 2], [1, 3]]
    found.move([1, 3], "s2")
    assert found.split("s1") == [[0, 2]]


def test_the_order_of_articles_of_two_events_makes_no_difference() -> None:
    texts = [
        ("a", BRIDGE, 0),
        ("b", BUDGET, 1),
        ("c", BRIDGE_AGAIN, 0),
        ("d", BUDGET, 1),
    ]
    for order in (texts, texts[::-1]):
        found = stories()
        by_key = {
            key: found.place(article(key, text, axis), key).story_id
            for key, text, axis in order
        }
        assert by_key["a"] == by_key["c"]
        assert by_key["b"] == by_key["d"]
        assert by_key["a"] != by_key["b"]


def test_a_window_grows_beyond_its_first_size() -> None:
    found = stories()
    for n in range(150):
        found.place(article(str(n), f"{BRIDGE} Part {n}", 0), "s")

    assert set(found.story_of.values()) == {"s"}
