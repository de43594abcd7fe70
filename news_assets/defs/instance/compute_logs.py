"""What a run prints, in files that the UI shows, without processes beside the run.

Dagster's own class starts four processes for each run: two of `tail` copy its streams
to the terminal, and two interpreters end these if the run dies. They take 0.1 s of
processor time, a third of a run that finds nothing to do.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TextIO

from dagster._core.execution.compute_logs import redirect_to_file
from dagster._core.storage.compute_log_manager import CapturedLogContext
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager


class FileComputeLogManager(LocalComputeLogManager):
    """Dagster's files of what a run prints; the terminal has it when the run ends."""

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> Self:
        """Return the manager that dagster.yaml configures."""
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def capture_logs(self, log_key: Sequence[str]) -> Iterator[CapturedLogContext]:
        """Write both streams of this process to files until the end of the block."""
        out = Path(self.get_captured_local_path(log_key, "out"))
        err = Path(self.get_captured_local_path(log_key, "err"))
        out.parent.mkdir(parents=True, exist_ok=True)
        with _captured(sys.stdout, out), _captured(sys.stderr, err):
            yield CapturedLogContext(log_key)
        Path(self.get_captured_local_path(log_key, "complete")).touch()


@contextmanager
def _captured(stream: TextIO, path: Path) -> Iterator[None]:
    """Append to a file what is written to a stream, and copy it there at the end."""
    before = path.stat().st_size if path.exists() else 0
    try:
        with redirect_to_file(stream, str(path)):
            yield
    finally:
        if path.stat().st_size > before:
            _copy_from(path, before, stream)


def _copy_from(path: Path, start: int, stream: TextIO) -> None:
    # a terminal that is gone fails no run
    with (
        suppress(OSError),
        path.open("rb") as file,
        open(stream.fileno(), "wb", closefd=False) as terminal,
    ):
        file.seek(start)
        shutil.copyfileobj(file, terminal)
