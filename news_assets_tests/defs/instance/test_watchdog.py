import subprocess
import sys

import pytest

_PROGRAM = """
import re, sys, time
from news_assets.defs.instance.watchdog import Watchdog
with Watchdog(limit_s=1.0):
    {work}
{after}
print("ended")
"""


def run(work: str, after: str = "") -> subprocess.CompletedProcess[str]:
    program = _PROGRAM.format(work=work, after=after)
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_process_whose_gil_is_held_ends_and_says_where() -> None:
    ended = run('re.match(r"(a+)+$", "a" * 64 + "b")')
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Timeout (0:00:01)!" in ended.stderr
    assert "in match" in ended.stderr


@pytest.mark.parametrize(
    "work",
    [
        "time.sleep(2.5)",
        "end = time.monotonic() + 2.5\n    while time.monotonic() < end: pass",
    ],
)
def test_a_process_that_waits_or_works_in_python_goes_on(work: str) -> None:
    ended = run(work)
    assert (ended.returncode, ended.stdout) == (0, "ended\n")


def test_after_its_block_nothing_ends_the_process() -> None:
    assert run("pass", after="time.sleep(1.5)").stdout == "ended\n"
