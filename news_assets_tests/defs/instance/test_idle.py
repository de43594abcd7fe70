"""What a worker gives back after minutes without a run."""

import threading

from news_assets.defs.instance.idle import IdleTimer, give_memory_back
from news_assets_tests.support.waiting import wait_for


def test_a_worker_without_a_run_gives_its_models_back_once() -> None:
    released = threading.Semaphore(0)
    timer = IdleTimer(released.release, idle_s=0.0)
    with timer:
        pass
    wait_for(lambda: timer.has_released, pause_s=0.01)
    assert (released.acquire(blocking=False), released.acquire(blocking=False)) == (
        True,
        False,
    )


def test_a_run_that_begins_in_time_keeps_the_models() -> None:
    released = threading.Event()
    timer = IdleTimer(released.set, idle_s=3600.0)
    with timer:
        pass
    with timer:
        assert not timer.has_released
    assert not released.is_set()


def test_memory_can_be_given_back_on_every_system() -> None:
    give_memory_back()
