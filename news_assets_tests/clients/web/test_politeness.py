import threading
from pathlib import Path

import pytest

from news_assets.clients.web.politeness import HostAsksForPauseError, Politeness, StoppedError


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


def take(politeness: Politeness, clock: Clock, retry_after_s: float = 0.0) -> None:
    with politeness.turn("example.org", threading.Event()) as turn:
        turn.answered_at = clock()
        turn.retry_after_s = retry_after_s


def test_a_turn_costs_the_pause_counted_from_the_answer(tmp_path: Path) -> None:
    clock = Clock()
    politeness = Politeness(tmp_path, 5.0, clock)
    assert politeness.wait_s("example.org") == 0
    take(politeness, clock)
    clock.at += 2
    assert (politeness.wait_s("example.org"), politeness.wait_s("example.net")) == (3, 0)


def test_a_crawl_delay_can_lengthen_the_pause_but_not_shorten_it_and_not_for_ever(tmp_path: Path) -> None:
    clock = Clock()
    politeness = Politeness(tmp_path, 5.0, clock)
    for crawl_delay_s, pause_s in ((2, 5), (10, 10), (3600, 30)):
        politeness.slow_down("example.org", crawl_delay_s)
        clock.at += 100
        take(politeness, clock)
        assert politeness.wait_s("example.org") == pause_s


def test_a_pause_the_host_asked_for_is_remembered_for_all_and_for_a_day_at_most(tmp_path: Path) -> None:
    clock = Clock()
    take(Politeness(tmp_path, 0.0, clock), clock, retry_after_s=1e9)
    with pytest.raises(HostAsksForPauseError) as raised:
        take(Politeness(tmp_path, 0.0, clock), clock)
    assert raised.value.wait_s == 86_400


def test_a_stop_calls_the_wait_off(tmp_path: Path) -> None:
    clock, stopping = Clock(), threading.Event()
    politeness = Politeness(tmp_path, 60.0, clock)
    take(politeness, clock)
    threading.Timer(0.05, stopping.set).start()
    with pytest.raises(StoppedError), politeness.turn("example.org", stopping):
        pass


@pytest.mark.parametrize("content", ["", "torn", "1 2", "1 2 3 4", "nan x y", "9e9 5 0"])
def test_a_torn_file_or_a_clock_set_back_keeps_nobody_waiting(tmp_path: Path, content: str) -> None:
    clock = Clock()
    take(Politeness(tmp_path, 5.0, clock), clock)
    (written,) = tmp_path.glob("*.times")
    written.write_text(content)
    clock.at += 5
    take(Politeness(tmp_path, 5.0, clock), clock)


def test_a_turn_that_fails_is_given_back(tmp_path: Path) -> None:
    clock = Clock()
    politeness = Politeness(tmp_path, 0.0, clock)
    with pytest.raises(RuntimeError), politeness.turn("example.org", threading.Event()):
        raise RuntimeError
    take(politeness, clock)
