from collections.abc import Sequence

import pytest

from news_assets.errors import LakeError
from news_assets.pipeline.batches import store_apart


def store(batch: Sequence[int]) -> list[str]:
    """Refuse a batch with a 2 in it."""
    if 2 in batch:
        raise ValueError("two\n" * 500)
    return [str(one) for one in batch]


def failed(item: int, reason: str) -> int:
    assert reason.startswith("could not be stored: ValueError: two two")
    assert len(reason) < 350
    return -item


def test_a_batch_that_can_be_stored_is_stored_at_once() -> None:
    assert store_apart([1, 3], store, failed) == ["1", "3"]


def test_of_a_batch_that_cannot_be_stored_each_item_is_stored_alone() -> None:
    assert store_apart([1, 2, 3], store, failed) == ["1", "-2", "3"]


def test_an_unavailable_store_is_not_tried_again_for_each_item() -> None:
    attempts = []

    def unavailable(batch: Sequence[int]) -> list[str]:
        attempts.append(batch)
        error = LakeError("no connection")
        error.is_transient = True
        raise error

    with pytest.raises(LakeError):
        store_apart([1, 2, 3], unavailable, failed)
    assert attempts == [[1, 2, 3]]
