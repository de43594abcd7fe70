"""Runs functions over outside bytes and text in a child process with limits of time and
memory per call, and replaces the process when a call ends it. `sandbox_child` is the
child's side.

billiard, which comes with Celery, has pools with hard time limits. Measured here, its
pool noticed a crashed process only at the time limit, and the limit is for a whole
message, so that a batch would have to be taken apart again.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Pipe
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from news_assets.clients import sandbox_child
from news_assets.errors import NewsAssetsError, ReadingError
from news_assets.records.reading import ReadDocument
from news_assets.settings import child_environment

if TYPE_CHECKING:
    from news_assets.clients.document_reader import DocumentReader

_R = TypeVar("_R")

LIMIT_S = 20.0  # CPU time of one call
MEMORY_MB = 1024  # address space of the process; with all libraries loaded it has 380
_CALLS_PER_MESSAGE = 100
# a child that is stopped or swapped out does not end itself: it is killed so long after
# the limit
_GRACE_S = 5.0
_EXIT_S = 1.0  # a process that ends closes its connection shortly before
# of faulthandler; the innermost comes first
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+) in (\w+)')


class ProcessSandbox:
    """The port `Sandbox` over one child process, started at the first call. Threads may
    share it; one calls at a time.

    Documents are read in another process, which has limits of its own and is started at
    the first document.
    """

    def __init__(self, limit_s: float = LIMIT_S, memory_mb: int = MEMORY_MB) -> None:
        self._limit_s, self._memory_mb = limit_s, memory_mb
        self._process: _Process | None = None
        self._documents: DocumentReader | None = None
        self._lock = threading.Lock()

    def run(
        self, work: Callable[..., _R], calls: Sequence[tuple[Any, ...]]
    ) -> list[_R | NewsAssetsError]:
        """Return the result or error of `work(*call)` for each call, in order; see
        `Sandbox`.
        """
        answers: list[_R | NewsAssetsError] = []
        with self._lock:
            while len(answers) < len(calls):
                answers += self._answers(
                    work, calls[len(answers) : len(answers) + _CALLS_PER_MESSAGE]
                )
        return answers

    def read_document(
        self,
        body: bytes,
        content_type: str = "",
        name: str = "",
        language: str | None = None,
    ) -> ReadDocument:
        """Return the text of a document, or the reason why there is none; see
        `Sandbox`.
        """
        with self._lock:
            if self._documents is None:
                from news_assets.clients import document_reader as reader

                process = ProcessSandbox(reader.LIMIT_S, reader.MEMORY_MB)
                tesseract = reader.installed_tesseract()
                self._documents = reader.DocumentReader(process, tesseract)
            documents = self._documents
        return documents.read(body, content_type, name, language)

    def _answers(
        self, work: Callable[..., _R], calls: Sequence[tuple[Any, ...]]
    ) -> list[_R | NewsAssetsError]:
        """Return the answers to these calls; of the later ones none where a call ended
        the process.
        """
        answers: list[_R | NewsAssetsError] = []
        process = self._process = self._running()
        try:
            process.send(work, calls)
            while len(answers) < len(calls):
                answers.append(process.receive())
        except (EOFError, OSError):
            self._process = None
            answers.append(ReadingError(process.close()))
        except BaseException:  # interrupted while answers are still to come
            self.close()
            raise
        return answers

    def _running(self) -> "_Process":
        if self._process is not None and self._process.is_alive:
            return self._process
        self.close()
        return _Process(self._limit_s, self._memory_mb)

    def close(self) -> None:
        """End the processes; the next call starts another."""
        if self._process is not None:
            self._process.close(wait_s=0)
            self._process = None
        if self._documents is not None:
            self._documents.close()
            self._documents = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Process:
    """One child process and the connection to it."""

    def __init__(self, limit_s: float, memory_mb: int) -> None:
        self._limit_s, self._memory_mb = limit_s, memory_mb
        self._connection, other = Pipe()
        self._trace = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        fds = (other.fileno(), self._trace.fileno())
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                sandbox_child.__name__,
                *map(str, (*fds, limit_s, memory_mb)),
            ],
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a command's standard output holds results only
            env=child_environment(PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        )
        other.close()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, work: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> None:
        self._connection.send((work, calls))

    def receive(self) -> Any:
        """Return the next answer. Raises EOFError or OSError if the process has ended,
        or does not answer.
        """
        if not self._connection.poll(
            sandbox_child.WALL_RATIO * self._limit_s + _GRACE_S
        ):
            raise EOFError
        return self._connection.recv()

    def close(self, wait_s: float = _EXIT_S) -> str:
        """End the process if it does not end in `wait_s`; return why it had ended, as
        the reason for its last call.
        """
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(wait_s)
        code = self._process.poll()
        self._process.kill()
        self._process.wait()
        self._trace.seek(0)
        frames = _FRAME.findall(self._trace.read().decode(errors="replace"))
        self._trace.close()
        self._connection.close()
        if code is None or frames:
            return f"not read in {self._limit_s:g} s{_place(frames)}"
        if code == sandbox_child.OUT_OF_MEMORY:
            return f"not read in {self._memory_mb} MB of memory"
        return f"{sandbox_child.ENDED} {f'signal {-code}' if code < 0 else f'exit code {code}'}"


def _place(frames: Sequence[tuple[str, str, str]]) -> str:
    """Return where a call was stopped: the innermost frame of this package, else of a
    library.
    """
    if not frames:
        return ""
    own = [frame for frame in frames if "news_assets" in frame[0]]
    path, line, function = (own or frames)[0]
    return f" (in {function}, {Path(path).name}:{line})"
