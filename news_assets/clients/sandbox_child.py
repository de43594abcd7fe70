"""The child process of a sandbox: `python -m news_assets.clients.sandbox_child FD
TRACE_FD LIMIT_S MEMORY_MB`.

It receives `(work, calls)` on the connection FD and sends each result or error as soon
as a call is made. A timer ends the process where a call takes more than LIMIT_S of CPU
time, so that a busy machine fails no good page, and one of faulthandler where it takes
WALL_RATIO times as long. Neither needs the GIL or a Python signal handler, so they also
end a regular expression or C code. The Python stack is then written to TRACE_FD.
"""

import faulthandler
import importlib
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from news_assets.errors import NewsAssetsError, ReadingError

WALL_RATIO = 6  # a call that waits for something uses no CPU time
# exit code; the next call is then made in a new process, whose memory is not fragmented
OUT_OF_MEMORY = 71
# how the reason begins where a library crashed
ENDED = "not read: the reading process ended with"
_MAX_MESSAGE_CHARS = 300  # of a library's error: some repeat the whole document


def main(arguments: list[str]) -> None:
    """Make calls until the parent closes the connection or ends."""
    fd, trace_fd, limit_s, memory_mb = arguments
    # Ctrl-C is for the parent, which then closes the connection
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    size = int(memory_mb) << 20
    with suppress(OSError, ValueError):  # macOS does not limit the address space
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    # `chain`: the process ends after its trace.
    faulthandler.register(
        signal.SIGPROF, file=int(trace_fd), all_threads=False, chain=True
    )
    connection: Connection[Any, Any] = Connection(int(fd))
    with suppress(EOFError, OSError):
        while True:
            work, calls = connection.recv()
            for call in calls:
                faulthandler.dump_traceback_later(
                    WALL_RATIO * float(limit_s), exit=True, file=int(trace_fd)
                )
                signal.setitimer(signal.ITIMER_PROF, float(limit_s))
                answer = answer_of(work, call)
                signal.setitimer(signal.ITIMER_PROF, 0)
                faulthandler.cancel_dump_traceback_later()
                connection.send_bytes(answer)


def answer_of(work: Callable[..., Any], call: tuple[Any, ...]) -> bytes:
    """Return the pickled result or error of one call."""
    try:
        return pickle.dumps(work(*call), pickle.HIGHEST_PROTOCOL)
    except NewsAssetsError as error:
        return pickle.dumps(error)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001  whatever outside input makes a library raise fails this call only
        message = " ".join(f"{type(error).__name__}: {error}".split())
        shown = message[:_MAX_MESSAGE_CHARS]
        return pickle.dumps(ReadingError(f"could not be read: {shown}"))


def load_module(name: str) -> None:
    """Import a module, so that a later call does not wait for it."""
    importlib.import_module(name)


if __name__ == "__main__":
    main(sys.argv[1:])
