import threading
from pathlib import Path

import pytest

from news_assets.clients.web.host_slots import FileSlots, RequestNow
from news_assets.clients.web.politeness import (
    Politeness,
    RetryAfterError,
    StoppedError,
)


class Clock:
    """A clock that the test sets."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


class RecordedWaits(threading.Event):
    """An event that records each wait and advances the clock instead of sleeping."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        self.clock.at += timeout or 0.0
        return self.is_set()


def take(
    politeness: Politeness, clock: Clock, retry_after_s: float = 0.0
) -> list[float | None]:
    """Take a slot for one request that responds at once; return the waits for it."""
    stopping = RecordedWaits(clock)
    with politeness.slot("example.org", stopping) as slot:
        slot.responded_at = clock()
        slot.retry_after_s = retry_after_s
    return stopping.waits


def test_the_pause_counts_from_the_response(tmp_path: Path) -> None:
    clock = Clock()
    politeness = Politeness(FileSlots(tmp_path, clock), 5.0)
    assert politeness.wait_s("example.org") == 0
    take(politeness, clock)
    clock.at += 2
    assert (politeness.wait_s("example.org"), politeness.wait_s("example.net")) == (
        3,
        0,
    )
    assert take(politeness, clock) == [3]


def test_a_crawl_delay_lengthens_the_pause_up_to_a_limit_and_never_shortens_it(
    tmp_path: Path,
) -> None:
    clock = Clock()
    politeness = Politeness(FileSlots(tmp_path, clock), 5.0)
    for crawl_delay_s, pause_s in ((2, 5), (10, 10), (3600, 30)):
        politeness.set_crawl_delay("example.org", crawl_delay_s)
        clock.at += 100
        take(politeness, clock)
        assert politeness.wait_s("example.org") == pause_s


def test_a_long_retry_after_is_shared_and_remembered_for_at_most_a_day(
    tmp_path: Path,
) -> None:
    clock = Clock()
    take(Politeness(FileSlots(tmp_path, clock), 0.0), clock, retry_after_s=1e9)
    with pytest.raises(RetryAfterError) as raised:
        take(Politeness(FileSlots(tmp_path, clock), 0.0), clock)
    assert raised.value.wait_s == 86_400


@pytest.mark.parametrize("set_back_s", [60.0, 3_600.0, 40_000.0, 1e8])
def test_a_host_is_open_after_the_clock_was_set_back(
    tmp_path: Path, set_back_s: float
) -> None:
    clock = Clock(2e8)
    politeness = Politeness(FileSlots(tmp_path, clock), 5.0)
    take(politeness, clock, retry_after_s=86_400)
    clock.at -= set_back_s
    assert politeness.wait_s("example.org") == 0
    assert take(politeness, clock) == []
    assert take(politeness, clock) == [5]


def test_a_stop_cancels_the_wait(tmp_path: Path) -> None:
    clock, stopping = Clock(), threading.Event()
    politeness = Politeness(FileSlots(tmp_path, clock), 60.0)
    take(politeness, clock)
    threading.Timer(0.05, stopping.set).start()
    with pytest.raises(StoppedError), politeness.slot("example.org", stopping):
        pass


@pytest.mark.parametrize(
    ("content", "waits"),
    [
        (None, [5]),
        ("", []),
        ("torn", []),
        ("1 2", []),
        ("1 2 3 4", []),
        ("nan x y", []),
        ("nan 5 0", []),
        ("999999 inf 0", []),
        ("999999 5 nan", []),
        ("999999 5 inf", []),
        ("999999 5 9e9", []),
        pytest.param("9e9 5 0", [], id="the clock was set back"),
    ],
)
def test_unusable_times_cause_no_wait(
    tmp_path: Path, content: str | None, waits: list[float]
) -> None:
    clock = Clock()
    take(Politeness(FileSlots(tmp_path, clock), 5.0), clock)
    (written,) = tmp_path.glob("*.times")
    written.write_text(written.read_text() if content is None else content)
    assert take(Politeness(FileSlots(tmp_path, clock), 5.0), clock) == waits


def test_a_slot_is_released_when_its_request_fails(tmp_path: Path) -> None:
    clock = Clock()
    politeness = Politeness(FileSlots(tmp_path, clock), 0.0)
    with pytest.raises(RuntimeError), politeness.slot("example.org", threading.Event()):
        raise RuntimeError
    assert take(politeness, clock) == []


def test_a_request_in_progress_is_told_until_it_ends(tmp_path: Path) -> None:
    clock = Clock()
    with Politeness(FileSlots(tmp_path, clock), 5.0).slot(
        "example.org", threading.Event(), url="https://example.org/1?a=b c"
    ):
        assert FileSlots(tmp_path).requests_now() == [
            RequestNow("https://example.org/1?a=b c", clock.at)
        ]
    assert FileSlots(tmp_path).requests_now() == []


def test_a_request_that_a_killed_process_left_behind_is_not_in_progress(
    tmp_path: Path,
) -> None:
    (tmp_path / "abc.request").write_text("1000000.0 https://example.org/1")
    assert FileSlots(tmp_path).requests_now() == []
    assert list(tmp_path.glob("*.request")) == []
