"""No test depends on the speed of the machine.

Linear growth is shown by `support/growth.py`, speed by the scripts in `bench`, and a
limit of the product by a clock that the test sets. A wait only bounds hanging:
`support/waiting.py` says how long.
"""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CLOCKS = {
    "monotonic",
    "perf_counter",
    "process_time",
    "thread_time",
    "monotonic_ns",
    "perf_counter_ns",
}
# they measure, or are servers with a clock
SCRIPTS = {
    "bench",
    "fuzz",
    "quality",
    "soak",
    "typesense_server",
}
WITH_CLOCK = {
    "benchmarks.py": "a script that keeps how long each step takes",
    "ci.py": "a script that keeps how long each step takes",
    "compose.py": "a script that prints how long each step takes",
    "scaleout.py": "a script that prints how long each step takes",
    "clients/web/conftest.py": "stamps each request, for the pauses between requests",
    "support/govbr_replica.py": "a site of its own process that logs its requests",
    "support/growth.py": "measures growth",
    "support/profile_with_desk.py": "measures for bench",
    "support/pumped_functions.py": "measures growth",
    "support/pumping.py": "measures growth",
    "support/sample_story.py": "measures for scripts",
    "support/synthetic_desk.py": "a site of its own process that times its requests",
    "support/waiting.py": "bounds hanging",
}
WAITS = {
    "wait",
    "join",
    "result",
    "communicate",
    "run",
    "wait_procs",
    "urlopen",
    "Client",
    "check_output",
}
LEAST_WAIT_S = 60
_MAY_BE_TIMED = re.compile(
    r"monotonic|perf_counter|_time\(|timeout=|(?:wait|join|result)\(\d"
)


def calls_of(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def name_of(call: ast.Call) -> str:
    """Return the last part of the name that is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def timed(tree: ast.AST) -> set[str]:
    """Return the calls that read a clock, and those that stop waiting after less than
    LEAST_WAIT_S.
    """
    calls = calls_of(tree)
    found = [call for call in calls if name_of(call) in CLOCKS]
    found += [call for call in calls if name_of(call) in WAITS and _is_short(call)]
    return {ast.unparse(call)[:80] for call in found}


def _is_short(call: ast.Call) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]
    if name_of(call) in ("wait", "join", "result"):
        given += call.args
    numbers = [one.value for one in given if isinstance(one, ast.Constant)]
    return any(
        isinstance(number, int | float) and number < LEAST_WAIT_S for number in numbers
    )


def modules() -> dict[str, ast.AST]:
    """Return the parsed modules of the tests that have a word of what is looked for."""
    found = {}
    for path in sorted(TESTS.rglob("*.py")):
        name, text = str(path.relative_to(TESTS)), path.read_text()
        if name.partition("/")[0] not in SCRIPTS and _MAY_BE_TIMED.search(text):
            found[name] = ast.parse(text)
    return found


def test_no_test_reads_a_clock_or_stops_waiting_early() -> None:
    found = {
        name: timed(tree) for name, tree in modules().items() if name not in WITH_CLOCK
    }
    assert {name: calls for name, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("started = time.process_time()", {"time.process_time()"}),
        ("from time import monotonic\nmonotonic()", {"monotonic()"}),
        ("event.wait(5)", {"event.wait(5)"}),
        (
            "subprocess.run(command, timeout=20)",
            {"subprocess.run(command, timeout=20)"},
        ),
        (
            "event.wait(60)\nevent.wait(HANG_S)\nfetcher(total_s=1)\n', '.join('ab')",
            set(),
        ),
    ],
)
def test_each_kind_of_dependence_on_speed_is_found(
    source: str, found: set[str]
) -> None:
    assert timed(ast.parse(source)) == found
