"""Run a command to which the permissions of files apply, also if the tests run as root."""

import ctypes
import os
import subprocess
from pathlib import Path

_PR_CAPBSET_DROP = 24
# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: root's rights over files of any mode
_CAP_DAC = (
    1,
    2,
)


def _drop_rights() -> None:
    libc = ctypes.CDLL(None)
    for capability in _CAP_DAC:
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def run_unprivileged(
    *command: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command without root's rights over files; return its output and exit code."""
    return subprocess.run(
        command,
        env=os.environ | environment,
        preexec_fn=_drop_rights if os.geteuid() == 0 else None,
        capture_output=True,
        text=True,
        timeout=120,
    )


def make_read_only(folder: Path) -> None:
    """Take the permission to write from a folder and everything in it."""
    for path in (*folder.rglob("*"), folder):
        path.chmod(path.stat().st_mode & ~0o222)
