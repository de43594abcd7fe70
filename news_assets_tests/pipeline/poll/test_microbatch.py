import threading
from collections.abc import Generator
from dataclasses import replace

import pytest

from news_assets.pipeline.poll.poll import MAX_QUIET, micro_batches
from news_assets.pipeline.poll.poll_loop import Polled
from news_assets_tests.pipeline.poll.poll_cases import NOW, SOURCE, page, parse
from news_assets_tests.support.waiting import HANG_S

Polls = Generator[Polled, None, None]


def listed(number: int) -> Polled:
    source = replace(SOURCE, source_id=f"s{number}")
    return Polled(
        source=source,
        polled_at=NOW,
        outcome="ok",
        page=page(),
        listing=parse(page(), source),
    )


def quiet(number: int) -> Polled:
    return Polled(
        source=replace(SOURCE, source_id=f"s{number}"),
        polled_at=NOW,
        outcome="unchanged",
        page=page(b"", 304),
    )


def test_the_first_listing_does_not_wait_for_a_late_answer() -> None:
    late = threading.Event()

    def polls() -> Polls:
        yield listed(1)
        assert late.wait(HANG_S)
        yield from map(listed, (2, 3, 4))

    batches = micro_batches(polls(), pause_s=0.05)
    assert next(batches) == [listed(1)]
    late.set()
    assert [polled for batch in batches for polled in batch] == [
        *map(listed, (2, 3, 4))
    ]


def test_a_listing_that_arrives_within_the_pause_does_not_wait_for_a_late_answer() -> (
    None
):
    late = threading.Event()

    def polls() -> Polls:
        yield from map(listed, (1, 2))
        assert late.wait(HANG_S)

    batches = micro_batches(polls(), pause_s=0.1)
    assert [next(batches), next(batches)] == [[listed(1)], [listed(2)]]
    late.set()
    assert list(batches) == []


def test_polls_without_a_listing_go_along_with_the_next_one() -> None:
    def polls() -> Polls:
        yield from map(quiet, range(3))
        yield listed(3)
        yield quiet(4)

    assert list(micro_batches(polls(), pause_s=0)) == [
        [quiet(0), quiet(1), quiet(2), listed(3)],
        [quiet(4)],
    ]


def test_many_polls_without_a_listing_are_a_batch() -> None:
    polls = (quiet(number) for number in range(MAX_QUIET + 1))
    assert [len(batch) for batch in micro_batches(polls, pause_s=0)] == [MAX_QUIET, 1]


def test_a_batch_of_the_maximum_size_does_not_wait_for_the_pause() -> None:
    polls = (listed(number) for number in range(7))
    batches = list(micro_batches(polls, pause_s=60, max_bytes=3000))
    assert [len(batch) for batch in batches] == [1, 3, 3]


def test_a_slow_consumer_gets_fewer_and_larger_batches() -> None:
    now_s = [0.0]

    def polls() -> Polls:
        for number in range(40):
            now_s[0] += 0.01
            yield listed(number)

    batches = []
    for batch in micro_batches(polls(), pause_s=0, clock=lambda: now_s[0]):
        batches.append(batch)
        now_s[0] += 0.04
    assert [polled for batch in batches for polled in batch] == [
        *map(listed, range(40))
    ]
    assert len(batches) <= 5


def test_an_error_is_raised_behind_the_polls_before_it() -> None:
    def polls() -> Polls:
        yield listed(1)
        raise ValueError("no more")

    batches = micro_batches(polls(), pause_s=0)
    assert next(batches) == [listed(1)]
    with pytest.raises(ValueError, match="no more"):
        next(batches)


def test_leaving_early_closes_the_polls() -> None:
    closed = threading.Event()

    def polls() -> Polls:
        try:
            while True:
                yield listed(1)
        finally:
            closed.set()

    batches = micro_batches(polls())
    assert next(batches)
    del batches
    assert closed.wait(HANG_S)


def test_no_polls_are_no_batches() -> None:
    assert list(micro_batches(listed(number) for number in range(0))) == []
