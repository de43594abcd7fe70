"""The process that claims an input, so that a claim of one that was killed ends at once on its machine."""

import os
import socket


def this_process() -> str:
    """Return the name of this process: machine and number."""
    return f"{socket.gethostname()}/{os.getpid()}"


def has_ended(owner: str) -> bool:
    """Whether a process is known to have ended: one of this machine that does not run any more."""
    host, _, number = owner.rpartition("/")
    if host != socket.gethostname() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:  # it belongs to somebody else
        return False
    return False
