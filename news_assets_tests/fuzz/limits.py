"""Reads fuzzed inputs within the limits of the sandbox, and keeps those that break
them.
"""

import hashlib
import time
from pathlib import Path

from news_assets.clients.sandbox import LIMIT_S, ProcessSandbox
from news_assets.errors import NewsAssetsError
from news_assets.ports.services import Sandbox
from news_assets_tests.fuzz.mutations import MAX_BYTES
from news_assets_tests.fuzz.readers import read

MAX_CPU_S = 2.0  # of one input of at most MAX_BYTES; the sandbox ends a call after 20 s
MEMORY_MB = 1024
FOUND = Path(".news") / "fuzz"


class BrokenLimitError(AssertionError):
    """A reader raised another error than it may, or took too long or too much memory."""


def cpu_s(name: str, data: bytes) -> float:
    """Read one input and return the processor time, in seconds; runs in the sandbox."""
    started = time.process_time()
    read(name, data[:MAX_BYTES])
    return time.process_time() - started


def check(name: str, data: bytes, sandbox: Sandbox) -> None:
    """Raise BrokenLimitError if the reader breaks a limit with this input, which is
    then kept below FOUND.
    """
    [answer] = sandbox.run(cpu_s, [(name, data)])
    if isinstance(answer, NewsAssetsError):
        raise BrokenLimitError(f"{name}: {answer}; {_kept(name, data)}")
    if answer > MAX_CPU_S:
        raise BrokenLimitError(
            f"{name}: {answer:.1f} s of CPU for {len(data)} bytes; {_kept(name, data)}"
        )


def sandbox() -> ProcessSandbox:
    """Return a sandbox with the limits of fuzzing."""
    return ProcessSandbox(LIMIT_S, MEMORY_MB)


def _kept(name: str, data: bytes) -> Path:
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return path
