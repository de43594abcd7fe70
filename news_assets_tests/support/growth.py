"""How the CPU time of some work grows with its input: the proof that it is linear, on
any machine.

A ratio of two measurements in one run does not depend on the machine's speed. Other
processes disturb single tries, so the best of several counts.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TRIES = 3
# linear work grows by STEP, quadratic work by STEP squared: far apart, also on a busy
# machine
STEP = 8
LINEAR_BOUND = 24.0
# of CPU for the smaller input: fixed costs and the clock's steps are small beside it
ENOUGH_S = 0.008
MAX_SIZE = 400_000


def growth(
    work: Callable[[T], object], make: Callable[[int], T], max_size: int = MAX_SIZE
) -> float:
    """Return by how much the CPU time of `work` grows when its input is STEP times as
    large.

    `make(size)` gives the input and is not measured. The size is doubled until the work
    takes ENOUGH_S; `max_size` bounds the larger input.
    """
    size = 50
    work(make(size))  # loads what the work needs
    while size * 2 * STEP <= max_size and _cpu_s(work, make(size)) < ENOUGH_S:
        size *= 2
    small, large = make(size), make(size * STEP)
    pairs = [(_cpu_s(work, small), _cpu_s(work, large)) for _ in range(TRIES)]
    return min(took for _, took in pairs) / min(took for took, _ in pairs)


def grows_linearly(
    work: Callable[[T], object], make: Callable[[int], T], max_size: int = MAX_SIZE
) -> bool:
    """Return whether `work` takes linear time; a second try decides where the first
    says no.
    """
    return any(growth(work, make, max_size) < LINEAR_BOUND for _ in range(2))


def _cpu_s(work: Callable[[T], object], given: T) -> float:
    started = time.thread_time()
    work(given)
    return time.thread_time() - started
