import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from news_assets.clients.sandbox import ProcessSandbox
from news_assets.errors import NewsAssetsError, ReadingError, SourceError
from news_assets.ports.services import Sandbox
from news_assets_tests.clients import poison
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.pdfs import pdf_of
from news_assets_tests.support.waiting import HANG_S

LIMIT_S = 1.0


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    with ProcessSandbox(limit_s=LIMIT_S, memory_mb=512) as opened:
        yield opened


@pytest.fixture(scope="module", params=["process", "inline"])
def any_sandbox(request: pytest.FixtureRequest, sandbox: ProcessSandbox) -> Sandbox:
    return sandbox if request.param == "process" else InlineSandbox()


def texts(answers: list[object | NewsAssetsError]) -> list[str]:
    return [
        f"{type(one).__name__}: {one}" if isinstance(one, NewsAssetsError) else str(one)
        for one in answers
    ]


def test_results_come_in_the_order_of_the_calls(any_sandbox: Sandbox) -> None:
    assert any_sandbox.run(divmod, [(number, 7) for number in range(250)]) == [
        divmod(n, 7) for n in range(250)
    ]


def test_no_calls_give_no_results(any_sandbox: Sandbox) -> None:
    assert any_sandbox.run(divmod, []) == []


def test_an_error_of_this_package_is_returned_as_it_is(any_sandbox: Sandbox) -> None:
    before, error, after = any_sandbox.run(poison.refuse, [(False,), (True,), (False,)])
    assert (before, type(error), str(error), after) == (
        "read",
        SourceError,
        "not a listing",
        "read",
    )


@pytest.mark.parametrize("work", [poison.raise_bug, poison.recurse, poison.unpicklable])
def test_any_other_exception_is_a_reading_error_of_one_short_line(
    any_sandbox: Sandbox, work: Callable[[bool], object]
) -> None:
    before, error, after = any_sandbox.run(work, [(False,), (True,), (False,)])
    assert (before, type(error), after) == ("read", ReadingError, "read")
    assert str(error).startswith("could not be read: ")
    assert len(str(error)) < 350
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (poison.hang, "ReadingError: not read in 1 s (in hang, poison.py:"),
        (
            poison.exit_at_once,
            "ReadingError: not read: the reading process ended with exit code 3",
        ),
        (
            poison.crash,
            "ReadingError: not read: the reading process ended with signal 11",
        ),
        (poison.fill_memory, "ReadingError: not read in 512 MB of memory"),
    ],
)
def test_a_call_that_ends_the_process_costs_only_itself(
    sandbox: ProcessSandbox, work: Callable[[bool], object], reason: str
) -> None:
    answers = texts(sandbox.run(work, [(False,), (True,), (False,), (True,), (False,)]))
    assert answers[::2] == ["read", "read", "read"]
    assert [answer[: len(reason)] for answer in answers[1::2]] == [reason, reason]


@pytest.mark.slow  # starts processes
def test_a_stopped_process_is_replaced() -> None:
    with ProcessSandbox(limit_s=0.2) as sandbox:
        [pid] = sandbox.run(poison.process_id, [()])
        assert isinstance(pid, int)
        os.kill(pid, signal.SIGSTOP)
        stopped, after = sandbox.run(poison.process_id, [(), ()])
    assert str(stopped) == "not read in 0.2 s"
    assert after not in (pid, None)


def test_a_process_that_was_killed_between_two_calls_is_replaced(
    sandbox: ProcessSandbox,
) -> None:
    [pid] = sandbox.run(poison.process_id, [()])
    assert isinstance(pid, int)
    process = psutil.Process(pid)
    process.kill()
    process.wait(HANG_S)
    assert sandbox.run(poison.refuse, [(False,)]) == ["read"]


def test_the_process_ends_when_its_parent_is_killed() -> None:
    code = (
        "from news_assets.clients.sandbox import ProcessSandbox\n"
        "from news_assets_tests.clients import poison\n"
        "print(*ProcessSandbox().run(poison.process_id, [()]), flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    psutil.wait_procs([child], timeout=HANG_S)
    assert not child.is_running()


def test_what_libraries_print_does_not_reach_standard_output(
    sandbox: ProcessSandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    assert sandbox.run(poison.print_noise, [()]) == ["read"]
    assert capfd.readouterr().out == ""


def test_documents_are_read_in_another_process_with_less_memory() -> None:
    this = psutil.Process()
    before = set(this.children())
    with ProcessSandbox() as sandbox:
        [pid] = sandbox.run(poison.process_id, [()])
        assert sandbox.read_document(pdf_of("Agenda"), language="pt").text == "Agenda"
        others = [
            child
            for child in this.children()
            if child not in before and child.pid != pid
        ]
        limits = [child.rlimit(psutil.RLIMIT_AS) for child in others]
    assert limits == [(500 << 20, 500 << 20)]
    assert set(this.children()) == before


def test_restarts_leave_no_process_and_no_open_file() -> None:
    this = psutil.Process()
    children, files = this.children(), this.num_fds()
    with ProcessSandbox() as sandbox:
        for _ in range(20):
            sandbox.run(poison.exit_at_once, [(True,)])
    assert this.children() == children
    # what an earlier test left open may have been closed
    assert this.num_fds() <= files
