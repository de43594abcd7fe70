"""The server against recordings of a real one; without the folder beside the repository there is nothing to replay."""

import pytest

from news_assets_tests.typesense_server import replay

pytestmark = pytest.mark.skipif(not replay.RECORDINGS.exists(), reason="the recordings are not beside the repository")

EQUAL_AT_LEAST = 903  # of 1,002; what is not compared stands in replay.py with its reason


@pytest.fixture(scope="module")
def replayed() -> replay.Replayed:
    return replay.replay()


def test_every_recording_that_is_compared_is_answered_alike(replayed: replay.Replayed) -> None:
    assert replayed.different == {}


def test_nine_recordings_of_ten_are_compared(replayed: replay.Replayed) -> None:
    assert len(replayed.equal) >= EQUAL_AT_LEAST


def test_every_recording_has_a_place(replayed: replay.Replayed) -> None:
    assert sorted([*replayed.equal, *replayed.skipped]) == list(range(1, 1003))
