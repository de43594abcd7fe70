"""Work on text from outside takes linear time: every pattern, and every function that
reads such text.

Both tests run in a process of their own with a limit of CPU time, which names what was
running when it was killed.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from news_assets_tests.support import pumping
from news_assets_tests.support.pumped_functions import FUNCTIONS

# beside other work, a minute of CPU may take many
pytestmark = pytest.mark.timeout(1200)


def run(module: str, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module, *arguments],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    lines = ended.stdout.splitlines()
    found = [line for line in lines if not line.startswith("RUNS ")]
    killed = (
        [f"killed by {-ended.returncode}: {lines[-1] if lines else ''}"]
        if ended.returncode < 0
        else []
    )
    crashed = [ended.stderr] if ended.returncode and not (found or killed) else []
    return "\n".join([*found, *killed, *crashed])


@pytest.mark.slow  # 20 s of CPU: some 170,000 inputs
def test_no_pattern_takes_longer_than_linear_time() -> None:
    assert run(pumping.__name__) == ""


@pytest.fixture(scope="module")
def patterns() -> list[pumping.Pattern]:
    return pumping.patterns()


def test_only_single_characters_are_repeated_possessively(
    patterns: list[pumping.Pattern],
) -> None:
    """Python before 3.11.5 matches possessive repeats of groups wrongly (gh-106052); an
    atomic group around a repeat means the same.
    """
    found = [one.name for one in patterns if pumping.repeats_group(one.pattern)]
    assert found == []


@pytest.mark.parametrize(
    ("pattern", "is_found"),
    [
        (r"(?:ab|c)*+d", True),
        (r"x(?>(?:ab)*+)", True),
        (r"(?>(?:ab|c)*)[a-c]++", False),
    ],
)
def test_a_possessive_repeat_of_a_group_is_found(pattern: str, is_found: bool) -> None:
    assert pumping.repeats_group(re.compile(pattern)) is is_found


def test_the_bounds_name_patterns_that_exist(patterns: list[pumping.Pattern]) -> None:
    assert pumping.BOUNDS.keys() <= {one.name for one in patterns}


@pytest.mark.slow  # 50 s of CPU: some 1,500 texts of 100,000 characters
@pytest.mark.exhaustive  # their patterns are tested one by one above
@pytest.mark.parametrize("start", range(0, len(FUNCTIONS), 12))
def test_no_function_takes_longer_than_linear_time(start: int) -> None:
    assert (
        run(
            "news_assets_tests.support.pumped_functions",
            *(row[0] for row in FUNCTIONS[start : start + 12]),
        )
        == ""
    )


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*(?:<!--.*?-->\s*)*x", "match"),
        (r"(a+)+$", "match"),
        (r"\s+$", "finditer"),
        (r"^\s*\w*\s*$", "match"),
        (r"<!--.*?-->", "finditer"),
        (rb"=\s*[\"']?\s*x", "search"),
        (r"(?:a|b|ab)*c", "match"),
    ],
)
@pytest.mark.slow  # measures growth for each pattern
def test_a_slow_pattern_is_found(pattern: str | bytes, method: str) -> None:
    assert pumping.slowest(re.compile(pattern), method)


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*+x", "match"),
        (r"a|b+", "finditer"),
        (r"(?:<!--(?>.*?-->)\s*+)*+x", "match"),
    ],
)
def test_a_linear_pattern_passes(pattern: str, method: str) -> None:
    assert pumping.slowest(re.compile(pattern), method) is None
