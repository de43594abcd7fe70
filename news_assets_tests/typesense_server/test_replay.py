"""The simulated server compared with recordings of a real one."""

import pytest

from news_assets_tests.typesense_server import replay

pytestmark = pytest.mark.skipif(
    not replay.RECORDINGS.exists(),
    reason="the recordings are not beside the repository",
)

EQUAL_AT_LEAST = 914  # of 1,002; replay.py has the reasons for the others


@pytest.fixture(scope="module")
def replayed() -> replay.Replayed:
    return replay.replay()


def test_every_compared_response_is_equal(replayed: replay.Replayed) -> None:
    assert replayed.different == {}


@pytest.mark.slow  # compares many recordings
def test_nine_recordings_of_ten_are_compared(replayed: replay.Replayed) -> None:
    assert len(replayed.equal) >= EQUAL_AT_LEAST


def test_every_recording_is_compared_or_skipped_with_a_reason(
    replayed: replay.Replayed,
) -> None:
    assert sorted([*replayed.equal, *replayed.skipped]) == list(range(1, 1003))
