"""What arrives while one is busy comes together, in order, and nobody waits for what is late."""

import threading
import time
from collections.abc import Iterator

import pytest

from news_assets.pipeline.poll.microbatch import in_heaps


def one(_: object) -> int:
    return 1


def test_the_first_item_is_handed_on_while_the_second_is_late_and_the_others_together() -> None:
    late = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        assert late.wait(5)
        yield from (2, 3, 4)

    heaps = in_heaps(items(), one, pause_s=0.05)
    assert next(heaps) == [1]
    late.set()
    assert [item for heap in heaps for item in heap] == [2, 3, 4]


def test_no_more_are_drawn_than_may_wait() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1, 100):
            drawn.append(number)
            yield number

    heaps = in_heaps(items(), one, pause_s=0, max_waiting=3)
    first = next(heaps)
    time.sleep(0.05)
    assert len(drawn) <= len(first) + 4
    assert [*first, *(item for heap in heaps for item in heap)] == list(range(1, 100))


def test_who_takes_long_gets_fewer_and_larger_heaps() -> None:
    def items() -> Iterator[int]:
        for number in range(40):
            yield number
            time.sleep(0.01)

    heaps = []
    for heap in in_heaps(items(), one, pause_s=0):
        heaps.append(heap)
        time.sleep(0.04)
    assert [item for heap in heaps for item in heap] == list(range(40))
    assert len(heaps) <= 5


def test_an_error_comes_behind_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    heaps = in_heaps(items(), one, pause_s=0)
    assert next(heaps) == [1]
    with pytest.raises(ValueError, match="no more"):
        next(heaps)


def test_leaving_early_closes_the_items() -> None:
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    heaps = in_heaps(items(), one, max_waiting=2)
    assert next(heaps)
    heaps.close()  # type: ignore[attr-defined]
    assert closed.wait(5)


def test_nothing_is_nothing() -> None:
    assert list(in_heaps(iter(()), one)) == []
